"""What `ChangelogTable.final` says of a row holds: no later micro-batch changes it or takes it away.

The table is what the engine's changes add up to, and the watermark is that of its output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from muntin import EARLIEST, INFINITY, ClipPolicy, EmitPolicy, OutputContract, TimestampPolicy
from muntin.testing.scripts import Script
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import Run, check, failure
from tests.differential.meaning import Table
from tests.differential.modules import SHAPES
from tests.differential.progress import CorrectingRun
from tests.differential.test_inputs import samples
from tests.differential.test_time_bound import EVERY_OTHER_WINDOW, OWN_LIFETIMES, a_fifth, time_bound

RETRACTING = (EmitPolicy.SPECULATIVE, EmitPolicy.EAGER)


def final_rows(table: Table, watermark: int, *, is_revisable: bool) -> Table:
    """Return what is final of a table, in the words of `ChangelogTable.final`."""
    if watermark == INFINITY:
        return table
    return {
        key: Counter(row for row in rows.elements() if row[1] < watermark and (row[2] < watermark or not is_revisable))
        for key, rows in table.items()
    }


def keeping_final(start: Callable[[Case], Run]) -> Callable[[Case, Script], None]:
    """Return what runs a stream and checks after each batch that what was final is there still, and is final still."""

    def run(case: Case, stream: Script) -> None:
        running, before, watermark = start(case), Table(), EARLIEST
        for batch in stream.batches():
            watermark = max(watermark, running.take(batch).watermark)
            final = final_rows(running.table(), watermark, is_revisable=running.query.is_time_bound)
            for key, rows in before.items():
                gone = rows - final.get(key, Counter())
                assert not gone, f"final before the watermark {watermark}, and gone: {gone}"
            before = final

    return run


def some_cases(window: str, emit: EmitPolicy, *, is_edge: bool = False) -> Iterator[Case]:
    """Yield some of the cases of a window."""
    cases = [Case(window, shape, *both, emit, is_edge=is_edge) for shape in SHAPES for both in policies(shape)]
    yield from Random(f"{window} {emit}").sample(cases, 4)


@pytest.mark.parametrize("emit", RETRACTING)
@pytest.mark.parametrize("window", WINDOWS)
def test_what_is_final_stays(window: str, emit: EmitPolicy) -> None:
    for place, case in enumerate(some_cases(window, emit)):
        check(case, case.stream, keeping_final(Run))
        if place % 2 and emit is EmitPolicy.SPECULATIVE:
            check(case, case.stream, keeping_final(lambda case: CorrectingRun(case, waits=True)))


@pytest.mark.parametrize("window", WINDOWS)
def test_so_it_does_for_samples_which_end_with_the_next(window: str) -> None:
    for case in some_cases(window, EmitPolicy.EAGER, is_edge=True):
        check(case, samples(case.seed), keeping_final(Run))


@EVERY_OTHER_WINDOW
def test_so_it_does_where_lifetimes_get_other_ends(window: str) -> None:
    for shape, clip in a_fifth(window, 3)[:3]:
        case = time_bound(window, shape, clip)
        check(case, case.stream, keeping_final(Run))


@pytest.mark.parametrize("shape", OWN_LIFETIMES)
def test_so_it_does_for_rows_with_lifetimes_of_their_own(shape: str) -> None:
    policies = (ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED, EmitPolicy.EAGER, OutputContract.TIME_BOUND)
    for window in ("tumbling", "overlapping", "gaps"):
        case = Case(window, shape, *policies)
        check(case, case.stream, keeping_final(Run))


def test_rows_become_final_before_the_stream_ends() -> None:
    early = 0
    for case in some_cases("tumbling", EmitPolicy.EAGER):
        running, watermark = Run(case), EARLIEST
        for batch in case.stream.batches():
            watermark = max(watermark, running.take(batch).watermark)
            if watermark < INFINITY:
                early += any(final_rows(running.table(), watermark, is_revisable=False).values())
    assert early > 2


def ahead(result: BatchResult) -> BatchResult:
    """return a result that promises more than the engine does."""
    return replace(result, watermark=min(result.watermark + 8, INFINITY))


def test_a_watermark_that_promises_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Run.take
    monkeypatch.setattr(Run, "take", lambda run, batch: ahead(original(run, batch)))
    found = [failure(case, case.stream, keeping_final(Run)) for case in some_cases("tumbling", EmitPolicy.EAGER)]
    assert any(found)
