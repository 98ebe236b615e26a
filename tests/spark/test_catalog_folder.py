"""A query runs modules of a catalog folder, which its workers get by value, and its checkpoint knows the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin.catalog import use_catalog
from muntin_engine import Query, events, functions, module
from muntin_engine.errors import StateMismatchError
from tests.sdk.catalogs import forget, forgetting, pack_into, source_of

MILES = """
from muntin import function

@function("km.twice", version="1.0.0")
def twice(km: float) -> float:
    return 2 * km
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from forgetting(monkeypatch)


def test_modules_of_a_catalog_reach_workers_and_another_file_of_their_version_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    found: list[tuple[int, float]] = []

    def query(version: str, batches: int) -> Query:
        forget()  # each start is that of a new process
        use_catalog(tmp_path / "catalog", f"muntin-km=={version}")
        functions(spark, "km.twice")
        for number in range(batches):
            rows = spark.createDataFrame([(10 * number + 1, 3.0), (10 * number + 2, 4.5)], "at long, km double")
            if not (tmp_path / "input" / f"batch-{number}").exists():
                rows.coalesce(1).write.parquet(str(tmp_path / "input" / f"batch-{number}"))
        stream = spark.readStream.schema("at long, km double").parquet(str(tmp_path / "input" / "*"))
        windows = events(stream, at="at", watermark=0, buckets=1).with_columns(double="km_twice(km)")
        return windows.window(tumbling(10)).aggregate(spread=module("km.spread", "double"))

    def take(rows: DataFrame, number: int) -> None:
        del number
        found.extend((row["window"]["start"], row["spread"]) for row in rows.collect())

    def write(query: Any) -> None:
        query.write(checkpoint=tmp_path / "checkpoint", results=take, available_now=True).awaitTermination()

    source = source_of() + MILES
    wheel = pack_into(tmp_path / "catalog", source)
    one = query("1.2.0", 2)
    write(one)
    assert found == [(0, 3.0)]
    (used,) = (code for code in one.plan.code if code.code.startswith("wheel-"))
    assert (used.name, used.version) == ("muntin-km", "1.2.0")

    wheel.unlink()
    pack_into(tmp_path / "catalog", source_of(returns="0.0") + MILES)
    with pytest.raises(StateMismatchError) as refused:
        write(query("1.2.0", 2))
    assert f"code: the checkpoint has muntin-km {used.code}, the query has muntin-km wheel-" in str(refused.value)
    assert "muntin-km 1.2.0 in the catalog is another file than the one that the checkpoint began with" in str(
        refused.value
    )

    newer = source_of("1.3.0", returns="-1.0").replace('"1.3.0"', '"1.3.0"\n    continues_since = "1.2.0"')
    pack_into(tmp_path / "catalog", newer + MILES)
    write(query("1.3.0", 3))
    assert found == [(0, 3.0), (10, -1.0)]
