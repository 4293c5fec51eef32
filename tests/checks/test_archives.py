"""Archives as strangers make them: what is readable is read, the rest is named, nothing costs more than its size allows."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest

from policyhub.domain.errors import BadInput
from policyhub.management import archives
from policyhub.management.inputs import Inputs, gather

TEXT = b"hostname r1\nip access-list extended X\n permit tcp any any eq 80\n"
NOISE = bytes(range(1, 256)) * 400


def zipped(path: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", method) as archive:
        warnings.simplefilter("ignore")  # a name that stands there twice
        for name, body in members:
            archive.writestr(name, body)
    return path


def tarred(path: Path, *members: tuple[str, bytes | int], mode: str = "w") -> Path:
    """A number instead of a body: a member of that type, pointing to /etc/passwd."""
    with tarfile.open(path, mode) as archive:
        for name, body in members:
            member = tarfile.TarInfo(name)
            if isinstance(body, int):
                member.type, member.linkname = str(body).encode(), "/etc/passwd"
                archive.addfile(member)
            else:
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
    return path


def patched(path: Path, change: object) -> Path:
    body = bytearray(path.read_bytes())
    change(body)  # type: ignore[operator]
    path.write_bytes(body)
    return path


def names(inputs: Inputs, path: Path) -> list[str]:
    return [file.name.removeprefix(f"{path}/") for file in inputs.files]


def reasons(inputs: Inputs, path: Path) -> dict[str, str]:
    return {skipped.file.removeprefix(str(path)).lstrip("/"): skipped.reason for skipped in inputs.skipped}


def test_a_member_with_a_password_a_wrong_sum_or_an_unknown_method_hides_no_other(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", *((f"{letter}.cfg", TEXT) for letter in "abcde"))

    def spoil(body: bytearray) -> None:
        central = [at for at in range(len(body)) if body[at : at + 4] == b"PK\x01\x02"]
        local = [at for at in range(len(body)) if body[at : at + 4] == b"PK\x03\x04"]
        body[central[1] + 8] |= 1
        body[local[1] + 6] |= 1
        body[central[2] + 16] ^= 0xFF
        body[central[3] + 10] = body[local[3] + 8] = 93

    inputs = gather([str(patched(path, spoil))])
    assert names(inputs, path) == ["a.cfg", "e.cfg"]
    told = reasons(inputs, path)
    assert list(told) == ["b.cfg", "c.cfg", "d.cfg"]
    assert "password" in told["b.cfg"]
    assert "CRC" in told["c.cfg"]
    assert "method" in told["d.cfg"]


def test_names_written_as_gbk_are_read_and_those_that_point_elsewhere_are_only_names(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("xxxx.cfg", TEXT), ("../../up.cfg", TEXT), ("/abs.cfg", TEXT), ("/abs.cfg", TEXT))
    raw = path.read_bytes().replace(b"xxxx.cfg", "核心.cfg".encode("gbk"))
    path.write_bytes(raw)
    assert sorted(names(gather([str(path)]), path)) == ["../../up.cfg", "/abs.cfg", "/abs.cfg", "核心.cfg"]


def test_links_and_pipes_of_a_tar_are_named_and_not_followed(tmp_path: Path) -> None:
    path = tarred(tmp_path / "a.tar", ("a.cfg", TEXT), ("hard", 1), ("soft", 2), ("pipe", 6), ("folder", 5))
    inputs = gather([str(path)])
    assert names(inputs, path) == ["a.cfg"]
    assert reasons(inputs, path) == dict.fromkeys(("hard", "soft", "pipe"), "not a regular file")


@pytest.mark.parametrize("damage", ["header", "cut between members", "cut in a member", "negative size"])
def test_a_tar_whose_rest_cannot_be_read_says_so(tmp_path: Path, damage: str) -> None:
    path = tarred(tmp_path / "a.tar", ("a.cfg", TEXT), ("b.cfg", TEXT), ("c.cfg", TEXT))

    def spoil(body: bytearray) -> None:
        if damage == "header":
            body[1024 + 150] ^= 0x3F
        elif damage == "negative size":
            body[1024 + 124 : 1024 + 136] = b"\xff" * 10 + b"\xfc\x00"
            header = body[1024:1536]
            header[148:156] = b" " * 8
            body[1024 + 148 : 1024 + 156] = b"%06o\0 " % sum(header)
        else:
            del body[1024 if "between" in damage else 1024 + 512 + 20 :]

    inputs = gather([str(patched(path, spoil))])
    assert names(inputs, path) == ["a.cfg"]
    assert reasons(inputs, path)[""].startswith("the archive is damaged")


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_damage_in_a_compressed_tar_is_told_whatever_the_library_calls_it(tmp_path: Path, mode: str) -> None:
    path = tarred(tmp_path / "a.tar", ("a.cfg", TEXT), ("b.cfg", NOISE), ("c.cfg", TEXT), mode=mode)

    def spoil(body: bytearray) -> None:
        for at in range(len(body) // 2, len(body) // 2 + 20):
            body[at] ^= 0x5A

    try:
        told = reasons(gather([str(patched(path, spoil))]), path)
    except BadInput as error:
        told = {"": str(error)}
    assert "damaged" in told[""]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_single_compressed_file_is_read(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "a.cfg.packed"
    path.write_bytes(pack(TEXT))  # type: ignore[operator]
    (file,) = gather([str(path)]).files
    assert (file.name, file.text) == (str(path), TEXT.decode())


def test_archives_in_archives_are_told_to_be_unpacked(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "in.zip", ("a.cfg", TEXT)).read_bytes()
    path = zipped(tmp_path / "a.zip", ("a.cfg", TEXT), ("b.zip", inner), ("c.cfg.gz", gzip.compress(TEXT)))
    told = reasons(gather([str(path)]), path)
    assert list(told) == ["b.zip", "c.cfg.gz"]
    assert all("Unpack it first" in reason for reason in told.values())


def test_a_name_that_is_no_utf8_though_it_says_so_is_damage(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("é.cfg", TEXT))
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(BadInput, match="damaged"):
        gather([str(path)])


def test_too_many_members_and_too_much_to_unpack_end_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 2)
    many = zipped(tmp_path / "a.zip", *((f"{letter}.cfg", TEXT) for letter in "abcde"))
    inputs = gather([str(many)])
    assert names(inputs, many) == ["a.cfg", "b.cfg"]
    assert "not read further" in reasons(inputs, many)[""]
    monkeypatch.setattr(archives, "MOST_UNPACKED", 100_000)
    bomb = tarred(tmp_path / "b.tar.gz", ("a.cfg", TEXT), ("b.cfg", bytes(200_000)), ("c.cfg", TEXT), mode="w:gz")
    inputs = gather([str(bomb)])
    assert names(inputs, bomb) == ["a.cfg"]
    assert "not read further" in reasons(inputs, bomb)["b.cfg"]


def test_a_header_that_announces_much_is_not_believed(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 2**40
    path = tmp_path / "a.tar"
    path.write_bytes(
        tarred(tmp_path / "b.tar", ("a.cfg", TEXT)).read_bytes()[:1024] + header.tobuf(tarfile.GNU_FORMAT) + bytes(2048)
    )
    inputs = gather([str(path)])
    assert names(inputs, path) == ["a.cfg"]
    assert "announces" in reasons(inputs, path)[""]
