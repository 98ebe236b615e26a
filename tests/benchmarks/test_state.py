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
    shown = [cells[:3] for cells in rows_of_the_page()]
    measured = []
    for kind in KINDS:
        units = kind.unit if kind.units == 1 else f"{kind.unit}s"
        measured.append([kind.title, kind.query.plan.choice.evaluator, f"{kind.units} {units}"])
    assert shown == measured


def test_all_evaluators_that_keep_a_state_are_measured() -> None:
    measured = {kind.query.plan.choice.evaluator for kind in KINDS}
    assert measured == {*KEEPS_STATE}


@pytest.mark.nightly
@pytest.mark.parametrize("place", range(len(KINDS)), ids=lambda place: KINDS[place].title)
def test_the_figures_of_the_page_are_those_of_a_bucket_within_a_fifth(place: int) -> None:
    kind = KINDS[place]
    if kind.units == 1:
        kind = replace(kind, keys=500)
    measured = measure(kind)
    figures = [measured.state.key, measured.state.unit, measured.memory.key, measured.memory.unit]
    shown = [float(cell.replace(",", "")) for cell in rows_of_the_page()[place][3:]]
    assert figures == pytest.approx(shown, rel=FIFTH)


@pytest.mark.nightly
def test_a_key_takes_the_bytes_of_its_columns() -> None:
    """A text of 16 letters has 4 bytes for its length; a whole number has 8, whatever is kept of the key besides."""
    numbers = KINDS[0]
    texts = KINDS[1]
    assert (numbers.query.key, texts.query.key) == ("bigint", "string")
    assert measure(texts).state.key - measure(numbers).state.key == pytest.approx(16 + 4 - 8, abs=0.1)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "kind", [KINDS[0], KINDS[5], KINDS[3], KINDS[8], KINDS[13], KINDS[15], KINDS[20]], ids=lambda k: k.title
)
def test_a_worker_counts_what_it_keeps_about_right(kind: Kind) -> None:
    """By that it keeps as much as the session allows; it must not be a fraction of what is there."""
    bucket = filled(kind, kind.keys, 3 * kind.units)
    assert 0.8 * bucket.memory <= bucket.counted <= 1.5 * bucket.memory


def test_a_row_of_the_table_has_a_cell_for_each_heading() -> None:
    kind = Kind("an average", "slice", BucketQuery(KINDS[0].query.window, Average), keys=50)
    title, evaluator, units, *figures = row_of(kind)
    assert (title, evaluator, units, len(figures)) == ("an average", "columnar", "1 slice", 4)
    assert [spell(size) for size in (26.4, 99.6, 148.0, 63_421)] == ["26", "100", "150", "63,000"]
