"""Modules that break a law, that keep it, and to which it does not apply, with what the report or the skip says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class LawCase:
    """A law, and a subject to try it on.

    Attributes:
        laws: The laws class.
        law: The name of the law's test.
        subject: The module or function.
        attributes: What its writer sets in the laws class beside it, such as the payloads that may come.
        says: Parts of the report if the law is broken, or of the reason if it does not apply.
    """

    laws: type[Any]
    law: str
    subject: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    says: Sequence[str] = ()

    def __str__(self) -> str:
        return f"{self.law.removeprefix('test_')}-{self.subject.name}"


class Mode(Aggregate[str, str]):
    """The most frequent payload; if several are, the one that came first. That is the bug."""

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
    """A sum of payload times duration: added to the area of an event without an end, others are lost in rounding."""

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


def clipped_mean(self: object, events: Sequence[Event[float]], window: Window) -> float:
    """Return the mean over time; it raises where an event is not clipped to the window."""
    if any(event.start < window.start or event.end > window.end for event in events):
        raise ValueError("an event reaches beyond the window")
    return sum(event.payload * event.duration for event in events) / window.duration


def points_at_starts(self: object, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
    """Return a point at the start of each event that starts in the window: no result is before its cause."""
    return [Event.point(event.start, event.payload) for event in events if event.start >= window.start]


def ends_at_starts(self: object, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
    """Return the end of each event at its start, where it is not known yet."""
    return [Event.point(event.start, event.end) for event in events if event.start >= window.start]


def count_at_start(self: object, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
    """Return the number of the window's events at its start, where they are not known yet."""
    return [Event.point(window.start, len(events))]


def time_sensitive(base: Any, compute_result: Any, **attributes: Any) -> Any:
    """Return a class of time-sensitive modules that compute their result with a function."""
    return module_class(base, is_time_sensitive=True, compute_result=compute_result, **attributes)


INVERSE = module_class(Aggregate[float, float], compute_result=lambda self, payloads: 1 / min(payloads))()
MEAN = time_sensitive(Aggregate[float, float], clipped_mean)()
CLIPPED_MEAN = time_sensitive(Aggregate[float, float], clipped_mean, accepted_clips=frozenset({ClipPolicy.FULL}))()
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


def sum_with_form(columnar_form: Any) -> Any:
    """Return a sum with another columnar form."""
    return module_class(columnar.Sum[Any], columnar_form=columnar_form)()


# Its inverse is exact for the floats that are drawn by default, which have few digits, and not for any floats.
MEAN_WITH_INVERSE = module_class(
    columnar.Mean,
    components=lambda self: {"total": Component.merged(np.add, 0.0, inverse=np.subtract), "count": Component.count()},
)()
MASKED = module_class(columnar.NullShare, lift=lambda self, payloads: {"nulls": payloads.astype("int64")})()


class Unmasking(columnar.NullShare):
    """Writes over a payload in the array that it is given."""

    def lift(self, payloads: Any) -> Any:
        payloads[0] = 0.0
        return super().lift(payloads)


class Appending(columnar.Count):
    """Changes the payloads, which are lists."""

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


# More than a number of floating point can tell apart: whole numbers are exact whatever the tolerance.
LARGE_INTEGERS = st.integers(2**41, 2**42)

BROKEN: list[LawCase] = [
    LawCase(
        AggregateLaws,
        ORDER,
        INVERSE,
        says=[
            "compute_result raised ZeroDivisionError: float division by zero",
            "to do: make it work for the stream above, or say with payloads = ... what may come",
        ],
    ),
    LawCase(
        OperatorLaws,
        ORDER,
        module_class(Operator[int, int], compute_result=lambda self, payloads: None)(),
        says=["TypeError: compute_result of an operator returned None, and not rows"],
    ),
    LawCase(
        OperatorLaws,
        CONTRACT,
        time_sensitive(Operator[int, int], ends_at_starts, contract=OutputContract.TIME_BOUND)(),
        says=["the change's sync time"],
    ),
    LawCase(
        OperatorLaws,
        CONTRACT,
        time_sensitive(Operator[int, int], count_at_start, contract=OutputContract.TIME_BOUND)(),
        says=["the change's sync time"],
    ),
    LawCase(AggregateLaws, CLIPS, MEAN, says=["clip none", "an event reaches beyond the window"]),
    # definitions
    LawCase(
        Incremental,
        DEFINITION,
        module_class(Total, remove_event=lambda *_: 0)(),
        says=["it defines remove_event, which nothing calls; did you mean"],
    ),
    LawCase(
        Incremental,
        DEFINITION,
        module_class(Total, deduct=lambda *_: 0)(),
        says=["it defines deduct, which undoes combine, but no combine"],
    ),
    LawCase(
        Incremental,
        DEFINITION,
        module_class(Total, accepted_clips=frozenset())(),
        says=["accepted_clips is set(), expected at least one ClipPolicy"],
    ),
    LawCase(Incremental, DEFINITION, module_class(Total, name="Total")(), says=["Made is named 'Total'"]),
    LawCase(
        Incremental,
        DEFINITION,
        module_class(columnar.Sum[Any], compute_results=lambda self, state: state)(),
        says=["it defines compute_results, which nothing calls; did you mean compute_result?"],
    ),
    LawCase(
        FunctionLaws,
        DEFINITION,
        add,
        says=["the arguments of demo.add are not known: its parameters left, right have no annotation"],
    ),
    # columnar forms
    LawCase(
        Incremental,
        FORM,
        WRONG,
        {"payloads": LARGE_INTEGERS, "tolerance": 0.5},
        says=["first window, columnar form: 2199023255553\n  module: 2199023255552\n"],
    ),
    LawCase(Incremental, FORM, WRONG, {"payloads": st.floats(-1e6, 1e6), "tolerance": 0.0}, says=["columnar form: "]),
    LawCase(
        Incremental,
        FORM,
        FLOATS_FOR_INTEGERS,
        {"payloads": SMALL},
        says=["form does not fit: it is 0.0, expected integer"],
    ),
    LawCase(
        Incremental,
        FORM,
        sum_with_form(lambda self, reads: _raise(KeyError(reads.name))),
        {"payloads": SMALL},
        says=["columnar_form raised KeyError: "],
    ),
    LawCase(
        Incremental,
        FORM,
        sum_with_form(lambda self, reads: "columns"),
        {"payloads": SMALL},
        says=["columnar_form returned 'columns'"],
    ),
    # columnar aggregates
    LawCase(ColumnarAggregateLaws, "test_inverse_undoes_merging", MEAN_WITH_INVERSE, says=["and without it again"]),
    LawCase(
        ColumnarAggregateLaws,
        LIFT,
        MASKED,
        says=["'nulls' from lift has masked entries\n    expected: a value for each payload"],
    ),
    LawCase(ColumnarAggregateLaws, READ_ONLY, Unmasking(), says=["read-only"]),
    LawCase(ColumnarAggregateLaws, READ_ONLY, Appending(), says=["given to lift: [[[]]]\n  afterwards: [[[1]]]"]),
    *(
        LawCase(
            ColumnarAggregateLaws,
            law,
            module_class(columnar.Mean, components=lambda self: _raise(LookupError("gone")))(),
            says=["raised LookupError: gone"],
        )
        for law in ("test_components_stay_the_same", "test_rows_are_independent", "test_merging_is_associative")
    ),
]
"""Laws that a subject breaks, with parts of the report."""

