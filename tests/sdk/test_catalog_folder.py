"""Modules of a catalog folder: which wheel is used, and which is refused before any of its code runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muntin.catalog import installed, use_catalog
from muntin.catalog_folder import FOLDER_VARIABLE, KEYS_VARIABLE, wheel_of
from muntin.errors import CatalogFileError, UnknownModuleError
from muntin.signatures import check_signature, read_keys, sign
from tests.sdk.catalogs import changed, forget, forgetting, pack_into, source_of


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from forgetting(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "catalog"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two keys as `ssh-keygen` writes them."""
    return new_key(tmp_path_factory.mktemp("keys") / "ours"), new_key(tmp_path_factory.mktemp("keys") / "theirs")


def new_key(path: Path) -> Path:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.with_suffix(".pub").write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    return path


def version(name: str = "km.spread") -> str:
    return installed().module(name).version


def refusal(name: str = "km.spread") -> str:
    """Return why the wheel of a module is refused, as the query that names it says, and none of its code is here."""
    with pytest.raises(UnknownModuleError) as caught:
        installed().module(name)
    (error,) = installed().unreadable
    assert isinstance(error, CatalogFileError)
    assert str(error).partition("\n")[0] in str(caught.value)
    assert f"muntin_{name.partition('.')[0]}" not in sys.modules
    return error.reason


def test_modules_of_a_folder_are_used_by_name_as_if_they_were_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_into(folder, source_of())
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    module: Any = installed().module("km.spread")
    assert module().compute_result([3.0, 4.5]) == 1.5
    assert installed().plugin("km").distribution == "muntin-km 1.2.0"
    wheel = wheel_of(module.__module__)
    assert wheel is not None
    assert (wheel.name, wheel.version, wheel_of("muntin.catalog")) == ("muntin-km", "1.2.0", None)


def test_the_highest_version_is_used_or_the_one_that_is_wanted(folder: Path) -> None:
    for one in ("1.10.0", "1.9.0", "2.0.0rc1"):
        pack_into(folder, source_of(one))
    use_catalog(folder)
    assert version() == "1.10.0"
    forget()
    use_catalog(folder, "muntin-km<1.10")
    assert version() == "1.9.0"
    forget()
    use_catalog(folder, "muntin-km==2.0.0rc1")
    assert version() == "2.0.0rc1"
    forget()
    with pytest.raises(CatalogFileError, match=r"it has no muntin-km==3.0\n  versions of it there: 1.9.0, 1.10.0, 2.0"):
        use_catalog(folder, "muntin-km==3.0")


def test_a_version_for_another_python_is_passed_over_and_named_if_there_is_no_other(folder: Path) -> None:
    newer = pack_into(folder, source_of("1.3.0"))
    metadata = "Name: muntin-km\nVersion: 1.3.0\nRequires-Python: >=4.5\n"
    changed(newer, {"METADATA": metadata})
    use_catalog(folder)
    assert refusal().startswith("it needs Python >=4.5, and this is 3.")
    pack_into(folder, source_of("1.2.0"))
    use_catalog(folder)
    assert version() == "1.2.0"


def test_a_broken_file_is_named_and_the_others_work(folder: Path) -> None:
    pack_into(folder, source_of())
    pack_into(folder, source_of(plugin="ours"))
    broken = pack_into(folder, source_of("1.3.0"))
    broken.write_bytes(broken.read_bytes()[:-30])
    (folder / "not-a-wheel.whl").write_bytes(b"")
    (folder / "notes.txt").write_bytes(b"")
    use_catalog(folder)
    assert version("ours.spread") == "1.2.0"
    with pytest.raises(UnknownModuleError, match=r"muntin_km-1.3.0-py3-none-any.whl cannot be used: it cannot be read"):
        version()
    assert ["not-a-wheel" in str(error) for error in installed().unreadable] == [True, False]


