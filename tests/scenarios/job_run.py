"""A scenario's query as a streaming job under test in this process, micro-batch by micro-batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import muntin_engine
from muntin import EARLIEST, INFINITY
from muntin_engine.backends.local.results.local_results import selected
from muntin_engine.backends.local.runs.batch_output import BatchOutput
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.state.cells import METADATA
from muntin_engine.testing.streaming.job_in_process import JobInProcess
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import ProjectedRow, Run
from tests.scenarios.stepping import NO_MISHAPS
from tests.scenarios.written_query import tables_of, written


class ObservedJob(JobInProcess):
    """A job whose output can be had with its types and metrics.

    Attributes:
        outputs: The output of each micro-batch, with the results that the job's query selects.
    """

    def __init__(self, function: Any, schemas: Mapping[str, Any]) -> None:
        super().__init__(function, schemas)
        self.outputs: list[tuple[list[dict[str, Any]], BatchOutput]] = []

    @property
    def is_empty(self) -> bool:
        """True if the state has nothing but the metadata of buckets."""
        (state,) = self._stored._states
        return all(set(cells) <= {METADATA} for cells in state.cells.values())

    def _add_rows(self, query: PlannedQuery, output: BatchOutput) -> None:
        super()._add_rows(query, output)
        results: list[dict[str, Any]] = []
        for table in output.tables["results"]:
            results += selected(table, query.selection).to_pylist()
        self.outputs.append((results, output))


class JobRun(Run):
    """A query as a job. Nothing of it is in memory between micro-batches, so it restarts after each of them."""

    def __init__(self, query: Query | Join) -> None:
        super().__init__(query, query.plan(), NO_MISHAPS)
        names = [f"stream_{place}" for place, _ in enumerate(query.places)]
        tables = tables_of(query, [[]] * len(names))
        schemas = {name: table.schema for name, table in zip(names, tables, strict=True)}
        self._job = ObservedJob(self._written, schemas)
        # A job does not say how far its output is complete.
        self.output_watermarks = dict.fromkeys(self.output_watermarks, INFINITY)

    def process(self, arrival: Arrival, extra_rows: Sequence[ProjectedRow] = ()) -> None:
        """Evaluate a micro-batch.

        Args:
            arrival: Micro-batch.
            extra_rows: Rows in the form of the projection, such as an illegal one.

        Raises:
            AssertionError: The output is wrong for any query.
        """
        rows_by_stream = self.stream_rows(arrival, extra_rows)
        self.counts["sent"] += sum(len(batch.changes) for batch in arrival.batches) + len(extra_rows)
        tables = tables_of(self.query, rows_by_stream)
        self._job.feed(**{f"stream_{place}": table.to_pylist() for place, table in enumerate(tables)})

        self.inserted = Counter()
        self.output_changes = []
        results, output = self._job.outputs[-1]
        for change in results:
            self.output_changes.append(change)
            row = self._result(change)
            kind = change.get("change") or "insert"
            self._apply(change, row, kind, EARLIEST)
            if kind == "insert":
                self.inserted[row] += 1
        for table in output.tables["evicted_rows"]:
            self.evicted.update(map(self._result, table.to_pylist()))
        for name in ("late_rows", "rejected_rows"):
            for table in output.tables[name]:
                for refused_row in table.to_pylist():
                    self._refuse(name, refused_row)
        self.counts.update(output.metrics)

    @property
    def is_empty(self) -> bool:
        """True if no bucket keeps anything but its metadata."""
        return self._job.is_empty

    def _written(self, **streams: Any) -> muntin_engine.Query:
        return written(self.query, list(streams.values()))
