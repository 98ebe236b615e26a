"""Code of messages in SQL, which SQL reads where it is more than an example with dots."""

from __future__ import annotations

import pytest

from muntin import Axis, calendar, count_by_start, cumulate, hopping, session, ticks, tumbling
from muntin.errors.messages import (
    Alternatives,
    Argument,
    Arguments,
    Call,
    Code,
    Earlier,
    ParameterName,
    Seconds,
    StreamCall,
    WrittenExpression,
)
from muntin.rows import last
from muntin.windows import HoppingWindows
from muntin.windows.specification import WrittenWindows
from muntin_engine.sql_text.message_spelling import in_sql

HOUR = int(ticks("1 hour"))


@pytest.mark.parametrize(
    ("code", "in_python", "sql"),
    [
        (Argument("clip", "none"), "clip='none'", "CLIP NONE"),
        (Argument("timestamps", "point_at_end"), "timestamps='point_at_end'", "TIMESTAMPS POINT_AT_END"),
        (Argument("evaluator", "auto"), "evaluator='auto'", "EVALUATOR AUTO"),
        (Argument("late_policy", "side"), "late_policy='side'", "LATE SIDE"),
        (
            Argument("late_policy", Call("correct", "1 hour")),
            "late_policy=correct('1 hour')",
            "LATE CORRECT WITHIN INTERVAL '1' HOUR",
        ),
        (Argument("watermark", "10 minutes"), "watermark='10 minutes'", "WATERMARK DELAY OF INTERVAL '10' MINUTE"),
        (
            Argument("watermark", Call("bounded_disorder", Argument("rows", 100))),
            "watermark=bounded_disorder(rows=100)",
            "WATERMARK bounded_disorder(rows => 100)",
        ),
        (
            Argument("forget_keys_after", "30 days"),
            "forget_keys_after='30 days'",
            "FORGET KEYS AFTER INTERVAL '30' DAY",
        ),
        (Argument("emit", "final"), "emit='final'", "EMIT FINAL"),
        (Argument("emit", "eager"), "emit='eager'", "EMIT CHANGES"),
        (Argument("emit", Call("early", ...)), "emit=early(...)", "EMIT EARLY ..."),
        (
            Argument("emit", Call("early", Call("every_count", 100))),
            "emit=early(every_count(100))",
            "EMIT EARLY every_count(100)",
        ),
        (
            Call("early", Argument("every", "1 minute")),
            "early(every='1 minute')",
            "EMIT EARLY EVERY INTERVAL '1' MINUTE",
        ),
        (
            Call("early", ..., Argument("refinement", "retract")),
            "early(..., refinement='retract')",
            "EMIT EARLY ... RETRACT",
        ),
        (Argument("refinement", "retract"), "refinement='retract'", "EMIT EARLY ... RETRACT"),
        (Argument("order", "offset"), "order='offset'", "ORDER BY offset"),
        (Argument("key", ["a", "b"]), "key=['a', 'b']", "PARTITION BY (a, b)"),
        (Argument("at", ...), "at=...", "DESCRIPTOR(...)"),
        (Argument("how", "anti"), "how='anti'", "LEFT ANTI JOIN"),
        (Argument("left_columns", ["km"]), "left_columns=['km']", "SELECT l.km"),
        (Argument("edge", True), "edge=True", "EDGE => TRUE"),
        (Argument("source", "link"), "source='link'", "SOURCE => link"),
        (Argument("sources", ["north"]), "sources=['north']", "SOURCES => ARRAY('north')"),
        (Argument("start", "sunday"), "start='sunday'", "START => 'sunday'"),
        (Alternatives("late_policy", ("side", "drop")), "late_policy='side' or 'drop'", "LATE SIDE or LATE DROP"),
        (Alternatives("clip", ("full", "left"), ", ", is_named=False), "'full', 'left'", "CLIP FULL, CLIP LEFT"),
        (Arguments((("p", 0.5), ("exact", True))), "p=0.5, exact=True", "p => 0.5, exact => TRUE"),
        (ParameterName("change"), "change=", "CHANGE =>"),
        (ParameterName("order"), "order=", "ORDER BY"),
        (ParameterName("right_columns"), "right_columns=", "SELECT r.km"),
        (Call("events"), "events()", "the table"),
        (Call("events", ..., Argument("order", "offset")), "events(..., order='offset')", "TABLE ... ORDER BY offset"),
        (Call("events", ..., Argument("unit", "ms")), "events(..., unit='ms')", "UNIT => 'ms'"),
        (Call("tumbling", "10 minutes"), "tumbling('10 minutes')", "TUMBLE(TABLE ..., INTERVAL '10' MINUTE)"),
        (
            Call("to_points", "end", Argument("repeated", True)),
            "to_points('end', repeated=True)",
            "to_points('end', repeated => TRUE)",
        ),
        (StreamCall(Call("with_clock")), ".with_clock()", "THEN with_clock()"),
        (
            StreamCall(Call("with_clock"), Call("events", ...)),
            "events(...).with_clock()",
            "TABLE ... THEN with_clock()",
        ),
        (Earlier("events"), "before events()", "within TABLE (SELECT ...)"),
        (Seconds("5"), "'5 seconds' or timedelta(seconds=5)", "INTERVAL '5' SECOND"),
        (Call("expression", WrittenExpression("{}", "km")), "expression('km')", "km"),
        (WrittenExpression("CAST({} AS double)", "a b"), "'CAST(`a b` AS double)'", "CAST(`a b` AS double)"),
        (
            WrittenWindows(tumbling("1 hour", reach="61 seconds")),
            "tumbling('1 hour', reach='1 minute 1 second')",
            "TUMBLE(TABLE ..., INTERVAL '1' HOUR, REACH => INTERVAL '1 minute 1 second')",
        ),
        (
            WrittenWindows(HoppingWindows(2 * HOUR, HOUR), Axis.TIME),
            "hopping('2 hours', '1 hour')",
            "HOP(TABLE ..., INTERVAL '1' HOUR, INTERVAL '2' HOUR)",
        ),
        (WrittenWindows(hopping(10, 5)), "hopping(10, 5)", "HOP(TABLE ..., 5, 10)"),
        (
            WrittenWindows(cumulate("1 day", "1 hour")),
            "cumulate('1 day', '1 hour')",
            "CUMULATE(TABLE ..., INTERVAL '1' HOUR, INTERVAL '1' DAY)",
        ),
        (WrittenWindows(session(5)), "session(5)", "SESSION(TABLE ..., 5)"),
        (WrittenWindows(count_by_start(3)), "count_by_start(3)", "COUNT_BY_START(TABLE ..., 3)"),
        (WrittenWindows(last(3)), "last(3)", "LAST(TABLE ..., 3)"),
        (
            WrittenWindows(last(10).trigger(2)),
            "last(10).trigger(2)",
            "LAST(TABLE ..., 10, 2)",
        ),
        (
            WrittenWindows(calendar("1 month", zone="Asia/Tokyo")),
            "calendar('month', zone='Asia/Tokyo')",
            "CALENDAR(TABLE ..., 'month', ZONE => 'Asia/Tokyo')",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_code_is_spelled_in_python_and_in_sql(code: Code, in_python: str, sql: str) -> None:
    assert str(code) == in_python
    assert in_sql(code) == sql


def test_unknown_code_is_shown_as_python_has_it() -> None:
    class CodeThatSqlLacks(Code):
        def __str__(self) -> str:
            return "elsewhere()"

    assert in_sql(CodeThatSqlLacks()) == "elsewhere()"
