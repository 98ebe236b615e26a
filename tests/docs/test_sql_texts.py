"""Texts of SQL on the pages give the same rows on Spark and in this process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import muntin_engine
from muntin_engine import Query, sql
from tests.docs.pages import PAGES, blocks, name_of
from tests.docs.runner import open_page

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def asks_in_sql(page: Path) -> bool:
    return any("import sql" in block.text for block in blocks(page) if block.language == "python")


def rows_of(table: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in table.to_pylist())


@pytest.mark.parametrize("page", [page for page in PAGES if asks_in_sql(page)], ids=name_of)
def test_a_text_on_a_page_gives_the_same_rows_in_this_process(
    page: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def sql_on_both(session: SparkSession, text: str, /, *, modules: Any = (), **tables: Any) -> Query[Any]:
        on_spark = sql(session, text, modules=modules, **tables)
        if not on_spark.is_stream:
            frames = {name: df.toArrow() for name, df in tables.items()}
            here = sql(text, modules=modules, **frames)
            assert rows_of(here.results()) == rows_of(on_spark.results().toArrow()), text
            compared.append(text)
        return on_spark

    monkeypatch.setattr(muntin_engine, "sql", sql_on_both)
    with open_page(page, tmp_path, spark) as running_page:
        for _ in running_page.run():
            pass
    assert compared
