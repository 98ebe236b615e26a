"""One attempt to break a law of a progress policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from muntin.axis import EARLIEST
from muntin.progress import ProgressPolicy, SourceProgress
from muntin.testing.laws.law import Law
from muntin.testing.laws.trial import Trial

Arrived: TypeAlias = tuple[Sequence[int], int | None]
"""A micro-batch: the starts of its rows, and the reading of the clock."""


class ProgressPolicyTrial(Trial):
    """Draws micro-batches of rows, and asks a policy after each.

    Attributes:
        policy: The policy.
    """

    def __init__(self, law: Law, policy: ProgressPolicy, steps: Sequence[int], data: object) -> None:
        """Prepare an attempt."""
        super().__init__(law, f"the progress policy {type(policy).__name__}", 0.0, data)
        self.policy = policy
        self._steps = steps

    def batches(self, *, has_clock: bool | None = None) -> list[Arrived]:
        """Draw micro-batches, some of them without rows; with a clock or without, or as it is drawn."""
        clock = None if has_clock is False or self.draw(st.booleans()) else self.draw(st.integers(0, 100))
        newest, found = self.draw(st.integers(-20, 20)), list[Arrived]()
        for _ in range(self.draw(st.integers(1, 6))):
            starts = [newest + self.draw(st.sampled_from(self._steps)) for _ in range(self.draw(st.integers(0, 4)))]
            newest = max([newest, *starts])
            clock = None if clock is None else clock + self.draw(st.sampled_from([0, 1, 20]))
            found.append((starts, clock))
            self.stream.append(f"micro-batch of {starts}" + ("" if clock is None else f", clock {clock}"))
        return found

    def answers(self, batches: Sequence[Arrived]) -> list[int | None]:
        """Return the policy's answer after each micro-batch, from the first row on."""
        starts, found = list[int](), list[int | None]()
        last_heard: int | None = None
        for came, clock in batches:
            before = len(starts)
            starts += came
            last_heard = clock if came or last_heard is None else last_heard
            if starts:
                latest = tuple(sorted(starts, reverse=True)[: self.policy.starts_kept])
                seen = SourceProgress(max(starts), len(starts), latest, before, clock, last_heard)
                found.append(self._answer(seen))
        return found

    def furthest(self, batches: Sequence[Arrived]) -> int:
        """Return the watermark after all micro-batches."""
        return max((said for said in self.answers(batches) if said is not None), default=EARLIEST)

    def _answer(self, seen: SourceProgress) -> int | None:
        __tracebackhide__ = True
        try:
            said: object = self.policy.watermark(seen)
        except Exception as error:
            raise self.broken(f"watermark({seen}) raised {type(error).__name__}: {error}") from error
        if said is not None and (isinstance(said, bool) or not isinstance(said, int)):
            raise self.broken(f"watermark({seen}) returned {said!r}")
        return said
