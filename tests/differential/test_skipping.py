"""Each module decides for its own input: what one does not accept changes nothing for the others.

Random streams some of whose payloads are null run through every way of emission under modules that do not read nulls,
beside one that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest

from muntin import EmitPolicy, IncrementalAggregate, Refinement, hopping, tumbling
from muntin.changes import Insertion, Revision
from muntin.testing import reference
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin.windows import HoppingWindows
from muntin_adapters.combinators import with_default
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.core.skipping import Accepted, Choosy, Present
from muntin_engine.evaluators.slices.adaptive import Mode
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from tests.core.sliced.build import Answer, CountedDeducting, Feed, Members, Row, sliced
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.modules import SHAPES
from tests.differential.test_inputs import insertions


class AnyCount(IncrementalAggregate[int | None, int, int]):
    """How many members there are, null or not."""

    name, version = "test.any_count", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int | None]) -> int:
        return state + len(payloads)

    def remove_events(self, state: int, payloads: Sequence[int | None]) -> int:
        return state - len(payloads)

    def compute_result(self, state: int) -> int:
        return state


def test_what_a_module_says_of_nothing_holds_where_it_is_given_nothing() -> None:
    class Largest(IncrementalAggregate[int, int, int]):
        name, version = "test.largest", "1"

        def create_state(self) -> int:
            return -(2**40)

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            return max(state, *payloads)

        def compute_result(self, state: int) -> int:
            return state

    for module, expected in ((Largest(), None), (with_default(Largest, 7)(), 7)):
        query = reference.WindowedQuery(tumbling(10), [reference.Computation(module, accepts=is_present)])
        stream = Script().point("a", 3).close()
        assert [row.value for row in stream.run(query)[None]] == [(expected,)]
        choosy = Choosy(module)
        assert choosy.compute_result(choosy.add_events(choosy.create_state(), [])) == expected


def is_present(payload: object) -> bool:
    return payload is not None


def is_whole(row: Sequence[object]) -> bool:
    return row[0] is not None


@dataclass(frozen=True)
class NullCase(Case):
    """A case a third of whose payloads are null, with a module that accepts them beside those that do not."""

    is_record: bool = False

    @property
    def reference(self) -> reference.WindowedQuery:
        known = super().reference
        choosy = [replace(computation, accepts=is_present) for computation in known.computations]
        plain = [] if choosy[0].module.is_operator else [reference.Computation(AnyCount())]
        return replace(known, computations=[*plain, *choosy])

    @property
    def query(self) -> EvaluatorQuery:
        known = super().query
        select = Accepted(_first, is_whole) if self.is_record else Present(0)
        choosy = [Binding(binding.module, select) for binding in known.bindings]
        plain = [] if known.is_operator else [Binding(AnyCount(), _first)]
        return replace(known, bindings=(*plain, *choosy))

    def another_stream(self, number: int, *, in_order: bool = False) -> Script:
        stream = super().another_stream(number, in_order=in_order)
        return replace(stream, steps=tuple(map(_with_nulls, stream.steps)))


def _first(row: Sequence[int]) -> int:
    return row[0]


def _with_nulls(step: Step) -> Step:
    if not isinstance(step, KeyedChange) or hash(step.change.id) % 3:
        return step
    event = replace(step.change.event, payload=None)
    change = step.change
    if isinstance(change, Revision):
        return replace(step, change=replace(change, event=event))
    assert isinstance(change, Insertion)
    return replace(step, change=replace(change, event=event))


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", WINDOWS)
def test_what_a_module_does_not_accept_changes_nothing_for_the_others(window: str, emit: EmitPolicy) -> None:
    shapes = [shape for shape in SHAPES if shape != "operator that looks back"]
    for shape in Random(f"{window} {emit}").sample(shapes, 6):
        clip, timestamps = next(iter(policies(shape)))
        case = NullCase(window, shape, clip, timestamps, emit, is_record=len(shape) % 2 == 0)
        check(case, case.stream, run)


@pytest.mark.parametrize("refinement", Refinement)
def test_early_results_are_of_what_modules_accept(refinement: Refinement) -> None:
    for window in ("tumbling", "overlapping"):
        for number in range(4):
            has_ids = refinement is not Refinement.DISCARD
            asked = EarlyCase(NullCase(window, "three aggregates", has_ids=has_ids), refinement, number)
            check(asked, asked.stream if has_ids else insertions(asked), run_early)


@pytest.mark.parametrize("mode", ["adaptive", "eager", "lazy"])
@pytest.mark.parametrize("windows", [tumbling(8), hopping(10, 3), hopping(13, 1, -5)], ids=str)
def test_states_over_slices_are_of_what_modules_accept(windows: HoppingWindows, mode: Mode) -> None:
    for seed in range(8):
        random = Random(seed)
        rows = [Row((random.choice("ab"),), random.randrange(40), random.choice([None, 1, 2, 3])) for _ in range(30)]
        whole = sliced(windows, Members(), CountedDeducting(), mode=mode)
        bindings = [Binding(module.module, Present(0)) for module in whole.modules]
        query = SlicedQuery.of(whole.grids, bindings, 1, whole.codec, mode)
        feed = Feed(query)
        for start in range(0, 30, 10):
            feed.batch(rows[start : start + 10])
            feed.restart()
        feed.batch([], 2**62)
        assert sorted(feed.output) == _expected(windows, rows)


def _expected(windows: HoppingWindows, rows: Sequence[Row]) -> list[Answer]:
    """Say plainly what each window has: its members that are there, and their sum."""
    found = []
    for key in sorted({row.key for row in rows}):
        mine = [row for row in rows if row.key == key]
        for place in range(-60, 60):
            start = place * windows.hop + windows.offset
            members = [row.payload for row in mine if start <= row.tick < start + windows.size]
            there = [payload for payload in members if payload is not None]
            if members:
                values = (tuple(sorted(there)), sum(there)) if there else (None, None)
                found.append(Answer(key, place, values))
    return sorted(found)
