"""Cells of another time or place in a state: an older version, another bucket's or query's, another attempt's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

from muntin import EmitPolicy, StreamOperator
from muntin.catalog import installed
from muntin.errors import MuntinError, QueryError
from muntin.rows import batch, last
from muntin.testing import Batch, Computation, WindowedQuery, equal
from muntin_engine.errors import StateError
from muntin_engine.state.cells import METADATA, CheckedCells, MemoryCells, Origin
from muntin_engine.testing.live_results import LiveOutput, LiveResult
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.reference_output import progress_of
from muntin_engine.testing.stepwise_run import rows_of, start
from tests.torture.damage import damaged_bytes
from tests.torture.evaluators import WINDOWS, make, stream_for
from tests.torture.kind import Figures

Held: TypeAlias = Mapping[str, bytes]
OWN: Final = Origin("one query", 1)
ELSEWHERE: Final = (Origin("one query", 2), Origin("another query", 1))
DAMAGES: Final = 12


class _Run:
    """A query over a stream in a bucket, with a new process and checked cells in every micro-batch."""

    def __init__(
        self,
        tested: QueryUnderTest,
        evaluator: str,
        origin: Origin,
        held: Held | None = None,
        live: Sequence[Any] = (),
    ) -> None:
        self.cells = MemoryCells()
        self.live = LiveOutput(live)
        self.cells.cells |= held or {}
        self._tested = tested
        self._evaluator = evaluator
        self._origin = origin

    def take(self, place: int, given: Batch) -> list[LiveResult]:
        """Take a micro-batch; return what is live after it."""
        checked = CheckedCells(self.cells, f"bucket {self._origin.bucket}", self._origin._replace(batch=place))
        process = start(self._tested, self._evaluator, checked)
        arrived = progress_of(self._tested.query.window, given)
        for (key,), change in process.process(list(rows_of(self._tested, given)), arrived):
            self.live.apply(key, key, change)
        for (key,), change in process.evicted:
            self.live.apply(key, key, change, is_evicted=True)
        return self.live.results()


def misplaced(seed: int, folder: Path) -> Figures:
    """Put cells of other times and places into a state, and go on: it is refused, or nothing is another."""
    random = Random(seed)
    tested = _query(random)
    evaluator = random.choice(tested.evaluators)
    places = list(enumerate(tested.batches))
    after = [dict[str, bytes]()]
    lives = [list[Any]()]
    elsewhere = []
    own = _Run(tested, evaluator, OWN)
    others = [_Run(tested, evaluator, origin) for origin in ELSEWHERE]
    for place, given in places:
        own.take(place, given)
        after.append(dict(own.cells.cells))
        lives.append([*own.live.emitted])
        for other in others:
            other.take(place, given)
        elsewhere.append([dict(other.cells.cells) for other in others])
    figures: Counter[str] = Counter()
    for _ in range(DAMAGES if len(places) > 1 else 0):
        place = random.randrange(1, len(places))
        again = _Run(tested, evaluator, OWN, after[place - 1])
        again.take(place - 1, random.choice(tested.batches))  # the micro-batch before, had it read something else
        entries = {name: data for name, data in again.cells.cells.items() if name != METADATA}  # these could be right
        how, held = _damaged(random, after[: place + 1], elsewhere[place - 1], entries)
        figures[how] += 1
        damaged = _Run(tested, evaluator, OWN, held, lives[place])
        try:
            for number, given in places[place:]:
                damaged.take(number, given)
                wanted = LiveOutput(lives[number + 1]).results()
                found = damaged.live.results()
                assert _same(found, wanted), f"{how} before step {place} of {evaluator}: {found} instead of {wanted}"
        except StateError:
            figures["refused"] += 1
        else:
            figures["no difference"] += 1
    return {"streams": 1, **figures}


def _same(found: Sequence[LiveResult], wanted: Sequence[LiveResult]) -> bool:
    return len(found) == len(wanted) and all(any(equal(row, other) for other in wanted) for row in found)


def _damaged(random: Random, after: Sequence[Held], elsewhere: Sequence[Held], again: Held) -> tuple[str, Held]:
    """Return the name of a damage, and the state before a micro-batch with it.

    Args:
        random: What chooses.
        after: The state after each micro-batch before, an empty one first.
        elsewhere: That of another bucket, and of another query.
        again: The cells that the metadata list after the micro-batch before, if it had read something else.
    """
    now = dict(after[-1])
    older = random.choice(after[:-1])
    name = random.choice(sorted(now))
    kind = random.choice(("older state", "another's state", "a cell", "a cell is gone", "a byte", "two batches"))
    if kind == "older state":
        return kind, older
    if kind == "another's state":
        return kind, random.choice(elsewhere)
    if kind == "a cell":
        source = random.choice((older, *elsewhere, again))
        name = random.choice(sorted(source) or [METADATA])
        return f"{kind} of another time or place", now | ({name: source[name]} if name in source else {})
    if kind == "a cell is gone":
        return kind, {other: data for other, data in now.items() if other != name}
    if kind == "a byte":
        now[name], _ = damaged_bytes(now[name], random)
        return "damaged bytes", now
    place = random.randrange(1, len(after))  # what one micro-batch wrote is gone, or what an older one wrote comes last
    written = {cell: data for cell, data in after[place].items() if after[place - 1].get(cell) != data}
    return "an older changelog comes last", now | written if place < len(after) - 1 else older


def _query(random: Random) -> QueryUnderTest:
    """Return a query of an installed module over a random stream, with windows of any kind."""
    plugins, _ = installed().plugins()
    offered = {name: cls for plugin in plugins for name, cls in plugin.modules.items()}
    while True:
        module = make(offered[random.choice(sorted(offered))])
        script = stream_for(random, module)
        emit: EmitPolicy = random.choice(list(EmitPolicy))
        try:
            if isinstance(module, StreamOperator):
                tested = QueryUnderTest(script, WindowedQuery.unwindowed(module), EmitPolicy.FINAL)
            else:
                window = random.choice((*WINDOWS, last(3).trigger(2), batch(4)))
                tested = QueryUnderTest(script, WindowedQuery(window, [Computation(module)]), emit)
        except (MuntinError, QueryError):
            continue  # not every module takes every window
        if tested.evaluators and tested.batches:
            return tested
