"""From a file's bytes to a row's pixels: decode, upright, colour, resize, normalise."""
