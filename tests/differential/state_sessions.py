"""Runs a stream through buckets of sessions with Python states, with late rows among the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from muntin import IncrementalAggregate
from muntin.testing import reference
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.skipping import Present
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.lifting import Rows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
from muntin_engine.evaluators.arrays.session_store import SessionStore
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.state.codec import Codec
from tests.core.sliced.build import Members, SizedMembers, Total
from tests.differential.remembered import remembered
from tests.differential.sessions import SessionCase, SessionRun
from tests.differential.slices import follow


class Spans(IncrementalAggregate[int, tuple[int, list[int]], tuple[int, ...]]):
    """The least and the largest member, and how many there are; its states are tuples that hold a list."""

    name, version = "test.spans", "1.0.0"

    def create_state(self) -> tuple[int, list[int]]:
        return 0, []

    def add_events(self, state: tuple[int, list[int]], payloads: Sequence[int]) -> tuple[int, list[int]]:
        return state[0] + len(payloads), _ends([*state[1], *payloads])

    def combine(self, state: tuple[int, list[int]], other: tuple[int, list[int]]) -> tuple[int, list[int]]:
        return state[0] + other[0], _ends([*state[1], *other[1]])

    def compute_result(self, state: tuple[int, list[int]]) -> tuple[int, ...]:
        return state[0], *state[1]


def _ends(values: Sequence[int]) -> list[int]:
    return [min(values), max(values)] if values else []


MODULES: dict[str, tuple[IncrementalAggregate[int, Any, Any], ...]] = {
    "members": (Members(),),
    "several": (Total(), Members(), Spans()),
    "sized": (SizedMembers(),),
}


@dataclass(frozen=True)
class StateSessionCase(SessionCase):
    """Aggregates with `combine` over sessions; `forms` names them."""

    skips_nulls: bool = False

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The modules as they are called."""
        select = Present(0) if self.skips_nulls else itemgetter(0)
        return tuple(Binding(module, select) for module in MODULES[self.forms])

    @property
    def reference(self) -> reference.WindowedQuery:
        """The query as the oracle reads it."""
        accepts = _is_present if self.skips_nulls else _accepts_all
        modules = map(remembered, MODULES[self.forms])
        computations = [reference.Computation(module, accepts=accepts) for module in modules]
        return reference.WindowedQuery(self.window, computations, event_ends_move=False)

    @property
    def stream(self) -> Script:
        """A random legal stream; without nulls where modules do not skip them."""
        stream = super().stream
        return stream if self.skips_nulls else replace(stream, steps=tuple(map(_without_null, stream.steps)))


def _is_present(payload: object) -> bool:
    return payload is not None


def _accepts_all(payload: object) -> bool:
    del payload
    return True


def _without_null(step: Step) -> Step:
    if not isinstance(step, KeyedChange) or step.change.event.payload is not None:
        return step
    return replace(step, change=replace(step.change, event=replace(step.change.event, payload=100)))


class StateSessionRun(SessionRun):
    """A stream on its way through buckets of sessions with Python states."""

    case: StateSessionCase

    @property
    def bindings(self) -> Sequence[Binding]:
        """The modules as they are now."""
        return self.case.bindings

    def _blobs(self, fusing: Fusing, rows: Rows) -> Iterable[BucketBlob]:
        return lift_each(fusing, rows)

    def _store(self) -> SessionStore:
        return SessionStore(StateEntries(self.bindings, 1, Codec()), at_end=False)

    def _results(self, closed: Closed) -> Sequence[list[Any]]:
        assert closed.values is not None
        return closed.values


def run_states(case: StateSessionCase, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ.
    """
    follow(StateSessionRun(case), stream)
