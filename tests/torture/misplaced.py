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
from muntin.rows import batch as batch_windows
from muntin.rows import last
from muntin.testing import Batch, Computation, WindowedQuery, equal
from muntin_engine.errors import StateError
from muntin_engine.state.cells import METADATA, CheckedCells, MemoryCells, Origin
from muntin_engine.testing.live_results import LiveOutput, LiveResult
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.reference_output import progress_of
from muntin_engine.testing.stepwise_run import new_process, rows_of
from tests.torture.damage import damaged_bytes
from tests.torture.evaluators import WINDOWS, make, stream_for
from tests.torture.kind import Figures

Held: TypeAlias = Mapping[str, bytes]
"""The cells of a bucket, by name."""

OWN: Final = Origin("one query", 1)
"""The query and the bucket that are tested."""

ELSEWHERE: Final = (Origin("one query", 2), Origin("another query", 1))
"""Another bucket, and another query."""

DAMAGES: Final = 12
"""The number of damages that are tried in a trial."""


class _Run:
    """A query over a stream in a bucket, with a new process and checked cells in every micro-batch."""

    def __init__(
        self,
        tested: QueryUnderTest,
        evaluator: str,
        origin: Origin,
        state: Held | None = None,
        emitted: Sequence[Any] = (),
    ) -> None:
        """Begin with a state.

        Args:
            tested: The query.
            evaluator: The evaluator that runs it.
            origin: The origin that its metadata name.
            state: The cells before the first micro-batch; by default none.
            emitted: The output before the first micro-batch.
        """
        self.cells = MemoryCells()
        self.cells.cells |= state or {}
        self.live = LiveOutput(emitted)
        self._tested = tested
        self._evaluator = evaluator
        self._origin = origin

    def process(self, number: int, batch: Batch) -> None:
        """Process a micro-batch in a new process."""
        checked = CheckedCells(self.cells, f"bucket {self._origin.bucket}", self._origin._replace(batch=number))
        process = new_process(self._tested, self._evaluator, checked)
        progress = progress_of(self._tested.query.window, batch)
        for (key,), change in process.process(list(rows_of(self._tested, batch)), progress):
            self.live.apply(key, key, change)
        for (key,), change in process.evicted:
            self.live.apply(key, key, change, is_evicted=True)


def misplaced(seed: int, folder: Path) -> Figures:
    """Put cells of other times and places into a state, and continue: it is refused, or nothing differs."""
    random = Random(seed)
    tested = _query(random)
    evaluator = random.choice(tested.evaluators)
    numbered = list(enumerate(tested.batches))

    # The states and the output before each micro-batch and at the end, of an undamaged run.
    states: list[Held] = [{}]
    emitted = [list[Any]()]
    states_elsewhere: list[list[Held]] = []  # after each micro-batch
    run = _Run(tested, evaluator, OWN)
    runs_elsewhere = [_Run(tested, evaluator, origin) for origin in ELSEWHERE]
    for number, batch in numbered:
        run.process(number, batch)
        states.append(dict(run.cells.cells))
        emitted.append([*run.live.emitted])
        for run_elsewhere in runs_elsewhere:
            run_elsewhere.process(number, batch)
        states_elsewhere.append([dict(run_elsewhere.cells.cells) for run_elsewhere in runs_elsewhere])

    figures: Counter[str] = Counter()
    for _ in range(DAMAGES if len(numbered) > 1 else 0):
        damaged_before = random.randrange(1, len(numbered))
        attempt = _another_attempt(random, tested, evaluator, damaged_before - 1, states[damaged_before - 1])
        history = states[: damaged_before + 1]
        damage, state = _damaged(random, history, states_elsewhere[damaged_before - 1], attempt)
        figures[damage] += 1
        damaged_run = _Run(tested, evaluator, OWN, state, emitted[damaged_before])
        try:
            for number, batch in numbered[damaged_before:]:
                damaged_run.process(number, batch)
                expected = LiveOutput(emitted[number + 1]).results()
                live = damaged_run.live.results()
                where = f"{damage} before step {damaged_before} of {evaluator}"
                assert _have_equal_rows(live, expected), f"{where}: {live} instead of {expected}"
        except StateError:
            figures["refused"] += 1
        else:
            figures["no difference"] += 1
    return {"streams": 1, **figures}


def _another_attempt(random: Random, tested: QueryUnderTest, evaluator: str, number: int, state: Held) -> Held:
    """Return the cells after a micro-batch that read something else, without the metadata: these could be right."""
    run = _Run(tested, evaluator, OWN, state)
    run.process(number, random.choice(tested.batches))
    return {name: data for name, data in run.cells.cells.items() if name != METADATA}


def _have_equal_rows(live: Sequence[LiveResult], expected: Sequence[LiveResult]) -> bool:
    """Return True if two outputs have as many rows, and each of the first has an equal one in the second."""
    if len(live) != len(expected):
        return False

    def is_expected(row: LiveResult) -> bool:
        return any(equal(row, expected_row) for expected_row in expected)

    return all(map(is_expected, live))


def _damaged(random: Random, history: Sequence[Held], elsewhere: Sequence[Held], attempt: Held) -> tuple[str, Held]:
    """Return the name of a damage, and the state before a micro-batch with it.

    Args:
        random: Source of the choice.
        history: States after the micro-batches before, an empty one first.
        elsewhere: States of another bucket, and of another query.
        attempt: Cells of another attempt at the micro-batch before.
    """
    state = dict(history[-1])
    older = random.choice(history[:-1])
    cell = random.choice(sorted(state))
    kind = random.choice(("older state", "another's state", "a cell", "a cell is gone", "a byte", "two batches"))
    if kind == "older state":
        return kind, older
    if kind == "another's state":
        return kind, random.choice(elsewhere)
    if kind == "a cell":
        source = random.choice((older, *elsewhere, attempt))
        other_cell = random.choice(sorted(source) or [METADATA])
        if other_cell in source:
            state[other_cell] = source[other_cell]
        return f"{kind} of another time or place", state
    if kind == "a cell is gone":
        del state[cell]
        return kind, state
    if kind == "a byte":
        state[cell], _ = damaged_bytes(state[cell], random)
        return "damaged bytes", state

    # The writes of an older micro-batch come last, or those of the last ones are lost.
    number = random.randrange(1, len(history))
    previous_state = history[number - 1]
    written_cells = {name: data for name, data in history[number].items() if previous_state.get(name) != data}
    is_last = number == len(history) - 1
    return "an older changelog comes last", older if is_last else state | written_cells


def _query(random: Random) -> QueryUnderTest:
    """Return a query of an installed module over a random stream, with windows of any kind."""
    plugins, _ = installed().plugins()
    module_classes: dict[str, Any] = {}
    for plugin in plugins:
        module_classes |= plugin.modules
    while True:
        name = random.choice(sorted(module_classes))
        module = make(module_classes[name])
        script = stream_for(random, module)
        emit: EmitPolicy = random.choice(list(EmitPolicy))
        try:
            if isinstance(module, StreamOperator):
                tested = QueryUnderTest(script, WindowedQuery.unwindowed(module), EmitPolicy.FINAL)
            else:
                window = random.choice((*WINDOWS, last(3).trigger(2), batch_windows(4)))
                tested = QueryUnderTest(script, WindowedQuery(window, [Computation(module)]), emit)
        except (MuntinError, QueryError):
            continue  # not every module takes every window
        if tested.evaluators and tested.batches:
            return tested
