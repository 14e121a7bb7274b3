"""What may be done to pictures on their way into a batch, under torchvision's names."""

from readers.augment.bind import Step, bind
from readers.augment.crop import CenterCrop, RandomCrop
from readers.augment.erase import RandomErasing
from readers.augment.flip import RandomHorizontalFlip, RandomVerticalFlip
from readers.augment.pixels import InPixels
from readers.augment.resize import RandomResizedCrop
from readers.augment.step import Augment, TooSmallError, Uniform
from readers.augment.window import Box, Sides, Window

__all__ = [
    "Augment",
    "Box",
    "CenterCrop",
    "InPixels",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Sides",
    "Step",
    "TooSmallError",
    "Uniform",
    "Window",
    "bind",
]
