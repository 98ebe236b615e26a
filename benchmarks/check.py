"""Comparing a system's answers with those of a plain computation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import SECOND, Files
from benchmarks.questions.question import Question, Rows, ticks

TOLERANCE: Final = 1e-9
"""The distance that two values may have, relative to the larger one."""

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """A window about which answers differ.

    Attributes:
        key: Key of the window.
        start: Start by which `ANSWERS` names the window, in microseconds since the epoch.
        expected: Right values; empty where there should be no row.
        values: Values of the system; several where there is a row too many.
    """

    key: int
    start: int
    expected: tuple[float, ...]
    values: tuple[float, ...]

    def __str__(self) -> str:
        return f"key {self.key}, window at {self.start / SECOND:.6f} s: {self.values}, expected {self.expected}"


class WrongAnswersError(ArithmeticError):
    """A system computed something else than it should.

    Attributes:
        differences: All windows about which it did.
    """

    def __init__(self, system: str, question: Question, differences: list[Difference]) -> None:
        shown = "\n  ".join(map(str, differences[:_SHOWN]))
        super().__init__(f"{system} gave {len(differences):,} wrong answers for {question}\n  {shown}")
        self.differences = differences


def check_answers(system: str, question: Question, files: Files, answers: pa.Table) -> int:
    """Compare a system's answers about the windows that are complete, and return how many these are.

    Raises:
        WrongAnswersError: An answer is wrong.
    """
    rows = Rows.of(pa.concat_tables(pq.read_table(path) for path in files.paths))
    watermark = int(rows.at.max()) - files.delay * SECOND

    def complete(table: pa.Table) -> pa.Table:
        """Return the answers about windows that are complete."""
        return table.filter(pa.array(question.are_complete(table, rows, watermark)))

    expected = complete(question.answers(rows))
    differences = compare(expected, complete(answers))
    if differences:
        raise WrongAnswersError(system, question, differences)
    return len(expected)


def compare(expected: pa.Table, answers: pa.Table) -> list[Difference]:
    """Return the windows about which two tables of answers differ, in any order of rows."""
    expected_by_window = _by_window(expected)
    answers_by_window = _by_window(answers)
    differences = []
    for key, start in sorted(expected_by_window.keys() | answers_by_window.keys()):
        expected_values = expected_by_window.get((key, start), ())
        values = answers_by_window.get((key, start), ())
        if len(expected_values) != len(values) or not all(map(_are_close, expected_values, values)):
            differences.append(Difference(key, start, expected_values, values))
    return differences


def _are_close(expected: float, value: float) -> bool:
    """Return True if a value is the expected one, within the tolerance."""
    return math.isclose(expected, value, rel_tol=TOLERANCE)


def _by_window(answers: pa.Table) -> dict[tuple[int, int], tuple[float, ...]]:
    """Return the values of each window; of a join there may be several."""
    values: dict[tuple[int, int], list[float]] = {}
    columns = (answers["key"].to_pylist(), ticks(answers["start"]).tolist(), answers["value"].to_pylist())
    for key, start, value in zip(*columns, strict=True):
        values.setdefault((key, start), []).append(value)
    return {window: tuple(sorted(of_window)) for window, of_window in values.items()}
