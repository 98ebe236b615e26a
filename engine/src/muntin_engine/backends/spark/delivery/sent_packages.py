"""Send packages to the workers of a session."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from packaging.utils import canonicalize_name
from pyspark.sql import DataFrame

from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.backends.spark.session.kinds import AnySession, name_of
from muntin_engine.errors import NotShippableError
from muntin_engine.packages.archives import Archive
from muntin_engine.packages.packing import pack

_SHIPPED: Final[dict[str, dict[str, str]]] = {}
"""The name of the archive that was sent, by session and package."""

_FOLDERS: Final[list[TemporaryDirectory[str]]] = []
"""The folder of the archives. Executors that join later fetch them from there, so they are removed when Python ends."""


@in_session()
def ship_packages(target: Any, packages: Sequence[str | PathLike[str]]) -> list[str]:
    """Send packages to the workers of a session; see `muntin_engine.ship`.

    Args:
        target: The session, or a DataFrame of it.
        packages: The names of installed packages or plugins, or the paths of wheels.

    Returns:
        The names and versions of the packages.

    Raises:
        NotShippableError: A package cannot be sent, or the session has it with other contents.
    """
    spark: AnySession = target.sparkSession if isinstance(target, DataFrame) else target
    archives = [pack(package) for package in packages]
    shipped_files = _SHIPPED.setdefault(name_of(spark), {})
    for archive in archives:
        package_name = canonicalize_name(archive.name)
        shipped_file = shipped_files.get(package_name)
        # An archive's file name has a hash of its contents: an equal name is the same archive, sent already.
        if shipped_file is None:
            _send(spark, archive)
            shipped_files[package_name] = archive.file_name
        elif shipped_file != archive.file_name:
            raise NotShippableError(
                archive.label,
                reason="the session has it with other contents, which its workers may have imported",
                remedy="start a new session to ship what it is now",
            )
    return [archive.label for archive in archives]


def _send(spark: AnySession, archive: Archive) -> None:
    """Send an archive to the workers of a session, and keep it off the driver's own path.

    The driver has the package installed, or does not import it.
    """
    if not _FOLDERS:
        _FOLDERS.append(TemporaryDirectory(prefix="muntin-shipped-"))
    driver_path = list(sys.path)
    spark.addArtifacts(str(archive.write(Path(_FOLDERS[0].name))), pyfile=True)
    sys.path[:] = driver_path  # Spark adds the archive there too
