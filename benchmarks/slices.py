"""Slices: the pieces of the axis of which windows are made, and how many of them a micro-batch has to write."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import Final

from benchmarks.question import Question
from benchmarks.windows import Hopping

_FILES: Final = 5


def slices_kept(question: Question) -> float | None:
    """Return the average number of slices that a warm micro-batch touches and that outlive it; None without slices.

    A slice whose windows are all complete when the batch ends is emitted and never written; where windows are short,
    those are nearly all.
    """
    windows, pace = question.windows, question.pace
    if not isinstance(windows, Hopping):
        return None
    edges = [pace.start + number * pace.span for number in range(1, _FILES + 1)]
    return mean(_kept(windows, start, end, pace.delay) for start, end in pairwise(edges))


def _kept(windows: Hopping, start: int, end: int, delay: int) -> int:
    """Return the number of slices between two seconds that have a window open at the second one."""
    width = windows.slice
    touched = range(start // width * width, end, width)
    return sum(_last_end(windows, piece) > end - delay - 1 for piece in touched)


def _last_end(windows: Hopping, piece: int) -> int:
    """Return the end of the last window that contains a slice; the slice's start if none does."""
    last = piece // windows.hop * windows.hop
    return last + windows.size if piece < last + windows.size else piece
