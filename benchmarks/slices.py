"""Slices: the pieces of the axis of which windows are made, and how many of them a micro-batch has to write."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import Final

from benchmarks.data import MICROSECONDS, SPAN, START
from benchmarks.question import Question

_FILES: Final = 5


def slices_kept(question: Question) -> float:
    """Return the average number of slices that a warm micro-batch touches and that outlive it.

    A slice whose windows are all complete when the batch ends is emitted and never written; where windows are short,
    those are nearly all.
    """
    edges = [START // MICROSECONDS + number * SPAN for number in range(1, _FILES + 1)]
    return mean(_kept(question, start, end) for start, end in pairwise(edges))


def _kept(question: Question, start: int, end: int) -> int:
    """Return the number of slices between two seconds that have a window open at the second one."""
    width = question.slice
    touched = range(start // width * width, end, width)
    return sum(_last_end(question, piece) > end - question.delay - 1 for piece in touched)


def _last_end(question: Question, piece: int) -> int:
    """Return the end of the last window that contains a slice; the slice's start if none does."""
    last = piece // question.hop * question.hop
    return last + question.size if piece < last + question.size else piece