KEPT: list[LawCase] = [
    # what breaks a law above keeps it with other payloads, or with other words of its writer
    LawCase(AggregateLaws, ORDER, INVERSE, {"payloads": st.floats(1, 2)}),
    LawCase(OperatorLaws, ORDER, module_class(Operator[int, int], compute_result=lambda self, payloads: payloads)()),
    LawCase(
        OperatorLaws,
        CONTRACT,
        time_sensitive(Operator[int, int], points_at_starts, contract=OutputContract.TIME_BOUND)(),
    ),
    *(LawCase(AggregateLaws, law, CLIPPED_MEAN) for law in laws_of(AggregateLaws)),
    LawCase(FunctionLaws, DEFINITION, add, {"arguments": st.tuples(st.integers(), st.integers())}),
    LawCase(Incremental, FORM, WRONG, {"payloads": st.floats(-1e6, 1e6)}),
    LawCase(
        Incremental,
        FORM,
        WRONG,
        {"payloads": st.floats(-1e6, 1e6), "tolerance": 0.0, "magnitude": classmethod(lambda cls, payloads: 2.0**45)},
    ),
    *(
        LawCase(Incremental, FORM, SUM, {"payloads": payloads, "tolerance": 0.0})
        for payloads in (
            SMALL,
            st.floats(-1e6, 1e6),
            SMALL | st.floats(-9, 9),
            st.integers(-(2**70), 2**70),
            st.sampled_from([1.7e308, -1.7e308, float("nan"), float("inf"), 5e-324]),
        )
    ),
    LawCase(ColumnarAggregateLaws, "test_inverse_undoes_merging", MEAN_WITH_INVERSE, {"payloads": SMALL}),
    LawCase(ColumnarAggregateLaws, DEFINITION, columnar.Mean()),
    # all laws of columnar aggregates with components of many kinds
    *(
        LawCase(ColumnarAggregateLaws, law, module())
        for module, law in product(
            (columnar.Histogram, columnar.Words, columnar.Busiest, columnar.NullShare, columnar.Account),
            laws_of(ColumnarAggregateLaws),
        )
    ),
]
"""Laws that a subject keeps; of those without attributes some do not apply."""

SKIPPED: list[LawCase] = [
    LawCase(Incremental, UNDOES, Total(), says=["demo.total has no remove_events"]),
    LawCase(Incremental, "test_deducting_undoes_combining", Total(), says=["demo.total has no combine and no deduct"]),
    *(
        LawCase(ColumnarAggregateLaws, law, module(), says=[reason])
        for law, module, reason in (
            ("test_merging_is_associative", columnar.Mean, "demo.mean has no component with a function of its own"),
            ("test_merging_has_an_identity", columnar.Median, "demo.median has no component that is merged"),
            ("test_inverse_undoes_merging", columnar.Variance, "demo.variance has no component with an inverse"),
            ("test_rows_are_independent", columnar.Count, "demo.count counts, and lifts nothing"),
            (UNDOES, columnar.Count, "demo.count has no remove_events"),
        )
    ),
    LawCase(
        Incremental, FORM, SUM, {"payloads": st.just(Decimal(1))}, says=["demo.sum has no columnar form for decimal"]
    ),
    LawCase(
        Incremental,
        FORM,
        SUM,
        {"payloads": st.booleans() | st.just("text")},
        says=["demo.sum are not of one type"],
    ),
]
"""Laws that do not apply to a subject, with a part of the reason."""
