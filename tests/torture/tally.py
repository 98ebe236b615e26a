"""What trials came to, and the table of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.torture.kind import Kind


@dataclass(frozen=True, slots=True)
class Fault:
    """A trial that failed.

    Attributes:
        kind: The name of its kind.
        seed: Its seed.
        error: The traceback, or what happened to the process.
    """

    kind: str
    seed: int
    error: str


@dataclass(slots=True)
class Tally:
    """The figures of a run.

    Attributes:
        trials: Numbers of trials that ended, by kind.
        seconds: Seconds that they took, by kind.
        figures: Sums of their figures, by kind.
        faults: Trials that failed.
    """

    trials: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    figures: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def table(self, kinds: Sequence[Kind]) -> str:
        """Return a row per kind: trials, seconds, faults, and what they went through."""
        rows = [("kind", "trials", "seconds", "faults", "went through")]
        for kind in kinds:
            faults = sum(fault.kind == kind.name for fault in self.faults)
            figures = self.figures.get(kind.name, Counter[str]())
            went_through = ", ".join(f"{count:,} {name}" for name, count in figures.items() if count)
            seconds = self.seconds.get(kind.name, 0.0)
            rows.append((kind.name, f"{self.trials[kind.name]:,}", f"{seconds:,.0f}", str(faults), went_through))
        widths = [max(len(row[place]) for row in rows) for place in range(4)]
        lines = []
        for kind_name, *numbers, went_through in rows:
            # The names stand at the left of their column, the numbers at the right.
            cells = [kind_name.ljust(widths[0])]
            cells += [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
            lines.append("  ".join([*cells, went_through]).rstrip())
        return "\n".join(lines)
