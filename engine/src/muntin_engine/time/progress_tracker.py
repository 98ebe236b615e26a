"""The progress of the input, from the observations of all tasks, and the lateness after which windows close.

Every bucket computes this for itself from the same observations, so all of them close their windows in the same
micro-batch, and none needs to ask another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from operator import index
from typing import Any, NamedTuple, TypeAlias

from muntin import EARLIEST, INFINITY
from muntin.errors import ModuleContractError, ModuleError
from muntin.progress import ProgressPolicy, Punctuated, SourceProgress
from muntin.safe_text import safe_cause, safe_message, safe_repr
from muntin.windows.regular import RegularWindows
from muntin_engine.time.changes import Progress
from muntin_engine.time.lifetimes import LifetimeChanges
from muntin_engine.time.source_rules import SourceRules
from muntin_engine.time.window_grid import TickGrid, grid_of, settled


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

    def is_idle(self, policy: ProgressPolicy, clock: int) -> bool:
        """True if the source has said nothing for so long that the policy does not wait for it."""
        return policy.idle is not None and self.spoke is not None and clock - self.spoke >= policy.idle.after


def implied(policy: ProgressPolicy, seen: SourceProgress) -> int:
    """Return the watermark of a source that the times of its rows imply, by a policy.

    Raises:
        ModuleError: The policy raises an exception.
        ModuleContractError: It returns something that is not a time.

    Example:
        >>> from muntin.progress import BoundedDelay, BoundedDisorder, Periodic
        >>> seen = SourceProgress(newest=9, rows=4, latest=(9, 7, 7), rows_before=3)
        >>> implied(BoundedDelay(5), seen), implied(BoundedDisorder(2), seen)
        (4, 7)
        >>> implied(Periodic(0, rows=4), seen), implied(Periodic(1, span=5), seen)
        (9, 5)
    """
    name = f"the progress policy {type(policy).__name__}"
    try:
        found = policy.watermark(seen)
    except Exception as error:
        failed = ModuleError(f"{name} failed in watermark: {safe_message(error)}\n  it was given: {safe_repr(seen)}")
        raise failed from safe_cause(error)
    if found is None:
        return EARLIEST
    try:
        bound = index(found)
    except TypeError:
        bound = INFINITY
    if not EARLIEST // 2 < bound < INFINITY // 2:
        raise ModuleContractError(
            f"{name} returned {safe_repr(found)} from watermark\n  it was given: {safe_repr(seen)}\n"
            "  expected: a tick, which is a whole number, or None if nothing can be said yet"
        )
    return bound


Tracked: TypeAlias = Sequence[Any]
"""State of a tracker between micro-batches, as plain data; empty at the start."""


@dataclass(frozen=True)
class ProgressTracker:
    """Derives the watermark of an input from its rows.

    The order of the observations of a micro-batch means nothing, nor which task saw which row. With `bounded_delay`,
    `bounded_disorder` and `punctuate_every(span=...)` it does not matter either how the rows are cut into
    micro-batches: the watermark depends on what came alone. `punctuate_every(rows=...)` and what idles look at the
    end of each micro-batch.

    Cost: a constant per source and observation, and per start kept, if the disorder is bounded by rows.

    Attributes:
        policy: The policy that derives the watermark of a source.
        sources: The declared sources; none if the input is one source without a name.
        steps: The windows at whose ends alone output changes; none if it may change elsewhere.
        changes: The changes of lifetimes, and of the watermark with them. What sources say is said before them, and
            rows of punctuation arrive changed.
        rules: The rules of each source, where these differ; they come before those of the input.
    """

    policy: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    sources: tuple[str, ...] = ()
    steps: tuple[RegularWindows, ...] = ()
    changes: LifetimeChanges = LifetimeChanges()  # noqa: RUF009  # it is frozen
    rules: tuple[SourceRules, ...] = ()

    @cached_property
    def _rules(self) -> Mapping[str | None, SourceRules]:
        """The rules by the names of sources."""
        return {rule.source: rule for rule in self.rules}

    @cached_property
    def _steps(self) -> Sequence[TickGrid]:
        """The grids of the windows at whose ends alone output changes."""
        return list(map(grid_of, self.steps))

    @cached_property
    def needs_observations(self) -> bool:
        """True unless rows of punctuation say everything."""
        return bool(self.sources) or self.policy.idle is not None or not isinstance(self.policy, Punctuated)

    @cached_property
    def starts_kept(self) -> int:
        """The number of the largest starts of a source that an observation needs."""
        return max(policy.starts_kept for policy in [self.policy, *(rule.progress for rule in self.rules)])

    def advance(
        self, before: Progress, tracked: Tracked, arrived: Progress, observed: Iterable[Observation]
    ) -> tuple[Progress, Tracked]:
        """Return the progress after a micro-batch, in steps, and what to keep.

        Args:
            before: The progress before it.
            tracked: The state kept from the micro-batch before.
            arrived: The progress that its rows carry, of all sources together.
            observed: The observations of each source by its tasks.
        """
        now, tracked = self.advance_to_the_tick(before, tracked, arrived, observed)
        return self.in_steps(now), tracked

    def advance_to_the_tick(
        self, before: Progress, tracked: Tracked, arrived: Progress, observed: Iterable[Observation]
    ) -> tuple[Progress, Tracked]:
        """Return the progress after a micro-batch, and what to keep; see `advance`.

        The watermark is the one that the policy says. Windows close, and rows are late, by that of `in_steps`.
        """
        now = before.advance(arrived)
        if self.needs_observations:
            heard, names = list(observed), self.sources or (None,)
            states = [SourceState(Observation.from_data(seen), *rest) for seen, *rest in tracked]
            known = {state.seen.source: state for state in states}
            # a source that was not declared before joins where the others are
            states = [known.get(name) or SourceState(Observation(name), before.watermark) for name in names]
            states = [self._hear(state, heard, now.clock) for state in states]
            tracked = [[seen.to_data(), *rest] for seen, *rest in states]
            least = self._least(states, now.clock)
            least = self.changes.watermark(least) if self.changes.changes else least
            now = now._replace(watermark=max(now.watermark, least))
        return now, tracked

    def in_steps(self, now: Progress) -> Progress:
        """Return progress with its watermark at the last end of a window that it has passed, if output has steps."""
        if now.watermark == INFINITY:
            return now
        watermark = settled(self._steps, now.watermark) if self.steps else now.watermark
        # triggers may wait for a tick inside a window, which the watermark alone has reached
        newest, horizon = max(now.newest, now.watermark), max(now.horizon, watermark)
        return Progress(watermark, horizon, newest, now.clock)

    def watermarks(self, tracked: Tracked) -> dict[str, int]:
        """Return the watermark of each declared source, as it counts for the input; none where there are none.

        Args:
            tracked: The state that `advance` returned.
        """
        found = {}
        for [source, *_], watermark, *_ in tracked if self.sources else ():
            rule = self._rules.get(source)
            found[source] = watermark if rule is None else rule.changes.watermark(watermark)
        return found

    def _hear(self, state: SourceState, observed: Sequence[Observation], clock: int) -> SourceState:
        """Return the state of a source after a micro-batch; an idle source may be moved on by the clock."""
        seen, watermark, spoke = state
        rule = self._rules.get(seen.source)
        policy = self.policy if rule is None else rule.progress
        own, rows_before = [some for some in observed if some.source in (seen.source, None)], seen.rows
        if own:
            spoke = None
            for some in own:
                seen = seen.merge(some, self.starts_kept)
            watermark = max(watermark, *(some.watermark for some in own))
        if clock > EARLIEST and spoke is None:
            spoke = clock
        if seen.newest > EARLIEST:
            latest, reading = seen.latest[: policy.starts_kept], clock if clock > EARLIEST else None
            told = SourceProgress(seen.newest, seen.rows, latest, rows_before, reading, spoke)
            watermark = max(watermark, implied(policy, told))
        state = SourceState(seen, watermark, spoke)
        if policy.idle is None or policy.idle.lag is None or not state.is_idle(policy, clock):
            return state
        return state._replace(watermark=max(watermark, clock - policy.idle.lag))

    def _least(self, states: Sequence[SourceState], clock: int) -> int:
        """Return the least watermark of the sources that are waited for; the furthest of all if none is.

        A source that is idle is not waited for, unless its policy moves it on by the clock.
        """
        awaited: list[int] = []
        others: list[int] = []
        for state in states:
            rule, policy, watermark = self._rules.get(state.seen.source), self.policy, state.watermark
            if rule is not None:
                policy, watermark = rule.progress, rule.changes.watermark(watermark)
            is_left_out = policy.idle is not None and policy.idle.lag is None and state.is_idle(policy, clock)
            (others if is_left_out else awaited).append(watermark)
        return min(awaited) if awaited else max(others)


def for_key(progress: Progress, key_watermark: int) -> Progress:
    """Return the progress of a key that punctuated itself.

    Args:
        progress: The progress of the whole input; its horizon is past the watermark of every key.
        key_watermark: The key's own watermark; `EARLIEST` if it has none.
    """
    return progress._replace(watermark=key_watermark) if key_watermark > progress.watermark else progress


def seen_to(progress: Progress, key_watermarks: Iterable[int]) -> Progress:
    """Return progress whose horizon is past the watermark of keys: that too says of a tick that it was seen."""
    finite = [key_watermark for key_watermark in key_watermarks if key_watermark != INFINITY]
    return progress._replace(horizon=max(progress.horizon, *finite)) if finite else progress
