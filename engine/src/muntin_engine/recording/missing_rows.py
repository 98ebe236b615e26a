"""The rows that a recording lacks: it may begin with a state of its query, to which earlier rows have led."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from muntin import EARLIEST, INFINITY
from muntin.axis import AnyAxis
from muntin.windows import WindowKind
from muntin_engine.plan import Plan
from muntin_engine.recording.recording_folder import RecordedRun
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.state.cells import METADATA, MemoryCells
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.time.changes import Key, canonical
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.task_payload import TaskPayload

_KINDS_WITHOUT_EVENTS: Final = frozenset({"window", "result", "trigger", "partition", "key", "watermark"})
"""The kinds of rows of a state that are no events and no stretches of them: what was computed, and times."""

_KINDS_OF_SLICES: Final = frozenset({"slice", "slices"})
"""The kinds of rows of a state that are slices, which reach as far as the windows of their events need."""


@dataclass(frozen=True)
class MissingRows:
    """The part of the axis on which rows may count that a recording lacks.

    Attributes:
        first_batch: The number of the first micro-batch after the missing rows.
        until: The last tick at which a missing row may begin, of any key.
        until_by_key: The last tick at which a missing event counts, for the keys of events that count longer; by the
            frozen key.
    """

    first_batch: int
    until: int
    until_by_key: Mapping[Hashable, int]

    def may_count(self, key: Key, start: int) -> bool:
        """Return True if a window of a key may have a missing row, given the tick at which the window begins."""
        return start <= max(self.until, self.until_by_key.get(_lookup(key), EARLIEST))

    def in_words(self, axis: AnyAxis) -> str:
        """Return a sentence about the results that may have missing rows, for the notes of a backtest."""
        results = f"results that begin at {axis.spell(self.until)} or before"
        count = len(self.until_by_key)
        if count:
            keys = "a key" if count == 1 else f"{count:,} keys"
            results += f", and later ones of {keys} while events from before count,"
        return f"{results} are not compared: rows of them are not in the recording"


def missing_rows(run: RecordedRun, task: TaskPayload) -> MissingRows:
    """Return where rows count that led to the state with which a run begins.

    Args:
        run: A start of the query that has such a state.
        task: The query as it was started then.

    Cost: the whole state is read.
    """
    until = EARLIEST
    until_by_key: dict[Hashable, int] = {}
    for bucket, cells_by_name in run.cells().items():
        if METADATA not in cells_by_name:
            continue  # the note of a partition, and no bucket
        cells = MemoryCells()
        for name, data in cells_by_name.items():
            cells.put(name, data)
        reader = BucketReader(cells, f"bucket {bucket}")
        if reader.progress:
            # No row that came begins later. The rows of windows that have closed are in the state no more. `least` has
            # the least watermark of all inputs, but the largest `newest`.
            until = max(until, InputsProgress.from_data(reader.progress).least.newest)
        for row in KEEPS_STATE[task.plan.choice.evaluator].state_rows(reader):
            key = _lookup(row.key)
            until_by_key[key] = max(_last_tick(row, task.plan), until_by_key.get(key, EARLIEST))
    lasting = {key: last_tick for key, last_tick in until_by_key.items() if last_tick > until}
    return MissingRows(run.first_batch, until, lasting)


def _last_tick(row: StateRow, plan: Plan) -> int:
    """Return the last tick at which a window may begin that has a part of the state; `EARLIEST` if none has.

    Args:
        row: The part of the state.
        plan: The query.
    """
    follows_rows = plan.rows is not None or (not plan.is_windowed and plan.join is None)
    if follows_rows:
        return INFINITY  # what row windows and stream operators return may depend on all earlier rows of the key
    if row.kind in _KINDS_WITHOUT_EVENTS:
        return EARLIEST
    end = row.end
    if row.kind not in _KINDS_OF_SLICES:
        # An event may count in windows for some time after its end.
        for window in plan.windows:
            if isinstance(window, WindowKind):
                end = max(end, window.membership(row.start, row.end)[1])
    return end if end == INFINITY else end - 1


def _lookup(key: Key) -> Hashable:
    """Return a key in a form that can be looked up: arrays and NaN, for example, cannot."""
    return freeze(canonical(key))
