"""The watermark of an input: where it advances, source by source, from the observations of all tasks.

`SourceState.after` advances the watermark of a source, also of one that has fallen silent. The watermark of an input is
the least of the sources that it waits for. Every bucket computes this for itself from the same observations, so all of
them close their windows in the same micro-batch, and none needs to ask another.
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
from muntin.errors.safe_text import safe_cause, safe_message, safe_repr
from muntin.progress import ProgressPolicy, Punctuated, SourceProgress
from muntin.windows.regular import RegularWindows
from muntin_engine.time.changes import Progress
from muntin_engine.time.lifetimes import LifetimeChanges
from muntin_engine.time.source_rules import SourceRules
from muntin_engine.time.window_grid import TickGrid, grid_of, settled


class Observation(NamedTuple):
    """The summary of a source's rows, in a task and a micro-batch or over all; there is none without rows.

    Attributes:
        source: The name of the source; None where the input has no sources, and for punctuation of all of them.
        newest: The largest start of an insertion.
        rows: The number of insertions.
        latest: The largest starts, the largest first, as many as the policy needs.
        watermark: The latest punctuation of the source.
    """

    source: str | None
    newest: int = EARLIEST
    rows: int = 0
    latest: tuple[int, ...] = ()
    watermark: int = EARLIEST

    def merge(self, other: Observation, starts_kept: int) -> Observation:
        """Merge two observations of one source.

        Args:
            other: The other observation.
            starts_kept: The number of largest starts to keep.

        Example:
            >>> Observation("a", 9, 2, (9, 4)).merge(Observation("a", 7, 1, (7,)), starts_kept=2)
            Observation(source='a', newest=9, rows=3, latest=(9, 7), watermark=-9223372036854775808)
        """
        return Observation(
            source=self.source,
            newest=max(self.newest, other.newest),
            rows=self.rows + other.rows,
            latest=tuple(nlargest(starts_kept, self.latest + other.latest)),
            watermark=max(self.watermark, other.watermark),
        )

    def to_data(self) -> list[object]:
        """Return the observation as plain data."""
        return [self.source, self.newest, self.rows, list(self.latest), self.watermark]

    @classmethod
    def from_data(cls, data: list[Any]) -> Observation:
        """Return the observation that `to_data` wrote."""
        source, newest, rows, latest, watermark = data
        return cls(source, newest, rows, tuple(latest), watermark)


def merge_observations(observations: Iterable[Observation], starts_kept: int) -> list[Observation]:
    """Merge the observations of each source into one.

    Args:
        observations: The observations, in any order.
        starts_kept: The number of largest starts to keep.

    Example:
        >>> observations = [Observation("a", 1, 1), Observation("b", 2, 1), Observation("a", 3, 2)]
        >>> [(observation.source, observation.rows) for observation in merge_observations(observations, 0)]
        [('a', 3), ('b', 1)]
    """
    by_source: dict[str | None, Observation] = {}
    for observation in observations:
        earlier = by_source.get(observation.source)
        by_source[observation.source] = observation if earlier is None else earlier.merge(observation, starts_kept)
    return list(by_source.values())


class SourceState(NamedTuple):
    """The state of a source between micro-batches.

    Attributes:
        total: All observations of the source, merged into one.
        watermark: The watermark of the source: no row of it that is still to come has a sync time below it.
        last_heard: The latest reading of the clock at the last micro-batch with rows of the source, from which its
            silence is measured. If there was no reading by then, it is the first one after; None until there is one.
    """

    total: Observation
    watermark: int = EARLIEST
    last_heard: int | None = None

    def after(
        self, policy: ProgressPolicy, observations: Iterable[Observation], clock: int, starts_kept: int
    ) -> SourceState:
        """Return the state after a micro-batch.

        The watermark advances by punctuation, and by what the policy concludes from the rows. If the source is silent,
        it also advances by the clock, if the policy says so.

        Args:
            policy: The policy of the source.
            observations: The observations of all sources in the micro-batch.
            clock: The latest reading of the clock; `EARLIEST` if there is none.
            starts_kept: The number of largest starts to keep.
        """
        total = self.total
        watermark = self.watermark
        last_heard = self.last_heard
        for observation in observations:
            # Punctuation without a source is about all sources.
            if observation.source is None or observation.source == total.source:
                total = total.merge(observation, starts_kept)
                watermark = max(watermark, observation.watermark)
                last_heard = None  # the silence, if any, begins anew
        if last_heard is None and clock > EARLIEST:
            last_heard = clock

        if total.newest > EARLIEST:
            progress = SourceProgress(
                newest=total.newest,
                rows=total.rows,
                latest=total.latest[: policy.starts_kept],  # another source's policy may need more of them
                rows_before=self.total.rows,
                clock=clock if clock > EARLIEST else None,
                last_heard=last_heard,
            )
            watermark = max(watermark, watermark_by_policy(policy, progress))

        # While a source is silent, its watermark follows the clock at the distance that the policy names, if it does.
        state = SourceState(total, watermark, last_heard)
        if policy.idle is not None and policy.idle.lag is not None and state.is_silent(policy, clock):
            return state._replace(watermark=max(watermark, clock - policy.idle.lag))
        return state

    def is_silent(self, policy: ProgressPolicy, clock: int) -> bool:
        """True if no row of the source came for as long as the policy waits."""
        return policy.idle is not None and self.last_heard is not None and clock - self.last_heard >= policy.idle.after

    def to_data(self) -> list[object]:
        """Return the state as plain data."""
        return [self.total.to_data(), self.watermark, self.last_heard]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> SourceState:
        """Return the state that `to_data` wrote."""
        total, watermark, last_heard = data
        return cls(Observation.from_data(total), watermark, last_heard)


def watermark_by_policy(policy: ProgressPolicy, progress: SourceProgress) -> int:
    """Return the watermark that a policy concludes from the rows of a source; `EARLIEST` if it concludes none.

    Args:
        policy: The policy, which may be the query writer's own.
        progress: The rows of the source so far, in a few numbers.

    Raises:
        ModuleError: The policy raises an exception.
        ModuleContractError: The policy returns something that is not a time.

    Example:
        >>> from muntin.progress import BoundedDelay, BoundedDisorder, Periodic
        >>> progress = SourceProgress(newest=9, rows=4, latest=(9, 7, 7), rows_before=3)
        >>> watermark_by_policy(BoundedDelay(5), progress), watermark_by_policy(BoundedDisorder(2), progress)
        (4, 7)
        >>> watermark_by_policy(Periodic(0, rows=4), progress), watermark_by_policy(Periodic(1, span=5), progress)
        (9, 5)
    """
    name = f"the progress policy {type(policy).__name__}"
    try:
        answer = policy.watermark(progress)
    except Exception as error:
        failure = ModuleError(
            f"{name} failed in watermark: {safe_message(error)}\n  it was given: {safe_repr(progress)}"
        )
        raise failure from safe_cause(error)
    if answer is None:
        return EARLIEST
    try:
        watermark = index(answer)
    except TypeError:  # the answer is no whole number: it is refused below, as a tick that lies too far away is
        watermark = INFINITY
    # The axis has room for lengths and delays on both sides of all times that a policy may name.
    if not EARLIEST // 2 < watermark < INFINITY // 2:
        raise ModuleContractError(
            f"{name} returned {safe_repr(answer)} from watermark\n  it was given: {safe_repr(progress)}\n"
            "  expected: a tick, which is a whole number, or None if nothing can be said yet"
        )
    return watermark


TrackerState: TypeAlias = Sequence[Any]
"""The state of a tracker between micro-batches: the data of each `SourceState`; empty at the start."""


@dataclass(frozen=True)
class ProgressTracker:
    """Derives the watermark of an input from its rows.

    Neither the order of the observations of a micro-batch nor the division of rows over tasks matters. With
    `bounded_delay`, `bounded_disorder` and `punctuate_every(span=...)` the division into micro-batches does not matter
    either: the watermark depends on the rows alone. `punctuate_every(rows=...)` and idle sources depend on the ends of
    micro-batches.

    Cost: a constant per source and observation, and per start kept, if the disorder is bounded by rows.

    Attributes:
        policy: The policy that derives the watermark of a source.
        sources: The declared sources; none if the input is one source without a name.
        steps: The windows at whose ends alone output changes; none if it may change elsewhere.
        changes: The changes of lifetimes, which also move the watermark. Observations are of rows as they were before
            the changes, so their watermark has to be moved here; rows of punctuation have been moved already.
        rules: The policy and the changes of each source that has its own; its changes come before those of the input.
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
        return [grid_of(windows) for windows in self.steps]

    @cached_property
    def needs_observations(self) -> bool:
        """True unless punctuation of the whole input says everything, so that rows need not be observed."""
        return bool(self.sources) or self.policy.idle is not None or not isinstance(self.policy, Punctuated)

    @cached_property
    def starts_kept(self) -> int:
        """The number of the largest starts of a source that an observation needs."""
        policies = [self.policy]
        policies += [rule.progress for rule in self.rules]
        return max(policy.starts_kept for policy in policies)

    def advance(
        self, previous: Progress, state: TrackerState, reported: Progress, observations: Iterable[Observation]
    ) -> tuple[Progress, TrackerState]:
        """Return the progress after a micro-batch, as `in_steps` cuts its watermark, and the state to keep.

        Args:
            previous: The progress before the micro-batch.
            state: The state kept from the micro-batch before.
            reported: The progress that its rows say themselves, of all sources together.
            observations: The observations of sources by all tasks.
        """
        progress, state = self.advance_to_the_tick(previous, state, reported, observations)
        return self.in_steps(progress), state

    def advance_to_the_tick(
        self, previous: Progress, state: TrackerState, reported: Progress, observations: Iterable[Observation]
    ) -> tuple[Progress, TrackerState]:
        """Return the progress after a micro-batch, and the state to keep; for the arguments see `advance`.

        The watermark is exactly the one that the policy says, and may lie inside a window. `in_steps` then moves it
        back to the end of a window: by that watermark windows close and rows are late.
        """
        progress = previous.advance(reported)
        if not self.needs_observations:
            return progress, state

        all_observations = list(observations)
        source_states: list[SourceState] = []
        for source_state in self._source_states(state, previous.watermark):
            policy = self._policy_of(source_state)
            source_states.append(source_state.after(policy, all_observations, progress.clock, self.starts_kept))

        watermark = self._least_awaited(source_states, progress.clock)
        if self.changes.changes:
            watermark = self.changes.watermark(watermark)
        progress = progress._replace(watermark=max(progress.watermark, watermark))
        return progress, [source_state.to_data() for source_state in source_states]

    def in_steps(self, progress: Progress) -> Progress:
        """Move the watermark of progress back to the last end of a window, if output changes only at such ends."""
        if progress.watermark == INFINITY:
            return progress
        watermark = settled(self._steps, progress.watermark) if self.steps else progress.watermark
        horizon = max(progress.horizon, watermark)  # a policy may conclude a watermark past all rows
        # Triggers may wait for a tick inside a window, which this watermark has not reached: `newest` says how far time
        # has come.
        newest = max(progress.newest, progress.watermark)
        return Progress(watermark, horizon, newest, progress.clock)

    def watermarks(self, state: TrackerState) -> dict[str, int]:
        """Return the watermark of each declared source, after the changes of its lifetimes, by its name.

        Args:
            state: The state that `advance` returned.
        """
        if not self.sources:
            return {}
        watermarks: dict[str, int] = {}
        for data in state:
            source_state = SourceState.from_data(data)
            watermarks[str(source_state.total.source)] = self._watermark_of(source_state)
        return watermarks

    def _source_states(self, state: TrackerState, watermark: int) -> list[SourceState]:
        """Return the state of each source. A source without a stored state begins at the watermark of the whole input.

        Args:
            state: The state kept from the micro-batch before.
            watermark: The watermark of the input.
        """
        stored_states: dict[str | None, SourceState] = {}
        for data in state:
            source_state = SourceState.from_data(data)
            stored_states[source_state.total.source] = source_state
        source_states: list[SourceState] = []
        for source in self.sources or (None,):  # an input without declared sources is one source without a name
            source_states.append(stored_states.get(source) or SourceState(Observation(source), watermark))
        return source_states

    def _policy_of(self, state: SourceState) -> ProgressPolicy:
        """Return the policy of a source."""
        rule = self._rules.get(state.total.source)
        return self.policy if rule is None else rule.progress

    def _watermark_of(self, state: SourceState) -> int:
        """Return the watermark of a source after its own changes of lifetimes, if it has any."""
        rule = self._rules.get(state.total.source)
        return state.watermark if rule is None else rule.changes.watermark(state.watermark)

    def _least_awaited(self, states: Sequence[SourceState], clock: int) -> int:
        """Return the least watermark of the sources that the input waits for.

        The input does not wait for a silent source, unless the policy of the source advances its watermark by the
        clock. If it waits for no source, the furthest watermark of all is returned.
        """
        awaited: list[int] = []
        not_awaited: list[int] = []
        for state in states:
            policy = self._policy_of(state)
            advances_by_clock = policy.idle is not None and policy.idle.lag is not None
            if state.is_silent(policy, clock) and not advances_by_clock:
                not_awaited.append(self._watermark_of(state))
            else:
                awaited.append(self._watermark_of(state))
        return min(awaited) if awaited else max(not_awaited)


def progress_of_key(progress: Progress, key_watermark: int) -> Progress:
    """Return the progress of one key, which may have a watermark of its own.

    Args:
        progress: The progress of the whole input; its horizon lies past the watermark of every key.
        key_watermark: The watermark of the key by its own punctuation; `EARLIEST` if it has none.
    """
    if key_watermark <= progress.watermark:
        return progress
    return progress._replace(watermark=key_watermark)


def past_key_watermarks(progress: Progress, key_watermarks: Iterable[int]) -> Progress:
    """Advance the horizon of progress past every finite watermark of a key."""
    horizon = progress.horizon
    for key_watermark in key_watermarks:
        if key_watermark != INFINITY:
            horizon = max(horizon, key_watermark)
    return progress._replace(horizon=horizon)
