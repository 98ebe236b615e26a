"""Floors that the figures of a case are to reach, and the verdicts on them.

Floors are set for the full number of rows. With fewer rows the cost of starting outweighs that of a row, so figures are
measured and not judged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.measurement import Summary
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.question import Question

Figures: TypeAlias = Mapping[tuple[str, Question], Summary]
"""The medians by the name of a system and its question, in the order of the case, as far as they were measured."""

ROW_BYTES = 4 * 8
"""The bytes of an event in columns: its key, start, end and value."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a summary.

    Attributes:
        name: Name.
        of: Function that returns the figure: rows per second, seconds, bytes, or a ratio; None if it was not measured.
        more_is_better: True for rates, False for costs.
    """

    name: str
    of: Callable[[Question, Summary], float | None]
    more_is_better: bool = False

    def __str__(self) -> str:
        return self.name

    def times_better(self, question: Question, subject: Summary, baseline: Summary) -> float | None:
        """Return the factor by which a subject is better than a baseline; None if one was not measured."""
        subject_figure = self.of(question, subject)
        baseline_figure = self.of(question, baseline)
        if not subject_figure or not baseline_figure:
            return None
        if self.more_is_better:
            return subject_figure / baseline_figure
        return baseline_figure / subject_figure


def _rows_per_cpu_second(_: Question, summary: Summary) -> float | None:
    """Return the input rows per second of processor time; None if that was not measured."""
    return summary.rows / summary.cpu_seconds if summary.cpu_seconds else None


def _written_per_slice(question: Question, summary: Summary) -> float | None:
    """Return the bytes that a warm micro-batch writes for each slice; None without slices or a measurement."""
    if summary.written_bytes is None or not isinstance(question, Hopping):
        return None
    return summary.written_bytes / question.slices_written()


def _written_share(_: Question, summary: Summary) -> float | None:
    """Return the bytes that a run wrote to the state over the bytes of its rows; None if that was not measured."""
    return None if summary.written_in_all is None else summary.written_in_all / (summary.rows * ROW_BYTES)


END_TO_END = Measure("end to end", lambda _, summary: summary.rows_per_second, more_is_better=True)
WARM_RATE = Measure("in a warm batch", lambda _, summary: summary.warm_rate, more_is_better=True)
CPU = Measure("per second of processor time", _rows_per_cpu_second, more_is_better=True)
PROCESSOR_SECONDS = Measure("processor seconds", lambda _, summary: summary.cpu_seconds)
WARM_BATCH = Measure("per warm batch", lambda _, summary: summary.warm_batch)
FIRST_BATCH = Measure("first batch", lambda _, summary: summary.first_batch)
WORKER = Measure("memory of the largest worker", lambda _, summary: summary.worker_bytes)
PROCESSES = Measure("memory of all its processes", lambda _, summary: summary.python_bytes)
WRITTEN_PER_SLICE = Measure("state written per warm batch and slice", _written_per_slice)
WRITTEN_SHARE = Measure("state written over the bytes of the rows", _written_share)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a floor.

    Attributes:
        floor: Floor, in words.
        measured: Figure; None if a part of it was not measured.
        is_met: True if it reached the floor; None if a part was not measured, or the floor is not judged.
    """

    floor: str
    measured: float | None = None
    is_met: bool | None = None


class Floor(ABC):
    """A level that a figure is to reach."""

    @abstractmethod
    def measure(self, figures: Figures) -> float | None:
        """Return the figure that is compared; None if a part of it was not measured."""

    @abstractmethod
    def is_reached(self, measured: float) -> bool:
        """True if a figure reaches the floor."""

    def judge(self, figures: Figures, *, has_full_size: bool = True) -> Verdict:
        """Compare a figure with the floor."""
        measured = self.measure(figures)
        if measured is None or not has_full_size:
            return Verdict(str(self), measured)
        return Verdict(str(self), measured, self.is_reached(measured))


