"""Adding packages to a session."""

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
"""By session and package, the archive that was sent."""

_FOLDERS: Final[list[TemporaryDirectory[str]]] = []
"""The folder of the archives. Executors that join later fetch them from there, so they are removed when Python ends."""


@in_session()
def ship_packages(target: Any, packages: Sequence[str | PathLike[str]]) -> list[str]:
    """Send packages to the workers of a session, or of the session of a DataFrame; see `muntin_engine.ship`."""
    spark: AnySession = target.sparkSession if isinstance(target, DataFrame) else target
    archives = [pack(package) for package in packages]
    sent = _SHIPPED.setdefault(name_of(spark), {})
    for archive in archives:
        before = sent.get(canonicalize_name(archive.name))
        if before is None:
            _send(spark, archive)
            sent[canonicalize_name(archive.name)] = archive.file_name
        elif before != archive.file_name:
            raise NotShippableError(
                archive.label,
                "the session has it with other contents, which its workers may have imported",
                "start a new session to ship what it is now",
            )
    return [archive.label for archive in archives]


def _send(spark: AnySession, archive: Archive) -> None:
    """Add an archive, for the workers alone: the driver has the package already, or a wheel that it does not import."""
    if not _FOLDERS:
        _FOLDERS.append(TemporaryDirectory(prefix="muntin-shipped-"))
    path = list(sys.path)
    spark.addArtifacts(str(archive.write(Path(_FOLDERS[0].name))), pyfile=True)
    sys.path[:] = path
