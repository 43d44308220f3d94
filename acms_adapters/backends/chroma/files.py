"""Whether the files of an embedded Chroma are whole.

Its engine writes its graph of vectors over the old one. A process that is killed meanwhile leaves
a part of it, and reading that may end the process that reads.
"""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

from acms_adapters.backends.chroma.failures import DamagedVectorsError
from acms_adapters.backends.chroma.guard import Guard

_HEADER = struct.Struct("<iQQQQ")  # version, offset, capacity, vectors, bytes of each
_HEADER_BYTES = 100
_VERSION = 1
_LENGTH_BYTES = 4


def check_files(folder: Path) -> None:
    """Compare the sizes of files with what they say; another format than the known is trusted.

    Raises:
        DamagedVectorsError: One of them was not written to its end.
    """
    for header in folder.glob("*/header.bin"):
        said = header.read_bytes()
        if len(said) < _HEADER_BYTES:
            raise DamagedVectorsError.of(folder, f"{header.name!r} has {len(said)} bytes")
        version, _, _, vectors, size = _HEADER.unpack_from(said)
        if version != _VERSION or len(said) != _HEADER_BYTES:
            continue
        for name, expected in (
            ("data_level0.bin", vectors * size),
            ("length.bin", vectors * _LENGTH_BYTES),
        ):
            file = header.with_name(name)
            there = file.stat().st_size if file.is_file() else 0
            if there < expected:
                raise DamagedVectorsError.of(folder, f"{name!r} has {there} of {expected} bytes")


def drop_files(folder: Path) -> None:
    """Remove all vectors of a folder, when nobody writes there.

    Raises:
        StoreLockedError: Another process wrote all the while.
        OSError: They cannot be removed.
    """
    with Guard(folder).turn():
        for child in folder.iterdir():
            if child.is_dir():
                shutil.rmtree(child)
            elif child.suffix != ".lock":  # which others wait at
                child.unlink()