@pytest.mark.parametrize(
    ("files", "with_record", "reason"),
    [
        ({"modules.py": "raise SystemExit"}, False, "muntin_km/modules.py in it is not what its RECORD lists"),
        ({"muntin_km/more.py": ""}, False, "muntin_km/more.py in it is not what its RECORD lists"),
        ({"muntin_km/data.csv": ""}, True, "workers would not get muntin_km/data.csv"),
        ({"muntin_km/fast.so": ""}, True, "workers would not get muntin_km/fast.so"),
        ({"../outside.py": ""}, True, "it holds '../outside.py', outside of the folder"),
        ({"/outside.py": ""}, True, "it holds '/outside.py', outside of the folder"),
        ({"muntin_km/Modules.py": ""}, True, "it holds 'muntin_km/modules.py' and 'muntin_km/Modules.py', which some"),
        ({"muntin_km/modules.py/more.py": ""}, True, "it cannot be unpacked: "),
        ({f"muntin_km/{'x' * 300}.py": ""}, True, "it cannot be unpacked: OSError: "),
        ({"muntin_km-1.2.0.data/purelib/more.py": ""}, True, "workers would not get muntin_km-1.2.0.data/purelib"),
        ({"this.more/more.py": ""}, True, "workers would not get this.more/more.py"),
        ({"more.pth": "import this"}, True, "workers would not get more.pth"),
        ({"METADATA": "Name: muntin-km\nVersion: 1.2.0\nRequires-Python: three\n"}, True, "Invalid specifier: 'three'"),
        ({"METADATA": "Name: muntin-km\nVersion: 1.2.0\nRequires-Dist: @\n"}, True, "Expected package name"),
        ({"entry_points.txt": "[muntin]\nstats = muntin_km\n"}, True, "the plugin 'stats' is that of muntin-stats "),
        ({"METADATA": "Name: muntin-km\nVersion: 1.0\n"}, True, "its metadata say that it is muntin-km 1.0"),
        ({"json.py": ""}, True, "Python would import another json instead of the one in it"),
        (
            {
                "METADATA": "Name: muntin-km\nVersion: 1.2.0\nRequires-Dist: numpy>=999\nRequires-Dist: no-such\n"
                "Requires-Dist: other; python_version < '3'\n"
            },
            True,
            "it needs packages that are not installed here: numpy>=999 (here is ",
        ),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(
    folder: Path, files: dict[str, str], with_record: bool, reason: str
) -> None:
    changed(pack_into(folder, source_of()), files, with_record=with_record)
    pack_into(folder, source_of(plugin="zones"))
    use_catalog(folder)
    assert "this" not in sys.modules
    assert version("zones.spread") == "1.2.0", "the other files work"
    said = refusal()
    assert said.startswith(reason)
    assert ("no-such" in said, "other" in said.replace("another", "")) == ("999" in said, False)


def test_two_files_of_one_name_or_one_version_are_told_apart(folder: Path) -> None:
    wheel = pack_into(folder, source_of())
    shutil.copy(wheel, folder / "muntin_km-1.2-py3-none-any.whl")
    metadata = "Name: usurper\nVersion: 1.0\n"
    rival = pack_into(folder.parent / "other", source_of(plugin="km_rival"))
    usurper = changed(rival, {"METADATA": metadata}, renamed=("muntin_km_rival-1.2.0.", "usurper-1.0."))
    (folder / "usurper-1.0-py3-none-any.whl").write_bytes(usurper.read_bytes())
    use_catalog(folder)
    assert version() == "1.2.0"
    (error,) = installed().unreadable
    assert str(error).endswith("whl cannot be used: muntin_km-1.2-py3-none-any.whl has the same version")
    assert installed().plugin("km_rival").distribution == "usurper 1.0"


def test_a_file_that_changes_while_a_process_runs_changes_nothing_in_it(folder: Path) -> None:
    wheel = pack_into(folder, source_of())
    use_catalog(folder)
    assert version() == "1.2.0"
    wheel.unlink()
    pack_into(folder, source_of(returns="0.0"))
    use_catalog(folder)
    module: Any = installed().module("km.spread")
    assert module().compute_result([1.0, 2.0]) == 1.0
    (error,) = installed().unreadable
    assert "this process uses muntin-km 1.2.0 with the hash " in str(error)


def test_an_installed_package_of_the_same_name_is_used_instead(folder: Path, tmp_path: Path) -> None:
    pack_into(folder, source_of())
    wheel = pack_into(tmp_path / "other", source_of("1.0.0"))
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    sys.path.append(str(tmp_path / "site"))
    use_catalog(folder)
    assert (version(), installed().unreadable) == ("1.0.0", ())
    assert wheel_of("muntin_km") is None
    for name in ("muntin_km", "muntin_km.modules"):
        del sys.modules[name]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(CatalogFileError, match="nowhere cannot be used: it is no folder that can be read"):
        installed()


def test_where_keys_are_trusted_a_file_must_be_signed_by_one(folder: Path, keys: tuple[Path, Path]) -> None:
    ours, theirs = keys
    pack_into(folder, source_of(), ours)
    (folder / "trusted_keys").write_text(f"# the team\n{ours.with_suffix('.pub').read_text()} anna@team\n")
    use_catalog(folder)
    assert version() == "1.2.0"

    signature = folder / "muntin_km-1.2.0-py3-none-any.whl.sig"
    good = signature.read_bytes()
    for bad, reason in [
        (sign(signature.with_suffix("").read_bytes(), theirs), "it is signed by a key that is not trusted here"),
        (sign(b"something else", ours), f"{signature.name} is of another file: one of the two was changed"),
        (good[:-60] + good[-40:], f"{signature.name} is no signature: "),
        (b"", f"{signature.name} is no signature: "),
    ]:
        forget()
        signature.write_bytes(bad)
        use_catalog(folder)
        assert refusal().startswith(reason)
    forget()
    signature.unlink()
    use_catalog(folder)
    assert refusal() == f"it is not signed: there is no {signature.name}"


def test_trusted_keys_may_be_kept_elsewhere(
    folder: Path, tmp_path: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = keys
    pack_into(folder, source_of(), theirs)
    (folder / "trusted_keys").write_text(theirs.with_suffix(".pub").read_text())
    monkeypatch.setenv(KEYS_VARIABLE, str(ours.with_suffix(".pub")))
    use_catalog(folder)
    assert refusal() == "it is signed by a key that is not trusted here"
    (folder / "trusted_keys").unlink()
    for nowhere in (str(tmp_path / "nowhere"), ""):
        monkeypatch.setenv(KEYS_VARIABLE, nowhere)
        with pytest.raises(CatalogFileError, match="cannot be used: its keys cannot be read"):
            use_catalog(folder)
    monkeypatch.delenv(KEYS_VARIABLE)
    (folder / "trusted_keys").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CatalogFileError, match="trusted_keys cannot be used: its keys cannot be read"):
        use_catalog(folder)


def test_without_the_library_nothing_signed_is_taken_for_checked(
    folder: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_into(folder, source_of(), keys[0])
    (folder / "trusted_keys").write_text(keys[0].with_suffix(".pub").read_text())
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    use_catalog(folder)
    assert refusal().endswith("install it: pip install 'muntin-sdk[signed]'")


def test_signatures_are_those_of_openssh(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("OpenSSH is not installed")
    ours, data = keys[0], tmp_path / "data"
    data.write_bytes(b"what is signed" * 1000)
    ours.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", ours, "-n", "muntin", data], check=True)
    theirs = tmp_path / "data.sig"
    public = ours.with_suffix(".pub").read_text()
    check_signature(data.read_bytes(), theirs, read_keys(public))
    assert sign(data.read_bytes(), ours).split() == theirs.read_bytes().split()


def test_a_file_that_requires_one_that_comes_after_it_is_used(folder: Path) -> None:
    required = {"alps": "muntin-km", "bay": "muntin-sea", "km": "muntin-zones==1.2.0", "zones": "numpy"}
    for plugin, requires in required.items():
        metadata = f"Name: muntin-{plugin}\nVersion: 1.2.0\nRequires-Dist: {requires}\n"
        changed(pack_into(folder, source_of(plugin=plugin)), {"METADATA": metadata})
    use_catalog(folder)
    assert [version(f"{plugin}.spread") for plugin in ("alps", "km", "zones")] == ["1.2.0"] * 3
    assert refusal("bay.spread") == "it needs packages that are not installed here: muntin-sea"


def test_an_installed_plugin_keeps_its_name_whatever_the_file_is_called(folder: Path, tmp_path: Path) -> None:
    wheel = pack_into(tmp_path / "other", source_of("1.0.0"))
    metadata, entries = "Name: acme\nVersion: 1.0.0\n", "[muntin]\nkm = acme\n"
    changed(wheel, {"METADATA": metadata, "entry_points.txt": entries}, renamed=("muntin_km", "acme"))
    changed(
        wheel,
        {
            "acme/__init__.py": "from muntin import hookimpl\nfrom acme import modules\n\n@hookimpl\n"
            "def muntin_modules():\n    return [modules.Spread]\n"
        },
    )
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    sys.path.append(str(tmp_path / "site"))
    pack_into(folder, source_of())
    use_catalog(folder)
    assert version() == "1.0.0"
    (error,) = installed().unreadable
    assert str(error).endswith("the plugin 'km' is that of acme 1.0.0 here")
    for name in ("acme", "acme.modules"):
        del sys.modules[name]


def test_a_version_that_is_wanted_and_cannot_be_had_is_refused_at_once(folder: Path) -> None:
    pack_into(folder, source_of())
    newer = pack_into(folder, source_of("1.3.0"))
    use_catalog(folder, "muntin-km>=1", "muntin-km<1.3")
    assert version() == "1.2.0"
    with pytest.raises(CatalogFileError, match=r"1.3.0-py3-none-any.whl cannot .*: this process uses muntin-km 1.2.0"):
        use_catalog(folder, "muntin-km==1.3.0")
    newer.write_bytes(b"")
    with pytest.raises(CatalogFileError, match=r"1.3.0-py3-none-any.whl cannot be used: it cannot be read as a wheel"):
        use_catalog(folder, "muntin-km==1.3.0")
    with pytest.raises(CatalogFileError, match=r"'muntin-km=1.3' names no version"):
        use_catalog(folder, "muntin-km=1.3")


def test_what_is_no_file_and_what_inflates_without_bound_is_refused(folder: Path) -> None:
    wheel = pack_into(folder, source_of())
    os.mkfifo(folder / "pipe-1.0-py3-none-any.whl")
    (folder / "._pipe-1.0-py3-none-any.whl").write_bytes(b"what a Mac puts beside a file")
    (folder / "zeros-1.0-py3-none-any.whl").symlink_to("/dev/zero")
    few, many = (folder / f"{name}-1.0-py3-none-any.whl" for name in ("few", "many"))
    with zipfile.ZipFile(few, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("few.py", bytes(100 * 2**20))
    few.write_bytes(few.read_bytes().replace((100 * 2**20).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(10_001):
            archive.writestr(f"many{number}.py", b"")
    tracemalloc.start()
    use_catalog(folder)
    assert tracemalloc.get_traced_memory()[1] < 80 * 2**20
    tracemalloc.stop()
    assert version() == "1.2.0"
    reasons = [str(error).partition("cannot be used: ")[2][:34] for error in installed().unreadable]
    assert reasons == [
        "it cannot be read as a wheel: BadZ",
        "its 10,001 files take 0 bytes when",
        *["it is no regular file"] * 2,
    ]
    for path in folder.glob("[!m]*.whl"):
        path.unlink()
    many.unlink()
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("more.py", b"")
    forget()
    use_catalog(folder)
    assert refusal() == "it holds 'more.py' compressed, but not by Deflate"


def test_lines_that_are_no_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="'ssh-rsa AAAAB3' is no key"):
        read_keys("ssh-rsa AAAAB3\n")
