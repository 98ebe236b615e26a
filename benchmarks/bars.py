"""Targets of the figures, and verdicts on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from benchmarks.measurement import Summary
from benchmarks.question import Question
from benchmarks.slices import slices_kept

Figures: TypeAlias = Mapping[tuple[str, Question], Summary]
"""Medians by system and question, in the order of the work; what could not be measured is left out."""


class Measure(StrEnum):
    """The quantity that a bar is about."""

    END_TO_END = "end to end"
    WARM_BATCH = "per warm batch"
    PROCESSOR = "per second of processor time"
    WRITTEN = "state written per warm batch and slice"
    FIRST_BATCH = "first batch"
    WORKER = "memory of the largest worker"
    WRITTEN_SHARE = "state written over the bytes of the rows"

    def of(self, question: Question, summary: Summary) -> float | None:
        """Return the figure: rows per second, of clock or processor; seconds; bytes; or a ratio."""
        simple = {
            Measure.END_TO_END: summary.rows_per_second,
            Measure.WARM_BATCH: summary.warm_batch,
            Measure.PROCESSOR: summary.rows / summary.cpu_seconds if summary.cpu_seconds else None,
            Measure.FIRST_BATCH: summary.first_batch,
            Measure.WORKER: summary.worker_bytes,
            Measure.WRITTEN_SHARE: summary.written_share,
        }
        if self in simple:
            return simple[self]
        slices = slices_kept(question)
        return summary.written_bytes / slices if slices and summary.written_bytes is not None else None

    def times(self, question: Question, subject: Summary, against: Summary) -> float | None:
        """Return the factor by which a subject is better than another; None if one was not measured."""
        mine, other = self.of(question, subject), self.of(question, against)
        if not mine or not other:
            return None
        return mine / other if self in (Measure.END_TO_END, Measure.PROCESSOR) else other / mine


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a bar.

    Attributes:
        bar: The bar, in words.
        measured: The figure; None if something was not measured.
        is_met: True if it reached the bar; None if something was not measured, or the bar is not judged.
    """

    bar: str
    measured: float | None = None
    is_met: bool | None = None


class Bar(ABC):
    """Something to reach.

    Attributes:
        is_for_any_size: True if the bar holds for few rows as for many. The others are set for the full number of rows:
            with fewer, what it costs to start outweighs what a row costs.
    """

    is_for_any_size: ClassVar[bool] = False

    @abstractmethod
    def measure(self, figures: Figures) -> float | None:
        """Return the figure that is compared; None if something was not measured."""

    @abstractmethod
    def is_reached(self, measured: float) -> bool:
        """Return True if a figure reaches the bar."""

    def judge(self, figures: Figures, *, has_few_rows: bool = False) -> Verdict:
        """Compare what was measured with the bar, unless it was measured on fewer rows than the bar is set for."""
        measured = self.measure(figures)
        if measured is None:
            return Verdict(str(self))
        if has_few_rows and not self.is_for_any_size:
            return Verdict(str(self), measured)
        return Verdict(str(self), measured, self.is_reached(measured))


@dataclass(frozen=True, slots=True)
class Times(Bar):
    """A system is so many times better than another.

    Attributes:
        subject: Its name.
        against: The other's.
        measure_of: In what.
        at_least: How many times.
    """

    subject: str
    against: str
    measure_of: Measure
    at_least: float

    def __str__(self) -> str:
        return f"{self.subject} >= {self.at_least:g} x {self.against} {self.measure_of}"

    def measure(self, figures: Figures) -> float | None:
        """Return the factor by which it is better; of several questions the worst."""
        times = [
            self.measure_of.times(question, summary, figures[self.against, question])
            for (system, question), summary in figures.items()
            if system == self.subject and (self.against, question) in figures
        ]
        known = [value for value in times if value is not None]
        return min(known) if known and len(known) == len(times) else None

    def is_reached(self, measured: float) -> bool:
        """Return True if the factor is large enough."""
        return measured >= self.at_least


@dataclass(frozen=True, slots=True)
class Growth(Bar):
    """A figure of a system stays nearly the same from the first question of a work to the others.

    Attributes:
        subject: The system's name.
        measure_of: What may not grow.
        below: By how much it stays below, as a factor.
    """

    subject: str
    measure_of: Measure
    below: float

    def __str__(self) -> str:
        return f"{self.subject}: {self.measure_of} grows < {self.below:g} x over the windows"

    def measure(self, figures: Figures) -> float | None:
        """Return the largest figure over the first; at least two questions must have been measured."""
        mine = {question: summary for (name, question), summary in figures.items() if name == self.subject}
        values = _known([self.measure_of.of(question, summary) for question, summary in mine.items()])
        return max(values) / values[0] if len(values) > 1 and values[0] else None

    def is_reached(self, measured: float) -> bool:
        """Return True if the growth is small enough."""
        return measured < self.below


@dataclass(frozen=True, slots=True)
class Rate(Bar):
    """A system takes so many rows a second.

    Attributes:
        subject: Its name.
        at_least: Rows per second.
        is_warm: True for those of a warm micro-batch, false for those end to end.
    """

    subject: str
    at_least: float
    is_warm: bool = False

    def __str__(self) -> str:
        where = " in a warm batch" if self.is_warm else ""
        return f"{self.subject} >= {self.at_least:,.0f} rows/s{where}"

    def measure(self, figures: Figures) -> float | None:
        """Return its rate; of several questions the worst."""
        found = [summary for (name, _), summary in figures.items() if name == self.subject]
        rates = [summary.warm_rate if self.is_warm else summary.rows_per_second for summary in found]
        return min(_known(rates), default=None)

    def is_reached(self, measured: float) -> bool:
        """Return True if the rate is high enough."""
        return measured >= self.at_least


@dataclass(frozen=True, slots=True)
class AtMost(Bar):
    """A figure of a system does not exceed a limit.

    Attributes:
        subject: The system's name.
        measure_of: What is limited.
        limit: The limit, in seconds, bytes, or as a ratio.
    """

    subject: str
    measure_of: Measure
    limit: float

    def __str__(self) -> str:
        return f"{self.subject}: {self.measure_of} <= {self.limit:,g}"

    def measure(self, figures: Figures) -> float | None:
        """Return the figure; of several questions the largest."""
        found = [(question, summary) for (name, question), summary in figures.items() if name == self.subject]
        return max(_known([self.measure_of.of(question, summary) for question, summary in found]), default=None)

    def is_reached(self, measured: float) -> bool:
        """Return True if the figure is small enough."""
        return measured <= self.limit


@dataclass(frozen=True, slots=True)
class NoLater(Bar):
    """A system has emitted at least as many rows as another after each micro-batch of the same input.

    Attributes:
        subject: Its name.
        against: The other's.
    """

    is_for_any_size: ClassVar[bool] = True

    subject: str
    against: str

    def __str__(self) -> str:
        return f"{self.subject} emits no row in a later micro-batch than {self.against}"

    def measure(self, figures: Figures) -> float | None:
        """Return the most rows by which it was behind after a micro-batch."""
        behind = [
            theirs - ours
            for (system, question), summary in figures.items()
            if system == self.subject and (self.against, question) in figures
            for ours, theirs in zip(summary.emitted, figures[self.against, question].emitted, strict=False)
        ]
        return max(0, *behind) if behind else None

    def is_reached(self, measured: float) -> bool:
        """Return True if it was never behind."""
        return measured == 0


def _known(values: Sequence[float | None]) -> list[float]:
    """Return the values; none of them if one is not known."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
