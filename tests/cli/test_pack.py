"""`muntin pack`: from a file of modules to a wheel in a catalog."""

from __future__ import annotations

import codecs
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest

from muntin.catalog_folder import FOLDER_VARIABLE, KEYS_VARIABLE
from muntin.wheels import read_wheel
from muntin_cli.errors import UsageError
from muntin_cli.packing import put, wheel_from
from tests.cli.running import Run
from tests.sdk.catalogs import forget, forgetting, source_of
from tests.sdk.test_catalog_folder import new_key

FUNCTION = '''
from muntin import function
import numpy

@function("km.miles", version="1.0.0")
def miles(km: float) -> float:
    """Return miles."""
    return float(numpy.divide(km, 1.609344))
'''


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from forgetting(monkeypatch)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "my_modules.py"
    path.write_text(source_of() + FUNCTION, encoding="utf-8")
    return path


def test_a_file_is_packed_listed_and_described(
    script: Path, tmp_path: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "catalog"
    done = muntin("pack", script, "--into", folder)
    assert done.code == 0, done.output + done.errors
    first, offers, digest = done.output.splitlines()
    assert first == str(folder / "muntin_km-1.2.0-py3-none-any.whl")
    assert offers == "  km = muntin_km: 1 module, 1 function"
    assert digest.startswith("  sha256 ")
    with zipfile.ZipFile(first) as wheel:
        assert wheel.read("muntin_km/modules.py") == script.read_bytes()
        told = wheel.read("muntin_km-1.2.0.dist-info/METADATA").decode().splitlines()
    own = version("muntin-sdk").rpartition(".")[0]
    assert [line for line in told if line.startswith("Requires-Dist")] == [
        f"Requires-Dist: muntin-sdk>={own},<0.{int(own.partition('.')[2]) + 1}",
        "Requires-Dist: numpy",
    ]
    assert "Summary: Spreads of rides." in told
    forget()

    assert muntin("pack", script, "--into", folder).code == 0, "the same again is there already"
    forget()
    monkeypatch.setenv("MUNTIN_PLUGINS", "km")
    listed = muntin("modules", "--catalog", folder, "--json").data
    assert [(one["name"], one["distribution"]) for one in listed["offers"]] == [
        ("km.miles", "muntin-km 1.2.0"),
        ("km.spread", "muntin-km 1.2.0"),
    ]
    forget()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert muntin("describe", "km.spread").output.startswith("km.spread 1.2.0\n\n  Return the widest less")


def test_other_contents_under_the_same_version_are_refused(script: Path, tmp_path: Path, muntin: Run) -> None:
    assert muntin("pack", script, "--into", tmp_path).code == 0
    script.write_text(source_of(returns="0.0"), encoding="utf-8")
    forget()
    done = muntin("pack", script, "--into", tmp_path)
    assert done.code == 2
    assert "muntin_km-1.2.0-py3-none-any.whl is there with other contents\n  give what changed a new version" in (
        done.errors
    )


def test_a_module_that_breaks_a_law_is_not_packed(script: Path, tmp_path: Path, muntin: Run) -> None:
    script.write_text(source_of(returns="payloads.pop() if payloads else 0.0"), encoding="utf-8")
    done = muntin("pack", script, "--into", tmp_path / "catalog")
    assert done.code == 1
    assert "finding" in done.output
    assert not (tmp_path / "catalog").exists()


def test_a_wheel_is_signed_by_packing_it(
    script: Path, tmp_path: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, folder = new_key(tmp_path / "key"), tmp_path / "catalog"
    assert muntin("pack", script, "--into", tmp_path).code == 0
    folder.mkdir()
    (folder / "trusted_keys").write_text(key.with_suffix(".pub").read_text())
    wheel = tmp_path / "muntin_km-1.2.0-py3-none-any.whl"
    forget()
    done = muntin("pack", wheel, "--into", folder)
    assert (done.code, list(folder.iterdir())) == (1, [folder / "trusted_keys"])
    assert "it is not signed: there is no muntin_km-1.2.0-py3-none-any.whl.sig" in done.errors
    forget()
    monkeypatch.setenv(KEYS_VARIABLE, str(folder / "trusted_keys"))
    done = muntin("pack", wheel, "--into", folder, "--key", key)
    assert done.code == 0, done.errors
    assert done.output.endswith(", signed\n")
    assert sorted(path.suffix for path in folder.iterdir()) == ["", ".sig", ".whl"]
    done = muntin("pack", wheel, "--into", folder, "--key", script)
    assert (done.code, "cannot be read as a key" in done.errors) == (2, True)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1", "defines no modules with a name"),
        (source_of() + source_of(plugin="tides").replace("class Spread", "class Other"), "modules of several plugins"),
        (source_of("code 7"), "has no version to be packed under: km.spread 'code 7'"),
        (source_of() + "\nimport beside", "imports beside, which lies beside it"),
        (source_of() + "\nimport importlib; importlib.import_module('aside')", "imports aside, which lies beside it"),
        (source_of() + "\nraise SystemExit", "cannot be run: SystemExit"),
        ("import no_such_module", "cannot be run: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_packed_is_refused_with_the_reason(script: Path, muntin: Run, source: str, reason: str) -> None:
    for name in ("aside.py", "beside.py"):
        (script.parent / name).write_text("")
    script.write_text(source, encoding="utf-8")
    done = muntin("pack", script, "--into", script.parent)
    assert done.code == 2
    assert reason in done.errors
    assert list(script.parent.glob("*.whl")) == []


def test_a_module_of_an_installed_package_is_not_packed_unchecked(script: Path, muntin: Run) -> None:
    script.write_text(source_of(version("muntin-stats"), plugin="stats"), encoding="utf-8")
    done = muntin("pack", script, "--into", script.parent)
    assert f"muntin-stats {version('muntin-stats')} is installed here" in done.errors
    assert (done.code, list(script.parent.glob("*.whl"))) == (1, [])


def test_what_a_file_imports_is_required_by_the_name_of_its_package(script: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n'Gr\u00f6\u00dfe\\rof rides.'\nimport muntin_stats, google.protobuf.message\n"
    script.write_bytes((text + source_of() + "Other = Spread").encode("latin-1"))
    (script.parent / "muntin_stats").mkdir()  # Python imports the package of this name
    wheel = put(script.parent / "catalog", *wheel_from(script), None)
    told = read_wheel(wheel)
    assert [one.name for one in told.requires] == ["muntin-sdk", "muntin-stats", "protobuf"]
    script.write_bytes(codecs.BOM_UTF8 + source_of().encode())
    assert wheel_from(script)[0] == wheel.name


def test_the_same_version_spelled_otherwise_is_refused(script: Path, tmp_path: Path, muntin: Run) -> None:
    assert muntin("pack", script, "--into", tmp_path).code == 0
    forget()
    script.write_text(source_of("1.2"), encoding="utf-8")
    done = muntin("pack", script, "--into", tmp_path)
    assert (done.code, "1.2.0-py3-none-any.whl has the version of muntin_km-1.2-py3" in done.errors) == (2, True)


def test_a_version_of_the_file_comes_before_those_of_its_modules(script: Path) -> None:
    script.write_text(f"__version__ = '2.1'\n{source_of()}", encoding="utf-8")
    assert wheel_from(script)[0] == "muntin_km-2.1-py3-none-any.whl"


def test_of_many_that_pack_at_the_same_time_one_wins_and_the_others_are_told(script: Path, tmp_path: Path) -> None:
    wheels = []
    for number in range(8):
        script.write_text(source_of(returns=f"{number % 4}.0"), encoding="utf-8")
        wheels.append(wheel_from(script))

    def one(wheel: tuple[str, bytes]) -> bytes | None:
        try:
            return put(tmp_path / "catalog", *wheel, None).read_bytes()
        except UsageError:
            return None

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(one, wheels))
    (path,) = (tmp_path / "catalog").iterdir()
    assert [result for result in results if result is not None] == [path.read_bytes()] * 2
