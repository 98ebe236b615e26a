"""Floors: what the figures of a case are to reach, and the verdicts on them.

Floors are set for the full number of rows. With fewer, what it costs to start outweighs what a row costs, so they are
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
"""The medians by the name of a system and its question, in the order of the case; without what was not measured."""

ROW_BYTES = 4 * 8
"""What an event takes in columns: its key, start, end and value."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a summary.

    Attributes:
        name: Its name.
        of: Returns it, in rows per second, seconds, bytes, or as a ratio; None if it was not measured.
        more_is_better: True of rates, false of what is spent.
    """

    name: str
    of: Callable[[Question, Summary], float | None]
    more_is_better: bool = False

    def __str__(self) -> str:
        return self.name

    def times_better(self, question: Question, subject: Summary, other: Summary) -> float | None:
        """Return the factor by which a subject is better than another; None if one was not measured."""
        subject_figure = self.of(question, subject)
        other_figure = self.of(question, other)
        if not subject_figure or not other_figure:
            return None
        return subject_figure / other_figure if self.more_is_better else other_figure / subject_figure


def _rows_per_cpu_second(_: Question, summary: Summary) -> float | None:
    return summary.rows / summary.cpu_seconds if summary.cpu_seconds else None


def _written_per_slice(question: Question, summary: Summary) -> float | None:
    if summary.written_bytes is None or not isinstance(question, Hopping):
        return None
    return summary.written_bytes / question.slices_written()


def _written_share(_: Question, summary: Summary) -> float | None:
    return None if summary.written_in_all is None else summary.written_in_all / (summary.rows * ROW_BYTES)


END_TO_END = Measure("end to end", lambda _, summary: summary.rows_per_second, more_is_better=True)
WARM_RATE = Measure("in a warm batch", lambda _, summary: summary.warm_rate, more_is_better=True)
CPU = Measure("per second of processor time", _rows_per_cpu_second, more_is_better=True)
WARM_BATCH = Measure("per warm batch", lambda _, summary: summary.warm_batch)
FIRST_BATCH = Measure("first batch", lambda _, summary: summary.first_batch)
WORKER = Measure("memory of the largest worker", lambda _, summary: summary.worker_bytes)
WRITTEN_PER_SLICE = Measure("state written per warm batch and slice", _written_per_slice)
WRITTEN_SHARE = Measure("state written over the bytes of the rows", _written_share)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a floor.

    Attributes:
        floor: The floor, in words.
        measured: The figure; None if something was not measured.
        is_met: True if it reached the floor; None if something was not measured, or the floor is not judged.
    """

    floor: str
    measured: float | None = None
    is_met: bool | None = None


class Floor(ABC):
    """Something to reach."""

    @abstractmethod
    def measure(self, figures: Figures) -> float | None:
        """Return the figure that is compared; None if something was not measured."""

    @abstractmethod
    def is_reached(self, measured: float) -> bool:
        """Return True if a figure reaches the floor."""

    def judge(self, figures: Figures, *, has_full_size: bool = True) -> Verdict:
        """Compare what was measured with the floor."""
        measured = self.measure(figures)
        if measured is None or not has_full_size:
            return Verdict(str(self), measured)
        return Verdict(str(self), measured, self.is_reached(measured))


@dataclass(frozen=True, slots=True)
class TimesBetter(Floor):
    """A system is so many times better than another, over each question of a case."""

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
            other = figures.get((self.other, question))
            if system == self.subject and other is not None:
                factors.append(self.measure_of.times_better(question, summary, other))
        return min(_all_known(factors), default=None)

    def is_reached(self, measured: float) -> bool:
        """Return True if the factor is large enough."""
        return measured >= self.at_least


@dataclass(frozen=True, slots=True)
class Limit(Floor):
    """A rate of a system reaches a limit, or what it spends stays within it, over each question of a case."""

    subject: str
    measure_of: Measure
    limit: float

    def __str__(self) -> str:
        if self.measure_of.more_is_better:
            return f"{self.subject} >= {self.limit:,.0f} rows/s {self.measure_of}"
        return f"{self.subject}: {self.measure_of} <= {self.limit:,g}"

    def measure(self, figures: Figures) -> float | None:
        """Return the figure; of several questions the worst."""
        known = _all_known(_figures_of(self.subject, self.measure_of, figures))
        worst = min if self.measure_of.more_is_better else max
        return worst(known, default=None)

    def is_reached(self, measured: float) -> bool:
        """Return True if the figure is on the right side of the limit."""
        return measured >= self.limit if self.measure_of.more_is_better else measured <= self.limit


@dataclass(frozen=True, slots=True)
class Growth(Floor):
    """A figure of a system stays nearly the same from the first question of a case to the others.

    Attributes:
        subject: The system's name.
        measure_of: What may not grow.
        below: The factor by which it stays below.
    """

    subject: str
    measure_of: Measure
    below: float

    def __str__(self) -> str:
        return f"{self.subject}: {self.measure_of} grows < {self.below:g} x over the windows"

    def measure(self, figures: Figures) -> float | None:
        """Return the largest figure over the first; at least two questions must have been measured."""
        known = _all_known(_figures_of(self.subject, self.measure_of, figures))
        return max(known) / known[0] if len(known) > 1 and known[0] else None

    def is_reached(self, measured: float) -> bool:
        """Return True if the growth is small enough."""
        return measured < self.below


@dataclass(frozen=True, slots=True)
class NoLater(Floor):
    """A system has emitted at least as many rows as another after each micro-batch of the same input."""

    subject: str
    other: str

    def __str__(self) -> str:
        return f"{self.subject} emits no row in a later micro-batch than {self.other}"

    def measure(self, figures: Figures) -> float | None:
        """Return the most rows by which it was behind after a micro-batch."""
        behind = []
        for (system, question), summary in figures.items():
            other = figures.get((self.other, question))
            if system == self.subject and other is not None:
                pairs = zip(other.emitted, summary.emitted, strict=False)
                behind += [other_rows - subject_rows for other_rows, subject_rows in pairs]
        return max(0, *behind) if behind else None

    def is_reached(self, measured: float) -> bool:
        """Return True if it was never behind."""
        return measured == 0


def _figures_of(system: str, measure: Measure, figures: Figures) -> list[float | None]:
    """Return a figure of a system for each question that it answered."""
    return [measure.of(question, summary) for (name, question), summary in figures.items() if name == system]


def _all_known(values: Sequence[float | None]) -> list[float]:
    """Return the values; none of them if one is not known, since a worst of some is no worst of all."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
