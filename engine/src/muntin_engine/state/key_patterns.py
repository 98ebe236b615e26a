"""Watermarks of some keys: patterns of composite keys, and the time up to which the keys of each are complete.

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
"""A condition on the value of a key column: `(value,)`, the range `(low, high)`, or `()`, which every value meets."""

Pattern: TypeAlias = Sequence[Condition]
"""A condition for each key column."""

CompletePattern: TypeAlias = tuple[Pattern, int]
"""A pattern and the time up to which its keys are complete."""

MOST_PATTERNS: Final = 1_000
"""The most patterns that a query keeps."""

_CONSTANT: Final = 1
_RANGE: Final = 2


class KeyPatterns:
    """Patterns of keys, without superfluous ones: a pattern is superfluous if another one allows all its keys as late.

    A pattern whose time is `INFINITY` does not make a pattern with a finite time superfluous: `finite_watermark_of`
    needs that one.

    Patterns with values in the same columns make a group, in which they are looked up by these values.

    Cost: a look-up of a key takes a constant for each group, and for each range beside the values of the key. Adding a
    pattern takes as much.

    Example:
        >>> patterns = KeyPatterns([((("eu",), ()), 50), (((), (10, 20)), 70), ((("eu",), (3,)), 40)])
        >>> patterns.watermark_of(("eu", 3)), patterns.watermark_of(("eu", 10)), len(patterns)
        (50, 70, 2)
    """

    def __init__(self, patterns: Iterable[CompletePattern] = ()) -> None:
        """Hold patterns, without the superfluous ones."""
        # Groups by the places of the columns in which patterns have values. In a group, patterns by these values.
        self._groups: dict[tuple[int, ...], dict[Hashable, list[CompletePattern]]] = {}
        for pattern, time in sorted(patterns, key=_furthest_and_widest_first):
            self._add(pattern, time)

    def __len__(self) -> int:
        return len(self.to_data())

    def to_data(self) -> list[CompletePattern]:
        """Return the patterns as plain data, from which `KeyPatterns(data)` makes them again."""
        patterns: list[CompletePattern] = []
        for group in self._groups.values():
            for patterns_of_values in group.values():
                patterns += patterns_of_values
        return patterns

    def watermark_of(self, key: Key) -> int:
        """Return the latest time of the patterns that allow a key; `EARLIEST` if none does."""
        return max(self._times(key), default=EARLIEST)

    def finite_watermark_of(self, key: Key) -> int:
        """Return the latest finite time of the patterns that allow a key; `EARLIEST` if there is none.

        A pattern with the time `INFINITY` says that its keys get no more rows, but not how far time has passed.
        """
        finite_times = [time for time in self._times(key) if time < INFINITY]
        return max(finite_times, default=EARLIEST)

    def advance(self, reported: Sequence[CompletePattern], watermark: int, most: int = MOST_PATTERNS) -> KeyPatterns:
        """Return these patterns and reported ones, without those whose time the watermark of all keys has reached.

        Args:
            reported: The reported patterns.
            watermark: The watermark of all keys.
            most: The number of patterns that there may be.

        Returns:
            This very object if nothing has changed.

        Raises:
            StateError: There are more than `most` patterns.
        """
        present = self.to_data()
        beyond_watermark = [(pattern, time) for pattern, time in (*present, *reported) if time > watermark]
        if not reported and len(beyond_watermark) == len(present):
            return self
        patterns = KeyPatterns(beyond_watermark)
        if len(patterns) > most:
            raise StateError(
                f"{len(patterns):,} patterns of keys are complete beyond the watermark of all keys, "
                f"and {most:,} may be\n"
                "  nothing is lost: set spark.muntin.patterns.limit higher and start the query from its checkpoint\n"
                "  to need fewer: give rows of punctuate_keys wider patterns, or send rows of punctuate more often"
            )
        return patterns

    def _times(self, key: Key) -> Iterator[int]:
        """Yield the times of the patterns that allow a key."""
        for places, group in self._groups.items():
            # The patterns that are found have the values of the key: it remains to test their ranges.
            for pattern, time in group.get(_look_up_key(key, places), ()):
                if all(_is_in(pattern[place], key[place]) for place in _places(pattern, _RANGE)):
                    yield time

    def _add(self, pattern: Pattern, time: int) -> None:
        """Add a pattern, unless it is superfluous. Those added before have the same time, or a later one."""
        places = _places(pattern, _CONSTANT)
        values = {place: pattern[place][0] for place in places}
        for group_places, group in self._groups.items():
            # A pattern that allows all keys of the new one has values only in columns in which the new one has some.
            if not values.keys() >= set(group_places):
                continue
            for other_pattern, other_time in group.get(_look_up_key(values, group_places), ()):
                # A finite time is still needed beside an infinite one: `finite_watermark_of` reads finite times alone.
                are_both_finite_or_not = (other_time < INFINITY) == (time < INFINITY)
                if are_both_finite_or_not and _covers(other_pattern, pattern):
                    return

        # In turn, the new pattern makes patterns with the same values and the same time superfluous, if it covers them.
        patterns_of_values = self._groups.setdefault(places, {}).setdefault(_look_up_key(values, places), [])
        needed: list[CompletePattern] = []
        for present_pattern, present_time in patterns_of_values:
            if present_time > time or not _covers(pattern, present_pattern):
                needed.append((present_pattern, present_time))
        patterns_of_values[:] = [*needed, (pattern, time)]


def _furthest_and_widest_first(pattern_and_time: CompletePattern) -> tuple[int, int]:
    """Return a sort key by which a pattern comes before those that it makes superfluous: late ones with few values."""
    pattern, time = pattern_and_time
    return -time, len(_places(pattern, _CONSTANT))


def _places(pattern: Pattern, kind: int) -> tuple[int, ...]:
    """Return the places of the conditions of a kind.

    Args:
        pattern: The pattern.
        kind: The length of a condition of the kind: `_CONSTANT` for values, `_RANGE` for ranges.
    """
    return tuple(place for place, condition in enumerate(pattern) if len(condition) == kind)


def _look_up_key(values: Any, places: Sequence[int]) -> Hashable:
    """Return a look-up key for the patterns of a group: the values of a key, or of a pattern, at places."""
    return tuple([freeze(values[place]) for place in places])


def _is_in(limits: Condition, value: object) -> bool:
    """Return True if a value is in a range: not below its low limit, and below its high limit; None is no limit."""
    low, high = limits
    if value is None or (low is not None and value_key(value) < value_key(low)):
        return False
    return high is None or value_key(value) < value_key(high)


def _covers(wide: Pattern, narrow: Pattern) -> bool:
    """Return True if a pattern allows all keys of another pattern.

    Args:
        wide: The pattern.
        narrow: The other pattern, which has the same values wherever `wide` has values.
    """
    return all(_has_all(wide[place], narrow[place]) for place in _places(wide, _RANGE))


def _has_all(limits: Condition, condition: Condition) -> bool:
    """Return True if a range has all values that a condition allows."""
    if not condition:
        return False  # any value is allowed, also null, which is in no range
    if len(condition) == _CONSTANT:
        return _is_in(limits, condition[0])
    low, high = limits
    inner_low, inner_high = condition
    starts_before = low is None or (inner_low is not None and value_key(low) <= value_key(inner_low))
    ends_after = high is None or (inner_high is not None and value_key(inner_high) <= value_key(high))
    return starts_before and ends_after
