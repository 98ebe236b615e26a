"""A scenario over tables and as a job in this process: results as the reference has them, refused rows as a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from muntin import INFINITY, EarlyEmission
from muntin.progress import Punctuated
from muntin.testing import Batch
from tests.scenarios.expected_output import ExpectedOutput
from tests.scenarios.frame_kinds import kind_with_type
from tests.scenarios.hostile import Hostile
from tests.scenarios.job_run import JobRun
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Run, assert_same_rows
from tests.scenarios.scenario import Scenario
from tests.scenarios.table_run import BatchRun, TableRun, as_one_arrival
from tests.scenarios.written_query import is_refused_otherwise

CLOSED = Batch((), INFINITY)
"""The end of a stream."""


def check_on_tables(scenario: Scenario | Hostile, seed: int, frame_kind: str, folder: Path) -> None:
    """Run a scenario over tables, by the evaluator of the planner's choice and by another one that can.

    Args:
        scenario: The scenario.
        seed: The seed that draws the order of rows, the evaluator, and whether tables have clocks and watermarks.
        frame_kind: The kind of the tables, unless it does not have ids of their type.
        folder: A folder for files.

    Raises:
        AssertionError: The output is not what it must be.
        QueryError: The query cannot be written over tables.
    """
    random = Random(seed)
    query = scenario.query
    evaluators = ["auto"]
    if isinstance(query, Query) and query.is_windowed and not isinstance(query.window, Mapping):
        evaluators.append(random.choice(list(query.evaluators)))
    frame_kind = kind_with_type(frame_kind, query.ids)
    for evaluator in evaluators:
        run = TableRun(query, evaluator, frame_kind, folder)
        if isinstance(scenario, Hostile):
            _check_hostile(scenario, run, evaluator)
        else:
            _check_scenario(scenario, run, evaluator, random)


def check_job(scenario: Scenario) -> None:
    """Run a scenario as a streaming job.

    Raises:
        AssertionError: The output is not what it must be.
        QueryError: The query cannot be written over streams in this process.
    """
    run = JobRun(scenario.query)
    if is_refused_otherwise(scenario.query):
        run.process(as_one_arrival(scenario.scripts))
        return
    scenario.check_run(run, scenario.arriving)


def _check_scenario(scenario: Scenario, run: TableRun, evaluator: str, random: Random) -> None:
    """Compare the results over tables with the reference, and the refused rows with those of a micro-batch."""
    query = scenario.query
    end_of_streams = Arrival((CLOSED,) * len(scenario.scripts))

    # Tables have all rows of their streams, some also the last watermark before the end: it says how far windows go
    # that have no end of their own.
    has_watermark = False
    if isinstance(query, Query) and isinstance(query.progress, Punctuated):
        has_watermark = not isinstance(query.emit, EarlyEmission) and random.random() < 0.5
    arrival = as_one_arrival(scenario.scripts, is_closed=not has_watermark)
    if query.has_clock and random.random() < 0.5:
        arrival = replace(arrival, clock=random.randint(0, 40))
    static_query = _static(query)
    expected_output = static_query.expected if isinstance(static_query, Join) else ExpectedOutput(static_query)

    illegal_rows: list[dict[str, Any]] = []
    if scenario.mishaps.illegal:
        illegal_rows = [row for _, row in scenario.illegal_rows(random, run, expected_output)]
    rows_by_stream = run.stream_rows(arrival, illegal_rows)
    run.process_rows(rows_by_stream)

    if has_watermark:
        assert isinstance(expected_output, ExpectedOutput)
        expected_output.reference_input.add(arrival)
        expected_output.check(end_of_streams, run)
    else:
        expected_output.check(arrival, run)
    if is_refused_otherwise(query):
        return

    reference_input = expected_output.reference_input
    expected_counts = Counter({"late": reference_input.late, "shed": reference_input.shed})
    expected_counts["rejected"] = len(illegal_rows) + reference_input.unknown + reference_input.replaced
    assert run.counts == +expected_counts, f"refused: {run.counts}, not {expected_counts}"
    batch_run = BatchRun(static_query, evaluator, rows_by_stream)
    batch_run.process(end_of_streams)
    assert_same_rows(_refused_rows(run), _refused_rows(batch_run))


def _check_hostile(scenario: Hostile, run: TableRun, evaluator: str) -> None:
    """Compare the output over a table with that of a micro-batch over the same rows."""
    if is_refused_otherwise(run.query):
        return
    rows_by_stream = scenario.rows_by_stream(run)
    run.process_rows(rows_by_stream)
    batch_run = BatchRun(_static(run.query), evaluator, rows_by_stream)
    batch_run.process(Arrival((CLOSED,) * len(rows_by_stream)))
    assert_same_rows(_refused_rows(run), _refused_rows(batch_run))
    assert_same_rows(run.output, batch_run.output)


def _static(query: Query | Join) -> Query | Join:
    """Return a query as it is evaluated over tables: in one batch after which nothing is held, so nothing is shed."""
    if isinstance(query, Join):
        return query
    return replace(query, most_held=None)


def _refused_rows(run: Run) -> Counter[tuple[Any, ...]]:
    """Return the refused rows of a run; those of a join without the payload, which the join may not read."""
    refused = Counter[tuple[Any, ...]]()
    for (stream, reason, late_by, text), count in run.refused.items():
        row = json.loads(text)
        if isinstance(run.query, Join):
            for name in ("x", "is_kept"):
                row.pop(name, None)
        refused[stream, reason, late_by, json.dumps(row, sort_keys=True)] += count
    return refused
