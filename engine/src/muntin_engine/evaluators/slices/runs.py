"""Results of whole windows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import sub
from typing import Any

from muntin_engine.core.changes import Key
from muntin_engine.evaluators.slices.key_names import key_of


@dataclass(slots=True)
class WindowRuns:
    """The results of windows, as parallel lists.

    One entry covers neighbouring windows of a key that have the very same rows, and so the same results.

    Attributes:
        place: The specification that the windows are of.
        names: The names of the keys; see `keys`.
        firsts: The number of the first window of each run.
        lasts: The number of the window after the last.
        values: By module, its results.
    """

    place: int = 0
    names: list[Hashable] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)
    values: list[list[Any]] = field(default_factory=list)

    @property
    def keys(self) -> list[Key]:
        """The key of each run."""
        return list(map(key_of, self.names))

    def window_count(self) -> int:
        """Return the number of windows of keys."""
        return sum(map(sub, self.lasts, self.firsts))

    def add_window(self, number: int, names: Sequence[Hashable], values: Sequence[list[object]]) -> None:
        """Add the results of one window for some keys."""
        self.names += names
        self.firsts += [number] * len(names)
        self.lasts += [number + 1] * len(names)
        self._add(values)

    def add_key(
        self, name: Hashable, firsts: Sequence[int], lasts: Sequence[int], values: Sequence[list[object]]
    ) -> None:
        """Add the runs of one key."""
        self.names += [name] * len(firsts)
        self.firsts += firsts
        self.lasts += lasts
        self._add(values)

    def rows(self) -> Iterator[tuple[Key, int, tuple[Any, ...]]]:
        """Yield key, number and results of each window."""
        for key, first, last, values in zip(
            self.keys, self.firsts, self.lasts, zip(*self.values, strict=True), strict=True
        ):
            for number in range(first, last):
                yield key, number, values

    def _add(self, values: Sequence[list[object]]) -> None:
        if not self.values:
            self.values = [[] for _ in values]
        for mine, more in zip(self.values, values, strict=True):
            mine.extend(more)


def rows_of_results(results: Sequence[Any], *, is_operator: bool) -> Iterator[Any]:
    """Yield the output rows of a window: the tuple of the aggregates' results, or each row of an operator."""
    yield from results[0] if is_operator else (tuple(results),)
