"""A micro-batch of a bucket, evaluated from its events, and its output as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import INFINITY, EarlyEmission, Window
from muntin.schemas import Struct
from muntin_engine.core.changes import Key, OutputChange, OutputKind, Timing
from muntin_engine.evaluators.batch import BucketBatch, Evaluated, progress_metrics
from muntin_engine.evaluators.general.bucket import BatchResult, Bucket
from muntin_engine.exchange.arrays import MisfitError, Source, extents, part_of, result_table
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells


def process(task: TaskPayload, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state."""
    said = batch.report
    result = Bucket(task.query, cells, task.codec, task.identity, task.input.tracker).process(
        batch.changes,
        said.progress,
        observed=said.observed,
        key_watermarks=said.key_watermarks,
        signals=batch.signals,
    )
    may_retract, is_early = task.query.emit.may_retract, isinstance(task.query.emit, EarlyEmission)
    metrics = {
        "retractions": _count(result, lambda change: change.kind is not OutputKind.INSERT) if may_retract else 0,
        "early": _count(result, lambda change: change.timing is Timing.EARLY) if is_early else 0,
        "keys": result.keys,
        "windows_closed": result.windows_closed,
        "windows_revisable": result.held.windows,
        "keys_held": result.held.keys,
        "events_held": result.held.events,
        "state_bytes": result.held.bytes,
        **progress_metrics(task, result.progress),
    }
    tables = result_tables(task, result.output)
    return Evaluated(tables, result.accepted, result.watermark, metrics, result.rejections)


def _count(result: BatchResult, is_wanted: Callable[[OutputChange], bool]) -> int:
    return sum(is_wanted(change) for _, changes in result.output for change in changes)


MOST_ROWS: Final = 100_000
"""How many rows one blob of output has at the most; fewer if they take more than `MOST_BYTES`."""

MOST_BYTES: Final = 32 * 2**20


class _Change(NamedTuple):
    """A change of the output with its key."""

    key: Key
    change: OutputChange


def result_tables(task: TaskPayload, output: Iterable[tuple[Key, Sequence[OutputChange]]]) -> Iterator[pa.Table]:
    """Yield the results of a batch as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's value is not of the type its class declares.
    """
    keyed = [_Change(key, change) for key, changes in output for change in changes]
    for start in range(0, len(keyed), MOST_ROWS):
        some = keyed[start : start + MOST_ROWS]
        table = result_table(task, _context(task, some) | _outputs(task, some))
        rows = max(1, table.num_rows * MOST_BYTES // max(table.nbytes, 1))
        yield from (table.slice(place, rows) for place in range(0, table.num_rows, rows))


def _context(task: TaskPayload, keyed: Sequence[_Change]) -> dict[str, pa.Array]:
    """Return the columns that are no module's."""
    changes = [change for _, change in keyed]
    makers: Mapping[str, Callable[[], pa.Array]] = {
        "window": lambda: _extents(task, [(change.window.start, change.window.end) for change in changes]),
        "lifetime": lambda: _extents(task, [(change.start, change.end) for change in changes]),
        "change": lambda: pa.array([str(change.kind) for change in changes], pa.string()),
        "event_id": lambda: pa.array([change.id for change in changes], pa.int64()),
        "new_end": lambda: pa.array(_finite(change.new_end for change in changes), task.time_type),
        "timing": lambda: pa.array([str(change.timing) for change in changes], pa.string()),
        "firing": lambda: pa.array([change.firing for change in changes], pa.int64()),
    }
    first, last = len(task.keys), len(task.results) - len(task.outputs)
    keys = {
        field.name: pa.array([key[place] for key, _ in keyed], field.type)
        for place, field in enumerate(list(task.results)[:first])
    }
    return keys | {name: makers[name]() for name in task.results.names[first:last]}


def _extents(task: TaskPayload, stretches: Sequence[tuple[int, int]]) -> pa.Array:
    """Return stretches of the axis as a struct column; an end at infinity is null."""
    starts, ends = (pa.array(_finite(ticks), pa.int64()) for ticks in zip(*stretches, strict=True))
    return extents(task, starts, ends)


def _finite(ticks: Iterable[int | None]) -> list[int | None]:
    return [None if tick is None or tick >= INFINITY else tick for tick in ticks]


def _outputs(task: TaskPayload, keyed: Sequence[_Change]) -> dict[str, pa.Array]:
    """Return the columns of the modules' results."""
    fields = list(task.results)[len(task.results) - len(task.outputs) :]
    columns: dict[str, pa.Array] = {}
    for place, (output, values) in enumerate(zip(task.outputs, _values(task, keyed), strict=True)):
        source = _source(task, keyed, 0 if task.query.is_operator else place)
        columns[fields[place].name] = source.column(values, output, fields[place].type)
    return columns


def _values(task: TaskPayload, keyed: Sequence[_Change]) -> Iterator[list[object]]:
    """Yield the values of each result column: one per aggregate, or the parts of an operator's rows."""
    values = [change.value for _, change in keyed]
    if not task.query.is_operator:
        yield from map(list, zip(*values, strict=True))
    elif isinstance(row := task.query.bindings[0].module.result_field().type, Struct):
        yield from (_parts(task, keyed, values, row, place) for place in range(len(row.fields)))
    else:
        yield values


def _parts(task: TaskPayload, keyed: Sequence[_Change], values: Sequence[Any], row: Struct, place: int) -> list[object]:
    """Return one field of an operator's rows."""
    parts: list[Any] = []
    for number, value in enumerate(values):
        try:
            parts.append(part_of(value, row, place))
        except MisfitError as error:
            raise _source(task, keyed, 0).contract_error(str(error), number) from error
    return parts


def _source(task: TaskPayload, keyed: Sequence[_Change], place: int) -> Source:
    """Return the source of a module's results, for errors."""
    module = task.query.bindings[place].module

    def at(number: int) -> tuple[Key, Window]:
        key, change = keyed[number]
        return key, change.window

    return Source(task, f"{module.name} {module.version}", at)
