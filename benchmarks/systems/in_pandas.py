"""Pandas over all files at once, in one process: no stream, no state, nothing that is late."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch
from benchmarks.question import Question
from benchmarks.systems.system import System
from benchmarks.windows import ANSWERS, Tilt
from benchmarks.windows.tilt import BEAT, CHANGES, DAYS, LONG, MINUTE, RATE, SHORT, STEP, TURN, Application

_SECOND: Final = pd.Timedelta(1, "s")
_NAMES: Final = ["key", "start", "value"]


class InPandas(System):
    """The usual way to ask such a question of data that is there: sort, group, roll."""

    name = "pandas"
    has = (Tilt,)
    closes_all = True

    @property
    def note(self) -> str | None:
        """Say what it does not do."""
        return "all files at once in one process on one core: no stream, no state, no late rows"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Read the files and compute; the limit is not looked at."""
        gc.collect()
        with MemoryWatch.over(os.getpid(), with_root=True) as watch:
            worked, started = time.process_time(), time.perf_counter()
            frame = _read(files)
            results = len(_answers(question, frame))
            seconds, worked = time.perf_counter() - started, time.process_time() - worked
        batch = Batch(len(frame), seconds, results)
        return Run(seconds, (batch,), Memory(python=watch.peak.python), cpu_seconds=worked)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Read the files and compute."""
        found = _answers(question, _read(files))
        return pa.Table.from_pandas(found[_NAMES], preserve_index=False).cast(ANSWERS)


def _read(files: Files) -> pd.DataFrame:
    """Return the rows of the files, by key and time."""
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)
    return table.to_pandas().sort_values(["key", "at"], ignore_index=True)


def _answers(question: Question, frame: pd.DataFrame) -> pd.DataFrame:
    assert isinstance(question.windows, Tilt)
    return _WAYS[question.windows.application](frame).dropna()


def _trend(frame: pd.DataFrame) -> pd.DataFrame:
    by_key = frame.groupby("key")["value"]
    short, long = (by_key.rolling(size, min_periods=1).mean().to_numpy() for size in (SHORT, LONG))
    above = pd.Series(short > long)
    before = above.groupby(frame["key"]).shift(1, fill_value=True)
    return frame.assign(start=frame["at"] + _SECOND, value=short - long)[above & ~before]


def _strength(frame: pd.DataFrame) -> pd.DataFrame:
    change = frame.groupby("key")["value"].diff()
    moves = (change.clip(lower=0), (-change).clip(lower=0))
    rise, fall = (move.groupby(frame["key"]).rolling(CHANGES).mean().to_numpy() for move in moves)
    return frame.assign(start=frame["at"] + _SECOND, value=100 * rise / (rise + fall))


def _normalised(frame: pd.DataFrame) -> pd.DataFrame:
    in_window = frame.groupby(["key", frame["at"].dt.floor(f"{MINUTE}s")])["value"]
    deviation = np.sqrt(in_window.transform("var", ddof=0))
    return frame.assign(start=frame["at"], value=(frame["value"] - in_window.transform("mean")) / deviation)


def _imputed(frame: pd.DataFrame) -> pd.DataFrame:
    reading = frame["value"].where(frame["value"] >= 85)
    mean = reading.groupby([frame["key"], frame["at"].dt.floor(f"{MINUTE}s")]).transform("mean")
    return frame.assign(start=frame["at"], value=reading.fillna(mean))


def _resampled(frame: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for key, some in frame[frame["value"] < 100].groupby("key"):
        at = some["at"].astype("int64").to_numpy()
        grid = np.arange(-(-at[0] // STEP) * STEP, at[-1], STEP)
        start = pd.to_datetime(grid, unit="us", utc=True)
        parts.append(pd.DataFrame({"key": key, "start": start, "value": np.interp(grid, at, some["value"])}))
    return pd.concat(parts)


def _beats(frame: pd.DataFrame) -> pd.DataFrame:
    seconds = frame["at"].astype("int64") // MICROSECONDS
    pulse = (1 - ((seconds + 17 * frame["key"]) % BEAT - 80).abs() / 4).clip(lower=0)
    heart = frame["value"] / 100 + 8 * pulse
    parts = []
    for _, signal in heart.groupby(frame["key"]):
        energy = _energy(signal)
        peaks = np.flatnonzero((energy[1:-1] > energy[:-2]) & (energy[1:-1] >= energy[2:])) + 1
        found = _above_threshold(peaks[peaks >= 2 * RATE - 1], energy)
        rows = frame.loc[signal.index[found]]
        parts.append(rows.assign(start=rows["at"], value=energy[found]))
    return pd.concat(parts)


def _energy(signal: pd.Series) -> Any:
    """Return the averaged squares of the slopes of a signal that was always as it begins."""
    before = pd.Series(np.full(2 * RATE, signal.iloc[0]))
    whole = pd.concat([before, signal], ignore_index=True)
    low = whole.rolling(6).mean().rolling(6).mean()
    band = low.shift(16) - low.rolling(32).mean()
    slope = (2 * band + band.shift(1) - band.shift(3) - 2 * band.shift(4)) / 8
    return (slope**2).rolling(30).mean().to_numpy()[2 * RATE :]


def _above_threshold(peaks: Any, energy: Any) -> list[int]:
    signal, noise, found = energy[: 2 * RATE].max() / 3, energy[: 2 * RATE].mean() / 2, [-RATE]
    for peak in peaks:
        if peak - found[-1] < RATE // 5:
            continue
        if energy[peak] > 0.75 * noise + 0.25 * signal:
            signal = 0.875 * signal + 0.125 * energy[peak]
            found.append(peak)
        else:
            noise = 0.875 * noise + 0.125 * energy[peak]
    return found[1:]


def _vibration(frame: pd.DataFrame) -> pd.DataFrame:
    swing, window = frame["value"] - 100, [frame["key"], frame["at"].dt.floor(f"{TURN}s")]
    away = swing - swing.groupby(window).transform("mean")
    squares, fourths, strength = ((part**2).groupby(window).mean() for part in (away, away**2, swing))
    root = np.sqrt(strength)
    found = (fourths / squares**2, root, swing.abs().groupby(window).max() / root)
    parts = [part.rename_axis(["key", "start"]).rename("value").reset_index() for part in found]
    return pd.concat([part.assign(key=part["key"] * 3 + place) for place, part in enumerate(parts)])


def _unusual(frame: pd.DataFrame) -> pd.DataFrame:
    paid = frame.assign(day=frame["at"].dt.floor(f"{TURN}s"), count=1, square=frame["value"] ** 2)
    per_day = paid.groupby(["key", "day"])[["count", "value", "square"]].sum().reset_index()
    before = per_day.groupby("key").rolling(f"{DAYS * TURN}s", on="day", closed="left")[["count", "value", "square"]]
    count, total, squares = (before.sum()[name].to_numpy() for name in ("count", "value", "square"))
    mean = total / count
    limit = mean + 3 * np.sqrt((squares - count * mean**2) / (count - 1))
    limits = per_day.assign(limit=limit)[["key", "day", "limit"]]
    known = paid.merge(limits, on=["key", "day"])
    return known.assign(start=known["at"])[known["value"] > known["limit"]]


_WAYS: Final[dict[Application, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "trend": _trend,
    "strength": _strength,
    "normalised": _normalised,
    "imputed": _imputed,
    "resampled": _resampled,
    "beats": _beats,
    "vibration": _vibration,
    "unusual": _unusual,
}
