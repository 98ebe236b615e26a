"""The rows that cross the shuffle: blobs of rows or of partial states, and the progress that map tasks report.

With several inputs one more column says the side of a row, which is the place of its input. Buckets, keys and times
have the same types in all inputs, and share columns. The ids and the payload of each input have columns of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import INFINITY
from muntin_engine.state.codec import Codec
from muntin_engine.state.key_patterns import CompletePattern, KeyPatterns
from muntin_engine.time.changes import Key, Progress
from muntin_engine.time.progress_tracker import Observation, past_key_watermarks
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
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
        ("observations", pa.binary()),
        ("patterns", pa.binary()),
        *((name, pa.int64()) for name in PROGRESS),
        ("signals", pa.list_(pa.string())),
        ("durations", pa.binary()),
        ("row_counts", pa.list_(pa.int64())),
    ]
)
"""The columns of the rows that cross the shuffle. A row is one of these:

* a blob of rows;
* a blob of partial states, with the least start of their events in `oldest`;
* the report of a task on the progress of one input, for one bucket: the progress, the observations of sources, the
  patterns of keys that are complete up to a time, and the signals. The first of a task's reports also has its
  durations, and its counts of rows that no bucket gets.

With several inputs, `exchange_schema` adds the side of each row.
"""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The counts of rows that a task reads and no bucket counts: none gets these rows, or can tell them from others.

    They travel as a list, which only one bucket gets.

    Attributes:
        unaccepted: The number of insertions that each module does not accept, in the order of
            `TaskPayload.labels_of_skipping_modules`; empty where no rows were read.
        filtered: The number of insertions that the query's filter leaves out, or that have no lifetime.
        unchanging: The number of revisions that change nothing under the query's changes of lifetimes.
    """

    unaccepted: tuple[int, ...] = ()
    filtered: int = 0
    unchanging: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        # `unaccepted` is empty where no rows were read, which counts as 0 for each module.
        pairs = zip_longest(self.unaccepted, other.unaccepted, fillvalue=0)
        return RowCounts(
            tuple(map(sum, pairs)),
            self.filtered + other.filtered,
            self.unchanging + other.unchanging,
        )

    def unaccepted_by(self, labels: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that each module did not accept, by its label, if there are such rows.

        Args:
            labels: The labels of the modules, as `TaskPayload.labels_of_skipping_modules` has them.

        Example:
            >>> RowCounts((0, 2)).unaccepted_by(["mean", "best"])
            {'best': 2}
        """
        counts: dict[str, int] = {}
        for label, count in zip(labels, self.unaccepted, strict=False):  # where no rows were read, there are no counts
            if count:
                counts[label] = count
        return counts

    def to_list(self) -> list[int]:
        """Return the counts as a list, which `from_list` reads."""
        return [*self.unaccepted, self.filtered, self.unchanging]

    @classmethod
    def from_list(cls, counts: Sequence[int]) -> RowCounts:
        """Return the counts that `to_list` wrote."""
        *unaccepted, filtered, unchanging = counts
        return cls(tuple(unaccepted), filtered, unchanging)


@dataclass(slots=True)
class InputReport:
    """The part of a micro-batch that moves the watermark of one input.

    Attributes:
        progress: The progress of the whole input, as far as the micro-batch implies it.
        observations: The observations of each source, by the tasks of the map side.
        key_watermarks: The keys that have a watermark of their own, each with this watermark.
        patterns: The patterns of keys that are complete up to a time, each with the time.
        oldest: The least start of the events that were lifted.
    """

    progress: Progress = Progress()  # noqa: RUF009  # it is a tuple
    observations: Sequence[Observation] = ()
    key_watermarks: Sequence[tuple[Key, int]] = ()
    patterns: Sequence[CompletePattern] = ()
    oldest: int = INFINITY

    @property
    def progress_past_keys(self) -> Progress:
        """The progress of the whole input, with a horizon that lies past the watermarks of keys."""
        watermarks = [watermark for _, watermark in (*self.key_watermarks, *self.patterns)]
        return past_key_watermarks(self.progress, watermarks) if watermarks else self.progress


@cache
def exchange_schema(inputs: int) -> pa.Schema:
    """Return the schema of the rows that cross the shuffle.

    Args:
        inputs: The number of inputs.
    """
    if inputs == 1:
        return EXCHANGE
    return EXCHANGE.append(pa.field(SIDE, pa.int32()))


def exchange_batch(
    task: TaskPayload, buckets: Sequence[int], columns: Mapping[str, Sequence[Any]], side: int
) -> pa.RecordBatch:
    """Return a batch of rows that cross the shuffle, one row for each bucket.

    Args:
        task: The query.
        buckets: The ids of the buckets.
        columns: The values of the other columns by name, one for each bucket; a column that is left out is null.
        side: The place of the input.
    """
    all_columns = {**columns, "bucket": buckets, SIDE: [side] * len(buckets)}
    nulls = [None] * len(buckets)
    schema = exchange_schema(len(task.inputs))
    arrays = [arrow_array(all_columns.get(part.name, nulls), part.type) for part in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shared_name(side: int, name: str) -> str:
    """Return the name of a projected column in a table that has the rows of several inputs.

    Ids and payloads have columns of their own for each input; all other columns are shared.

    Example:
        >>> shared_name(1, "start"), shared_name(1, "i0"), shared_name(1, "id")
        ('start', 's1_i0', 's1_id')
    """
    is_of_one_input = name.startswith("i")  # `id`, and the payload `i0`, `i1`, ...
    return f"s{side}_{name}" if is_of_one_input else name


def by_side(task: TaskPayload, batch: pa.RecordBatch) -> list[tuple[InputTask, pa.RecordBatch]]:
    """Split a batch by input.

    Returns:
        Each input that has rows, with its rows; their columns have the names that the input gives them.

    Cost: nothing with one input; otherwise a copy of the rows.
    """
    if len(task.inputs) == 1:
        return [(task.inputs[0], batch)]
    sides = numpy_array(batch.column(SIDE))
    batches: list[tuple[InputTask, pa.RecordBatch]] = []
    for input_task in task.inputs:
        is_of_input = sides == input_task.side
        if not is_of_input.any():
            continue
        rows = batch.filter(arrow_array(is_of_input))
        names = list(input_task.carried_names)
        columns = [rows.column(shared_name(input_task.side, name)) for name in names]
        batches.append((input_task, pa.record_batch(columns, names=names)))
    return batches


class PackedReport(NamedTuple):
    """The report of a map task on one input, as every bucket gets it.

    Attributes:
        progress: The progress that its rows carry.
        observations: The observations of each source, which `pack_observations` packs; None if there are none.
        patterns: The patterns of keys that are complete up to a time, which `pack_patterns` packs; None if there are
            none.
    """

    progress: Progress
    observations: bytes | None = None
    patterns: bytes | None = None

    def columns(self) -> dict[str, Any]:
        """Return the value of each column of `EXCHANGE` that the report has."""
        values: dict[str, Any] = dict(zip(PROGRESS, self.progress, strict=True))
        values["observations"] = self.observations
        values["patterns"] = self.patterns
        return values


def pack_observations(observations: Sequence[Observation]) -> bytes | None:
    """Pack observations of sources, which `collect` unpacks; None if there are none."""
    if not observations:
        return None
    return _CODEC.pack([observation.to_data() for observation in observations])


def pack_patterns(patterns: Sequence[CompletePattern]) -> bytes | None:
    """Pack patterns of keys, which `collect` unpacks; None if there are none.

    A pattern that another one covers is left out.
    """
    if not patterns:
        return None
    return _CODEC.pack(KeyPatterns(patterns).to_data())


@dataclass(slots=True)
class BucketArrivals:
    """The part of a micro-batch that arrives at a bucket.

    Attributes:
        rows: The blobs of rows, for each input.
        reports: The report on each input by all map tasks together. It lacks the watermarks of single keys, which are
            among the rows.
        evaluator_blobs: The blobs of partial states.
        signals: The names of the signals in the micro-batch.
        durations: The durations of each map task as bytes; only one bucket gets them.
        row_counts: The counts of rows that no bucket gets; only one bucket gets them.
    """

    rows: list[list[bytes]]
    reports: list[InputReport]
    evaluator_blobs: list[bytes] = field(default_factory=list)
    signals: frozenset[str] = frozenset()
    durations: list[bytes] = field(default_factory=list)
    row_counts: RowCounts = RowCounts()  # it is frozen


def collect(rows: Iterable[Any], inputs: int = 1) -> BucketArrivals:
    """Collect the rows that arrive at a bucket.

    Args:
        rows: The rows of `EXCHANGE` that the bucket gets, each as a mapping.
        inputs: The number of inputs of the query.
    """
    arrivals = BucketArrivals(
        rows=[[] for _ in range(inputs)],
        reports=[InputReport() for _ in range(inputs)],
    )
    for row in rows:
        side = row[SIDE] if inputs > 1 else 0
        report = arrivals.reports[side]
        if row["rows"] is not None:
            arrivals.rows[side].append(bytes(row["rows"]))
        elif row["evaluator_blobs"] is not None:
            arrivals.evaluator_blobs.append(bytes(row["evaluator_blobs"]))
            report.oldest = min(report.oldest, row["oldest"])
        else:
            _add_progress(report, row)
            arrivals.signals |= frozenset(row["signals"] or ())
        if row["durations"] is not None:
            arrivals.durations.append(bytes(row["durations"]))
        if row["row_counts"] is not None:
            arrivals.row_counts += RowCounts.from_list(row["row_counts"])
    return arrivals


def _add_progress(report: InputReport, row: Any) -> None:
    """Add the report of a map task on an input to those of other tasks.

    Args:
        report: The report on the input so far.
        row: The row of progress that the task sent, as a mapping.
    """
    report.progress = report.progress.advance(Progress(*(row[name] for name in PROGRESS)))
    if row["observations"] is not None:
        observations = map(Observation.from_data, _CODEC.unpack(bytes(row["observations"])))
        report.observations = [*report.observations, *observations]
    if row["patterns"] is not None:
        report.patterns = [*report.patterns, *_CODEC.unpack(bytes(row["patterns"]))]
