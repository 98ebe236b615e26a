"""The progress of the input, from the observations of all tasks, and the lateness after which windows close.

Every bucket computes this for itself from the same observations, so all of them close their windows in the same
micro-batch, and none needs to ask another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from muntin import EARLIEST, INFINITY, ProgressPolicy, Punctuated
from muntin.windows import RegularWindows
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.window_grid import settled
from muntin_engine.progress.sources import Observation, SourceState, starts_kept

Tracked: TypeAlias = Sequence[Any]
"""What a tracker keeps between micro-batches, as plain data; nothing at the start."""


@dataclass(frozen=True, slots=True)
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
    """

    policy: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    sources: tuple[str, ...] = ()
    steps: tuple[RegularWindows, ...] = ()

    @property
    def needs_observations(self) -> bool:
        """True unless rows of punctuation say everything."""
        return bool(self.sources) or self.policy.idle is not None or not isinstance(self.policy, Punctuated)

    @property
    def starts_kept(self) -> int:
        """The number of the largest starts of a source that an observation needs."""
        return starts_kept(self.policy)

    def advance(
        self, before: Progress, tracked: Tracked, arrived: Progress, observed: Iterable[Observation]
    ) -> tuple[Progress, Tracked]:
        """Return the progress after a micro-batch, and what to keep.

        Args:
            before: The progress before it.
            tracked: The state kept from the micro-batch before.
            arrived: The progress that its rows carry, of all sources together.
            observed: The observations of each source by its tasks.
        """
        now = before.advance(arrived)
        if self.needs_observations:
            states = self._take(tracked, list(observed), now.clock)
            now = replace(now, watermark=max(now.watermark, self._least(states, now.clock)))
            tracked = [state.to_data() for state in states]
        watermark = settled(self.steps, now.watermark) if self.steps else now.watermark
        horizon = now.horizon if watermark == INFINITY else max(now.horizon, watermark)
        return replace(now, watermark=watermark, horizon=horizon), tracked

    def _take(self, tracked: Tracked, observed: Sequence[Observation], clock: int) -> list[SourceState]:
        names = self.sources or (None,)
        states = map(SourceState.from_data, tracked) if tracked else (SourceState(Observation(name)) for name in names)
        return [self._hear(state, observed).hear_clock(self.policy, clock) for state in states]

    def _hear(self, state: SourceState, observed: Sequence[Observation]) -> SourceState:
        own = [some for some in observed if some.source in (state.seen.source, None)]
        if not own:
            return state
        heard = Observation(state.seen.source)
        for some in own:
            heard = heard.merge(some, self.starts_kept)
        return state.take(self.policy, heard)

    def _least(self, states: Sequence[SourceState], clock: int) -> int:
        """Return the least watermark of the sources that are waited for; the furthest of all if none is."""
        idle = self.policy.idle
        if idle is None or idle.lag is not None:
            return min(state.watermark for state in states)
        awaited = [state.watermark for state in states if not state.is_idle(self.policy, clock)]
        return min(awaited) if awaited else max(state.watermark for state in states)


def effective(query: EvaluatorQuery, progress: Progress) -> Progress:
    """Return the progress by which a query closes windows and takes rows for late.

    Where late rows correct results, windows close the allowed lateness behind the input's watermark, and come into
    sight as if they did not: by the max event time, or by the watermark alone if results wait for it. Windows on a grid
    close at their ends and nowhere else, so a row is late if a window that it belongs to, or one before it, has closed.
    """
    if not query.corrects:
        return progress
    watermark = progress.watermark
    newest = watermark if query.waits_for_watermark else progress.max_event_time
    is_finite = EARLIEST < watermark < INFINITY
    closed = max(EARLIEST, watermark - query.late.allowed) if is_finite else watermark
    grid = query.window.grid()
    if grid is not None and not query.ends_move:
        closed = settled([grid], closed)
    return replace(progress, watermark=closed, newest=newest)


def for_key(progress: Progress, key_watermark: int) -> Progress:
    """Return the progress of a key that punctuated itself.

    Args:
        progress: The progress of the whole input; its horizon is past the watermark of every key.
        key_watermark: The key's own watermark; `EARLIEST` if it has none.
    """
    return replace(progress, watermark=key_watermark) if key_watermark > progress.watermark else progress


def seen_to(progress: Progress, key_watermarks: Iterable[int]) -> Progress:
    """Return progress whose horizon is past the watermark of keys: that too says of a tick that it was seen."""
    finite = (key_watermark for key_watermark in key_watermarks if key_watermark != INFINITY)
    return replace(progress, horizon=max([progress.horizon, *finite]))
