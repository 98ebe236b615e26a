"""What tests of every folder share: one Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASKS_FOR_SPARK: Final = "tests/docs/test_code_blocks.py"
"""A file whose tests ask for the session while they run, some of them."""


@pytest.hookimpl(tryfirst=True)  # before the plugin reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let processes share a run: one has all tests of the Spark session, first, and the others have whole files."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group("spark" if _needs_spark(item) else item.location[0]))
    items.sort(key=lambda item: not _needs_spark(item))


def _needs_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ()) or item.nodeid.startswith(_ASKS_FOR_SPARK)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of a test run, quiet, with the settings that `local_session()` gives everybody."""
    from muntin_engine.spark.session import local_session, stop_session

    session = local_session("muntin tests", log=tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    stop_session(session)
