"""What keys, rows and slices take: the page shows it, and a worker counts it about right."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from benchmarks.bucket import BucketQuery
from benchmarks.state import KINDS, Kind, filled, measure, row_of, spell
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_stats import Average
from tests.docs.pages import DOCS

PAGE: Final = DOCS / "deploy/size-a-query.md"
FIFTH: Final = 0.2


def rows_of_the_page() -> list[list[str]]:
    """Return the cells of the table of kinds of queries, row by row."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## What a key takes")
    table = [line for line in section.splitlines() if line.startswith("|")][2:]
    rows: list[list[str]] = []
    for line in table[: len(KINDS)]:
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_page_has_the_kinds_of_queries_that_are_measured() -> None:
    shown_kinds = [cells[:3] for cells in rows_of_the_page()]
    measured_kinds: list[list[str]] = []
    for kind in KINDS:
        units = kind.unit if kind.units == 1 else f"{kind.unit}s"
        measured_kinds.append([kind.title, kind.query.plan.choice.evaluator, f"{kind.units} {units}"])
    assert shown_kinds == measured_kinds


def test_all_evaluators_that_keep_a_state_are_measured() -> None:
    assert {kind.query.plan.choice.evaluator for kind in KINDS} == {*KEEPS_STATE}


@pytest.mark.nightly
@pytest.mark.parametrize("place", range(len(KINDS)), ids=lambda place: KINDS[place].title)
def test_the_figures_of_the_page_are_those_of_a_bucket_within_a_fifth(place: int) -> None:
    kind = KINDS[place]
    if kind.units == 1:  # fewer keys, which say as much
        kind = replace(kind, keys=500)
    measured = measure(kind)
    measured_figures = [measured.state.key, measured.state.unit, measured.memory.key, measured.memory.unit]
    shown_figures = [float(cell.replace(",", "")) for cell in rows_of_the_page()[place][3:]]
    assert measured_figures == pytest.approx(shown_figures, rel=FIFTH)


@pytest.mark.nightly
def test_a_key_takes_the_bytes_of_its_columns() -> None:
    """A text of 16 letters has 4 bytes for its length, and a whole number has 8; what is kept besides is the same."""
    of_numbers, of_texts, *_ = KINDS
    assert (of_numbers.query.key, of_texts.query.key) == ("bigint", "string")
    difference = measure(of_texts).state.key - measure(of_numbers).state.key
    assert difference == pytest.approx(16 + 4 - 8, abs=0.1)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "kind",
    [
        *(KINDS[0], KINDS[5], KINDS[3]),  # on arrays: windows, snapshots, and events with ids
        *(KINDS[8], KINDS[13]),  # key by key
        *(KINDS[15], KINDS[20]),  # the last rows, and events that are results
    ],
    ids=lambda kind: kind.title,
)
def test_a_worker_counts_what_it_keeps_about_right(kind: Kind) -> None:
    """A worker keeps as much as the session allows by its own count, which must not be a fraction of what is there."""
    bucket = filled(kind, kind.keys, 3 * kind.units)
    assert 0.8 * bucket.memory <= bucket.counted <= 1.5 * bucket.memory


def test_a_row_of_the_table_has_a_cell_for_each_heading() -> None:
    kind = Kind("an average", "slice", BucketQuery(KINDS[0].query.window, Average), keys=50)
    title, evaluator, units, *figures = row_of(kind)
    assert (title, evaluator, units) == ("an average", "columnar", "1 slice")
    assert len(figures) == 4


@pytest.mark.parametrize(("size", "text"), [(26.4, "26"), (99.6, "100"), (148.0, "150"), (63_421, "63,000")])
def test_a_size_is_spelled_with_two_digits(size: float, text: str) -> None:
    assert spell(size) == text
