"""The command's distributions carry the template, which lies in `templates/plugin`, outside of the command's folder."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "templates/plugin"
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def template_files() -> dict[str, bytes]:
    files = [file for file in TEMPLATE.rglob("[!.]*") if file.is_file() and not CACHES & set(file.parts)]
    return {f"muntin_cli/template/{file.relative_to(TEMPLATE).as_posix()}": file.read_bytes() for file in files}


def build(project: Path, kind: str, into: Path) -> Path:
    """Build a distribution as pip would, without the isolation that needs a network."""
    code = f"import hatchling.build; print(hatchling.build.build_{kind}({str(into)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    return into / done.stdout.split()[-1]


@pytest.mark.parametrize("is_from_sdist", [False, True], ids=["from the repository", "from an sdist"])
def test_a_wheel_of_the_command_has_the_template(tmp_path: Path, is_from_sdist: bool) -> None:
    project = ROOT / "cli"
    if is_from_sdist:
        with tarfile.open(build(project, "sdist", tmp_path)) as sdist:
            safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # older 3.11 have no filters
            sdist.extractall(tmp_path, **safely)
        (project,) = (path for path in tmp_path.iterdir() if path.is_dir())
    with zipfile.ZipFile(build(project, "wheel", tmp_path)) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("muntin_cli/template/")}

    assert len(packed) > 20
    assert packed == template_files()
