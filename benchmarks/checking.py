"""Check a system's answers against those of a plain computation with NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files, lifetimes_of
from benchmarks.question import Question
from benchmarks.systems.system import ANSWERS

TOLERANCE: Final = 1e-9
"""How far two values may be apart, relative to the larger."""

_SHOWN: Final = 3

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A window about which answers differ.

    Attributes:
        key: Of the window.
        start: Where it starts, in microseconds since the epoch.
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
            f"{system} gave {len(differences):,} wrong rows for {question.aggregate}, {question.window}\n  {shown}"
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
    if question.is_session:
        return _closed_sessions(answers, question, files)
    ends = _ticks(answers["start"]) + question.size * MICROSECONDS
    return answers.filter(pa.array(ends <= _newest(files) - question.delay * MICROSECONDS))


def expected_answers(question: Question, files: Files, have_lifetimes: bool = False) -> pa.Table:
    """Compute the answers about all windows that have a member, the plain way: window by window of each row.

    Args:
        question: What to compute.
        files: The input.
        have_lifetimes: Whether a row lasts and is in the windows that overlap it, or is a point.
    """
    rows = pa.concat_tables(pq.read_table(path) for path in files.paths)
    key, at, value = rows["key"].to_numpy(), _ticks(rows["at"]), rows["value"].to_numpy()
    if question.is_session:
        return _sessions(question, key, at, value).select(ANSWERS.names)
    size, hop = question.size * MICROSECONDS, question.hop * MICROSECONDS
    end = at + (lifetimes_of(at) if have_lifetimes else 1)
    first, last = int(at.min() - size) // hop, int(end.max()) // hop
    windows = _Windows(question, int(key.max()) + 1, first, last - first + 1)
    for number in range(int(np.max((end - 1) // hop - (at - size) // hop))):
        place = (end - 1) // hop - number
        is_member = place * hop + size > at
        windows.add(key[is_member], place[is_member], value[is_member])
    return windows.answers(hop)


def _sessions(question: Question, key: Ints, at: Ints, value: Floats) -> pa.Table:
    """Return the answers about sessions of points, and the last time of each."""
    order = np.lexsort((at, key))
    key, at, value = key[order], at[order], value[order]
    begins = np.r_[True, (np.diff(key) != 0) | (np.diff(at) > question.size * MICROSECONDS)]
    firsts = np.flatnonzero(begins)
    stops = np.r_[firsts[1:], len(key)]
    is_average = question.aggregate == "average"
    values = np.add.reduceat(value, firsts) / (stops - firsts) if is_average else np.maximum.reduceat(value, firsts)
    answers = pa.table([key[firsts], pa.array(at[firsts], ANSWERS.field("start").type), values], schema=ANSWERS)
    return answers.append_column("last", pa.array(at[stops - 1]))


def _closed_sessions(answers: pa.Table, question: Question, files: Files) -> pa.Table:
    """Return the answers without those about sessions that are open when the files end."""
    rows = pa.concat_tables(pq.read_table(path, columns=["key", "at"]) for path in files.paths)
    whole = _sessions(question, rows["key"].to_numpy(), _ticks(rows["at"]), np.zeros(len(rows)))
    limit = _newest(files) - (question.delay + question.size) * MICROSECONDS
    is_open = whole["last"].to_numpy() >= limit
    opened = set(zip(whole["key"].to_numpy()[is_open].tolist(), _ticks(whole["start"])[is_open].tolist(), strict=True))
    names = zip(answers["key"].to_numpy().tolist(), _ticks(answers["start"]).tolist(), strict=True)
    return answers.filter(pa.array([name not in opened for name in names]))


class _Windows:
    """A count and a value for each key and window."""

    def __init__(self, question: Question, keys: int, first: int, windows: int) -> None:
        self._is_average = question.aggregate == "average"
        self._first, self._shape = first, (keys, windows)
        self._counts = np.zeros(keys * windows, np.int64)
        self._values = np.full(keys * windows, 0.0 if self._is_average else -np.inf)

    def add(self, keys: Ints, windows: Ints, values: Floats) -> None:
        cells = keys * self._shape[1] + (windows - self._first)
        np.add.at(self._counts, cells, 1)
        (np.add if self._is_average else np.maximum).at(self._values, cells, values)

    def answers(self, hop: int) -> pa.Table:
        cells = np.flatnonzero(self._counts)
        values = self._values[cells] / (self._counts[cells] if self._is_average else 1)
        starts = (cells % self._shape[1] + self._first) * hop
        columns = [cells // self._shape[1], pa.array(starts, ANSWERS.field("start").type), values]
        return pa.table(columns, schema=ANSWERS)


def _sorted(answers: pa.Table) -> tuple[Ints, Ints, Floats]:
    key, start, value = answers["key"].to_numpy(), _ticks(answers["start"]), answers["value"].to_numpy()
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


def _newest(files: Files) -> int:
    return int(max(_ticks(pq.read_table(path, columns=["at"])["at"]).max() for path in files.paths))


def _ticks(times: pa.ChunkedArray) -> Ints:
    ticks: Ints = times.cast(pa.int64()).to_numpy()
    return ticks
