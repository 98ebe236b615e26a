"""Every evaluator tells of a module that fails with its key, window and method, and leaves the state as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin import (
    INFINITY,
    Aggregate,
    EmitPolicy,
    IncrementalAggregate,
    Module,
    Window,
    hopping,
    session,
    tumbling,
)
from muntin.errors import ModuleFailedError
from muntin.windows import WindowSpecification
from muntin_engine.errors import StateError
from tests.modules.restarts import Buffer, Turns
from tests.naming import spelled
from tests.scenarios.feed import Feed, Merged, at, query, revision, row


class Fragile(IncrementalAggregate[int, list[int], int]):
    """Fails in one method, if an argument has a seven in it; `create_state`, which has no arguments, always fails."""

    name, version = "test.fragile", "1.0.0"

    def __init__(self, method: str) -> None:
        self.method = method

    def __getattribute__(self, name: str) -> Any:
        attribute = object.__getattribute__(self, name)
        fragile_method = object.__getattribute__(self, "__dict__").get("method")
        return self.failing(attribute) if name == fragile_method else attribute

    def failing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that fails where the method is given a seven."""

        def call(*arguments: Any) -> Any:
            if not arguments or any(7 in argument for argument in arguments):
                raise StopIteration("as a bare next() does")
            return method(*arguments)

        return call

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [payload for payload in state if payload not in payloads]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return state + other

    def compute_result(self, state: list[int]) -> int:
        return len(state)


class Deducting(Fragile):
    """A fragile module with `deduct`."""

    name = "test.fragile"

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        return [payload for payload in state if payload not in other]


METHODS = ["create_state", "add_events", "combine", "compute_result"]
# evaluator, failing method, module, windows
CASES: list[tuple[str, str, Module, WindowSpecification]] = [
    *(("sliced", method, Fragile(method), tumbling(10)) for method in METHODS),
    *(("sliced", method, Deducting(method), hopping(30, 10)) for method in [*METHODS, "deduct"]),
    *(("sliced", method, Fragile(method), session(10)) for method in METHODS),
    *(("general", method, Fragile(method), tumbling(10)) for method in METHODS if method != "combine"),
    ("general", "remove_events", Fragile("remove_events"), hopping(30, 10)),
]


@pytest.mark.parametrize(("evaluator", "method", "module", "window"), CASES, ids=spelled)
def test_a_failure_names_module_key_window_and_method(
    evaluator: str, method: str, module: Module, window: WindowSpecification
) -> None:
    """
    tick    0   4 5 6    13    23    33    ...    83
    a       1             3     3     3     3      3      payloads
    b           2 7 4     3     3     3     3      3

    The first batch has the 1 and the 2, the second one all others, and it closes the stream.
    """
    feed = Feed(query(window, Merged(), module, lifetimes="points"), evaluator)
    cells_before: dict[str, bytes] = {}
    if method != "create_state":  # which would fail in the first batch
        feed.batch(at(0, value=1, key="a"), at(4, value=2, key="b"))
        cells_before = dict(feed.cells.cells)
    rows = [at(5, value=7, key="b"), at(6, value=4, key="b")]
    for tick in range(13, 90, 10):
        rows += [at(tick, value=3, key="a"), at(tick, value=3, key="b")]
    with pytest.raises(ModuleFailedError, match=rf"test.fragile 1.0.0 failed in {method}: StopIteration") as caught:
        feed.batch(*rows, watermark=INFINITY)

    error = caught.value
    assert isinstance(error.__cause__, StopIteration)
    assert isinstance(error.window, Window)
    if method != "create_state":
        assert error.key == ("b",)
    if method not in ("create_state", "deduct", "remove_events"):  # rows leave when the next window is computed
        assert error.window.start <= 5 < error.window.end, "the window of the seven"
    assert feed.cells.cells == cells_before


class Chain(IncrementalAggregate[int, Any, int]):
    """Keeps a linked list of pairs, which cannot be stored when it is long."""

    name, version = "test.chain", "4.2.0"

    def create_state(self) -> Any:
        return ()

    def add_events(self, state: Any, payloads: Sequence[int]) -> Any:
        for payload in payloads:
            state = (payload, state)
        return state

    def combine(self, state: Any, other: Any) -> Any:
        remaining_links = other
        while remaining_links:
            payload, remaining_links = remaining_links
            state = (payload, state)
        return state

    def compute_result(self, state: Any) -> int:
        return 1


