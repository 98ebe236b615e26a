"""What `explain(keys=..., rows_per_second=...)` says: counts as by hand, and what it does not take."""

from __future__ import annotations

from math import exp
from typing import Any, Final

import pytest

from muntin import (
    Axis,
    JoinKind,
    StreamOperator,
    calendar,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import DurationError, QueryError
from muntin.progress import bounded_delay, bounded_disorder, punctuate_every
from muntin.rows import batch, last
from muntin_engine.evaluators.sizes import SIZES
from muntin_engine.plan.load import load_of, loads_of
from muntin_engine.plan.planner import evaluator_of
from muntin_engine.plan.sizing import Demand, demand_of, size_together, size_topics, spell_bytes
from muntin_stats import Average, Max
from tests.sizes.filling import SECOND, Shape
from tests.tables import says

MINUTE: Final = tumbling(60 * SECOND)
SIXTEEN: Final = {"buckets": 16}


def of(shape: Shape, **load: Any) -> Demand:
    """Return what a query holds with 10,000 keys and 1,000 rows per second, unless said otherwise."""
    given: dict[str, Any] = {
        "keys": 10_000,
        "rows_per_second": 1_000,
        "every": "1 second",
        "lifetime": None,
        "payload_bytes": None,
    }
    plan = shape.plan
    return demand_of(plan, load_of(**(given | load)), SIZES[evaluator_of(plan).sized_as(plan)])


def test_a_minute_of_a_thousand_rows_per_second() -> None:
    found = of(Shape(MINUTE, [(Average, 0)], more=SIXTEEN))
    held = found.held
    assert (found.buckets, found.seconds, held.keys, held.rows, held.batches) == (16, 60, 625, 3_750, 60)
    # of 10,000 keys, one in e**6 has none of 60,000 rows
    assert 16 * held.stretches_in(60) == pytest.approx(10_000 * (1 - exp(-6)), rel=0.001)
    # a code, a place and a weight, and an exact sum of 16 bytes; a key of 8
    assert held.bytes_in(SIZES["columnar, slices"].state, 60) == pytest.approx(623.5 * (8 + 5 + 16), rel=0.001)


ROWS: Final = [
    # a window and what is behind it
    (Shape(MINUTE, [(Average, 0)], progress=bounded_delay(30 * SECOND)), {}, 90_000, 90),
    (Shape(MINUTE, [(Average, 0)], progress=bounded_disorder(5_000)), {}, 65_000, 65),
    (Shape(MINUTE, [(Average, 0)], progress=punctuate_every(span=10 * SECOND, delay=2 * SECOND)), {}, 72_000, 72),
    (Shape(hopping(600 * SECOND, 10 * SECOND), [(Average, 0)]), {}, 600_000, 600),
    (Shape(MINUTE, [(Max, 0)], evaluator="general"), {"rows_per_second": 5}, 300, 60),
    # as long as events last, or rows wait
    (Shape(snapshot(), [(Average, 0)], lasting=1.0), {"lifetime": "20 seconds"}, 20_000, 20),
    (Shape(join=JoinKind.INNER, lasting=1.0, progress=bounded_delay(5 * SECOND)), {"lifetime": "1 s"}, 6_000, 6),
    (Shape(MINUTE, [(Average, 0)], lasting=1.0, has_ids=True), {"lifetime": "3 seconds"}, 3_000, 3),
    (Shape(session(20 * SECOND), [(Average, 0)]), {}, 20_000, 20),
    # so many of each key
    (Shape(last(100), [(Average, 0)], more={"order": 0}), {}, 1_000_000, 0),
    (Shape(last(100), [(Average, 0)], progress=bounded_delay(SECOND), more={"order": 0}), {}, 1_001_000, 1),
    (Shape(count_by_start(3), [(Average, 0)]), {"keys": 10}, 30, 0),
    (Shape(batch(100), [(Average, 0)], progress=bounded_delay(SECOND), more={"order": 0}), {}, 1_000, 1),
    # all of them
    (Shape(global_windows(), [(Average, 0)]), {"rows_per_second": 0.5}, 43_200, 86_400),
]


@pytest.mark.parametrize(("shape", "load", "rows", "seconds"), ROWS, ids=lambda given: str(given)[:60])
def test_the_rows_that_a_query_holds(shape: Shape, load: dict[str, Any], rows: int, seconds: int) -> None:
    found = of(shape, **load)
    assert (round(found.held.rows * found.buckets), found.seconds) == (rows, seconds)


def test_slices_of_overlapping_and_of_growing_windows() -> None:
    assert of(Shape(hopping(600 * SECOND, 10 * SECOND), [(Average, 0)])).held.slices == 60
    assert of(Shape(hopping(60 * SECOND, 40 * SECOND), [(Average, 0)])).held.slices == 3
    assert of(Shape(cumulate(3600 * SECOND, 60 * SECOND), [(Average, 0)])).held.slices == 2
    assert of(Shape(calendar("day"), [(Average, 0)])).held.slices == 1


def test_fewer_keys_than_buckets_fill_as_many_buckets() -> None:
    found = of(Shape(MINUTE, [(Average, 0)], more=SIXTEEN), keys=3)
    assert (found.buckets, found.held.keys) == (3, 1)


def test_the_bytes_of_values_follow_from_the_types_unless_they_are_said() -> None:
    shape = Shape(MINUTE, [(Max, 0), (Max, 1)], payload=("double", "bigint"), evaluator="grouped")
    assert of(shape).held.values.size == 16
    assert of(shape, payload_bytes=100).held.values.size == 100
    assert of(Shape(MINUTE, [(Average, 0)], key="string")).held.key.size == 20


LINES: Final = """
sized for   10,000 keys and 1,000 rows per second, a micro-batch every 10 seconds; punctuation is at the newest row; \
16 bytes of values in a partial state; rows come evenly over time, and their keys at random
held        a partial state per slice with rows: 9,975 of 9,975 keys, from 60,000 rows in 1 minute
store       …KB of state, …KB in each of 16 buckets; up to …until entries are merged
workers     …MB of decoded state in all, …a bucket; a worker keeps that of the buckets it ran last, up to 256 MB…
batch       10,000 rows, 625 in each bucket
"""


def test_a_query_is_sized_line_by_line() -> None:
    told = size_topics(
        Shape(MINUTE, [(Average, 0)], more=SIXTEEN).plan, load_of(10_000, 1_000, "10 seconds", None, None)
    )
    wanted = [line.split(maxsplit=1) for line in LINES.strip().replace("sized for", "sized_for").splitlines()]
    assert len(told) == len(wanted)
    for (topic, text), (title, pattern) in zip(told, wanted, strict=True):
        assert topic.replace(" ", "_") == title
        assert says(text, pattern), text


def test_queries_of_one_pass_take_together_what_each_takes() -> None:
    plan = Shape(MINUTE, [(Average, 0)], more=SIXTEEN).plan
    loads = loads_of(("a", "b"), {"a": 10_000, "b": 50_000}, 1_000, "10 seconds", None, None)
    assert (loads["a"], loads["b"].keys, loads_of(("a",), None, None, "1 second", None, None)) == (
        load_of(10_000, 1_000, "10 seconds", None, None),
        50_000,
        {},
    )
    alone, other = (dict(size_topics(plan, loads[name])) for name in ("a", "b"))
    assert (alone["workers"].split(" of")[0], other["workers"].split(" of")[0]) == ("2.7 MB", "6.2 MB")
    both = size_together((plan, loads[name]) for name in ("a", "b"))
    assert [title for title, _ in both] == ["store", "workers"]
    assert both[1][1].startswith("8.9 MB of decoded state of all queries")


class Passing(StreamOperator[float, None, float]):
    """Hands each value on."""

    name, version = "test.passing", "1.0.0"

    def on_event(self, state: None, payload: float, time: int) -> list[float]:
        return [payload]


def test_a_query_without_a_state_holds_nothing() -> None:
    shape = Shape(None, [(Passing, 0)])
    assert shape.plan.choice.evaluator == "stateless"
    told = dict(size_topics(shape.plan, load_of(10, 1_000, "2 seconds", None, None)))
    assert (told["held"], told["batch"]) == ("nothing between micro-batches", "2,000 rows")


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"keys": 0}, "keys=0 is not a whole number above zero\n  write for example keys=10_000"),
        ({"keys": -3}, "keys=-3 is not a whole number above zero"),
        ({"keys": 2.5}, "keys=2.5 is not a whole number above zero"),
        ({"keys": "many"}, "keys='many' is not a whole number above zero"),
        ({"keys": True}, "keys=True is not a whole number above zero"),
        ({"keys": None}, "got rows_per_second=1000 alone"),
        ({"keys": None, "rows_per_second": None, "every": "1 minute"}, "got every='1 minute' alone"),
        ({"rows_per_second": None}, "got keys=10000 alone\n  write both: explain(keys=10_000, rows_per_second=1_000)"),
        ({"rows_per_second": 0}, "rows_per_second=0 is not a number above zero"),
        ({"rows_per_second": float("inf")}, "rows_per_second=inf is not a number above zero"),
        ({"rows_per_second": "1000"}, "rows_per_second='1000' is not a number above zero"),
        ({"payload_bytes": -1}, "payload_bytes=-1 is not a number above zero"),
        ({"every": "-1 second"}, "every='-1 second' is not a length of time above zero"),
        ({"every": 10}, "every=10 is not a length of time above zero\n  write for example every='10 seconds'"),
        ({"lifetime": "0 seconds"}, "lifetime='0 seconds' is not a length of time above zero"),
    ],
)
def test_a_load_that_cannot_be_is_refused(load: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError) as refused:
        of(Shape(MINUTE, [(Average, 0)]), **load)
    assert message in str(refused.value)


def test_a_load_of_no_query_of_a_pass_is_refused() -> None:
    with pytest.raises(QueryError, match="no query of this pass is named 'rids'"):
        loads_of(["rides", "fares"], 10, {"rids": 5}, "1 second", None, None)


def test_a_length_that_cannot_be_read_is_refused_as_anywhere() -> None:
    with pytest.raises(DurationError, match="soon"):
        of(Shape(MINUTE, [(Average, 0)]), every="soon")


def test_lifetimes_and_units_are_asked_for_where_sizes_depend_on_them() -> None:
    with pytest.raises(QueryError, match=r"events of .* last.*\n.*lifetime='30 seconds'"):
        of(Shape(snapshot(), [(Average, 0)], lasting=1.0))
    with pytest.raises(QueryError, match="have no unit"):
        of(Shape(MINUTE, [(Average, 0)], more={"unit": None, "axis": Axis.TICKS}))


def test_bytes_are_spelled_in_two_digits_or_three() -> None:
    assert [spell_bytes(size) for size in (0, 999, 1_000, 12_345, 999_400, 2.5e9)] == [
        "0 B",
        "999 B",
        "1.0 KB",
        "12 KB",
        "999 KB",
        "2.5 GB",
    ]
