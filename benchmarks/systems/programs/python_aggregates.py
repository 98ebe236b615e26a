"""Aggregates of the values of one window in plain Python, as one would write them for any library of tables."""

from __future__ import annotations

from collections.abc import Sequence


def spread_of(values: Sequence[float]) -> float:
    """Return the largest value less the smallest."""
    return max(values) - min(values)


def average_by_state(values: Sequence[float]) -> float:
    """Return the average by a state of sum and count, to which values are added."""
    total = 0.0
    count = 0
    for value in values:
        total += value
        count += 1
    return total / count
