"""Makes the contenders out of what was asked for."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from benching.baking import Baked, shard_files
from benching.feeds import Contender, Feed, LoaderFeed, TorchFeed
from benching.pictures import Pictures
from benching.room import ready
from benching.settings import FOLDER, Settings
from convert.errors import PrebakeError, printable
from readers import Loader, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, open_dataset, torch_loader

WHOLE = "not cropped"
"""Said of rows that are as small as the crop."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _transform(settings: Settings) -> Any:
    """What people do to each picture of a folder."""
    cut = (
        [transforms.RandomResizedCrop(settings.crop)]
        if settings.augment == "rrc"
        else [transforms.Resize(settings.size), transforms.RandomCrop(settings.crop)]
    )
    return transforms.Compose([*cut, transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def of_folder(pictures: Pictures, settings: Settings, options: dict[str, Any], role: str) -> Contender:
    """ImageFolder and a DataLoader with some options."""
    dataset = ImageFolder(str(pictures.root), _transform(settings), allow_empty=True)
    keys = [str(Path(path).relative_to(pictures.root)).removeprefix(pictures.lead) for path, _ in dataset.samples]
    options = dict(options)
    workers = options.get("num_workers", 0)
    if workers:
        options.setdefault("prefetch_factor", 2)  # torch's own

    def make(**more: Any) -> DataLoader[Any]:
        return DataLoader(dataset, settings.batch, **options, **more)

    return Contender(
        name=f"folder {role}",
        format=FOLDER,
        kind="jpeg",
        loader="DataLoader",
        setup=f"{workers} workers, {options['prefetch_factor']} batches ready in each" if workers else "0 workers",
        workers=workers,
        keys=keys,
        files=pictures.files,
        nbytes=pictures.nbytes,
        open=lambda indices: TorchFeed(make, indices),
        labels=len(dataset.classes),
        role=role,
    )


def tuned(settings: Settings) -> dict[str, Any]:
    """The folder's best known options: all cores, which persist."""
    pinned = settings.device.startswith("cuda")
    if not settings.workers:
        return {"num_workers": 0, "pin_memory": pinned}
    return {"num_workers": settings.workers, "persistent_workers": True, "prefetch_factor": ready(settings), "pin_memory": pinned}


def of_bake(bake: Baked, settings: Settings, options: dict[str, Any], loader: str) -> Contender:
    """A bake through the Loader, or through torch_loader, with some options.

    Raises:
        PrebakeError: its rows are smaller than the crop.
    """
    plain = open_dataset(bake.folder)
    shape = plain.manifest.shape  # None where rows differ in size
    if shape and settings.augment == "crop" and min(shape[:2]) < settings.crop:
        raise PrebakeError(
            f"{printable(bake.folder)} has rows of {shape[0]} x {shape[1]}, and crops of {settings.crop} x {settings.crop} are timed: "
            "give --augment rrc, which resizes, or leave that bake out"
        )
    whole = settings.augment == "crop" and shape is not None and shape[:2] == (settings.crop, settings.crop)
    cut = RandomResizedCrop(settings.crop) if settings.augment == "rrc" else RandomCrop(settings.crop)
    steps = [RandomHorizontalFlip()] if whole else [cut, RandomHorizontalFlip()]
    batch = settings.batch
    opened: Callable[[Any], Feed]
    gpu, workers = settings.device.startswith("cuda"), 0
    if loader == "Loader":
        form = torch.channels_last if settings.channels_last else torch.contiguous_format
        options = {"device": settings.device if gpu else None, "memory_format": form} | options

        def make(**more: Any) -> Loader:
            return Loader(open_dataset(bake.folder, augment=steps), batch, **options, **more)

        def opened(indices: Any) -> Feed:
            return LoaderFeed(make, indices, batch)

        setup = "threads"
    else:
        # As the folder's: whether there is a GPU in the machine does not matter, but whether it is used.
        options = {"pin_memory": gpu} | options
        workers = torch_loader(plain, batch, **options).num_workers

        def made(**more: Any) -> DataLoader[Any]:
            return torch_loader(open_dataset(bake.folder, augment=steps), batch, **options, **more)

        def opened(indices: Any) -> Feed:
            return TorchFeed(made, indices)

        setup = f"{workers} workers"
    return Contender(
        name=f"{bake.format} {bake.kind} {loader}",
        format=bake.format,
        kind=bake.kind,
        loader=loader,
        setup=f"{setup}, {WHOLE}" if whole else setup,
        workers=workers,
        keys=[key.removeprefix(bake.lead) for key in plain.keys],
        files=shard_files(bake.folder),
        nbytes=bake.nbytes,
        open=opened,
        labels={"class": len(plain.classes), "none": 1}.get(plain.manifest.target.kind, 0),
        bake_seconds=bake.seconds,
    )


def field(pictures: Pictures | None, bakes: list[Baked], settings: Settings) -> list[Contender]:
    """All contenders, the folder first."""
    found = []
    if pictures is not None and FOLDER in settings.formats:
        plain = {"num_workers": 0, "pin_memory": settings.device.startswith("cuda")}
        found = [of_folder(pictures, settings, options, role) for role, options in (("defaults", plain), ("tuned", tuned(settings)))]
    kinds = {"prebake": ("Loader",), "dataloader": ("DataLoader",), "both": ("Loader", "DataLoader")}[settings.loader]
    for bake in bakes:
        found += [of_bake(bake, settings, {}, kind) for kind in kinds]
        if settings.plain:
            single = of_bake(bake, settings, {"num_workers": 0}, "DataLoader")
            found.append(dataclasses.replace(single, name=f"{single.name} w=0"))
    for one, name in zip(found, told_apart([one.name for one in found]), strict=True):
        one.name = name
    return found


def told_apart(names: Sequence[str]) -> list[str]:
    """With a number behind the names of bakes that are of one kind, in the order in which they were given."""
    seen, found = Counter[str](), []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found
