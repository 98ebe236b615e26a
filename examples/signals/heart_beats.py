"""The beats of a heart in an electrocardiogram."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite

from muntin import Instant, StreamOperator

_EIGHTH = 0.125
"""The weight of a new peak in the running height of peaks, and of the derivative's window."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A beat.

    Attributes:
        at: The time of the sample at which the energy of the slopes peaks: some 150 ms after the beat itself, which is
            what the filters take.
        energy: How high that peak is, in the square of the payload's unit.
    """

    at: Instant
    energy: float


@dataclass(slots=True)
class Signal:
    """What is kept of a signal: the last values of each filter, and the heights of peaks so far.

    Attributes:
        raw: Samples.
        smooth: Sums of samples.
        low: What the low-pass filter let through.
        band: What the high-pass filter let through of that.
        slopes: Squares of slopes.
        before: The energy at the last two samples.
        time: The time of the last sample.
        seen: The number of samples.
        beat: The number of the sample at which the last beat was; far back if there is none.
        signal: The running height of peaks that are beats.
        noise: That of the others.
    """

    raw: deque[float] = field(default_factory=deque)
    smooth: deque[float] = field(default_factory=deque)
    low: deque[float] = field(default_factory=deque)
    band: deque[float] = field(default_factory=deque)
    slopes: deque[float] = field(default_factory=deque)
    before: list[float] = field(default_factory=lambda: [0.0, 0.0])
    time: int = 0
    seen: int = 0
    beat: int = -(1 << 62)
    signal: float = 0.0
    noise: float = 0.0


class HeartBeats(StreamOperator[float, Signal, Beat]):
    """Detect the beats of a heart, the QRS complexes, in an electrocardiogram of evenly spaced samples.

    A band-pass keeps 5 to 15 Hz, where a beat has most of its energy; a derivative over five samples finds its slopes,
    which are squared and averaged over 150 ms. A peak of that is a beat if it is above a threshold, a quarter of the
    way from the running height of other peaks to that of beats. After a beat there is none for 200 ms. The first two
    seconds of a key set the two heights, and have no beats.

    Left out of the original: the search back after a long pause, the second threshold on the filtered signal, and what
    tells T waves by their slope.

    Args:
        rate: Samples per second, from 50 on; filters have the lengths of 200 scaled to it.

    Types: float to rows of `at` and `energy`. Rows are points at the sample after the peak, which shows that it is one.
    NaN and infinities: count as no energy as long as they are in the filters, some 0.4 s. A beat in that time may be
        missed, or told where it begins.

    Laws: those of `StreamOperator`. Sums are taken anew for each sample, as running sums of floats would drift.

    Cost: some six microseconds of Python per sample; about 500 bytes per key at 200 samples per second, for ever.

    Source: J. Pan and W. J. Tompkins, A Real-Time QRS Detection Algorithm, IEEE Transactions on Biomedical Engineering
        32 (1985).

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> pulses = [Event.point(at, 1.0 if at % 160 in (80, 81) else 0.0) for at in range(1000)]
        >>> [row.value.at for row in evaluate(WindowedQuery.unwindowed(HeartBeats(rate=200)), pulses)]
        [431, 591, 751, 911]
    """

    name, version = "tilt.heart_beats", "1.0.0"

    def __init__(self, rate: int = 200) -> None:
        if rate < 50:
            raise ValueError(f"rate must be 50 samples per second or more, got {rate!r}")
        self.rate = rate
        self.box, self.wide, self.window = (round(rate * share) for share in (0.03, 0.16, 0.15))

    def create_state(self) -> Signal:
        """Return a signal of no samples."""
        return Signal()

    def on_event(self, state: Signal, payload: float, time: int) -> Iterable[Beat]:
        """Filter a sample, and return the beat whose peak is the sample before, if it is one."""
        if not state.seen:
            self._fill(state, payload)
        smooth = _moved(state.smooth, _moved(state.raw, payload))
        level = _moved(state.low, smooth / (self.box * self.box))
        band = state.band
        band.popleft()
        band.append(state.low[self.wide // 2 - 1] - level / self.wide)
        slope = _EIGHTH * (2.0 * band[4] + band[3] - band[1] - 2.0 * band[0])
        energy = _moved(state.slopes, slope * slope) / self.window
        energy = energy if isfinite(energy) else 0.0
        earlier, height = state.before
        state.before[:] = height, energy
        peaked, state.time = state.time, time
        state.seen += 1
        if state.seen <= 2 * self.rate:
            state.signal = max(state.signal, energy / 3.0)
            state.noise += energy / (4.0 * self.rate)
            return ()
        last = state.seen - 1
        if not earlier < height >= energy or last - state.beat < self.rate // 5:
            return ()
        if height > state.noise + 0.25 * (state.signal - state.noise):
            state.signal += _EIGHTH * (height - state.signal)
            state.beat = last
            return (Beat(peaked, height),)
        state.noise += _EIGHTH * (height - state.noise)
        return ()

    def _fill(self, state: Signal, payload: float) -> None:
        """Let the signal have been as its first sample is, for ever."""
        state.raw.extend([payload] * self.box)
        state.smooth.extend([payload * self.box] * self.box)
        state.low.extend([payload] * self.wide)
        state.band.extend([0.0] * 5)
        state.slopes.extend([0.0] * self.window)


def _moved(values: deque[float], value: float) -> float:
    """Let the oldest value go for a new one, and return the sum."""
    values.popleft()
    values.append(value)
    return sum(values)
