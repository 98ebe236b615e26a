"""Punctuation of some keys: patterns of composite keys, and the time up to which the keys of each are complete.

A pattern has a condition for each column of the key: `()` allows any value, `(value,)` that value, and `(low, high)`
the values from `low` on and below `high`, of which either may be None; null is in no range.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from muntin import EARLIEST, INFINITY
from muntin.schemas.value_order import value_key
from muntin_engine.errors import StateError
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import Key

Condition: TypeAlias = Sequence[Any]
Pattern: TypeAlias = Sequence[Condition]
Told: TypeAlias = tuple[Pattern, int]
"""A pattern and the time up to which its keys are complete."""

MOST_PATTERNS: Final = 1_000
"""The most patterns that a query keeps."""

_CONSTANT: Final = 1
_RANGE: Final = 2


class KeyPatterns:
    """Patterns that no other makes superfluous: one is if another allows all its keys, and is as far.

    That keys are done does not say up to where time has passed for them, so it makes no finite time superfluous.

    Patterns with the same values in the same columns are found by these values.

    Cost: a look-up of a key takes a constant for each set of columns that patterns have values in, and for each range
    beside the values of the key. A pattern that is added takes as much.

    Example:
        >>> known = KeyPatterns([((("eu",), ()), 50), (((), (10, 20)), 70), ((("eu",), (3,)), 40)])
        >>> known.watermark_of(("eu", 3)), known.watermark_of(("eu", 10)), len(known)
        (50, 70, 2)
    """

    def __init__(self, told: Iterable[Told] = ()) -> None:
        self._groups: dict[tuple[int, ...], dict[Hashable, list[Told]]] = {}
        furthest_first = sorted(told, key=lambda one: (-one[1], len(_places(one[0], _CONSTANT))))
        for pattern, time in furthest_first:
            self._add(pattern, time)

    def __len__(self) -> int:
        return sum(len(group) for groups in self._groups.values() for group in groups.values())

    def to_data(self) -> list[Told]:
        """Return the patterns as plain data, from which `KeyPatterns(data)` makes the same."""
        return [one for groups in self._groups.values() for group in groups.values() for one in group]

    def watermark_of(self, key: Key) -> int:
        """Return the furthest time of the patterns that allow a key; `EARLIEST` if none does."""
        return max(self._times(key), default=EARLIEST)

    def reached_by(self, key: Key) -> int:
        """Return the same without the patterns whose keys are done: up to where time has passed for a key."""
        return max((time for time in self._times(key) if time < INFINITY), default=EARLIEST)

    def advance(self, told: Sequence[Told], watermark: int, most: int = MOST_PATTERNS) -> KeyPatterns:
        """Return these and others, without those that a watermark of all keys has reached.

        Args:
            told: Others.
            watermark: The watermark.
            most: The most patterns that may be left.

        Raises:
            StateError: There are more.
        """
        known = self.to_data()
        ahead = [one for one in (*known, *told) if one[1] > watermark]
        if not told and len(ahead) == len(known):
            return self
        found = KeyPatterns(ahead)
        if len(found) > most:
            raise StateError(
                f"{len(found):,} patterns of keys are complete beyond the watermark of all keys, and {most:,} may be\n"
                "  nothing is lost: set spark.muntin.patterns.limit higher and start the query from its checkpoint\n"
                "  to need fewer: give rows of punctuate_keys wider patterns, or send rows of punctuate more often"
            )
        return found

    def _times(self, key: Key) -> Iterator[int]:
        for places, groups in self._groups.items():
            for pattern, time in groups.get(_values(key, places), ()):
                if all(_is_in(pattern[place], key[place]) for place in _places(pattern, _RANGE)):
                    yield time

    def _add(self, pattern: Pattern, time: int) -> None:
        """Add a pattern, unless one makes it superfluous that is as far, and has values in no more columns."""
        places = _places(pattern, _CONSTANT)
        values = {place: pattern[place][0] for place in places}
        for others, groups in self._groups.items():
            if values.keys() >= set(others):
                group = groups.get(_values(values, others), ())
                if any(_covers(known, pattern) for known, at in group if (at < INFINITY) == (time < INFINITY)):
                    return
        group = self._groups.setdefault(places, {}).setdefault(_values(values, places), [])
        group[:] = [one for one in group if one[1] > time or not _covers(pattern, one[0])]
        group.append((pattern, time))


def _places(pattern: Pattern, kind: int) -> tuple[int, ...]:
    return tuple(place for place, condition in enumerate(pattern) if len(condition) == kind)


def _values(values: Any, places: Sequence[int]) -> Hashable:
    return tuple([freeze(values[place]) for place in places])


def _is_in(limits: Condition, value: object) -> bool:
    """True if a value is in a range."""
    low, high = limits
    if value is None or (low is not None and value_key(value) < value_key(low)):
        return False
    return high is None or value_key(value) < value_key(high)


def _covers(one: Pattern, other: Pattern) -> bool:
    """True if a pattern allows all keys that another allows, which has the values that it has."""
    return all(_has_all(one[place], other[place]) for place in _places(one, _RANGE))


def _has_all(limits: Condition, condition: Condition) -> bool:
    """True if a range has all values that a condition allows."""
    if len(condition) < _RANGE:
        return bool(condition) and _is_in(limits, condition[0])
    (low, high), (least, end) = limits, condition
    starts_before = low is None or (least is not None and value_key(low) <= value_key(least))
    return starts_before and (high is None or (end is not None and value_key(end) <= value_key(high)))
