"""What breaks a law, what keeps it and to what it does not apply: modules with what is said of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from muntin import (
    Aggregate,
    ClipPolicy,
    Component,
    Event,
    IncrementalAggregate,
    Operator,
    OutputContract,
    Window,
    function,
)
from muntin.testing import (
    AggregateLaws,
    ColumnarAggregateLaws,
    FunctionLaws,
    IncrementalAggregateLaws,
    OperatorLaws,
    laws_of,
)
from tests.sdk.columnar import columnar_modules as columnar
from tests.sdk.module_classes import module_class

Incremental = IncrementalAggregateLaws
ORDER = "test_order_does_not_matter"
CONTRACT = "test_outputs_obey_the_contract"
FORM = "test_columnar_form_gives_the_same_result"
DEFINITION = "test_definition_is_complete"
UNDOES = "test_removing_undoes_adding"
CLIPS = "test_accepted_clips_work"
LIFT = "test_lift_returns_each_component"
READ_ONLY = "test_arrays_are_read_only"


class Mode(Aggregate[str, str]):
    """The most frequent payload; of several, the first that came. That is the bug."""

    name, version = "demo.mode", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> str:
        return Counter(payloads).most_common(1)[0][0]


class Total(IncrementalAggregate[int, int, int]):
    name, version = "demo.total", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


class Area(IncrementalAggregate[float, float, float]):
    """A sum whose digits do not suffice for an event without an end and the others too."""

    name, version = "demo.area", "1.0.0"
    is_time_sensitive = True

    def create_state(self, window: Window) -> float:
        return 0.0

    def add_events(self, state: float, events: Sequence[Event[float]], window: Window) -> float:
        return state + sum(event.payload * event.duration for event in events)

    def remove_events(self, state: float, events: Sequence[Event[float]], window: Window) -> float:
        return state - sum(event.payload * event.duration for event in events)

    def compute_result(self, state: float, window: Window) -> float:
        return state


def mean(self: object, events: Sequence[Event[float]], window: Window) -> float:
    """Right under full clip alone."""
    if any(event.start < window.start or event.end > window.end for event in events):
        raise ValueError("an event reaches beyond the window")
    return sum(event.payload * event.duration for event in events) / window.duration


def starts(self: object, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
    """A point at the start of each event: caused by it, and never before it."""
    return [Event.point(event.start, event.payload) for event in events if event.start >= window.start]


def ends(self: object, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
    """Says at the start how long an event will last, which is known at its end alone."""
    return [Event.point(event.start, event.end) for event in events if event.start >= window.start]


def crowd(self: object, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
    """Says at the window's start how many events it will have."""
    return [Event.point(window.start, len(events))]


def timed(base: Any, compute: Any, **attributes: Any) -> Any:
    return module_class(base, is_time_sensitive=True, compute_result=compute, **attributes)


INVERSE = module_class(Aggregate[float, float], compute_result=lambda self, payloads: 1 / min(payloads))()
MEAN = timed(Aggregate[float, float], mean)()
CLIPPED_MEAN = timed(Aggregate[float, float], mean, accepted_clips=frozenset({ClipPolicy.FULL}))()
OFF_BY_ONE = module_class(
    columnar.Total, compute_results=lambda self, sums: sums["total"] + (abs(sums["total"]) >= 2**40)
)()
OFF_BY_A_BIT = module_class(columnar.FloatTotal, compute_results=lambda self, sums: sums["total"] * (1 + 2**-40))()
SUM: columnar.Sum[Any] = columnar.Sum(integer=columnar.Total(), float=columnar.FloatTotal())
WRONG: columnar.Sum[Any] = columnar.Sum(integer=OFF_BY_ONE, float=OFF_BY_A_BIT)
FLOATS_FOR_INTEGERS: columnar.Sum[Any] = columnar.Sum(integer=columnar.FloatTotal())
SMALL = st.integers(-9, 9)


def _raise(error: Exception) -> Any:
    raise error


