"""Modules that do what they can to take the engine along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Final

from muntin import INFINITY, EmitPolicy, IncrementalAggregate
from muntin.errors import MuntinError
from tests.scenarios.feed import Feed, query, row
from tests.scenarios.windows import WINDOWS
from tests.torture.kind import Figures

Method = Callable[..., Any]


class Honest(IncrementalAggregate[int, Any, int]):
    """What each hostile module is but for one method."""

    name, version = "torture.hostile", "6.6.6"

    def create_state(self) -> Any:
        return []

    def add_events(self, state: Any, payloads: Sequence[Any]) -> Any:
        return [*state, *payloads]

    def compute_result(self, state: Any) -> Any:
        return len(state)


class Wordless(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")

    __repr__ = __str__


def raising(error: Callable[[], BaseException]) -> Method:
    """Return a method that raises what a function makes."""

    def method(*_: Any) -> Any:
        raise error()

    return method


def forever(*_: Any) -> Any:
    """Call itself, until Python raises RecursionError."""
    return forever(*_)


def nested(*_: Any) -> Any:
    """A state of a hundred thousand lists, each in the next."""
    state: list[Any] = []
    for _number in range(100_000):
        state = [state]
    return state


def own_tail(*_: Any) -> Any:
    """A state that is a list of itself."""
    state: list[Any] = []
    state.append(state)
    return state


METHODS: Final[Mapping[str, Method]] = {
    "raises": raising(lambda: ValueError("no")),
    "raises twenty million characters": raising(lambda: ValueError("x" * 20_000_000)),
    "raises without words": raising(Wordless),
    "exits": raising(lambda: SystemExit(3)),
    "interrupts": raising(KeyboardInterrupt),
    "raises what is no Exception": raising(lambda: BaseException("base")),
    "stops an iteration": raising(StopIteration),
    "ends a generator": raising(GeneratorExit),
    "runs out of memory": raising(MemoryError),
    "calls itself": forever,
}
"""What any method may do."""

STATES: Final[Mapping[str, Method]] = {
    "nests its state": nested,
    "puts its state into itself": own_tail,
    "keeps a function": lambda *_: forever,
    "keeps a generator": lambda *_: iter(number for number in range(3)),
    "keeps a huge fraction": lambda *_: Fraction(10**20_000, 3**20_000),
    "keeps itself": lambda self, *_: self,
}
"""What only a state can be."""


def hostile(seed: int, folder: Path) -> Figures:
    """Put a fault into a method of a module: it is named, with its key, and the state stays as it was.

    Only a fault of the state may show nowhere, where no state is kept.
    """
    random = Random(seed)
    method = random.choice(("create_state", "add_events", "compute_result"))
    faults = {**METHODS, **STATES} if method == "add_events" else METHODS
    fault = random.choice(list(faults))
    module = type("Hostile", (Honest,), {method: faults[fault]})()
    window = random.choice(list(WINDOWS))
    emit = random.choice(list(EmitPolicy))
    feed = Feed(query(WINDOWS[window], module, emit=emit), "general")
    rows = [row(number, start=number, end=number + 20, value=number, key="key") for number in range(5)]
    for batch_rows, watermark in ((rows[:3], 2), (rows[3:], 30), ([], INFINITY)):
        cells_before = dict(feed.cells.cells)
        error = _error_of(lambda: feed.batch(*batch_rows, watermark=watermark))  # noqa: B023  # it is called at once
        if error is None:
            continue
        assert isinstance(error, MuntinError), f"{fault} in {method}: {type(error).__name__}"
        message = str(error)
        missing_names = [part for part in ("torture.hostile", "6.6.6", "key") if part not in message]
        assert not missing_names, f"{fault} in {method}: {missing_names} are not in {message[:2000]}"
        assert len(message) < 10_000, f"{fault} in {method}: a message of {len(message):,} characters"
        assert feed.cells.cells == cells_before, f"{fault} in {method}: the state was changed"
        return {"modules": 1, "named": 1}
    assert fault in STATES, f"{fault} in {method}: nothing was raised over {window}, {emit}"
    return {"modules": 1, "kept no state": 1}


def _error_of(call: Callable[[], object]) -> BaseException | None:
    """Return what a call raises, whatever it is; None if it raises nothing."""
    try:
        call()
    except BaseException as error:  # a module's KeyboardInterrupt too
        return error
    return None
