"""A micro-batch of a bucket whose keys are forgotten once they have been silent for long enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin import EARLIEST, INFINITY, TimestampPolicy
from muntin_engine.core.changes import Key, OutputChange, Progress
from muntin_engine.evaluators.general.bucket import Bucket, GeneralRun
from muntin_engine.evaluators.general.closing import close_windows, timer
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.lives.dividing import Division
from muntin_engine.evaluators.general.lives.state import KeyLives
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.state.bucket_state import KeyTimer, soonest


class LivesRun(GeneralRun):
    """Process one micro-batch, key by key and life by life.

    Rows are admitted for the key; each life is then evaluated like a key. A life that is over is evaluated as at the
    end of a stream, and dropped.
    """

    state_class = KeyLives

    def evaluate(
        self,
        key: Key,
        state: KeyState,
        nets: Sequence[NetChanges],
        before: Sequence[Progress],
        now: Sequence[Progress],
    ) -> list[OutputChange]:
        """Take the net changes of a key in, life by life, and forget the lives that are over."""
        assert isinstance(state, KeyLives)
        (net,), (until,) = nets, now
        has_triggers = isinstance(self.emission, TriggeredEmission)
        output: list[OutputChange] = []
        for net_of_life in Division(state, net, has_triggers=has_triggers).changes:
            life = net_of_life.life
            life.serial = state.serial
            is_over = life.over_at <= until.watermark or net_of_life.is_absorbed
            if isinstance(self.emission, TriggeredEmission):
                output += self.emission.rename(life, net_of_life.renamed)
            at = replace(until, watermark=INFINITY) if is_over else until
            output += super().evaluate(key, life, [net_of_life], before, [at])
            state.serial = life.serial
            # where windows are cut depends on the last end alone, and a later event ends after those of this life
            if not net_of_life.is_absorbed and (is_over or (life.is_empty and life.span.end <= until.watermark)):
                state.lives = [other for other in state.lives if other is not life]
                self.result.keys_forgotten += 1
        close_windows(self.query, state, until.watermark)
        return output

    def output_watermark(self, earliest: int) -> int:
        """Return a tick below which the output does not change any more.

        A life that is not over ends after the watermark, and so does one that a later event begins.
        """
        found, watermark = super().output_watermark(earliest), self.now[0].watermark
        if self.query.timestamps is not TimestampPolicy.POINT_AT_END or watermark in (EARLIEST, INFINITY):
            return found
        return min(found, watermark + 1)

    def timer_of(self, state: KeyState, now: Sequence[Progress]) -> KeyTimer:
        """Return the timer of a key: the soonest of its lives, and of what waits."""
        assert isinstance(state, KeyLives)
        timers = [timer(self.query, state, now[0])]
        for life in state.lives:
            found = timer(self.query, life, now[0])
            over_at = life.span.end if life.is_empty else life.over_at
            timers.append(found._replace(closing=min(found.closing, over_at)))
        return soonest(timers)


class LivesBucket(Bucket):
    """Evaluates windows that cut the axis, of keys that are forgotten."""

    run = LivesRun
