"""Sends kernels, prepared disks and the lab to nodes that lack them. Parcels are named by their
content, and packed when they are first asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ray

from disklab import node


class Parcels:
    """Holds the references to parcels in Ray's object store, which keeps them only as long."""

    def __init__(self, begun: dict[str, Any]) -> None:
        self.share = [ray.put(piece) for piece in _share(Path(begun["share"]))]
        self._kernels = [_kernel(kernel) for kernel in begun["kernels"]]
        self._disks: dict[str, dict[str, Any]] = {}

    def know(self, key: str, path: str) -> None:
        """Adds disks that are prepared now."""
        what = f"the set of prepared disks {key}"
        self._disks[key] = _parcel("disks", key, Path(path), "disks.sha256", what)

    def needed_by(self, disks: str | None) -> list[dict[str, Any]]:
        """Returns the parcels that a batch needs, for its order."""
        return [*self._kernels, *([self._disks[disks]] if disks in self._disks else [])]

    def pack(self, names: list[str]) -> None:
        """Packs parcels that a node lacks."""
        for parcel in (*self._kernels, *self._disks.values()):
            if parcel["name"] in names and not parcel["pieces"]:
                parcel["pieces"] = [ray.put(piece) for piece in node.pack(Path(parcel["path"]))]

    def keep(self, wanted: set[str | None]) -> None:
        """Releases the disks on which no batch begins any more."""
        for key, parcel in self._disks.items():
            if key not in wanted:
                parcel["pieces"] = []


def _kernel(kernel: dict[str, Any]) -> dict[str, Any]:
    folder = Path(kernel["path"]).parent
    what = f"the guest kernel {kernel['version']}"
    return _parcel("kernels", kernel["key"][:12], folder, "kernel.toml", what)


def _parcel(kind: str, name: str, path: Path, last: str, what: str) -> dict[str, Any]:
    taken = sum(file.stat().st_blocks * 512 for file in path.rglob("*"))
    return {
        "kind": kind,
        "name": name,
        "folder": path.name,
        "path": str(path),
        "last": last,
        "what": what,
        "bytes": taken,
        "pieces": [],
    }


def _share(root: Path) -> list[bytes]:
    """Packs the lab and the sources of kernels, from which nodes compute the kernels' keys."""
    return list(node.pack(root, ("lab", "guest-kernel", "read-policies")))
