"""The exchange between map tasks and buckets: blobs of rows or of partial states, with the progress that tasks saw.

With one input nothing is added and nothing is taken apart. Otherwise a column says the side of a row, the place of its
input. Buckets, keys and times are of the same types in all inputs and share columns; ids and payloads are not, and have
columns of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import pyarrow as pa

from muntin_engine.core.changes import Progress
from muntin_engine.core.key_patterns import KeyPatterns, Told
from muntin_engine.progress import Observation
from muntin_engine.progress.report import InputReport
from muntin_engine.state.codec import Codec
from muntin_engine.wire.task_payload import InputTask, TaskPayload

_CODEC: Final = Codec()

SIDE: Final = "side"
"""The column that says the place of a row's input, where there are several."""

PROGRESS: Final = Progress._fields
"""The columns of progress, in the order in which `Progress` takes them."""

EXCHANGE: Final = pa.schema(
    [
        ("bucket", pa.int32()),
        ("rows", pa.binary()),
        ("evaluator_blobs", pa.binary()),
        ("oldest", pa.int64()),
        ("observed", pa.binary()),
        ("patterns", pa.binary()),
        *((name, pa.int64()) for name in PROGRESS),
        ("signals", pa.list_(pa.string())),
        ("durations", pa.binary()),
        ("skipped", pa.list_(pa.int64())),
    ]
)
"""The rows that cross the shuffle: blobs of rows, or of partial states with the least start of their events; and for
each task, bucket and input one row of progress, with what the task observed of each source, the patterns of keys that
are complete up to a time, and signals. The first of these has the task's durations, too, and its counts of rows that no
bucket gets. With several inputs, `exchange_schema` adds the side of each row."""


@cache
def exchange_schema(inputs: int) -> pa.Schema:
    """Return the schema of what crosses the shuffle, for so many inputs."""
    return EXCHANGE if inputs == 1 else EXCHANGE.append(pa.field(SIDE, pa.int32()))


def exchanged(
    task: TaskPayload, buckets: list[int], blobs: Mapping[str, Sequence[object]], progress: Progress, side: int = 0
) -> pa.RecordBatch:
    """Return rows of the exchange for some buckets.

    Args:
        task: The query.
        buckets: Their ids.
        blobs: Other columns by name; null where there is none.
        progress: The progress in each row.
        side: The place of the input.
    """
    given: dict[str, Sequence[Any]] = {"bucket": buckets, SIDE: [side] * len(buckets), **blobs}
    given |= {name: [getattr(progress, name)] * len(buckets) for name in PROGRESS}
    nothing = [None] * len(buckets)
    schema = exchange_schema(len(task.inputs))
    columns = [pa.array(given.get(field.name, nothing), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def shared_name(side: int, name: str) -> str:
    """Return the name of a projected column where the rows of several inputs are in one table.

    Example:
        >>> shared_name(1, "start"), shared_name(1, "i0"), shared_name(1, "id")
        ('start', 's1_i0', 's1_id')
    """
    return f"s{side}_{name}" if name == "id" or name.startswith("i") else name


def by_side(task: TaskPayload, batch: pa.RecordBatch) -> list[tuple[InputTask, pa.RecordBatch]]:
    """Return the rows of each input that has any in a batch, under the names of their projection.

    Cost: nothing with one input; otherwise a copy of the rows.
    """
    if len(task.inputs) == 1:
        return [(task.inputs[0], batch)]
    sides, found = batch.column(SIDE).to_numpy(), []
    for given in task.inputs:
        is_of_it = sides == given.side
        if is_of_it.any():
            rows = batch.filter(pa.array(is_of_it))
            columns = [rows.column(shared_name(given.side, name)) for name in given.carried_names]
            found.append((given, pa.record_batch(columns, names=list(given.carried_names))))
    return found


@dataclass(slots=True)
class Arrived:
    """The part of a micro-batch that arrives at a bucket.

    Attributes:
        rows: Blobs of the rows of each input.
        reports: The report on each input, as all tasks of the map side saw it in this batch, but for single keys.
        evaluator_blobs: Blobs of partial states.
        signals: The names of the external events in it.
        durations: The durations of tasks of the map side; only one bucket gets them.
        skipped: The number of rows that each module did not accept, that the query's filter left out, and that change
            nothing; only one bucket gets them.
    """

    rows: list[list[bytes]]
    reports: list[InputReport]
    evaluator_blobs: list[bytes] = field(default_factory=list)
    signals: frozenset[str] = frozenset()
    durations: list[bytes] = field(default_factory=list)
    skipped: list[list[int]] = field(default_factory=list)


def collect(rows: Iterable[Any], inputs: int = 1) -> Arrived:
    """Collect exchanged rows of so many inputs into what arrives at a bucket."""
    arrived = Arrived([[] for _ in range(inputs)], [InputReport() for _ in range(inputs)])
    for row in rows:
        side = row[SIDE] if inputs > 1 else 0
        report = arrived.reports[side]
        report.progress = report.progress.advance(Progress(*(row[name] for name in PROGRESS)))
        if row["observed"] is not None:
            observed = map(Observation.from_data, _CODEC.unpack(bytes(row["observed"])))
            report.observed = [*report.observed, *observed]
        if row["patterns"] is not None:
            report.patterns = [*report.patterns, *_CODEC.unpack(bytes(row["patterns"]))]
        if row["rows"] is not None:
            arrived.rows[side].append(bytes(row["rows"]))
        if row["evaluator_blobs"] is not None:
            arrived.evaluator_blobs.append(bytes(row["evaluator_blobs"]))
            report.oldest = min(report.oldest, row["oldest"])
        arrived.signals |= frozenset(row["signals"] or ())
        if row["skipped"] is not None:
            arrived.skipped.append(list(row["skipped"]))
        if row["durations"] is not None:
            arrived.durations.append(bytes(row["durations"]))
    return arrived


def pack_observations(observations: Iterable[Observation]) -> bytes:
    """Return observations as bytes, from which `collect` makes them again."""
    return _CODEC.pack([observation.to_data() for observation in observations])


def pack_patterns(patterns: Sequence[Told]) -> bytes | None:
    """Return the patterns that no other makes superfluous as bytes, which `collect` reads; None if there are none."""
    return _CODEC.pack(KeyPatterns(patterns).to_data()) if patterns else None
