"""Bakes a folder of pictures into a data set that trains at memory speed."""

__version__ = "0.1.0"
