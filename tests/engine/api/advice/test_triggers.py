"""Wrong triggers, and wrong policies for late rows and progress. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    ("stream.window(tumbling(10), emit='early')", r"(emit=early\(every_count\(100\)\))", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='early')", r"or a period, (.*?), for which", "windowed_on_a_clock(CODE)"),
    ("stream.window(tumbling(10), emit=early)", r"or a period, (.*?), for which", "windowed_on_a_clock(CODE)"),
    ("early()", r"for example (early\(every_count\(100\)\))"),
    ("early()", r"or (early\(every='1 minute'\)) on", "windowed_on_a_clock(emit=CODE)"),
    ("early(every_count(3), every='1 minute')", r"for example (early\(every_count\(100\)\))"),
    ("early('1 minute')", r"a period goes by name: (.*)"),
    ("early(every_count)", r"every_count is not a trigger; expected, for example, (every_count\(100\))", "early(CODE)"),
    (
        "early(every='1 minute', refinement='retracts')",
        r"did you mean ('.*')\?",
        "early(every='1 minute', refinement=CODE)",
    ),
    ("any_of()", r"for example, (any_of\(every_count\(100\)\))"),
    *(
        (wrong.replace("PART", "'1 minute'"), pattern, wrong.replace("PART", "CODE"))
        for wrong in (
            "any_of(PART)",
            "all_of(every_count(3), PART)",
            "each(PART)",
            "repeat(PART)",
            "until(when('a > b'), PART)",
        )
        for pattern in (r"for example, (every_count\(100\))", r"for a period (every\('1 minute'\))")
    ),
    ("any_of(every_count)", r"got every_count\n.*for example, (every_count\(100\))", "any_of(CODE)"),
    ("when(5)", r"for example (when\(.*\))"),
    (
        "reaches('n', '5')",
        r"for example (reaches\('total', 100\))",
        "stream.window(hours, emit=early(CODE)).aggregate(total=count)",
    ),
    ("percentile(50)", r"half of the extent is (percentile\(0\.5\))"),
    ("percentile('half')", r"half of the extent is (percentile\(0\.5\))"),
    ("percentile(1.5)", r"its end is (past_end\(\))"),
    ("past_part(50)", r"half of a window is (past_part\(0\.5\))"),
    ("Past(0.5, delay=3)", r"use (past_part\(0\.5\))"),
    ("Past(0.5, delay=3)", r"or (past_end\(3\))"),
    # what a trigger waits for
    (
        "windowed_with(emit=early(every='1 minute'))",
        r"use (\.with_clock\(\))",
        "streamCODE.window(hours, emit=early(every='1 minute'))",
    ),
    (
        "windowed_with(emit=early(every='1 minute'))",
        "a change column",
        "rides.window(hours, emit=early(every='1 minute', refinement='retract'))",
    ),
    (
        "windowed_with(emit=early(on_signal('end')))",
        r"a change column, .*signal=\.\.\.",
        "events(df, at='t', change='op', signal='signal').window(hours, emit=early(on_signal('end')))",
    ),
    (
        "windowed_with(emit=early(reaches('total', 5)))",
        r"the query has (n)",
        "windowed_with(emit=early(reaches('CODE', 5)))",
    ),
    # a refinement
    (
        "stream.window(session('1 hour'), emit=early(every_count(3)))",
        r"use (refinement='retract')",
        "stream.window(session('1 hour'), emit=early(every_count(3), CODE))",
    ),
    (
        "rides.window(hours, emit=early(every_count(3), refinement='discard'))",
        r"use ('accumulate')",
        "rides.window(hours, emit=early(every_count(3), refinement=CODE))",
    ),
    (
        "rides.window(hours, emit=early(every_count(3), refinement='discard'))",
        r"or ('retract')",
        "rides.window(hours, emit=early(every_count(3), refinement=CODE))",
    ),
    (
        "rides.window(hours, emit=early(every_count(3), refinement='discard'))",
        "leave the id out",
        "trips.window(hours, emit=early(every_count(3), refinement='discard'))",
    ),
    (
        "samples.window(hours, emit=early(every_count(3), refinement='discard'))",
        r"use ('accumulate')",
        "samples.window(hours, emit=early(every_count(3), refinement=CODE))",
    ),
    (
        "windowed_with(forget_keys_after='1 day', emit=early(every_count(3)))",
        r"use (refinement='retract')",
        "windowed_with(forget_keys_after='1 day', emit=early(every_count(3), CODE))",
    ),
    # late rows and progress
    ("correct('-1 hour')", r"use (late_policy='side')", "stream_with(CODE)"),
    ("Lateness(LatePolicy.DROP, 5)", r"use late_policy=(correct\(5\))"),
    ("Lateness(LatePolicy.DROP, 5)", r"or leave it out", "stream_with(late_policy=Lateness(LatePolicy.DROP))"),
    ("events(df, at='t', late_policy='correct')", r"use (late_policy=correct\('1 hour'\))", "stream_with(CODE)"),
    (
        "events(df, at='t', late_policy='1 hour')",
        r"for some time: (late_policy=correct\('1 hour'\))",
        "stream_with(CODE)",
    ),
    ("events(df, at='t', late_policy=correct)", r"(late_policy=correct\('1 hour'\))", "stream_with(CODE)"),
    ("events(df, at='t', late_policy='drp')", r"did you mean ('.*')\?", "stream_with(late_policy=CODE)"),
    ("bounded_disorder('3')", r"give a time: (bounded_delay\(.*\))"),
    ("punctuate_every(rows='3')", r"for example (punctuate_every\(rows=1000\))"),
    ("punctuate_every(rows=3, span='1 hour')", r"or (punctuate_every\(span='1 minute'\))"),
    (
        "bounded_delay('1 hour').with_idle(0)",
        "give a time above zero",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='2 hours')).with_clock()",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'))",
        r"give it a clock, events\(\.\.\.\)(\.with_clock\(\))",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'))CODE",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'))",
        "whose change is 'clock'",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'), change='op')",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour')).with_clock()",
        r"with_idle\(\.\.\., (lag='10 minutes')\)",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', CODE)).with_clock()",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_key_punctuation())",
        r"events needs (change)=",
        "stream_with(watermark=bounded_delay('1 hour').with_key_punctuation(), CODE='op')",
    ),
    ("stream_with(edge=True, late_policy='adjust')", r"use (late_policy='side')", "stream_with(edge=True, CODE)"),
    (
        "stream_with(edge=True, late_policy='adjust')",
        r"or (correct\('1 hour'\))",
        "stream_with(edge=True, late_policy=CODE)",
    ),
    ("stream_with(watermark=Unwritten())", r"make it a frozen dataclass", "stream_with(watermark=Written())"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
