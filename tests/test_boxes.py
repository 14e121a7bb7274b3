"""Pictures with boxes or masks beside them are refused by name, and nothing else is taken for those."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import numpy as np
import pytest
from launch import PREBAKE, bake, prebake
from pictures import encoded
from PIL import Image
from tables import complaint, pictures, plan_of, table

from convert.manifest import read_manifest

IMAGES = [{"id": 7, "file_name": "a.jpg", "width": 640, "height": 480}]
LONG = [{"id": i, "name": f"category {i}", "supercategory": "thing", "skeleton": [[1, 2]]} for i in range(3000)]
YOLO = "0 0.5 0.5 0.25 0.125\n12 0.1 1.0 0 0.3\n"
POLYGON = "3 0.1 0.1 0.9 0.1 0.9 0.9\n"
VOC = "<annotation>\n<filename>a.jpg</filename><size/>\n<object><name>cat</name><bndbox><xmin>1</xmin></bndbox></object></annotation>"
INFO = {"info": {"year": 2024}, "images": [{"id": 7, "file_name": "a.jpg"}] * 3000}
COCO = json.dumps(INFO | {"annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4]}], "categories": []})

KEYPOINTS = json.dumps(
    {
        "images": IMAGES,
        "annotations": [{"image_id": 7, "keypoints": [1, 2, 2]}],
    }
)
HIDDEN = json.dumps(
    {
        "images": IMAGES * 1000,
        "annotations": [{"id": i, "image_id": 7, "bbox": [1, 2, 3, 4]} for i in range(2000)],
        "categories": LONG,
    }
)
FEW = json.dumps(
    {"images": IMAGES, "licenses": LONG[:700], "annotations": [{"image_id": 7, "bbox": [1, 2, 3, 4]}], "categories": LONG[:700]}
)


def palette(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(Image.fromarray(np.zeros((8, 8), np.uint8)).convert("P"), "PNG"))


@pytest.mark.parametrize(
    ("side", "content", "kind"),
    [
        ("train/labels/a.txt", YOLO, "YOLO"),
        ("train/labels/a.txt", POLYGON, "YOLO"),
        ("images/a.txt", YOLO, "YOLO"),
        ("images/a.xml", VOC, "VOC"),
        ("Annotations/a.xml", VOC, "VOC"),
        ("images/_annotations.coco.json", COCO, "COCO"),
        ("annotations/instances_val2017.json", COCO, "COCO"),
        ("annotations/person_keypoints.json", KEYPOINTS, "COCO"),
        ("annotations/long.json", HIDDEN, "COCO"),
        ("annotations/few.json", FEW, "COCO"),
        ("labels/many.txt", YOLO * 5000, "YOLO"),
        ("labels/over.txt", "0 1.004 0.5 1.1 0.125\n12 0.1 1.0 -0.002 0.3\n", "YOLO"),
    ],
)
def test_boxes_are_refused_in_one_sentence(tmp_path: Path, side: str, content: str, kind: str) -> None:
    root = pictures(tmp_path / "set", "images/a.jpg", "images/b.jpg", "train/a.jpg")
    (root / side).parent.mkdir(parents=True, exist_ok=True)
    table(root / side, content)
    table(root / "README.dataset.txt", "Exported by somebody\n")
    table(root / side, content)
    line = complaint(root)
    assert line == (
        f"{root} has boxes beside its pictures ({kind}: {side}). Boxes are not carried: samples.csv has scale and offset of every picture, "
        "so that they can be joined by key. Add --without-boxes to bake the pictures alone."
    )
    bake("memmap", root / "images", tmp_path / "out", "--without-boxes")
    assert read_manifest(tmp_path / "out").count == 2


def test_the_whole_way_of_a_voc_folder(tmp_path: Path) -> None:
    root = pictures(tmp_path / "VOC 2012", "JPEGImages/a.jpg", "JPEGImages/b.jpg")
    (root / "Annotations").mkdir()
    table(root / "Annotations" / "a.xml", VOC)
    palette(root / "SegmentationClass" / "a.png")
    first = prebake("memmap", root, tmp_path / "out")
    assert first.returncode == 2
    assert "Annotations/a.xml" in first.stderr
    second = prebake("memmap", root, tmp_path / "out", "--without-boxes")
    assert second.returncode == 2
    (command,) = [line for line in second.stderr.splitlines() if line.startswith("  prebake ")]
    typed = prebake("-c", f'prebake() {{ {shlex.join(PREBAKE)} "$@"; }}\n{command}', command=("sh",))
    assert (typed.returncode, typed.stderr) == (0, "")
    assert read_manifest(tmp_path / "out").count == 2


@pytest.mark.parametrize("folder", ["masks", "SegmentationClass", "train_masks", "labels", "Ground_Truth", "trainGT", "SEG2"])
def test_masks_are_refused(tmp_path: Path, folder: str) -> None:
    root = pictures(tmp_path / "set", "pictures of cells/a.jpg", "pictures of cells/b.jpg")
    palette(root / folder / "a.png")
    palette(root / folder / "b_mask.png")
    line = complaint(root)
    assert f"has masks beside its pictures ({folder}/a.png). Masks are not carried" in line
    assert len(plan_of(root, without_boxes=True, classes_are_folders=True)[0].keys) == 4


@pytest.mark.parametrize(
    "names",
    [
        ("benign/benign (4).png", "benign/benign (4)_mask.png", "benign/benign (4)_mask_1.png"),
        ("a/deep/x.jpg", "a/deep/x-seg.png"),
        ("x.jpg", "x_GT.png"),
    ],
)
def test_masks_beside_their_pictures_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    root = pictures(tmp_path / "set", *(["zoo/a.jpg"] if "/" in names[0] else []), names[0])
    for name in names[1:]:
        palette(root / name)
    assert f"{root} has masks beside its pictures ({names[1]}). Masks are not carried" in complaint(root)
    assert len(plan_of(root, without_boxes=True, classes_are_folders=True)[0].keys) == len(list(root.rglob("*.*g")))


def test_grey_pictures_of_equal_names_are_no_masks(tmp_path: Path) -> None:
    root = tmp_path / "set"
    for folder in ("background", "playground", "labelled", "masked", "unsegmented"):
        for number in range(5):
            palette(root / folder / f"{number}.png")
    assert len(plan_of(root)[0].classes) == 5


def test_a_folder_called_like_masks_is_one_if_all_that_is_looked_at_has_twins(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", *(f"face/{number}.jpg" for number in range(3)))
    for number in range(4):
        palette(root / "mask" / f"{number}.png")
    assert plan_of(root)[0].classes == ("face", "mask")
    pictures(root, "face/3.jpg")
    assert "has masks beside its pictures (mask/0.png)" in complaint(root)


def test_names_that_end_like_masks_alone_are_no_masks(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", "a/x.jpg", "a/x_mask.jpg", "b/y.jpg", "b/z_mask.jpg")
    palette(root / "b" / "w_mask.png")  # no picture is called so
    palette(root / "b" / "bitmask.png")
    pictures(root, "b/bit.jpg")
    palette(root / "b" / "x_mask.png")  # its picture is in another folder
    assert plan_of(root)[0].classes == ("a", "b")


def test_what_is_no_box_and_no_mask(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", *(f"{name}/{i}.jpg" for name in ("with_mask", "without_mask", "grey") for i in range(3)))
    palette(root / "with_mask" / "0.png")
    palette(root / "masks of bronze" / "other.png")
    for number, caption in enumerate(
        [
            "1girl, solo, 0.5 0.5",
            "a cat sits on a mat",
            "0",
            "3 4 5 6 7",
            "",
            "0 0.1 0.2 0.3",
            "0 1.2 0.5 0.5 0.5",
            "0 0.5 0.5 -0.2 0.5",
            "0.5 0.5 0.5 0.5 0.5",
        ]
    ):
        table(root / "grey" / f"{number}.txt", caption)
    table(root / "grey" / "info.xml", "<annotation><label>cat</label></annotation>")
    table(root / "grey" / "captions.json", json.dumps(INFO | {"annotations": [{"image_id": 7, "caption": "a bbox"}]}))
    table(root / "grey" / "poses.json", json.dumps({"keypoints": ["nose", "eye"]}))
    os.mkfifo(root / "grey" / "pipe.txt")
    (root / "grey" / "dead.xml").symlink_to("nowhere")
    assert plan_of(root)[0].classes == ("grey", "masks of bronze", "with_mask", "without_mask")


def test_few_side_files_are_looked_at(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", *(f"{i:03d}/a.jpg" for i in range(100)))
    for folder in range(100):
        for number in range(12):
            table(root / f"{folder:03d}" / f"{number}.txt", "a caption")
    _, source = plan_of(root)
    assert len(source.beside) == 64
    assert max(sum(path.startswith(f"{folder:03d}/") for path in source.beside) for folder in range(100)) == 8


@pytest.mark.parametrize(("name", "content", "kind"), [("b.json", COCO, "COCO"), ("b.xml", VOC, "VOC"), ("b.txt", YOLO, "YOLO")])
def test_boxes_given_as_labels(tmp_path: Path, name: str, content: str, kind: str) -> None:
    root, file = pictures(tmp_path / "set", "a.jpg"), table(tmp_path / name, content)
    for extra in ([], ["--without-boxes"]):
        done = prebake("plan", root, "--labels", file, *extra)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--labels {file} holds boxes ({kind}). Boxes are not carried" in done.stderr
