"""The tables that queries with mistakes read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.sql_text.advice.mistakes import tables_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def tables(spark: SparkSession) -> dict[str, Any]:
    return tables_of(spark)
