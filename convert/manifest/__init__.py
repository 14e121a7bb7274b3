"""What a bake says of itself: the contract between `convert` and `readers`."""

from convert.manifest.check import COLOURS, read_manifest
from convert.manifest.keys import Keys
from convert.manifest.schema import MANIFEST, SCHEMA, Decoding, Manifest, Shard, SideFile, Target

__all__ = ["COLOURS", "MANIFEST", "SCHEMA", "Decoding", "Keys", "Manifest", "Shard", "SideFile", "Target", "read_manifest"]
