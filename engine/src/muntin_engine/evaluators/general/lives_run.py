"""Process the keys of a micro-batch life by life, where keys are forgotten after silence."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, TimestampPolicy
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.life_division import LifeChanges, divide
from muntin_engine.evaluators.general.lives import KeyLives
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.evaluators.keyed.intake import AdmittedRows
from muntin_engine.evaluators.keyed.live_output import netted
from muntin_engine.state.bucket_state import KeyTimer, soonest
from muntin_engine.time.changes import Key, OutputChange, Progress


class LivesRun(GeneralRun):
    """A micro-batch of keys that are forgotten.

    Rows are admitted for the key; each life is then processed like a key. A life that is over is processed as at the
    end of a stream, and dropped.
    """

    state_class = KeyLives

    def process_changes(self, key: Key, state: KeyState, admitted: AdmittedRows) -> list[OutputChange]:
        """Process the net changes of a key, life by life, and forget the lives that are over."""
        assert isinstance(state, KeyLives)
        net, previous, progress = admitted
        has_triggers = isinstance(self.emission, TriggeredEmission)
        output: list[OutputChange] = []
        for life_changes in divide(state, net, has_triggers=has_triggers):
            output += self._process_life(key, state, life_changes, previous, progress)
        # The index of the key itself has the events that a filter left out: those that can no longer be revised go.
        self.closing.close(state, progress.watermark)

        # A window that moved to another life of the key is retracted in one life and inserted in the other.
        net_output, live_ids = netted(output)
        if live_ids:
            insertions_left_out = [change for change in output if change.id in live_ids]
            state.keep_ids(insertions_left_out, live_ids)
        return net_output

    def _process_life(
        self, key: Key, state: KeyLives, life_changes: LifeChanges, previous: Progress, progress: Progress
    ) -> list[OutputChange]:
        """Process the changes of one life, and drop the life if it is over."""
        life = life_changes.life
        is_absorbed = life_changes.is_absorbed
        is_over = is_absorbed or life.over_at <= progress.watermark
        output: list[OutputChange] = []
        life.serial = state.serial  # ids are unique over all lives of the key
        # Entries move to the new ends of their windows first: the changes of the batch have to find them there.
        if isinstance(self.emission, TriggeredEmission):
            output += self.emission.rename(key, life, life_changes.renamed)
        # All windows of a life that is over close, as at the end of the input.
        life_progress = progress._replace(watermark=INFINITY) if is_over else progress
        output += self.process_state(key, life, life_changes, previous, life_progress)
        state.serial = life.serial
        if is_absorbed:
            return output  # `divide` has taken the life from the key, and its events belong to another life now

        # A life without events is kept only for its last end, which says where windows are cut. Once the watermark has
        # passed that end, an event that comes ends later, and the cut follows from that event alone.
        is_done = life.is_empty and life.span.end <= progress.watermark
        if is_over or is_done:
            state.lives = [present_life for present_life in state.lives if present_life is not life]
            self.result.keys_forgotten += 1
        return output

    def output_watermark(self, earliest: int) -> int:
        """Return the output watermark, before which no output changes any more.

        Output at the ends of windows may start earlier here than for keys that are never forgotten, as the end of a
        life cuts its windows. But it still starts after the watermark: a life that is not over ends after the
        watermark, and so does a life that a later event begins.

        Args:
            earliest: The least tick at which a key that has a state may still emit or change output.
        """
        output_watermark = super().output_watermark(earliest)
        watermark = self.progress.watermark
        if self.query.timestamps is not TimestampPolicy.POINT_AT_END or watermark in (EARLIEST, INFINITY):
            return output_watermark
        return min(output_watermark, watermark + 1)

    def timer_of(self, state: KeyState) -> KeyTimer:
        """Return the timer of a key: the soonest of its lives, and of the rows that wait."""
        assert isinstance(state, KeyLives)
        timers = [super().timer_of(state)]
        for life in state.lives:
            timer = super().timer_of(life)
            over_at = life.span.end if life.is_empty else life.over_at  # a life without events is dropped sooner
            timers.append(timer._replace(closing=min(timer.closing, over_at)))
        return soonest(timers)
