"""Rows of modules become plain data as soon as the module yields them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from muntin.schemas import describe
from muntin_engine.modules.plain_results import listing, plain_of


@dataclass
class Count:
    """A record that a module may change after it has yielded it."""

    value: int


@dataclass
class Counts:
    """A record with a list, which its module may change."""

    values: list[int] = field(default_factory=list)


def changed_counts() -> Iterator[Count]:
    """Yield one record twice, changed in between."""
    count = Count(1)
    yield count
    count.value = 2
    yield count


def growing_counts() -> Iterator[Counts]:
    """Yield one record twice, with one value more the second time."""
    counts = Counts()
    for value in (1, 2):
        counts.values.append(value)
        yield counts


@pytest.mark.parametrize(
    ("method", "record", "rows"),
    [
        (changed_counts, Count, [Count(1), Count(2)]),
        (growing_counts, Counts, [Counts([1]), Counts([1, 2])]),
    ],
    ids=["changed", "grown"],
)
def test_a_row_stays_as_it_was_when_it_was_yielded(
    method: Callable[[], Iterator[object]], record: type, rows: list[object]
) -> None:
    declared = describe(record)
    assert listing(method, plain_of(declared), declared)() == rows


def test_no_rows_may_be_none() -> None:
    assert listing(lambda: None, None, None)() == []
