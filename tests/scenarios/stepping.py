"""A query step by step: what each micro-batch of a script emits, for cases that are written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from muntin.testing import Batch, Script
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Mishaps, Run

NO_MISHAPS: Final = Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0)
"""Nothing goes wrong."""


def steps(
    query: Query | Join, *streams: Script, evaluator: str | None = None, restarts: float = 0.0, run: Run | None = None
) -> Iterator[Run]:
    """Yield a run of the query after each micro-batch, all of which come as the scripts have them.

    Args:
        query: The query.
        streams: The script of each of its streams.
        evaluator: The evaluator; by default the one that the planner chooses.
        restarts: The probability that a new process takes a micro-batch.
        run: A run that goes on, instead of a new one.
    """
    run = run or Run(query, query.plan(evaluator), replace(NO_MISHAPS, restarts=restarts))
    for batches in zip_longest(*(stream.batches() for stream in streams), fillvalue=Batch(())):
        run.process(Arrival(batches))
        yield run


def final(query: Query | Join, *streams: Script, evaluator: str | None = None) -> Run:
    """Return a run of the query after all micro-batches."""
    *_, run = steps(query, *streams, evaluator=evaluator)
    return run
