"""A file that is written takes the place of the old one: its mode, its owner, its links."""

import errno
import os
import stat
from pathlib import Path

import pytest

from suffice.errors import InvalidParameterError
from suffice.persistence import archive

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")


def write(path, text=b"new"):
    with archive.replacing(path) as file:
        file.write(text)


def test_the_mode_of_the_old_file_is_kept(tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    write(path)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root gives files away"
)
def test_the_owner_of_the_old_file_is_kept(tmp_path):
    path = tmp_path / "theirs"
    path.write_text("old")
    os.chown(path, 1234, 4321)
    path.chmod(0o640)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "store").mkdir()
    kept, link = tmp_path / "store" / "kept", tmp_path / "link"
    kept.write_text("old")
    link.symlink_to("store/kept")
    write(link)
    assert link.is_symlink()
    assert kept.read_text() == "new"
    assert os.listdir(tmp_path / "store") == ["kept"]


def test_a_link_that_leads_back_to_itself_is_refused_and_kept(tmp_path):
    for name, target in (("loop", "loop"), ("there", "back"), ("back", "there")):
        (tmp_path / name).symlink_to(target)
    for name in ("loop", "there"):
        with pytest.raises(InvalidParameterError, match=f"{name} is a link that leads back"):
            write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
    assert len(os.listdir(tmp_path)) == 3


def test_a_link_to_a_file_that_is_not_there_writes_that_file(tmp_path):
    (tmp_path / "link").symlink_to("new")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").read_text() == "new"


@pytest.mark.parametrize("name", ["n" * 250 + ".csv", "é" * 125 + ".csv"])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path, name):
    write(tmp_path / name)
    assert (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_a_full_disk_names_the_output(tmp_path, monkeypatch, number):
    def full(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(OSError, match="out") as caught:
        write(tmp_path / "out")
    assert caught.value.filename == str(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_opened_takes_a_file_all_the_same(tmp_path, monkeypatch):
    opened = os.open

    def guarded(path, flags, *mode, **options):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", guarded)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
