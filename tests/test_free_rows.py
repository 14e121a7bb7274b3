"""Raw rows of any size: whole, cropped, resized, through every door that the readers have."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import bake
from epochs import same, samples
from free import made_free
from hypothesis import given, settings
from hypothesis import strategies as st
from made import MEAN, STD, noise
from PIL import Image
from staged import stage
from stepwise import one_after_the_other, resized_alike
from test_augment_resize import LIMIT, distance, record
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.transforms import functional as vision

from convert.errors import PrebakeError
from readers import CenterCrop, Loader, RandomCrop, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, open_dataset
from readers.augment import bind
from readers.render import render, render_size
from readers.rows import Rows
from readers.values import baked_values

SIZES = [(20, 27), (31, 20), (20, 20), (45, 22), (20, 61), (24, 33), (20, 27), (22, 21)]
Array = npt.NDArray[Any]


def pictures(channels: int = 3, dtype: str = "uint8") -> list[Array]:
    return [noise(number, *size, channels, dtype=dtype) for number, size in enumerate(SIZES)]


def normalised(levels: Array) -> Array:
    return np.asarray((levels / 255 - np.array(MEAN)) / np.array(STD))


@pytest.fixture(scope="module", params=["float16", "uint8"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_free(tmp_path_factory.mktemp("free"), pictures(), request.param)


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("kind", ["float16", "float32", "uint8", "gray uint16"])
def test_a_row_is_whole_and_exact(kind: str, io: str, tmp_path: Path) -> None:
    dtype, channels = kind.split()[-1], 1 if "gray" in kind else 3
    levels = pictures(channels, "uint16" if dtype == "uint16" else "uint8")
    dataset = open_dataset(made_free(tmp_path, levels, dtype), io=io)
    assert dataset.sizes.tolist() == [list(size) for size in SIZES]
    assert "any size" in repr(dataset)
    top = 65535 if dtype == "uint16" else 255
    for i, right in enumerate(levels):
        assert np.array_equal(dataset.image(i), right)
        image, _ = dataset[i]
        values = (right / top - np.array(dataset.mean)) / np.array(dataset.std)
        assert image.is_contiguous()
        torch.testing.assert_close(image.double(), torch.from_numpy(values).permute(2, 0, 1), atol=2e-3, rtol=0)
        assert np.array_equal(dataset.with_(pixels="uint8")[i][0].permute(1, 2, 0).numpy(), right)
    seen = open_dataset(tmp_path / "baked", io=io, transform=lambda picture: picture.size)
    assert [seen[i][0] for i in range(len(seen))] == [size[::-1] for size in SIZES]
    one_by_one = [images.shape[2:] for images, _ in DataLoader(dataset, 1)]
    assert one_by_one == SIZES


@st.composite
def sequences(draw: st.DrawFn) -> list[Any]:
    """Flips and crops that fit into every row, the first of which makes them equal."""
    flip = st.sampled_from([RandomHorizontalFlip(0.5), RandomVerticalFlip(0.5)])
    steps = draw(st.lists(flip, max_size=2))
    side = st.integers(14, 20)
    padding = draw(st.none() | st.integers(0, 5) | st.tuples(*[st.integers(0, 4)] * 4))
    first = RandomCrop((draw(side), draw(side)), padding) if draw(st.booleans()) else CenterCrop((draw(side), draw(side)))
    return [*steps, first, *draw(st.lists(flip, max_size=2)), *draw(st.lists(st.just(CenterCrop((12, 13))), max_size=1))]


@settings(deadline=None, max_examples=50)
@given(steps=sequences(), seed=st.integers(0, 1 << 32), io=st.sampled_from(["mmap", "pread"]))
def test_any_sequence_is_torchvisions(folder: Path, steps: list[Any], seed: int, io: str) -> None:
    random, drawn, rows = np.random.default_rng(seed), list[Array](), Rows(folder, io)
    index = random.integers(0, len(SIZES), 9)

    def uniform() -> Array:
        drawn.append(random.random(len(index)))
        return drawn[-1]

    bound = bind(steps, (*rows.layout.largest, 3))
    dtype = torch.float32 if rows.manifest.normalized else torch.uint8
    out = torch.empty((len(index), *render_size(rows, bound, index)), dtype=dtype)
    render(rows, index, bound, values=baked_values(rows.manifest), uniform=uniform, out=out)
    stored = [normalised(levels).astype(np.float16) if rows.manifest.normalized else levels for levels in pictures()]
    black = normalised(np.zeros(3)).astype(np.float16).tolist() if rows.manifest.normalized else (0, 0, 0)
    for place, i in enumerate(index.tolist()):
        whole = torch.from_numpy(stored[i]).permute(2, 0, 1)
        right = one_after_the_other(whole, steps, iter([float(draws[place]) for draws in drawn]), black)
        assert torch.equal(out[place].permute(2, 0, 1), right.to(dtype))


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_resized_crops_are_torchvisions_to_the_bit(folder: Path, io: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = record(monkeypatch)
    levels = pictures()
    for size in (16, (40, 23)):
        dataset = open_dataset(folder, augment=[RandomResizedCrop(size), RandomHorizontalFlip(1.0)], pixels="uint8", io=io)
        batch = torch.utils.data.default_collate(dataset.__getitems__([5, 0, 3, 3, 1, 7]))[0]
        for image, i, box in zip(batch, [5, 0, 3, 3, 1, 7], np.stack(drawn[-1]).T.tolist(), strict=True):
            right = vision.resized_crop(Image.fromarray(levels[i]), *box, list(np.broadcast_to(size, 2).tolist()))
            assert resized_alike(image.permute(1, 2, 0).numpy(), np.asarray(vision.hflip(right)))


@given(
    sizes=st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=6),
    scale=st.sampled_from([(0.08, 1.0), (0.9, 1.0), (5.0, 6.0)]),
    ratio=st.sampled_from([(3 / 4, 4 / 3), (1.0, 2.0), (0.3, 0.5)]),
)
def test_boxes_in_many_sizes_are_those_in_each(
    sizes: list[tuple[int, int]], scale: tuple[float, float], ratio: tuple[float, float]
) -> None:
    step, draws = RandomResizedCrop(8, scale, ratio), np.random.default_rng(0).random((22, len(sizes)))
    heights, widths = np.array(sizes, np.int64).T
    numbers = iter(draws)
    together = np.stack(step.boxes(heights, widths, lambda: next(numbers)))
    for place, size in enumerate(sizes):
        numbers = iter(draws[:, place : place + 1])
        alone = np.stack(step.boxes(*size, lambda numbers=numbers: next(numbers)))  # type: ignore[misc]
        assert np.array_equal(together[:, place], alone[:, 0])


def test_boxes_in_rows_of_many_sizes_have_torchvisions_distribution() -> None:
    count = 10_000
    heights, widths = (np.tile(np.array(SIZES, np.int64) * 10, (count // len(SIZES), 1))).T
    random = np.random.default_rng(1)
    ours = np.stack(RandomResizedCrop(8).boxes(heights, widths, lambda: random.random(len(heights))))
    torch.manual_seed(1)
    sizes = zip(heights.tolist(), widths.tolist(), strict=True)
    drawn = [transforms.RandomResizedCrop.get_params(torch.empty(1, 1, 1).expand(1, *size), [0.08, 1.0], [3 / 4, 4 / 3]) for size in sizes]
    theirs = np.array(drawn).T
    for mine, right in (
        (ours[2] * ours[3] / heights / widths, theirs[2] * theirs[3] / heights / widths),
        (ours[3] / ours[2], theirs[3] / theirs[2]),
    ):
        assert distance(mine, right) < LIMIT


STEPS: dict[str, list[Any]] = {
    "cropped": [RandomHorizontalFlip(), RandomCrop(18), RandomVerticalFlip()],
    "padded": [RandomCrop(22, padding=3), RandomHorizontalFlip()],
    "resized": [RandomResizedCrop((17, 24)), RandomHorizontalFlip()],
    "cropped and resized": [CenterCrop(19), RandomResizedCrop(16)],
    "erased": [CenterCrop(16), RandomErasing(1.0)],
}


@pytest.mark.parametrize("name", STEPS)
def test_a_loader_makes_the_same_whatever_the_threads_and_batches(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset(folder, augment=STEPS[name], return_index=True)
    options: dict[str, Any] = {"shuffle": True, "seed": 3}
    right = samples(Loader(dataset, 3, threads=1, **options))
    assert same(samples(Loader(dataset, 5, threads=2, **options)), right)
    assert same(samples(Loader(dataset, 3, threads=2, memory_format=torch.contiguous_format, **options)), right)
    again = open_dataset(folder, augment=STEPS[name], return_index=True, io="pread")
    assert same(samples(Loader(pickle.loads(pickle.dumps(again)), 3, **options)), right)
    loader = Loader(dataset, 3, **options)
    epoch = iter(loader)
    next(epoch)
    state = loader.state_dict()
    epoch.close()
    rest = Loader(dataset, 2, **options)
    rest.load_state_dict(state)
    assert same(samples(rest), right[3:])
    stage(monkeypatch)
    for (image, _), (other, _) in zip(samples(Loader(dataset, 3, **options)), right, strict=True):
        torch.testing.assert_close(image, other, atol=2e-6, rtol=1e-6)


def test_workers_of_a_dataloader(folder: Path) -> None:
    dataset = open_dataset(folder, augment=[CenterCrop(20)], return_index=True)
    right = [image for image, *_ in dataset]
    for images, _, index in DataLoader(dataset, 3, num_workers=2, multiprocessing_context="fork"):
        assert all(torch.equal(image, right[i]) for image, i in zip(images, index.tolist(), strict=True))


def test_quasi_order_reads_every_row_once(folder: Path) -> None:
    dataset = open_dataset(folder, augment=[RandomResizedCrop(8)], return_index=True)
    assert sorted(i for _, i in samples(Loader(dataset, 3, order="quasi"))) == list(range(len(SIZES)))


@pytest.mark.parametrize("steps", [[], [RandomHorizontalFlip()], [RandomErasing()]])
def test_sizes_that_differ_need_a_crop(folder: Path, steps: list[Any]) -> None:
    dataset = open_dataset(folder, augment=steps)
    for words in (lambda: dataset.__getitems__([0, 1]), lambda: Loader(dataset, 1), lambda: dataset[[4, 2]]):
        with pytest.raises(PrebakeError, match=r"differ in size \(\d+x\d+, \d+x\d+\): add RandomResizedCrop\(224\)") as caught:
            words()
        assert "\n" not in str(caught.value)
    assert len(dataset.__getitems__([0, 6])) == 2  # of one size
    assert dataset[4][0].shape == (3, 20, 61)


@pytest.mark.parametrize(
    "steps", [[RandomCrop(22)], [CenterCrop(22)], [CenterCrop((20, 21)), RandomCrop((20, 10))], [RandomCrop(30, padding=4)]]
)
def test_a_row_that_is_too_small_is_named(folder: Path, steps: list[Any]) -> None:
    dataset = open_dataset(folder, augment=steps)
    for words in (lambda: dataset.__getitems__([3, 2]), lambda: dataset[2], lambda: Loader(dataset.subset([5, 2]), 1)):
        with pytest.raises(PrebakeError) as caught:
            words()
        for word in (
            dataset.manifest.shards[0].name,
            "index 2)",
            dataset.key(2),
            "rows of 20x20" if len(steps) > 1 else "rows of 2",
            "--upscale",
        ):
            assert word in str(caught.value)
        assert "\n" not in str(caught.value)
    large = np.all(dataset.sizes >= 22, axis=1)
    if steps[0].size != 30:
        assert len(samples(Loader(dataset.with_(return_index=True), 2, indices=large))) == large.sum()
    with pytest.raises(PrebakeError, match="does not fit"):
        open_dataset(folder, augment=[CenterCrop(62)])


@pytest.mark.parametrize(("name", "change", "what"), [
    ("sizes.npy", lambda table: table * 0, "sizes.npy says 0x0"),
    ("sizes.npy", lambda table: table * 100, "sizes.npy says 3100x2000: damaged"),
    ("sizes.npy", lambda table: table * 0 + 0x7FFFFFFF, "says 2147483647x2147483647"),
    ("sizes.npy", lambda table: table.astype(np.float32), "sizes.npy holds float32"),
    ("offsets.npy", lambda table: table - (1 << 40), "points outside of shard"),
    ("sizes.npy", None, "is missing"),
])  # fmt: skip
def test_damaged_tables_are_told(tmp_path: Path, name: str, change: Any, what: str) -> None:
    path = made_free(tmp_path, pictures())
    table = np.load(path / name)
    if change is None:
        (path / name).unlink()
    else:
        np.save(path / name, change(table))
    with pytest.raises(PrebakeError, match=what):
        open_dataset(path).image(1)


@pytest.mark.parametrize("dtype", ["uint8", "float16"])
def test_a_picture_of_one_line_may_be_as_long_as_it_likes(tmp_path: Path, dtype: str) -> None:
    (tmp_path / "source" / "one").mkdir(parents=True)
    line = np.random.default_rng(0).integers(0, 256, (1, 70_001, 3), np.uint8)
    Image.fromarray(line).save(tmp_path / "source" / "one" / "line.png")
    bake(tmp_path / "source", tmp_path / "out", size=(32, 32), resize="short", dtype=dtype)
    dataset = open_dataset(tmp_path / "out")
    assert np.array_equal(dataset.image(0), line)
    assert dataset.sizes.tolist() == [[1, 70_001]]
    assert dataset[0][0].shape == (3, 1, 70_001)