TOO_DEEP = "nested more than 100 deep(.|\n)*flatten it"
# evaluator, module, windows, emission, reason in the message
UNSTORABLE: list[tuple[str, Module, WindowSpecification, EmitPolicy, str]] = [
    ("sliced", Chain(), tumbling(10), EmitPolicy.FINAL, TOO_DEEP),
    ("sliced", Chain(), hopping(30, 10), EmitPolicy.FINAL, TOO_DEEP),
    ("sliced", Chain(), session(9), EmitPolicy.FINAL, TOO_DEEP),
    ("sliced", Buffer(), tumbling(10), EmitPolicy.FINAL, "of type bytearray"),
    ("sliced", Turns(), tumbling(10), EmitPolicy.FINAL, "Span refuses it: ValueError"),
    ("general", Chain(), tumbling(10), EmitPolicy.EAGER, TOO_DEEP),
]


@pytest.mark.parametrize(("evaluator", "module", "window", "emit", "reason"), UNSTORABLE, ids=spelled)
def test_a_state_that_cannot_be_stored_is_named_with_its_module_key_and_window(
    evaluator: str, module: Module, window: WindowSpecification, emit: EmitPolicy, reason: str
) -> None:
    """A chain of the rows of one batch can be written; that of key `b` is too long when the entries are merged.

    States of other types cannot be written from the first one on, which is that of key `a`.
    """
    feed = Feed(query(window, module, emit=emit, lifetimes="points"), evaluator)
    message = rf"{module.name} {module.version} made a state that cannot be stored: (.|\n)*{reason}"

    def feed_all() -> None:
        for batch in range(12):
            rows_of_b = [at(25, value=1 + (batch + number) % 9, key="b") for number in range(20)]
            feed.batch(at(1, value=1, key="a"), *rows_of_b, at(25, value=1, key="c"))

    with pytest.raises(StateError, match=message) as caught:
        feed_all()
    place = "key: ('b',)\n  window: [2" if isinstance(module, Chain) else "key: ('a',)\n  window: [0, 10)"
    assert place in str(caught.value)


class Counted(NamedTuple):
    """A record with a list, as a module may declare one."""

    values: list[int]
    size: int


class ListForm(NamedTuple):
    """A form in which a module may return a list.

    Attributes:
        declared: The result type that the module declares.
        form: The function that gives a list of payloads this form.
        expected: The result in a row of the output, for the payloads 1 and 2.
    """

    declared: Any
    form: Callable[[list[int]], Any]
    expected: Any


LIST_FORMS: dict[str, ListForm] = {
    "array": ListForm(list[int], np.array, [1, 2]),
    "matrix": ListForm(list[list[int]], lambda values: np.array([values]), [[1, 2]]),
    "in a map": ListForm(dict[str, list[int]], lambda values: {"a": np.array(values)}, [("a", [1, 2])]),
    "in a record": ListForm(
        Counted,
        lambda values: Counted(np.array(values), 2),  # type: ignore[arg-type]
        {"values": [1, 2], "size": 2},
    ),
    "iterator": ListForm(list[int], iter, [1, 2]),
    "tuple": ListForm(list[int], tuple, [1, 2]),
}


@pytest.mark.parametrize("name", LIST_FORMS)
@pytest.mark.parametrize("emit", [EmitPolicy.EAGER, EmitPolicy.FINAL])
def test_a_list_may_be_an_array_whether_or_not_results_are_kept(name: str, emit: EmitPolicy) -> None:
    list_form = LIST_FORMS[name]

    class Formed(Aggregate[int, list_form.declared]):  # type: ignore[name-defined]
        name, version = "test.formed", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> Any:
            return list_form.form(sorted(payloads))

    # An eager result is kept until it is retracted, which repeats it; a final one is emitted once.
    feed = Feed(query(tumbling(10), Formed(), emit=emit), "general")
    rows = feed.batch(row(1, start=3, end=5, value=1), row(2, start=4, end=5, value=2)).rows
    retractions = [revision(2, start=4, end=5, new_end=4, value=2)] if emit is EmitPolicy.EAGER else []
    rows += feed.batch(*retractions, watermark=10).rows
    final_or_retracted = [result["result"] for result in rows if result.get("change") != "insert"]
    assert final_or_retracted[0] == list_form.expected
