"""RandomResizedCrop's resizing on a device: all boxes of a batch at once."""

from __future__ import annotations

import torch
from torchvision.ops import roi_align

SAMPLES_ABOVE = 300
"""Rows with a longer side are sampled twice in each direction for each pixel that is made; see `resize_boxes_on_device`."""


def resize_boxes_on_device(images: torch.Tensor, boxes: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Boxes of pictures, resized, by torchvision's `roi_align` with aligned=True.

    It averages s x s bilinear samples for each pixel that is made, with s = 1 for rows up to 300 pixels and 2 above, where Pillow's
    filter is as wide as the reduction asks.

    Args:
        images: (B, C, H, W) on any device: of a floating type, or 8- or 16-bit levels.
        boxes: (B, 4), top, left, height and width in pixels.
        size: height and width to make.

    Returns:
        (B, C, *size), of the images' type if that is a floating one, else float32 levels, not rounded.
    """
    pixels = images if images.dtype.is_floating_point else images.float()
    top, left, height, width = boxes.to(pixels.device, pixels.dtype if pixels.dtype == torch.float64 else torch.float32).unbind(1)
    number = torch.arange(len(images), device=pixels.device, dtype=top.dtype)
    rois = torch.stack([number, left, top, left + width, top + height], dim=1).to(pixels.dtype)
    samples = 2 if max(images.shape[2:]) > SAMPLES_ABOVE else 1
    made: torch.Tensor = roi_align(pixels, rois, size, sampling_ratio=samples, aligned=True)
    return made
