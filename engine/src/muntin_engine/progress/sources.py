"""The watermark of each source of the input, from the observations by the tasks of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import Any, NamedTuple

from muntin import EARLIEST, BoundedDelay, BoundedDisorder, Periodic, ProgressPolicy


class Observation(NamedTuple):
    """The observation of a source; a silent source has none.

    Attributes:
        source: Its name; None where the input has no sources, and for punctuation of all of them.
        newest: The largest start of an insertion.
        rows: The number of insertions.
        latest: The largest starts, the largest first, as many as the policy needs.
        watermark: The latest punctuation in rows of its own.
    """

    source: str | None
    newest: int = EARLIEST
    rows: int = 0
    latest: tuple[int, ...] = ()
    watermark: int = EARLIEST

    def merge(self, other: Observation, keep: int) -> Observation:
        """Return both as one, with as many of the largest starts as are to be kept.

        Example:
            >>> Observation("a", 9, 2, (9, 4)).merge(Observation("a", 7, 1, (7,)), keep=2)
            Observation(source='a', newest=9, rows=3, latest=(9, 7), watermark=-9223372036854775808)
        """
        return Observation(
            self.source,
            max(self.newest, other.newest),
            self.rows + other.rows,
            tuple(nlargest(keep, self.latest + other.latest)),
            max(self.watermark, other.watermark),
        )

    def to_data(self) -> list[object]:
        """Return it as plain data."""
        return [self.source, self.newest, self.rows, list(self.latest), self.watermark]

    @classmethod
    def from_data(cls, data: list[Any]) -> Observation:
        """Return the observation that `to_data` wrote."""
        source, newest, rows, latest, watermark = data
        return cls(source, newest, rows, tuple(latest), watermark)


def merged(observations: Iterable[Observation], keep: int) -> list[Observation]:
    """Return observations with those of each source as one.

    Args:
        observations: In any order.
        keep: The number of largest starts to keep.

    Example:
        >>> [seen.rows for seen in merged([Observation("a", 1, 1), Observation("b", 2, 1), Observation("a", 3, 2)], 0)]
        [3, 1]
    """
    found: dict[str | None, Observation] = {}
    for some in observations:
        known = found.get(some.source)
        found[some.source] = some if known is None else known.merge(some, keep)
    return list(found.values())


class SourceState(NamedTuple):
    """The state of a source between micro-batches.

    Attributes:
        seen: All observations of it, as one.
        watermark: Its watermark: no later row of the source has a sync time below it.
        spoke: The clock after the last micro-batch with rows of it, or the first reading if there was none since;
            None as long as there is no reading.
    """

    seen: Observation
    watermark: int = EARLIEST
    spoke: int | None = None

    def take(self, policy: ProgressPolicy, observed: Observation) -> SourceState:
        """Return the state after a micro-batch in which the source spoke."""
        seen = self.seen.merge(observed, starts_kept(policy))
        watermark = max(self.watermark, observed.watermark, implied(policy, self.seen.rows, seen))
        return SourceState(seen, watermark, None)

    def hear_clock(self, policy: ProgressPolicy, clock: int) -> SourceState:
        """Return the state when it is some time by the clock; an idle source may be moved on by it."""
        if clock == EARLIEST:
            return self
        state = self if self.spoke is not None else self._replace(spoke=clock)
        if policy.idle is None or policy.idle.lag is None or not state.is_idle(policy, clock):
            return state
        return state._replace(watermark=max(state.watermark, clock - policy.idle.lag))

    def is_idle(self, policy: ProgressPolicy, clock: int) -> bool:
        """True if the source has said nothing for so long that the policy does not wait for it."""
        return policy.idle is not None and self.spoke is not None and clock - self.spoke >= policy.idle.after

    def to_data(self) -> list[object]:
        """Return it as plain data."""
        return [self.seen.to_data(), self.watermark, self.spoke]

    @classmethod
    def from_data(cls, data: list[Any]) -> SourceState:
        """Return the state that `to_data` wrote."""
        seen, watermark, spoke = data
        return cls(Observation.from_data(seen), watermark, spoke)


def implied(policy: ProgressPolicy, rows_before: int, seen: Observation) -> int:
    """Return the watermark of a source that the times of its rows imply, by a policy.

    Args:
        policy: The policy.
        rows_before: The number of rows before this micro-batch.
        seen: The observation of all rows.

    Example:
        >>> seen = Observation("a", newest=9, rows=4, latest=(9, 7, 7))
        >>> implied(BoundedDelay(5), 0, seen), implied(BoundedDisorder(2), 0, seen)
        (4, 7)
        >>> implied(Periodic(0, rows=4), 3, seen), implied(Periodic(1, span=5), 0, seen)
        (9, 5)
    """
    if seen.newest == EARLIEST:
        return EARLIEST
    if isinstance(policy, BoundedDelay):
        return seen.newest - policy.delay
    if isinstance(policy, BoundedDisorder):
        return seen.latest[policy.rows] if len(seen.latest) > policy.rows else EARLIEST
    if not isinstance(policy, Periodic):
        return EARLIEST
    bound = seen.newest - policy.delay
    if policy.span is not None:
        return bound // policy.span * policy.span
    return bound if policy.rows and seen.rows // policy.rows > rows_before // policy.rows else EARLIEST


def starts_kept(policy: ProgressPolicy) -> int:
    """Return the number of a source's largest starts that a policy needs."""
    return policy.rows + 1 if isinstance(policy, BoundedDisorder) else 0
