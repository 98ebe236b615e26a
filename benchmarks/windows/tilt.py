"""The eight applications of TiLT's evaluation over rows that are readings, and their answers computed row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, fsum, inf, sqrt
from typing import ClassVar, Final, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.windows import Aggregate, Bools, Rows, Windows, table_of, ticks

Application: TypeAlias = Literal[
    "trend", "strength", "normalised", "imputed", "resampled", "beats", "vibration", "unusual"
]
APPLICATIONS: Final[tuple[Application, ...]] = get_args(Application)

SHORT: Final = 20
LONG: Final = 50
CHANGES: Final = 14
MINUTE: Final = 60
TURN: Final = 100
"""Seconds of a window of vibration, and of a day of payments: a day is so short that files have many."""

DAYS: Final = 7
STEP: Final = 800_000
"""Microseconds between the rows of `resampled`."""

RATE: Final = 200
"""Samples per second of the heart: a second of the stream stands for 5 ms of it."""

BEAT: Final = 160
"""Samples from one beat to the next."""

READINGS: Final[dict[Application, str]] = {
    "imputed": "CASE WHEN value >= 85D THEN value END",
    "beats": f"value / 100D + 8D * greatest(0D, 1D - abs((unix_seconds(at) + 17L * key) % {BEAT}L - 80L) / 4D)",
    "vibration": "value - 100D",
}
"""What the readings of an application are, where they are not the values: some are missing; the heart beats."""

KEPT: Final = "value < 100D"
"""The rows that `resampled` has: about half of all, so that its readings are at uneven times."""

_Answers: TypeAlias = Iterator[tuple[int, float]]
_WORDS: Final[dict[Application, str]] = {
    "trend": f"averages of {SHORT} s and {LONG} s that cross",
    "strength": f"relative strength of {CHANGES} changes",
    "normalised": f"z-scores in {MINUTE} s",
    "imputed": f"missing values by the mean of {MINUTE} s",
    "resampled": f"every {STEP / MICROSECONDS} s, from samples at any times",
    "beats": "heart beats",
    "vibration": f"kurtosis, RMS and crest factor of {TURN} s",
    "unusual": f"payments 3 deviations above the mean of {DAYS} days before",
}


@dataclass(frozen=True, slots=True)
class Tilt(Windows):
    """An application. `start` is the time of the reading, the row or the beat that an answer is about.

    Of `trend` and `strength` it is a second later: where the windows end whose newest reading it is. Of `vibration`,
    which has three answers for each window, it is where that starts, and the key is that of the rows times three, plus
    the place of the answer.

    Attributes:
        application: Its name.
    """

    counts_may_differ: ClassVar[bool] = True

    application: Application

    @property
    def reads(self) -> int:
        """How many parts of the query start from the rows."""
        return 1 if self.application in ("resampled", "beats", "vibration") else 2

    def __str__(self) -> str:
        return _WORDS[self.application]

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Walk over the rows of each key in the order of their times."""
        assert aggregate == "readings", f"there is no {aggregate} of readings"
        found: list[tuple[int, int, float]] = []
        for key in np.unique(rows.key).tolist():
            own = rows.of(rows.key == key)
            order = np.argsort(own.at)
            at, value = own.at[order].tolist(), own.value[order].tolist()
            if self.application == "vibration":
                found += [(3 * key + place, *answer) for answers in _vibration(at, value) for place, answer in answers]
            elif self.application == "beats":
                found += [(key, *answer) for answer in _beats(key, at, value)]
            else:
                found += [(key, *answer) for answer in _BY_VALUE[self.application](at, value)]
        columns = zip(*found, strict=True) if found else ((), (), ())
        key, start, values = columns
        return table_of(np.array(key, np.int64), np.array(start, np.int64), np.array(values, np.float64))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare times, or ends of windows, with the watermark; a sample or a beat needs a later one."""
        start = ticks(answers["start"])
        match self.application:
            case "normalised" | "imputed":
                return start // (MINUTE * MICROSECONDS) * (MINUTE * MICROSECONDS) + MINUTE * MICROSECONDS <= watermark
            case "vibration":
                return start + TURN * MICROSECONDS <= watermark
            case "resampled":
                return start + MINUTE * MICROSECONDS <= watermark
        return start + 2 * MICROSECONDS <= watermark


def _trend(at: Sequence[int], value: Sequence[float]) -> _Answers:
    was_above = True
    for place, time in enumerate(at, 1):
        short, long = (_mean(value[max(0, place - count) : place]) for count in (SHORT, LONG))
        if short > long and not was_above:
            yield time + MICROSECONDS, short - long
        was_above = short > long


def _strength(at: Sequence[int], value: Sequence[float]) -> _Answers:
    for place in range(CHANGES, len(at)):
        changes = [value[later] - value[later - 1] for later in range(place - CHANGES + 1, place + 1)]
        if total := fsum(map(abs, changes)):
            yield at[place] + MICROSECONDS, 100 * fsum(change for change in changes if change > 0) / total


def _normalised(at: Sequence[int], value: Sequence[float]) -> _Answers:
    for places in _windows(at, MINUTE):
        members = [value[place] for place in places]
        mean, deviation = _mean(members), _deviation(members, 0)
        if deviation:
            yield from ((at[place], (value[place] - mean) / deviation) for place in places)


def _imputed(at: Sequence[int], value: Sequence[float]) -> _Answers:
    for places in _windows(at, MINUTE):
        if known := [value[place] for place in places if value[place] >= 85]:
            mean = _mean(known)
            yield from ((at[place], value[place] if value[place] >= 85 else mean) for place in places)


def _resampled(at: Sequence[int], value: Sequence[float]) -> _Answers:
    kept = [(time, reading) for time, reading in zip(at, value, strict=True) if reading < 100]
    for (first, low), (last, high) in pairwise(kept):
        for number in range(ceil(first / STEP), ceil(last / STEP)):
            share = (number * STEP - first) / (last - first)
            yield number * STEP, (1 - share) * low + share * high


def _unusual(at: Sequence[int], value: Sequence[float]) -> _Answers:
    days = {at[places[0]] // (TURN * MICROSECONDS): [value[place] for place in places] for places in _windows(at, TURN)}
    limits: dict[int, float] = {}
    for today in days:
        before = [one for day in range(today - DAYS, today) for one in days.get(day, ())]
        if len(before) > 1:
            limits[today] = _mean(before) + 3 * _deviation(before, 1)
    for time, paid in zip(at, value, strict=True):
        if paid > limits.get(time // (TURN * MICROSECONDS), inf):
            yield time, paid


_BY_VALUE: Final[dict[Application, Callable[[Sequence[int], Sequence[float]], _Answers]]] = {
    "trend": _trend,
    "strength": _strength,
    "normalised": _normalised,
    "imputed": _imputed,
    "resampled": _resampled,
    "unusual": _unusual,
}


def _vibration(at: Sequence[int], value: Sequence[float]) -> Iterator[Iterator[tuple[int, tuple[int, float]]]]:
    for places in _windows(at, TURN):
        swings = [value[place] - 100 for place in places]
        away = [swing - _mean(swings) for swing in swings]
        strength = sqrt(_mean([swing**2 for swing in swings]))
        kurtosis = _mean([far**4 for far in away]) / _mean([far**2 for far in away]) ** 2
        start = at[places[0]] // (TURN * MICROSECONDS) * (TURN * MICROSECONDS)
        found = (kurtosis, strength, max(map(abs, swings)) / strength)
        yield ((place, (start, answer)) for place, answer in enumerate(found))


def _beats(key: int, at: Sequence[int], value: Sequence[float]) -> _Answers:
    """Filter the whole signal by convolutions, and then walk over the peaks of its energy."""
    seconds = np.array(at) // MICROSECONDS
    pulse = np.maximum(0.0, 1 - np.abs((seconds + 17 * key) % BEAT - 80) / 4)
    heart = np.array(value) / 100 + 8 * pulse
    triangle = np.array([1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]) / 36
    low = np.convolve(np.r_[np.full(100, heart[0]), heart], triangle)[: len(heart) + 100]
    low[:10] = heart[0]
    high_pass = -np.ones(32) / 32
    high_pass[16] += 1
    band = np.convolve(low, high_pass)[: len(low)]
    band[:42] = 0.0
    slope = np.convolve(band, np.array([2, 1, 0, -1, -2]) / 8)[: len(low)]
    energy = np.convolve(slope**2, np.ones(30) / 30)[100 : len(low)]
    signal, noise, last = energy[: 2 * RATE].max(initial=0.0) / 3, energy[: 2 * RATE].sum() / (4 * RATE), -RATE
    rising, falling = energy[1:-1] > energy[:-2], energy[1:-1] >= energy[2:]
    for peak in (np.flatnonzero(rising & falling) + 1).tolist():
        if peak < 2 * RATE - 1 or peak + 1 - last < RATE // 5:
            continue
        height = float(energy[peak])
        if height > noise + (signal - noise) / 4:
            yield at[peak], height
            signal, last = signal * 0.875 + height * 0.125, peak + 1
        else:
            noise = noise * 0.875 + height * 0.125


def _windows(at: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield the places of the times of each window of so many seconds."""
    found: dict[int, list[int]] = {}
    for place, time in enumerate(at):
        found.setdefault(time // (size * MICROSECONDS), []).append(place)
    yield from found.values()


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _deviation(values: Sequence[float], ddof: int) -> float:
    mean = _mean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - ddof))
