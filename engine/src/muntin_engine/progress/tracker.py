"""From what all tasks saw in a micro-batch to how far the input is.

Every bucket computes this for itself from the same observations, so all of them close their windows in the same
micro-batch, and none needs to ask another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from muntin import INFINITY, ProgressPolicy, Punctuated
from muntin.windows import RegularWindows
from muntin_engine.core.changes import Progress
from muntin_engine.core.window_grid import settled
from muntin_engine.progress.observation import Observation
from muntin_engine.progress.sources import SourceState, starts_kept

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
        policy: What says how far a source is.
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
            tracked: What was kept of the micro-batch before.
            arrived: What its rows say of all sources together.
            observed: What its tasks have seen of each source.
        """
        now = before.advance(arrived)
        if not self.needs_observations:
            return self._settled(now), tracked
        states = self._take(tracked, list(observed), now.clock)
        watermark = max(now.watermark, self._least(states, now.clock))
        return self._settled(replace(now, watermark=watermark)), [state.to_data() for state in states]

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

    def _settled(self, now: Progress) -> Progress:
        """Return progress as fine as output needs it, with a horizon that the watermark does not pass."""
        watermark = settled(self.steps, now.watermark) if self.steps else now.watermark
        horizon = now.horizon if watermark == INFINITY else max(now.horizon, watermark)
        return replace(now, watermark=watermark, horizon=horizon)
