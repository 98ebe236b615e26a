"""The output of a micro-batch as tables, out of the blobs of its buckets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from muntin_engine.backends.local.frames.micro_batch import BucketOutput
from muntin_engine.sinks.recordings.metric_totals import totals_of
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, REJECTED_ROWS, RESULTS, STREAMS
from muntin_engine.wire.task_payload import TaskPayload

OUTPUTS: Final = (RESULTS, LATE_ROWS, REJECTED_ROWS, EVICTED_ROWS)
"""The outputs of a query that have rows."""

_OUTPUT_OF: Final = {stream: output for output, streams in STREAMS.items() for stream in streams}
"""The output of each stream of blobs."""


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """The output of a query in a micro-batch.

    Attributes:
        tables: By output, its rows as one table for each blob; results and evicted rows have the types of the query.
        metrics: The metrics by name, over all buckets.
    """

    tables: Mapping[str, list[pa.Table]]
    metrics: Mapping[str, int]

    @classmethod
    def of_blobs(
        cls, task: TaskPayload, blobs: Iterable[BucketOutput], outputs: Collection[str] = OUTPUTS
    ) -> BatchOutput:
        """Read the blobs of a micro-batch of a query.

        Args:
            task: The query.
            blobs: The blobs of its buckets.
            outputs: The outputs that are read; blobs of the others are only counted in metrics.
        """
        schemas = {RESULTS: task.results, EVICTED_ROWS: task.evicted}
        tables: dict[str, list[pa.Table]] = {output: [] for output in outputs}
        metrics: list[tuple[str, int]] = []
        for _, blob in blobs:
            metrics.append((blob.stream, blob.rows))  # a metric has the name of its stream
            output = _OUTPUT_OF.get(blob.stream)
            table = blob.table
            if table is None or output not in tables:
                continue
            schema = schemas.get(output)
            if schema is not None and table.schema != schema:
                table = table.cast(schema)
            tables[output].append(table)
        return cls(tables, totals_of(metrics))
