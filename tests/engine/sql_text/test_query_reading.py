"""A text of SQL is the steps of a query, as plain data; no session and no table is asked for them."""

from __future__ import annotations

import pytest

from muntin_engine.sql_text.query_reading import read
from muntin_engine.sql_text.sql_source import SqlError, SqlText

HOURS = """SELECT station, window_start, AVG(km) AS km
FROM TUMBLE(TABLE rides WATERMARK DELAY OF INTERVAL '10' MINUTES, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
GROUP BY station, window_start, window_end"""


def no_operator(name: str) -> bool:
    """Say that no module of a text is an operator."""
    return False


def test_a_text_is_the_calls_of_a_query_in_order() -> None:
    assert read(SqlText(HOURS), no_operator) == [
        {"events": {"df": "rides", "at": "leaves", "watermark": "10 minutes", "key": ["station"]}},
        {"window": {"specification": {"kind": "tumbling", "size": "1 hour"}}},
        {"aggregate": {"modules": {"km": {"module": "stats.average", "columns": ["km"]}}}},
        {"select": {"columns": {"station": "station", "window_start": "window.start", "km": "km"}}},
    ]


def test_a_text_without_windows_is_no_query_of_muntin() -> None:
    assert read(SqlText("SELECT station, AVG(km) FROM rides GROUP BY station"), no_operator) is None


def test_a_wrong_word_is_shown_at_its_place() -> None:
    with pytest.raises(SqlError) as caught:
        read(SqlText(HOURS.replace("TUMBLE", "TUMBEL")), no_operator)
    first, line, caret, advice, *_ = str(caught.value).splitlines()
    assert first == "line 2, column 6: TUMBEL is no window function"
    assert line.index("TUMBEL") == caret.index("^")
    assert advice == "  did you mean TUMBLE?"


@pytest.mark.parametrize(
    ("length", "text"),
    [("-INTERVAL '1' HOUR", "-1 hour"), ("-INTERVAL '-1' HOUR", "1 hour"), ("-INTERVAL '-1 hour'", "1 hour")],
)
def test_a_sign_before_an_interval_turns_it_round(length: str, text: str) -> None:
    steps = read(SqlText(HOURS.replace("TABLE rides", f"TABLE rides THEN shift({length})")), no_operator)
    assert steps is not None
    assert steps[1] == {"shift": {"by": text}}


UNION = """EVENTS(TABLE (
    SELECT * FROM EVENTS(TABLE bikes, DESCRIPTOR(at)) AS bikes
    UNION ALL SELECT * FROM EVENTS(TABLE trams, DESCRIPTOR(at)) AS trams
))"""


def test_as_of_makes_samples_of_each_stream_of_a_union() -> None:
    text = f"""SELECT r.km, s.docks
        FROM EVENTS(TABLE rides, DESCRIPTOR(leaves)) AS r
        JOIN {UNION} FOR SYSTEM_TIME AS OF r.leaves AS s ON r.station = s.station"""
    steps = read(SqlText(text), no_operator)
    assert steps is not None
    union, *_ = steps[1]["join"]["right"]
    for name in ("bikes", "trams"):
        arguments = {"df": name, "at": "at", "edge": True, "key": ["station"]}
        assert union["union"]["streams"][name] == [{"events": arguments}]


def test_case_does_not_count_in_the_names_of_the_rows_of_a_pattern() -> None:
    text = """SELECT * FROM EVENTS(TABLE rides, DESCRIPTOR(at)) MATCH_RECOGNIZE (
        ORDER BY at MEASURES a.id AS opened, b.id AS closed
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN INTERVAL '1' HOUR DEFINE a AS A.id > 0)"""
    assert read(SqlText(text), no_operator) == read(
        SqlText(text.replace(" a.", " A.").replace(" b.", " B.")), no_operator
    )


def test_a_pattern_orders_each_stream_of_a_union() -> None:
    text = f"""SELECT * FROM {UNION} MATCH_RECOGNIZE (
        PARTITION BY station ORDER BY at, id MEASURES A.id AS first
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN INTERVAL '1' HOUR)"""
    steps = read(SqlText(text), no_operator)
    assert steps is not None
    for name in ("bikes", "trams"):
        arguments = {"df": name, "at": "at", "key": ["station"], "order": "id"}
        assert steps[0]["union"]["streams"][name] == [{"events": arguments}]
