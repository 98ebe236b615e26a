"""What tests of every folder share: one Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of a test run, quiet, with the settings that `local_session()` gives everybody."""
    from muntin_engine.spark.session import local_session, stop_session

    session = local_session("muntin tests", log=tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    stop_session(session)
