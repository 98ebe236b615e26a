"""Building a distribution: its sources as an archive, and a wheel of that archive."""

from __future__ import annotations

import tarfile
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.build import build_sdist, build_wheel


def build(folder: Path, into: Path) -> tuple[Path, Path]:
    """Build the source distribution and the wheel of a folder, and return their paths.

    The wheel is built from the source distribution, so a file that the latter lacks is missing in both. Nothing is
    downloaded: the build backend is that of the running Python.

    Args:
        folder: It has a `pyproject.toml` with hatchling as its build backend.
        into: The folder of the results; it exists.
    """
    with chdir(folder):
        sources = into / build_sdist(str(into))
    with TemporaryDirectory() as scratch:
        with tarfile.open(sources) as archive:
            safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # older 3.11 have no filters
            archive.extractall(scratch, **safely)
        with chdir(Path(scratch) / sources.name.removesuffix(".tar.gz")):
            return sources, into / build_wheel(str(into))
