"""The archive: one way to write it, any zip program opens it, and nothing else is read."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from playground.archive import MOST_FILES, ArchiveRefused, archived_size, read_archive, write_archive

FILES = [("a.json", b"{}"), ("weights/step-000007.safetensors", bytes(range(251))), ("empty", b"")]


def archive(files=FILES) -> bytes:
    file = io.BytesIO()
    n_bytes = write_archive(file, files)
    assert n_bytes == len(file.getvalue()) == archived_size((name, len(data)) for name, data in files)
    return file.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(ArchiveRefused) as caught:
        read_archive(data)
    return caught.value.key.rsplit(".", 1)[-1]


def test_what_is_written_is_read():
    assert [(name, bytes(data)) for name, data in read_archive(archive()).items()] == FILES


def test_a_zip_program_opens_it():
    with zipfile.ZipFile(io.BytesIO(archive())) as opened:
        assert opened.testzip() is None
        assert [(each.filename, opened.read(each)) for each in opened.infolist()] == FILES
        assert {each.compress_type for each in opened.infolist()} == {zipfile.ZIP_STORED}


def test_reading_copies_nothing():
    data = archive()
    [_, weights, _] = read_archive(data).values()
    assert weights.obj is data


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../b", "A.json", "a//b", "a/", "", "a\\b", "c:x", "a/b/c/d", "a b"]
)
def test_names_that_lead_elsewhere_are_neither_written_nor_read(name):
    with pytest.raises(ValueError, match="no name"):
        write_archive(io.BytesIO(), [(name, b"")])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as other:
        other.writestr(zipfile.ZipInfo(name), b"x")
    assert refused(file.getvalue()) == "changed"


def test_a_name_comes_once():
    with pytest.raises(ValueError, match="twice"):
        write_archive(io.BytesIO(), [("a", b"1"), ("a", b"2")])
    one = archive([("a", b"1")])
    head = one[: one.index(b"PK\x01\x02")]
    assert refused(head + head + one[len(head) :]) == "changed"


def test_what_is_cut_short_is_refused_wherever_it_is_cut():
    data = archive()
    for length in range(len(data)):
        assert refused(data[:length]) in {"other", "short", "changed"}


def test_every_byte_counts():
    """Each byte changed: no archive but the one is read."""
    data = archive()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x55
        assert refused(bytes(changed)) in {"other", "short", "changed", "damaged"}


def test_what_follows_is_refused():
    assert refused(archive() + b"\0") == "changed"
    assert refused(archive() + archive()) == "changed"


def test_a_bomb_is_no_archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("a.json", bytes(50_000_000))
    assert len(file.getvalue()) < 100_000
    assert refused(file.getvalue()) == "changed"


def test_a_claim_of_four_gigabytes_takes_no_memory():
    head = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 0x21, 0, 2**32 - 2, 2**32 - 2, 1, 0) + b"a"
    assert refused(head + bytes(100)) == "short"


def test_more_files_than_may_be_are_refused():
    with pytest.raises(ValueError, match=str(MOST_FILES + 1)):
        write_archive(io.BytesIO(), [(f"a{i}", b"") for i in range(MOST_FILES + 1)])
    one = archive([("a", b"")])
    assert refused(one[: one.index(b"PK\x01\x02")] * (MOST_FILES + 1) + bytes(22)) == "changed"


def test_a_link_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as other:
        link = zipfile.ZipInfo("a.json", (1980, 1, 1, 0, 0, 0))
        link.create_system, link.external_attr = 3, 0o120777 << 16
        other.writestr(link, "/etc/passwd")
    assert refused(file.getvalue()) == "changed"
