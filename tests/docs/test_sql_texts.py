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
    """Return True if a block of a page asks a question in SQL."""
    return any("import sql" in block.text for block in blocks(page) if block.language == "python")


def rows_of(table: pa.Table) -> Counter[str]:
    """Return the rows of a table, in no order, each with how often it is there."""
    return Counter(repr(row) for row in table.to_pylist())


@pytest.mark.parametrize("page", [page for page in PAGES if asks_in_sql(page)], ids=name_of)
def test_a_text_on_a_page_gives_the_same_rows_in_this_process(
    page: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared_texts: list[str] = []

    def sql_on_both(session: SparkSession, text: str, /, *, modules: Any = (), **tables: Any) -> Query[Any]:
        """Answer the page on Spark, after comparing the answer with that of this process."""
        on_spark = sql(session, text, modules=modules, **tables)
        if not on_spark.is_stream:
            arrow_tables = {name: frame.toArrow() for name, frame in tables.items()}
            in_process = sql(text, modules=modules, **arrow_tables)
            assert rows_of(in_process.results()) == rows_of(on_spark.results().toArrow()), text
            compared_texts.append(text)
        return on_spark

    monkeypatch.setattr(muntin_engine, "sql", sql_on_both)
    with open_page(page, tmp_path, spark) as running_page:
        for _ in running_page.run():
            pass
    assert compared_texts
