"""Scripts and the engine refuse the same results: those that are not of the type that their module declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin import (
    Aggregate,
    Event,
    IncrementalAggregate,
    Module,
    Operator,
    RowOperator,
    StreamOperator,
    tumbling,
)
from muntin.errors import ModuleContractError
from muntin.rows import MemberRow, RowsInWindow, last
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowKind, WindowSpecification
from muntin.windows.specification import Unwindowed
from tests.scenarios.query import Query
from tests.scenarios.stepping import final

pytestmark = pytest.mark.usefixtures("all_states_small")

MODULES = 250
"""The number of random modules."""


@dataclass(frozen=True)
class Reading:
    level: int
    parts: list[float]


@dataclass(frozen=True)
class Level:
    level: int


class LooseReading(NamedTuple):
    """A tuple with the fields of a reading, of any types."""

    level: Any
    parts: Any


TYPES: Sequence[Any] = (
    int,
    float,
    bool,
    str,
    bytes,
    Decimal,
    date,
    datetime,
    timedelta,
    list[int],
    dict[str, int],
    Reading,
)
"""Result types that modules declare."""

VALUES: Sequence[Any] = (
    *(None, True, 5, 2**70, 1.5, float("nan"), Fraction(1, 3), 10**400),
    *("five", "\ud800", b"five", bytearray(b"five"), Decimal("1.5"), Decimal("NaN")),
    *(np.int64(3), np.float32(0.5), np.bool_(True), np.array([1, 2])),
    *(date(2024, 5, 1), datetime(2024, 5, 1, tzinfo=UTC), timedelta(1)),
    *([1, None], [1, "a"], [], (1, 2), {1, 2}, range(3), {"a": 1}, {"a": "b"}, {1: 2}, {None: 1}),
    *(Reading(1, [0.5]), Reading("a", [0.5]), Reading(1, ["a"]), Level(1), LooseReading(1, [2.0]), LooseReading(1, 2)),  # type: ignore[arg-type,list-item]  # that is the point
    *({"level": 1, "parts": []}, {"level": 1}, (1, [0.5]), (1, [0.5], 2), object()),
)


def aggregate(annotation: Any, value: Any) -> Module:
    """Return an aggregate that declares `annotation` for its results, and returns `value`."""

    class Returns(Aggregate[int, annotation]):
        name, version = "test.returns", "1"

        def compute_result(self, payloads: Sequence[int]) -> Any:
            return value

    return Returns()


def incremental_aggregate(annotation: Any, value: Any) -> Module:
    """Return an incremental aggregate that declares `annotation` for its results, and returns `value`."""

    class Returns(IncrementalAggregate[int, int, annotation]):
        name, version = "test.returns", "1"

        def create_state(self) -> int:
            return 0

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            return state + len(payloads)

        def combine(self, state: int, other: int) -> int:
            return state + other

        def compute_result(self, state: int) -> Any:
            return value

    return Returns()


def operator(annotation: Any, value: Any) -> Module:
    """Return an operator that declares `annotation` for its results, and returns `value`."""

    class Returns(Operator[int, annotation]):
        name, version = "test.returns", "1"

        def compute_result(self, payloads: Sequence[int]) -> list[Any]:
            return [value]

    return Returns()


def operator_of_events(annotation: Any, value: Any) -> Module:
    """Return an operator of events with times that declares `annotation` for its results, and returns `value`."""

    class Returns(Operator[int, annotation]):
        name, version = "test.returns", "1"
        is_time_sensitive = True

        def compute_result(self, events: Sequence[Event[int]], window: Any) -> list[Any]:
            return [Event(window.start, window.end, value)]

    return Returns()


def stream_operator(annotation: Any, value: Any) -> Module:
    """Return an operator that follows a stream that declares `annotation` for its results, and returns `value`."""

    class Returns(StreamOperator[int, int, annotation]):
        name, version = "test.returns", "1"

        def create_state(self) -> int:
            return 0

        def on_event(self, state: int, payload: int, time: int) -> Iterable[Any]:
            return [value]

    return Returns()


def row_operator(annotation: Any, value: Any) -> Module:
    """Return an operator over rows that declares `annotation` for its results, and returns `value`."""

    class Returns(RowOperator[int, int, annotation, None]):
        name, version = "test.returns", "1"

        def create_state(self) -> int:
            return 0

        def on_insert(self, state: int, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[Any]:
            return [value]

    return Returns()


def row_operator_of_two_outputs(annotation: Any, value: Any) -> Module:
    """Return an operator over rows whose second output declares `annotation` for its results; it returns `value`."""

    class Returns(RowOperator[int, int, int, annotation]):
        name, version = "test.returns", "1"

        def create_state(self) -> int:
            return 0

        def on_evict(self, state: int, rows: Any, window: RowsInWindow[int]) -> Iterable[Any]:
            return [value]

    return Returns()


MODULE_KINDS: Sequence[tuple[Any, WindowSpecification]] = (
    (aggregate, tumbling(10)),
    (incremental_aggregate, tumbling(10)),
    (aggregate, last(1)),
    (operator, tumbling(10)),
    (operator_of_events, tumbling(10)),
    (stream_operator, Unwindowed()),
    (row_operator, last(1)),
    (row_operator_of_two_outputs, last(1)),
)
"""The functions that make modules, each with windows for its module."""

STREAM = Script().point("a", 1, 1).point("b", 12, 2).close()


def refusal(call: Any, *arguments: Any) -> str:
    """Return how the error of a call begins; an empty text if it raises none."""
    try:
        call(*arguments)
    except ModuleContractError as error:
        return str(error).partition(": ")[0]
    return ""


def run_on_engine(module: Module, window: WindowSpecification) -> None:
    """Run a query of a module by each evaluator that can."""
    query = Query(window, (module,), lifetimes="points", has_order=not isinstance(window, WindowKind))
    for evaluator in query.evaluators:
        final(query, STREAM, evaluator=evaluator)


def test_scripts_and_the_engine_refuse_the_same_types_of_results() -> None:
    random = Random(7)
    outcomes = Counter[tuple[str, str]]()
    for number in range(MODULES):
        make_module, window = random.choice(MODULE_KINDS)
        annotation = random.choice(TYPES)
        value = random.choice(VALUES)
        module = make_module(annotation, value)
        query = WindowedQuery(window, [Computation(module)], event_ends_move=False)
        script_error = refusal(STREAM.run, query)
        engine_error = refusal(run_on_engine, module, window)
        assert script_error == engine_error, f"{number}: {make_module.__name__} of {annotation} that returns {value!r}"
        outcomes[make_module.__name__, "refused" if script_error else "accepted"] += 1
    for make_module, _ in MODULE_KINDS:
        assert outcomes[make_module.__name__, "refused"], f"no {make_module.__name__} was refused"
        assert outcomes[make_module.__name__, "accepted"], f"no {make_module.__name__} was accepted"


def test_a_script_says_what_the_module_returned_and_what_it_declares() -> None:
    query = WindowedQuery(tumbling(10), [Computation(aggregate(annotation=int, value="five"))])
    with pytest.raises(ModuleContractError) as refused:
        STREAM.run(query)
    assert str(refused.value) == (
        "test.returns 1 returned a value that is not what it declares: it is 'five', expected integer\n"
        "  window: [0, 10)\n"
        "  return what the class declares in its brackets, or declare what it returns"
    )
