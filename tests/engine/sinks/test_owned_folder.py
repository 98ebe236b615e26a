"""A folder belongs to one query, and its files are replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin.errors import QueryError
from muntin_engine import StateError
from muntin_engine.sinks.owned_folder import OwnedFolder
from muntin_engine.sinks.table_versions import Pointer


@pytest.mark.parametrize("path", ["s3://b/results", "hdfs:/results", "dbfs:/results", "file://host/results", ""])
def test_a_path_that_cannot_be_renamed_on_is_refused(path: str) -> None:
    with pytest.raises(QueryError, match="is not a path of this machine's file system") as caught:
        OwnedFolder(path)
    assert "write elsewhere with a function" in str(caught.value)


@pytest.mark.parametrize("path", ["file:/data/a b%20é", "file:///data/a b%20é", "/data/a b%20é"])
def test_a_url_of_a_file_is_its_path(path: str) -> None:
    assert OwnedFolder(path).path == Path("/data/a b%20é")


def test_a_path_that_begins_with_a_tilde_is_refused() -> None:
    with pytest.raises(QueryError, match=r"would be a folder that is called '~'\n.*os.path.expanduser"):
        OwnedFolder("~/results")


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpeg").touch()
    with pytest.raises(QueryError, match=r"holds 'photo.jpeg', which no query wrote"):
        OwnedFolder(tmp_path).check()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    with pytest.raises(QueryError, match="results is a file"):
        OwnedFolder(tmp_path / "results").check()


def test_a_new_folder_and_one_that_the_query_has_claimed_are_fine(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "a" / "b")
    folder.check()
    folder.claim("q")
    (folder.path / ".current.json.partial").touch()  # left by a run that was killed
    folder.check()
    folder.claim("q")
    assert folder.path.is_dir()


def test_another_query_is_refused_with_both_ids(tmp_path: Path) -> None:
    OwnedFolder(tmp_path).claim("one")
    with pytest.raises(QueryError, match="of another query: of one, and this one is two"):
        OwnedFolder(tmp_path).claim("two")


def test_a_folder_that_was_deleted_or_emptied_since_is_not_made_anew(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "results")
    folder.claim("q")
    folder.check_owned()
    is_gone = r"results is gone, which this query wrote to\n  .*put the folder back"

    (folder.path / "_muntin.json").unlink()
    with pytest.raises(StateError, match=is_gone):
        folder.check_owned()
    folder.path.rmdir()
    with pytest.raises(StateError, match=is_gone):
        folder.check_owned()


DEEP = "[" * 100_000
NO_JSON = ("", '{"query": "a', "\x00\x00", DEEP)
OTHER_JSON = ('{"query": 7}', '{"name": "q"}', '{"query": "q", "n": 1}', "[1]", "null", '"q"', DEEP + "]" * 100_000)


@pytest.mark.parametrize("text", [*NO_JSON, *OTHER_JSON], ids=lambda text: repr(text)[:20])
def test_a_file_of_the_owner_that_is_damaged_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "_muntin.json").write_text(text)
    with pytest.raises(StateError, match=r"_muntin.json is damaged: .*\n  expected JSON") as caught:
        OwnedFolder(tmp_path).claim("q")
    assert caught.value.__cause__ is not None


def test_a_file_is_replaced_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)
    assert folder.read("f.json", Pointer) is None
    folder.replace("f.json", Pointer("one", 1))
    folder.replace("f.json", Pointer("two", 2))
    assert folder.read("f.json", Pointer) == Pointer("two", 2)
    assert [file.name for file in tmp_path.iterdir()] == ["f.json"]


def test_no_byte_of_a_file_can_change_without_being_noticed(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)
    folder.replace("f.json", Pointer("version-3", 3, watermark=41, input_id="a"))
    whole = (tmp_path / "f.json").read_bytes()
    for place, byte in enumerate(whole):
        for bit in range(8):
            (tmp_path / "f.json").write_bytes(whole[:place] + bytes([byte ^ (1 << bit)]) + whole[place + 1 :])
            with pytest.raises(StateError, match=r"f.json is damaged: "):
                folder.read("f.json", Pointer)
