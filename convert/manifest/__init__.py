"""What a bake says of itself: the contract between `convert` and `readers`."""

from convert.manifest.arrays import load_array, regular
from convert.manifest.check import read_manifest
from convert.manifest.keys import Keys
from convert.manifest.schema import COLOURS, MANIFEST, SCHEMA, Decoding, Jpeg, Manifest, Shard, SideFile, Target

__all__ = [
    "COLOURS",
    "MANIFEST",
    "SCHEMA",
    "Decoding",
    "Jpeg",
    "Keys",
    "Manifest",
    "Shard",
    "SideFile",
    "Target",
    "load_array",
    "read_manifest",
    "regular",
]
