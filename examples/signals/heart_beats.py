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
        at: Time of the sample at which the energy of the slopes peaks: some 150 ms after the beat itself, by which the
            filters delay it.
        energy: Height of that peak, in the square of the payload's unit.
    """

    at: Instant
    energy: float


@dataclass(slots=True)
class Signal:
    """The state of a signal: the last values of each filter, and the running heights of peaks.

    Attributes:
        raw: Samples.
        smooth: Sums of samples.
        low: Output of the low-pass filter.
        band: Output of the high-pass filter, which follows the low-pass filter.
        slopes: Squares of slopes.
        energies: Energy at the last two samples.
        time: Time of the last sample.
        samples: Number of samples.
        last_beat: Number of the sample at which the last beat was; far back if there is none.
        beat_height: Running height of peaks that are beats.
        noise_height: Running height of other peaks.
    """

    raw: deque[float] = field(default_factory=deque)
    smooth: deque[float] = field(default_factory=deque)
    low: deque[float] = field(default_factory=deque)
    band: deque[float] = field(default_factory=deque)
    slopes: deque[float] = field(default_factory=deque)
    energies: list[float] = field(default_factory=lambda: [0.0, 0.0])
    time: int = 0
    samples: int = 0
    last_beat: int = -(1 << 62)
    beat_height: float = 0.0
    noise_height: float = 0.0


class HeartBeats(StreamOperator[float, Signal, Beat]):
    """Detect the beats of a heart, the QRS complexes, in an electrocardiogram of evenly spaced samples.

    A band-pass keeps 5 to 15 Hz, where a beat has most of its energy; a derivative over five samples finds its slopes,
    which are squared and averaged over 150 ms. A peak of this average is a beat if it is above a threshold, a quarter
    of the way from the running height of other peaks to that of beats. After a beat there is none for 200 ms. The first
    two seconds of a key set the two heights, and have no beats.

    Left out of the original: the search back after a long pause, the second threshold on the filtered signal, and the
    test that recognises T waves by their slope.

    Args:
        rate: Samples per second, from 50 on; filters have the lengths of 200 scaled to it.

    Types: float to rows of `at` and `energy`. Rows are points at the sample after the peak, which shows that it is one.
    NaN and infinities: count as no energy as long as they are in the filters, some 0.4 s. A beat in that time may be
        missed, or reported where it begins.

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
        # The lengths of the filters, in samples: the low-pass, the high-pass, and the average of the squared slopes.
        self.low_length = round(0.03 * rate)
        self.high_length = round(0.16 * rate)
        self.average_length = round(0.15 * rate)

    def create_state(self) -> Signal:
        """Return a signal of no samples."""
        return Signal()

    def on_event(self, state: Signal, payload: float, time: int) -> Iterable[Beat]:
        """Filter a sample, and return the beat whose peak is the sample before, if there is one."""
        if not state.samples:
            self._fill(state, payload)
        energy = self._filter(state, payload)

        # Whether the sample before is a peak shows only now.
        earlier_energy, height = state.energies
        peak_time = state.time
        peak_sample = state.samples
        state.energies[:] = height, energy
        state.time = time
        state.samples += 1
        # The first two seconds set the running heights: a third of the highest energy, and half of the average.
        if state.samples <= 2 * self.rate:
            state.beat_height = max(state.beat_height, energy / 3.0)
            state.noise_height += energy / (4.0 * self.rate)
            return ()
        # A peak within 200 ms after a beat is neither a beat nor another peak.
        is_peak = earlier_energy < height >= energy
        if not is_peak or peak_sample - state.last_beat < self.rate // 5:
            return ()
        if height > state.noise_height + 0.25 * (state.beat_height - state.noise_height):
            state.beat_height += _EIGHTH * (height - state.beat_height)
            state.last_beat = peak_sample
            return (Beat(peak_time, height),)
        state.noise_height += _EIGHTH * (height - state.noise_height)
        return ()

    def _filter(self, state: Signal, payload: float) -> float:
        """Move the filters by a sample, and return the energy of the slopes."""
        # The low-pass is a sum of sums. The high-pass takes the average of the low-pass from its middle sample.
        smooth = _moved_sum(state.smooth, _moved_sum(state.raw, payload))
        level = _moved_sum(state.low, smooth / (self.low_length * self.low_length))
        band = state.band
        band.popleft()
        band.append(state.low[self.high_length // 2 - 1] - level / self.high_length)
        # The derivative over five samples, its square, and the average of the squares.
        slope = _EIGHTH * (2.0 * band[4] + band[3] - band[1] - 2.0 * band[0])
        energy = _moved_sum(state.slopes, slope * slope) / self.average_length
        return energy if isfinite(energy) else 0.0

    def _fill(self, state: Signal, payload: float) -> None:
        """Fill the filters as if the signal had always been at its first sample."""
        state.raw.extend([payload] * self.low_length)
        state.smooth.extend([payload * self.low_length] * self.low_length)
        state.low.extend([payload] * self.high_length)
        state.band.extend([0.0] * 5)
        state.slopes.extend([0.0] * self.average_length)


def _moved_sum(values: deque[float], value: float) -> float:
    """Replace the oldest value by a new one, and return the sum."""
    values.popleft()
    values.append(value)
    return sum(values)