def form(columnar_form: Any) -> Any:
    """Return a sum with another columnar form."""
    return module_class(columnar.Sum[Any], columnar_form=columnar_form)()


# Exact for the friendly floats that are drawn by default, and not for floats.
UNDONE = module_class(
    columnar.Mean,
    components=lambda self: {"total": Component.merged(np.add, 0.0, inverse=np.subtract), "count": Component.count()},
)()
MASKED = module_class(columnar.NullShare, lift=lambda self, payloads: {"nulls": payloads.astype("int64")})()


class Unmasking(columnar.NullShare):
    def lift(self, payloads: Any) -> Any:
        payloads[0] = 0.0
        return super().lift(payloads)


class Clearing(columnar.Count):
    _types = classmethod(lambda cls: {"input": list[int], "result": int})

    def components(self) -> Any:
        return {"count": Component.sum("int64")}

    def lift(self, payloads: Any) -> Any:
        for payload in payloads:
            payload.append(1)
        return {"count": np.ones(len(payloads), "int64")}


@function("demo.add", version="1.0.0")
def add(left, right) -> int:  # type: ignore[no-untyped-def]  # that is the point
    return int(left + right)


NOT_ITERABLE = "TypeError: compute_result of an operator returned None, and not rows"
REPORTS: list[tuple[type[Any], str, Any, dict[str, Any], list[str]]] = [
    # the laws class, a law, what breaks it, attributes of the laws class, and parts of the report
    (
        AggregateLaws,
        ORDER,
        INVERSE,
        {},
        [
            "compute_result raised ZeroDivisionError: float division by zero",
            "to do: make it work for the stream above, or say with payloads = ... what may come",
        ],
    ),
    (
        OperatorLaws,
        ORDER,
        module_class(Operator[int, int], compute_result=lambda self, payloads: None)(),
        {},
        [NOT_ITERABLE],
    ),
    *(
        (
            OperatorLaws,
            CONTRACT,
            timed(Operator[int, int], compute, contract=OutputContract.TIME_BOUND)(),
            {},
            ["the change's sync time"],
        )
        for compute in (ends, crowd)
    ),
    (AggregateLaws, CLIPS, MEAN, {}, ["clip none", "an event reaches beyond the window"]),
    *(
        (Incremental, DEFINITION, type("Total", (Total,), attributes)(), {}, [reason])
        for attributes, reason in (
            ({"remove_event": lambda *_: 0}, "it defines remove_event, which nothing calls; did you mean"),
            ({"deduct": lambda *_: 0}, "it defines deduct, which undoes combine, but no combine"),
            ({"accepted_clips": frozenset()}, "accepted_clips is set(), expected at least one ClipPolicy"),
            ({"name": "Total"}, "Total is named 'Total'"),
        )
    ),
    (
        FunctionLaws,
        DEFINITION,
        add,
        {},
        ["the arguments of demo.add are not known: its parameters left, right have no annotation"],
    ),
    # columnar forms
    (
        Incremental,
        FORM,
        WRONG,
        {"payloads": st.integers(2**41, 2**42), "tolerance": 0.5},  # whole numbers are exact whatever the tolerance
        ["first window, columnar form: 2199023255553\n  module: 2199023255552\n"],
    ),
    (Incremental, FORM, WRONG, {"payloads": st.floats(-1e6, 1e6), "tolerance": 0.0}, ["columnar form: "]),
    (Incremental, FORM, FLOATS_FOR_INTEGERS, {"payloads": SMALL}, ["form does not fit: it is 0.0, expected integer"]),
    (
        Incremental,
        FORM,
        form(lambda self, reads: _raise(KeyError(reads.name))),
        {"payloads": SMALL},
        ["columnar_form raised KeyError: "],
    ),
    (Incremental, FORM, form(lambda self, reads: "columns"), {"payloads": SMALL}, ["columnar_form returned 'columns'"]),
    (
        Incremental,
        DEFINITION,
        module_class(columnar.Sum[Any], compute_results=lambda self, state: state)(),
        {},
        ["it defines compute_results, which nothing calls; did you mean compute_result?"],
    ),
    (ColumnarAggregateLaws, "test_inverse_undoes_merging", UNDONE, {}, ["and without it again"]),
    (
        ColumnarAggregateLaws,
        LIFT,
        MASKED,
        {},
        ["'nulls' from lift has masked entries\n    expected: a value for each payload"],
    ),
    (ColumnarAggregateLaws, READ_ONLY, Unmasking(), {}, ["read-only"]),
    (ColumnarAggregateLaws, READ_ONLY, Clearing(), {}, ["given to lift: [[[]]]\n  afterwards: [[[1]]]"]),
    *(
        (
            ColumnarAggregateLaws,
            law,
            module_class(columnar.Mean, components=lambda self: _raise(LookupError("gone")))(),
            {},
            ["raised LookupError: gone"],
        )
        for law in ("test_components_stay_the_same", "test_rows_are_independent", "test_merging_is_associative")
    ),
]
KEPT: list[tuple[type[Any], str, Any, dict[str, Any]]] = [
    # the same with what may come, or what is said of it
    (AggregateLaws, ORDER, INVERSE, {"payloads": st.floats(1, 2)}),
    (OperatorLaws, ORDER, module_class(Operator[int, int], compute_result=lambda self, payloads: payloads)(), {}),
    (OperatorLaws, CONTRACT, timed(Operator[int, int], starts, contract=OutputContract.TIME_BOUND)(), {}),
    *((AggregateLaws, law, CLIPPED_MEAN, {}) for law in laws_of(AggregateLaws)),
    (FunctionLaws, DEFINITION, add, {"arguments": st.tuples(st.integers(), st.integers())}),
    (Incremental, FORM, WRONG, {"payloads": st.floats(-1e6, 1e6)}),
    (
        Incremental,
        FORM,
        WRONG,
        {"payloads": st.floats(-1e6, 1e6), "tolerance": 0.0, "magnitude": classmethod(lambda cls, payloads: 2.0**45)},
    ),
    *(
        (Incremental, FORM, SUM, {"payloads": payloads, "tolerance": 0.0})
        for payloads in (
            *(SMALL, st.floats(-1e6, 1e6), SMALL | st.floats(-9, 9), st.integers(-(2**70), 2**70)),
            st.sampled_from([1.7e308, -1.7e308, float("nan"), float("inf"), 5e-324]),
        )
    ),
    (ColumnarAggregateLaws, "test_inverse_undoes_merging", UNDONE, {"payloads": SMALL}),
    (ColumnarAggregateLaws, DEFINITION, columnar.Mean(), {}),
    *(
        (ColumnarAggregateLaws, law, module(), {})
        for module, law in product(
            (columnar.Histogram, columnar.Words, columnar.Busiest, columnar.NullShare, columnar.Account),
            laws_of(ColumnarAggregateLaws),
        )
    ),
]
SKIPPED: list[tuple[type[Any], str, Any, dict[str, Any], str]] = [
    (Incremental, UNDOES, Total(), {}, "demo.total has no remove_events"),
    (Incremental, "test_deducting_undoes_combining", Total(), {}, "demo.total has no combine and no deduct"),
    *(
        (ColumnarAggregateLaws, law, module(), {}, reason)
        for law, module, reason in (
            ("test_merging_is_associative", columnar.Mean, "demo.mean has no component with a function of its own"),
            ("test_merging_has_an_identity", columnar.Median, "demo.median has no component that is merged"),
            ("test_inverse_undoes_merging", columnar.Variance, "demo.variance has no component with an inverse"),
            ("test_rows_are_independent", columnar.Count, "demo.count counts, and lifts nothing"),
            (UNDOES, columnar.Count, "demo.count has no remove_events"),
        )
    ),
    (Incremental, FORM, SUM, {"payloads": st.just(Decimal(1))}, "demo.sum has no columnar form for decimal"),
    (Incremental, FORM, SUM, {"payloads": st.booleans() | st.just("text")}, "demo.sum are not of one type"),
]
