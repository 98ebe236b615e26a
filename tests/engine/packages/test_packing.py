"""Installed packages and wheels as archives that Python imports from."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from muntin_engine import NotShippableError
from muntin_engine.packages import archives
from muntin_engine.packages.archives import Archive, find_fetched_archives, is_archive_name, matches_hash_in_name
from muntin_engine.packages.distributions import find_distribution, imports_of, is_editable, requirements_of
from muntin_engine.packages.local_code import is_local
from muntin_engine.packages.packing import pack
from tests.installed import VERSION, install

FILES = {"shown_there/__init__.py": "", "shown_there/deep/part.py": "X = 1\n", "shown_there/plugin.py": "Y = 2\n"}

REQUIRED = ["pluggy>=1", "hypothesis; extra == 'test'", "rich; python_version < '3'", "no requirement (at all)"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, with the package `shown-there` in it, whose plugin is called `shown`."""
    install(tmp_path, "shown-there", FILES, plugin="shown", requires=REQUIRED)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


METADATA = "odd-1.0.dist-info/METADATA"


def wheel(folder: Path, files: dict[str, bytes | str]) -> str:
    """Write a wheel of a package `odd 1.0` with these files, and return its path."""
    path = folder / "odd-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return str(path)


def output_of(program: str) -> str:
    """Run a program in another process, and return what it prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["shown-there", "shown_there", "Shown.There", "shown"])
def test_a_package_is_found_by_any_of_its_names(name: str) -> None:
    assert pack(name).label == f"shown-there {VERSION}"


def test_a_name_means_the_package_that_is_imported_by_it_before_one_without_code(installed: Path) -> None:
    install(installed, "shown-code", {"shown_name/__init__.py": ""})
    install(installed, "shown-name", {}, requires=["shown-code"])
    assert find_distribution("shown_name").name == "shown-code"
    assert find_distribution("shown-name").name == "shown-name", "no Python name, so that of a package"
    assert find_distribution("muntin").name == "muntin-sdk"


@pytest.mark.parametrize(
    ("origin", "is_in_place"),
    [
        ('{"dir_info": {"editable": true}, "url": "file:///shown"}', True),
        ('{"url":"file:///shown","dir_info":{"editable":true}}', True),
        ('{"url":"file:///shown","dir_info":{}}', False),
        ('{"url":"file:///shown', False),
        ("", False),
    ],
    ids=["in place, as pip writes it", "in place, as uv writes it", "from a folder", "no JSON", "empty"],
)
def test_a_package_that_is_installed_in_place_is_told_whoever_installed_it(
    installed: Path, origin: str, is_in_place: bool
) -> None:
    (installed / f"shown_there-{VERSION}.dist-info" / "direct_url.json").write_text(origin, encoding="utf-8")
    assert is_editable(find_distribution("shown-there")) is is_in_place


@pytest.mark.usefixtures("installed")
def test_an_archive_holds_the_python_files_and_the_metadata_alone() -> None:
    info = f"shown_there-{VERSION}.dist-info"
    assert set(pack("shown-there").files) == {*FILES, f"{info}/METADATA", f"{info}/entry_points.txt"}


def test_an_archive_is_imported_from_and_found_by_its_entry_points(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    path = pack("shown").write(tmp_path / "out")
    program = (
        f"import sys; sys.path.insert(0, {str(path)!r})\n"
        "from importlib.metadata import entry_points, version\n"
        "import shown_there.deep.part, shown_there.plugin\n"
        "print([e.load().Y for e in entry_points(group='muntin') if e.name == 'shown'], version('shown-there'))\n"
    )
    assert output_of(program) == f"[2] {VERSION}\n"


def test_the_same_files_make_the_same_archive_with_the_same_name(installed: Path, tmp_path: Path) -> None:
    paths: list[Path] = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(pack("shown").write(tmp_path / folder))
    first, second = paths
    assert first.name == second.name == pack("shown").file_name
    assert first.read_bytes() == second.read_bytes()
    assert is_archive_name(first.name)


def test_other_files_make_an_archive_with_another_name(installed: Path) -> None:
    name = pack("shown").file_name
    (installed / "shown_there" / "plugin.py").write_text("Y = 3\n")
    assert pack("shown").file_name != name


def test_a_package_that_is_installed_in_place_is_packed_from_there() -> None:
    archive = pack("stats")
    assert "muntin_stats/plugin.py" in archive.files
    assert not any(name.endswith(".pth") for name in archive.files)
    assert imports_of(find_distribution("stats")) == ("muntin_stats",)


def test_a_wheel_is_packed_with_its_files_where_they_would_be_installed(tmp_path: Path) -> None:
    path = wheel(
        tmp_path,
        {
            "odd.py": "X = 1\n",
            "odd-1.0.data/purelib/more.py": "X = 2\n",
            METADATA: "Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n",
        },
    )
    archive = pack(path)
    assert archive.label == "odd 1.0"
    assert {"odd.py", "more.py"} <= set(archive.files)
    assert archive.file_name.endswith(".zip")


def test_what_is_no_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotShippableError, match=r"none\.whl' cannot be shipped: it cannot be read"):
        pack(tmp_path / "none.whl")


def test_compiled_parts_are_refused_by_name() -> None:
    with pytest.raises(NotShippableError, match=r"'numpy .*parts compiled for one kind of machine, such as numpy"):
        pack("numpy")


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("file", "hidden_module"),
    [
        ("os.py", "Python's own module of this name"),
        ("json/__init__.py", "Python's own module of this name"),
        ("numpy/__init__.py", "that of numpy, which is installed here"),
        ("_pytest/__init__.py", "that of pytest, which is installed here"),
        ("muntin_stats/__init__.py", "that of muntin-stats, which is installed here"),
        ("shown_there.py", "that of shown-there, which is installed here"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_a_module_that_would_hide_one_of_python_or_of_another_package_is_refused(
    tmp_path: Path, file: str, hidden_module: str
) -> None:
    path = wheel(tmp_path, {"odd.py": "", file: "", METADATA: "Name: odd\nVersion: 1.0\n"})
    with pytest.raises(NotShippableError, match=f"'odd 1.0' cannot be .* import its {file} instead of {hidden_module}"):
        pack(path)


def test_an_installed_package_that_would_hide_another_one_is_refused(installed: Path) -> None:
    install(installed, "odd", {"odd.py": "", "shown_there/__init__.py": ""})
    with pytest.raises(NotShippableError, match=r"import its shown_there/__init__\.py instead of that of shown-there"):
        pack("odd")


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("numpy", "numpy/__init__.py"),
        ("Json", "json.py"),
        ("shown.there", "shown_there/__init__.py"),
        ("odd", "google/more.py"),
        ("odd", "odd/os.py"),
        ("odd", "os.txt"),
    ],
    ids=["its own name", "its own name in capitals", "its own name with a dot", "a shared name", "inside", "no module"],
)
@pytest.mark.usefixtures("installed")
def test_a_module_that_hides_nothing_of_others_is_packed(tmp_path: Path, package: str, file: str) -> None:
    path = wheel(tmp_path, {"more.py": "", file: "", METADATA: f"Name: {package}\nVersion: 1.0\n"})
    assert file in pack(path).files


def test_installed_packages_may_share_a_name_that_is_none_of_theirs(installed: Path) -> None:
    for name in ("odd", "even"):
        install(installed, name, {f"{name}.py": "", "tests/__init__.py": ""})
        assert pack(name).label == f"{name} {VERSION}"


def test_a_name_that_no_package_has_is_refused_with_the_closest_one() -> None:
    with pytest.raises(NotShippableError, match=r"did you mean 'muntin-stats'\?") as caught:
        pack("muntin-stat")
    assert caught.value.package == "muntin-stat"


def test_a_name_that_two_packages_answer_to_is_refused(installed: Path) -> None:
    install(installed, "shown", {"other.py": ""})
    with pytest.raises(NotShippableError, match="it may be any of shown, shown-there; name one of these"):
        pack("shown")


@pytest.mark.usefixtures("installed")
def test_what_a_package_requires_is_known_without_its_extras_and_what_other_pythons_need() -> None:
    requirements = requirements_of(find_distribution("shown-there"))
    assert [distribution.name for distribution in requirements] == ["pluggy"]


def test_only_code_of_no_package_is_local(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installed / "shown_beside.py").write_text("")
    import shown_beside  # type: ignore[import-not-found]  # noqa: F401  # written above
    import shown_there  # type: ignore[import-not-found]  # noqa: F401

    names = (
        "shown_beside",
        "shown_there",
        "__main__",
        "pytest",
        "json",
        "muntin",
        "muntin_stats",
        "builtins",
        __name__,
    )
    assert [name for name in names if is_local(name)] == ["shown_beside", "__main__", __name__]
    for name in ("shown_beside", "shown_there"):
        monkeypatch.delitem(sys.modules, name)


def test_an_archive_of_a_folder_without_init_is_a_package_all_the_same(tmp_path: Path) -> None:
    path = Archive("spread", "1", {"spread/part.py": b"X = 1\n"}).write(tmp_path)
    assert (
        output_of(f"import sys; sys.path.insert(0, {str(path)!r}); import spread.part; print(spread.part.X)") == "1\n"
    )


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("Version: 1.0\n", "the Name None"),
        ("Name: odd\n", "the Version None"),
        ("Name: ../../odd\nVersion: 1.0\n", r"the Name '\.\./\.\./odd'"),
        ("Name: odd\nVersion: 1/../../0\n", r"the Version '1/\.\./\.\./0'"),
        ("Name: odd\nVersion: \n", "the Version ''"),
        ("Name: odd\nVersion: 1.0 beta\n", "the Version '1.0 beta'"),
        ("Name: odd\nVersion: " + "1" * 5000 + "\n", "the Version '111"),
        (b"Name: od\xff\nVersion: 1.0\n", "the Name 'od"),
        ("", "the Name None"),
    ],
    ids=repr,
)
def test_a_wheel_with_an_odd_name_or_version_is_refused(tmp_path: Path, metadata: bytes | str, message: str) -> None:
    path = wheel(tmp_path, {"odd.py": "", METADATA: metadata})
    with pytest.raises(NotShippableError, match=message) as caught:
        pack(path)
    assert len(str(caught.value)) < 1000, "a long name or version is cut"


@pytest.mark.parametrize(
    "metadata", ["Metadata-Version: 2.1\nName: no-version\n", "Name: no-version\nVersion: 1 0\n", "Version: 1.0\n", "x"]
)
def test_an_installed_package_with_an_odd_name_or_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metadata: str
) -> None:
    install(tmp_path, "no-version", {"no_version.py": ""})
    (tmp_path / f"no_version-{VERSION}.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NotShippableError, match=r"its metadata have the (Name|Version)"):
        pack("no-version")


def test_an_archive_that_inflates_without_bound_is_refused_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mebibyte = 2**20
    monkeypatch.setattr(archives, "MOST_BYTES", 16 * mebibyte)
    path = wheel(tmp_path, {"odd.py": "", METADATA: "Name: odd\nVersion: 1.0\n"})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("odd.bin", "w") as file:
        for _ in range(17):
            file.write(bytes(mebibyte))
    assert Path(path).stat().st_size < 100_000
    with pytest.raises(NotShippableError, match=r"take 17,\d{3},\d{3} bytes when they are inflated"):
        pack(path)


def test_an_archive_that_says_less_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"odd.py": "x" * 100_000, METADATA: "Name: odd\nVersion: 1.0\n"})
    data = Path(path).read_bytes()
    size = (100_000).to_bytes(4, "little")
    smaller_size = (100).to_bytes(4, "little")
    Path(path).write_bytes(data.replace(size, smaller_size))
    with pytest.raises(NotShippableError, match="it cannot be read: BadZipFile"):
        pack(path)


@pytest.mark.parametrize("flag", [0x1, 0x40], ids=["encrypted", "strongly encrypted"])
def test_an_encrypted_archive_is_refused(tmp_path: Path, flag: int) -> None:
    path = wheel(tmp_path, {"odd.py": "x", METADATA: "Name: odd\nVersion: 1.0\n"})
    data = bytearray(Path(path).read_bytes())
    # the flags of the first file, in its entry of the directory and in its header
    for signature, offset_of_flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        flags = data.index(signature) + offset_of_flags
        data[flags : flags + 2] = flag.to_bytes(2, "little")
    Path(path).write_bytes(data)
    with pytest.raises(NotShippableError, match="it cannot be read: "):
        pack(path)


@pytest.mark.parametrize(
    "damaged_part",
    [slice(0, 4), slice(40, 60), slice(-30, None)],
    ids=["first header", "data of the first file", "end of the directory"],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, damaged_part: slice) -> None:
    path = wheel(tmp_path, {"odd.py": "x" * 1000, METADATA: "Name: odd\nVersion: 1.0\n"})
    data = bytearray(Path(path).read_bytes())
    data[damaged_part] = bytes(len(data[damaged_part]))
    Path(path).write_bytes(data)
    with pytest.raises(NotShippableError, match="it cannot be read: "):
        pack(path)


def test_a_fetched_archive_of_the_same_name_and_other_contents_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive("odd", "1.0", {"odd.py": b"X = 1"})
    changed = Archive("odd", "1.0", {"odd.py": b"X = 2"})
    for folder in ("changed", "cut_short", "whole"):
        (tmp_path / folder).mkdir()
    changed.write(tmp_path / "changed").rename(tmp_path / "changed" / archive.file_name)
    (tmp_path / "cut_short" / archive.file_name).write_bytes(b"PK")

    # Spark names the folder above those that have archives.
    monkeypatch.setattr(sys, "path", [str(tmp_path / archive.file_name)])
    assert not find_fetched_archives()
    archive.write(tmp_path / "whole")
    assert find_fetched_archives()
    assert sys.path == [str(tmp_path / "whole" / archive.file_name)]


def test_an_archive_that_was_left_half_written_is_written_anew(tmp_path: Path) -> None:
    archive = Archive("odd", "1.0", {"odd.py": b"X = 1"})
    (tmp_path / archive.file_name).write_bytes(b"PK half")
    assert matches_hash_in_name(archive.write(tmp_path))


def test_two_writers_of_one_archive_at_once_leave_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive("odd", "1.0", {"odd.py": b"X = 1"})
    write_entry = zipfile.ZipFile.writestr

    def write_entry_after_another_writer(*arguments: Any) -> None:
        """Write an entry; another writer writes the whole archive before."""
        monkeypatch.undo()
        archive.write(tmp_path)
        write_entry(*arguments)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", write_entry_after_another_writer)
    path = archive.write(tmp_path)
    assert matches_hash_in_name(path)
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(OSError, match="no space left"):
        Archive("odd", "1.0", {"odd.py": b"X = 1"}).write(tmp_path)
    assert list(tmp_path.iterdir()) == []
