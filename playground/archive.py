"""Several files in one, as a zip that can be written in one way only.

Files are stored, not compressed, one after the other in the order given; there are no dates, comments, folders, links
or gaps. The same files give the same bytes everywhere, and any zip program opens them.

And so reading is safe: the reader walks over the files from the first byte, and then refuses the archive unless its
directory, all of it, is byte for byte what it would have written itself. Compressed, encrypted, repeated, overlapping
or hidden entries, and a directory that says something else than the files, are not special cases: they differ.

Source: PKWARE, APPNOTE.TXT, the parts "local file header", "central directory structure", "end of central directory".
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

__all__ = ["MOST_FILES", "ArchiveRefused", "archived_size", "read_archive", "write_archive"]

MOST_FILES = 1_000
_NAME = re.compile(rb"[a-z][a-z0-9_.-]{0,63}(?:/[a-z0-9][a-z0-9_.-]{0,63}){0,2}")

_VERSION = 20  # of the format, which every reader since 1993 knows
_DATE = 0x0021  # 1 January 1980, the first that a zip can name
_FILE = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LARGEST = 2**32 - 2  # bytes: what the format can name without its extension for larger ones


class ArchiveRefused(ValueError):
    """What is no archive of ours; `key` is a locale key."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def write_archive(file: BinaryIO, files: Iterable[tuple[str, bytes]]) -> int:
    """Write files one after the other, and return how many bytes that took.

    Args:
        file: Open for writing; only ever written to, never read or moved in.
        files: Pairs of name and contents; names such as `weights/step-000640.safetensors`. Taken one at a time.

    Raises:
        ValueError: If a name is none, comes twice, or there are too many files or bytes.
    """
    known: list[tuple[bytes, int, int, int]] = []
    at = 0
    for name, data in files:
        plain = name.encode("ascii")
        if not _NAME.fullmatch(plain) or any(plain == other for other, *_ in known) or len(known) == MOST_FILES:
            raise ValueError(f"{name!r} is no name for a file here, comes twice, or is number {MOST_FILES + 1}")
        known.append((plain, zlib.crc32(data), len(data), at))
        if at + len(data) > _LARGEST - 2**20:
            raise ValueError(f"an archive has at most {_LARGEST:,} bytes, but {name} ends beyond")
        head = _head(plain, zlib.crc32(data), len(data))
        file.write(head)
        file.write(data)
        at += len(head) + len(data)
    directory = _directory(known, at)
    file.write(directory)
    return at + len(directory)


def archived_size(files: Iterable[tuple[str, int]]) -> int:
    """Return how many bytes files of these names and sizes take in an archive."""
    return _END.size + sum(size + _FILE.size + _ENTRY.size + 2 * len(name) for name, size in files)


def read_archive(data: bytes | memoryview) -> dict[str, memoryview]:
    """Return the files of an archive by their names, in its order: views into `data`, nothing is copied.

    Raises:
        ArchiveRefused: If it is cut short, changed, or was not written by `write_archive`.
    """
    view = memoryview(data).cast("B")
    if bytes(view[:4]) != b"PK\x03\x04":
        raise ArchiveRefused("capsule.refused.other")
    found: dict[str, memoryview] = {}
    known: list[tuple[bytes, int, int, int]] = []
    at = 0
    for name, crc, start, end in _walk(view):
        if name.decode() in found or len(found) == MOST_FILES:
            raise ArchiveRefused("capsule.refused.changed")
        found[name.decode()] = view[start:end]
        known.append((name, crc, end - start, at))
        at = end
    if bytes(view[at : at + 2**20]) != _directory(known, at):
        raise ArchiveRefused("capsule.refused.changed")
    for (_, crc, _, _), part in zip(known, found.values(), strict=True):
        if zlib.crc32(part) != crc:
            raise ArchiveRefused("capsule.refused.damaged")
    return found


def _walk(view: memoryview) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield name, checksum, first and last byte of each file, as far as there is one after the other."""
    at = 0
    while bytes(view[at : at + 4]) == b"PK\x03\x04":
        try:
            *_, crc, size, _, length, _ = _FILE.unpack_from(view, at)
        except struct.error as error:
            raise ArchiveRefused("capsule.refused.short") from error
        start = at + _FILE.size + length
        name = bytes(view[at + _FILE.size : min(start, at + _FILE.size + 256)])
        if start + size > len(view):
            raise ArchiveRefused("capsule.refused.short")
        if not _NAME.fullmatch(name) or bytes(view[at:start]) != _head(name, crc, size):
            raise ArchiveRefused("capsule.refused.changed")
        yield name, crc, start, start + size
        at = start + size
    if len(view) - at < _END.size:
        raise ArchiveRefused("capsule.refused.short")


def _head(name: bytes, crc: int, size: int) -> bytes:
    return _FILE.pack(b"PK\x03\x04", _VERSION, 0, 0, 0, _DATE, crc, size, size, len(name), 0) + name


def _directory(known: list[tuple[bytes, int, int, int]], at: int) -> bytes:
    """Return what stands after the files, which end at byte `at`."""
    entries = b"".join(
        _ENTRY.pack(b"PK\x01\x02", _VERSION, _VERSION, 0, 0, 0, _DATE, crc, size, size, len(name), 0, 0, 0, 0, 0, start)
        + name
        for name, crc, size, start in known
    )
    return entries + _END.pack(b"PK\x05\x06", 0, 0, len(known), len(known), len(entries), at, 0)
