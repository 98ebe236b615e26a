"""Check a system's answers against those of a plain computation with NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files, lifetimes_of
from benchmarks.question import Question
from benchmarks.windows import Floats, Ints, Rows
from benchmarks.windows.windows import ticks

TOLERANCE: Final = 1e-9
"""How far two values may be apart, relative to the larger."""

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """A window about which answers differ.

    Attributes:
        key: Of the window.
        start: What names it in `ANSWERS`, in microseconds since the epoch.
        expected: The right value; None where there should be no row.
        found: What was found; None where there was no row.
    """

    key: int
    start: int
    expected: float | None
    found: float | None

    def __str__(self) -> str:
        return f"key {self.key}, window at {self.start // MICROSECONDS} s: {self.found}, expected {self.expected}"


class WrongAnswersError(ArithmeticError):
    """A system computed something else than it should.

    Attributes:
        differences: All that were found.
    """

    def __init__(self, system: str, question: Question, differences: list[Difference]) -> None:
        shown = "\n  ".join(map(str, differences[:_SHOWN]))
        super().__init__(
            f"{system} gave {len(differences):,} wrong rows for {question.aggregate}, {question.windows}\n  {shown}"
        )
        self.differences = differences


def check(system: str, question: Question, expected: pa.Table, found: pa.Table) -> int:
    """Compare answers about the windows that are complete, and return how many there are.

    Raises:
        WrongAnswersError: They differ.
    """
    differences = compare(expected, found)
    if differences:
        raise WrongAnswersError(system, question, differences)
    return len(expected)


def compare(expected: pa.Table, found: pa.Table) -> list[Difference]:
    """Return the differences of two tables of answers, in any order of rows. A duplicate row is a difference."""
    right, left = _sorted(expected), _sorted(found)
    if right[0].shape == left[0].shape and all(np.array_equal(right[i], left[i]) for i in (0, 1)):
        apart = ~np.isclose(left[2], right[2], rtol=TOLERANCE, atol=0.0, equal_nan=True)
        rows = zip(*(column[apart].tolist() for column in (*right, left[2])), strict=True)
        return [Difference(key, start, value, other) for key, start, value, other in rows]
    return list(_missing_and_surplus(right, left))


def closed(answers: pa.Table, question: Question, files: Files) -> pa.Table:
    """Return the answers about windows that are complete, given how far the files go."""
    rows = _read(files)
    watermark = int(rows.at.max()) - question.delay * MICROSECONDS
    return answers.filter(pa.array(question.windows.are_complete(answers, rows, watermark)))


def expected_answers(question: Question, files: Files, have_lifetimes: bool = False) -> pa.Table:
    """Compute the answers about all windows that have a member, the plain way.

    Args:
        question: What to compute.
        files: The input.
        have_lifetimes: Whether a row lasts and is in the windows that overlap it, or is a point.
    """
    return question.windows.answers(question.aggregate, _read(files, have_lifetimes))


def _read(files: Files, have_lifetimes: bool = False) -> Rows:
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)
    at = ticks(table["at"])
    end = at + (lifetimes_of(at) if have_lifetimes else 1)
    return Rows(table["key"].to_numpy(), at, end, table["value"].to_numpy())


def _sorted(answers: pa.Table) -> tuple[Ints, Ints, Floats]:
    key, start, value = answers["key"].to_numpy(), ticks(answers["start"]), answers["value"].to_numpy()
    order = np.lexsort((value, start, key))
    return key[order], start[order], value[order]


def _missing_and_surplus(expected: tuple[Ints, Ints, Floats], found: tuple[Ints, Ints, Floats]) -> Iterable[Difference]:
    """Yield the rows of which there are more on one side; where both have one, its value is not looked at."""
    left, right = (
        dict(zip(zip(*map(np.ndarray.tolist, side[:2]), strict=True), side[2].tolist(), strict=True))
        for side in (found, expected)
    )
    for key, start in sorted(left.keys() ^ right.keys()):
        yield Difference(key, start, right.get((key, start)), left.get((key, start)))
    seen: set[tuple[int, int]] = set()
    for key, start, value in zip(*map(np.ndarray.tolist, found), strict=True):
        if (key, start) in seen:
            yield Difference(key, start, None, value)
        seen.add((key, start))
