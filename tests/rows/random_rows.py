"""Random row windows, and random rows for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from muntin.rows import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    LastRows,
    MarkerPolicy,
    PartitionedRows,
    Partitions,
    Row,
    RowBatches,
    RowsBetween,
)

VALUES: dict[str, tuple[Any, ...]] = {
    "p": ("a", "b", "c"),
    "v": (*range(10), *[None] * 10),
    "m": (False, False, True, None),
    "t": (False, True, None),
    "a": (True, True, False, None),
    "o": (False, True, True, None),
    "c": (False, False, True, None),
}
"""Values of what windows read, by its name; some come more often."""

STEPS = (0, 0, 1, 1, 2, 7)
"""Times between rows."""

COUNTS = st.builds(CountPolicy, st.integers(1, 5))
TIMES = st.builds(ElapsedPolicy, st.integers(1, 9))
DELTAS = st.builds(DeltaPolicy, st.just("v"), st.integers(0, 4))
MARKERS = st.builds(MarkerPolicy, st.just("m"))
ROWS = st.builds(ConditionPolicy, st.just("t"))
BY = st.sampled_from([None, Partitions("p")])
ADMITS = st.sampled_from([None, None, "a"])
LIMITED = st.builds(
    Partitions,
    st.just("p"),
    st.sampled_from([None, 3, 8]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 2, 5]),
    st.booleans(),
)


def sliding(by: Any = BY) -> st.SearchStrategy[PartitionedRows]:
    either = st.one_of(COUNTS, TIMES, DELTAS)
    return st.builds(LastRows, either, st.one_of(either, ROWS), partitions=by, admits=ADMITS)


def tumbling(by: Any = BY) -> st.SearchStrategy[PartitionedRows]:
    rows = st.one_of(COUNTS, DELTAS, MARKERS)
    return st.one_of(
        st.builds(RowBatches, st.one_of(rows, TIMES), partitions=by, admits=ADMITS),
        st.builds(RowBatches, rows, partitions=by, admits=ADMITS, within=TIMES),
    )


def bounded_by_rows(by: Any = BY) -> st.SearchStrategy[RowsBetween]:
    """Windows between rows, with each condition and with both."""
    more: dict[str, Any] = {"within": st.none() | TIMES, "closed_only": st.booleans(), "partitions": by}
    flags: dict[str, Any] = {"closing_row": st.booleans(), "reopens": st.booleans()}
    return st.one_of(
        st.builds(RowsBetween, st.just("o"), st.just("c"), **flags, **more),
        st.builds(RowsBetween, st.just("o"), **more),
        st.builds(RowsBetween, st.none(), st.just("c"), **more),
    )


def rows_for(windows: PartitionedRows, most: int = 25) -> st.SearchStrategy[list[Row]]:
    """Rows in order, several at a tick now and then, with what the windows read of them: a name has one value."""
    names = [*dict.fromkeys(windows.reads)]
    drawn = st.tuples(*(st.sampled_from(VALUES[name]) for name in names))
    values = drawn.map(lambda of: tuple(of[names.index(name)] for name in windows.reads))
    one = st.tuples(st.sampled_from(STEPS), values)

    def timed(drawn: list[tuple[int, tuple[Any, ...]]]) -> list[Row]:
        rows, time = [], -3
        for number, (step, values) in enumerate(drawn, 1):
            time += step
            rows.append(Row(number, time, values))
        return rows

    return st.lists(one, min_size=most // 3, max_size=most).map(timed)
