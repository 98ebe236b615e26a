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


def calls_that_make_errors() -> dict[tuple[str, int], str]:
    """Return the source of each call of a method `error`, which makes an error of SQL, by its file and first line."""
    calls: dict[tuple[str, int], str] = {}
    folder = Path(inspect.getfile(muntin_engine.sql_text)).parent
    for path in folder.glob("*.py"):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "error":
                calls[path.name, node.lineno] = ast.get_source_segment(source, node) or ""
    return calls


def remove_calls_in_traceback(calls: dict[tuple[str, int], str], error: SqlError) -> None:
    """Remove the calls that are in the traceback of an error: one of them made it."""
    traceback: Any = error.__traceback__
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename).name
        for (file_of_call, first_line), source in list(calls.items()):
            last_line = first_line + source.count("\n")
            if file_of_call == file and first_line <= traceback.tb_lineno <= last_line:
                del calls[file_of_call, first_line]
        traceback = traceback.tb_next


def test_each_place_that_raises_an_error_has_a_case(spark: SparkSession, tables: dict[str, Any]) -> None:
    calls_without_case = calls_that_make_errors()
    assert len(calls_without_case) > 80  # the search finds them
    for cases in ALL_CASES:
        for wrong, _, _ in cases.values():
            try:
                sql(spark, wrong, modules=MODULES, **tables)
            except SqlError as error:
                remove_calls_in_traceback(calls_without_case, error)
    assert calls_without_case == {}