@dataclass(frozen=True, slots=True)
class TimesBetter(Floor):
    """A system is better than another by a factor, over each question of a case."""

    subject: str
    other: str
    measure_of: Measure
    at_least: float

    def __str__(self) -> str:
        return f"{self.subject} >= {self.at_least:g} x {self.other} {self.measure_of}"

    def measure(self, figures: Figures) -> float | None:
        """Return the factor by which it is better; of several questions the worst."""
        factors = []
        for (system, question), summary in figures.items():
            other_summary = figures.get((self.other, question))
            if system == self.subject and other_summary is not None:
                factors.append(self.measure_of.times_better(question, summary, other_summary))
        return min(_unless_missing(factors), default=None)

    def is_reached(self, measured: float) -> bool:
        """True if the factor is large enough."""
        return measured >= self.at_least


@dataclass(frozen=True, slots=True)
class Limit(Floor):
    """A rate of a system reaches a limit, or a cost stays within it, over each question of a case."""

    subject: str
    measure_of: Measure
    limit: float

    def __str__(self) -> str:
        if self.measure_of.more_is_better:
            return f"{self.subject} >= {self.limit:,.0f} rows/s {self.measure_of}"
        return f"{self.subject}: {self.measure_of} <= {self.limit:,g}"

    def measure(self, figures: Figures) -> float | None:
        """Return the figure; of several questions the worst."""
        measured = _unless_missing(_figures_of(self.subject, self.measure_of, figures))
        worst = min if self.measure_of.more_is_better else max
        return worst(measured, default=None)

    def is_reached(self, measured: float) -> bool:
        """True if the figure is on the right side of the limit."""
        if self.measure_of.more_is_better:
            return measured >= self.limit
        return measured <= self.limit


@dataclass(frozen=True, slots=True)
class Growth(Floor):
    """A figure of a system stays nearly the same from the first question of a case to the others.

    Attributes:
        subject: Name of the system.
        measure_of: Measure that may not grow.
        below: Factor that the growth stays below.
    """

    subject: str
    measure_of: Measure
    below: float

    def __str__(self) -> str:
        return f"{self.subject}: {self.measure_of} grows < {self.below:g} x over the windows"

    def measure(self, figures: Figures) -> float | None:
        """Return the largest figure over the first; at least two questions must have been measured."""
        measured = _unless_missing(_figures_of(self.subject, self.measure_of, figures))
        if len(measured) < 2 or not measured[0]:
            return None
        return max(measured) / measured[0]

    def is_reached(self, measured: float) -> bool:
        """True if the growth is small enough."""
        return measured < self.below


@dataclass(frozen=True, slots=True)
class NoLater(Floor):
    """A system has emitted at least as many rows as another after each micro-batch of the same input."""

    subject: str
    other: str

    def __str__(self) -> str:
        return f"{self.subject} emits no row in a later micro-batch than {self.other}"

    def measure(self, figures: Figures) -> float | None:
        """Return the greatest number of rows by which it was behind after a micro-batch."""
        lags = []
        for (system, question), summary in figures.items():
            other_summary = figures.get((self.other, question))
            if system == self.subject and other_summary is not None:
                for other_rows, subject_rows in zip(other_summary.emitted, summary.emitted, strict=False):
                    lags.append(other_rows - subject_rows)
        return max(0, *lags) if lags else None

    def is_reached(self, measured: float) -> bool:
        """True if it was never behind."""
        return measured == 0


def _figures_of(system: str, measure: Measure, figures: Figures) -> list[float | None]:
    """Return a figure of a system for each question that it answered."""
    return [measure.of(question, summary) for (name, question), summary in figures.items() if name == system]


def _unless_missing(figures: Sequence[float | None]) -> list[float]:
    """Return figures; an empty list if one is missing, as the worst of the others need not be the worst of all."""
    measured = [figure for figure in figures if figure is not None]
    return measured if len(measured) == len(figures) else []
