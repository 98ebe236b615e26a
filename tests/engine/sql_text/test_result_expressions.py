"""Expressions over results, written for SQL: they mean the same when they are read again."""

from __future__ import annotations

import pytest

from muntin_engine.sql_text.result_expressions import over_streams, qualified


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("n * 2", "l.km + 1", "(l.km + 1) * 2"),
        ("n AND lifetime.end > 3", "l.a OR l.b", "(l.a OR l.b) AND lifetime.end > 3"),
        ("2 - n", "l.km IN (1, 2)", "2 - (l.km IN (1, 2))"),
        ("2 - n", "ABS(l.km)", "2 - ABS(l.km)"),
        ("round(n)", "l.km", "ROUND(l.km)"),
        ("n", "l.km + 1", "l.km + 1"),
    ],
)
def test_an_expression_in_the_place_of_a_column_stays_one_operand(text: str, column: str, expected: str) -> None:
    assert over_streams(text, {"n": column}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("km", "l.km"),
        ("`my km` + 1", "l.`my km` + 1"),
        ("position.lat", "l.position.lat"),
        ("a.b.c.d > 1", "l.a.b.c.d > 1"),
        ("abs(position.lat)", "ABS(l.position.lat)"),
    ],
)
def test_the_alias_of_a_stream_stands_before_the_whole_path_of_a_column(text: str, expected: str) -> None:
    assert qualified(text, "l") == expected
