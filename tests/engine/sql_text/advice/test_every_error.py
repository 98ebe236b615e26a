"""Each place that raises an error about a text of SQL has a mistake that leads there."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import muntin_engine.sql_text
from muntin_engine import sql
from muntin_engine.sql_text.sql_source import SqlError
from tests.engine.sql_text.advice import (
    test_aggregates,
    test_calls,
    test_chained_queries,
    test_clauses,
    test_joins,
    test_match_recognize,
    test_queries,
    test_refused_clauses,
    test_streams,
    test_values,
    test_windows,
)
from tests.engine.sql_text.advice.mistakes import MODULES, Cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL_CASES: tuple[Cases, ...] = (
    test_queries.CASES,
    test_chained_queries.CASES,
    test_windows.CASES,
    test_aggregates.CASES,
    test_clauses.CASES,
    test_match_recognize.CASES,
    test_streams.CASES,
    test_values.CASES,
    test_refused_clauses.CASES,
    test_joins.CASES,
    test_calls.CASES,
)


def _places_of_errors() -> dict[tuple[str, int], str]:
    """Return the statements that raise errors of SQL, by file and line."""
    places: dict[tuple[str, int], str] = {}
    folder = Path(inspect.getfile(muntin_engine.sql_text)).parent
    for path in folder.glob("*.py"):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "error":
                places[path.name, node.lineno] = ast.get_source_segment(source, node) or ""
    return places


def _remove_passed(places: dict[tuple[str, int], str], error: SqlError) -> None:
    """Remove the places that an error passed through."""
    traceback: Any = error.__traceback__
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename).name
        for place in list(places):
            first = place[1]
            last = first + places[place].count("\n")
            if place[0] == file and first <= traceback.tb_lineno <= last:
                del places[place]
        traceback = traceback.tb_next


def test_each_place_that_raises_an_error_has_a_case(spark: SparkSession, tables: dict[str, Any]) -> None:
    places = _places_of_errors()
    assert len(places) > 80
    for cases in ALL_CASES:
        for wrong, _, _ in cases.values():
            try:
                sql(spark, wrong, modules=MODULES, **tables)
            except SqlError as error:
                _remove_passed(places, error)
    assert places == {}
