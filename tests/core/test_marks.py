"""The distinct times at which something happens."""

from __future__ import annotations

import random
from collections import Counter

from muntin_engine.evaluators.general.assignment.marked import Marks


def test_a_tick_is_there_until_it_was_taken_out_as_often_as_put_in() -> None:
    marks = Marks()
    marks.add([5, 3, 5])
    assert (len(marks), list(marks.all())) == (2, [3, 5])
    marks.remove([5])
    assert list(marks.all()) == [3, 5]
    marks.remove([5])
    assert list(marks.all()) == [3]


def test_places_count_the_ticks_before() -> None:
    marks = Marks()
    marks.add([10, -4, 7])
    assert [marks.place(tick) for tick in (-5, -4, -3, 7, 8, 11)] == [0, 0, 1, 1, 2, 3]
    assert [marks.at(place) for place in range(3)] == [-4, 7, 10]
    assert marks.between(-4, 10) == [-4, 7]
    assert marks.between(8, 8) == []


def test_marks_agree_with_a_plain_bag_whatever_is_done_to_them() -> None:
    numbers = random.Random(1)
    marks, plain = Marks(), Counter[int]()
    for _ in range(500):
        tick = numbers.randrange(20)
        if plain[tick] and numbers.random() < 0.5:
            marks.remove([tick])
            plain[tick] -= 1
        else:
            ticks = [tick] if numbers.random() < 0.9 else [numbers.randrange(60) for _ in range(40)]
            marks.add(ticks)
            plain.update(ticks)
        if numbers.random() < 0.3:
            assert list(marks.all()) == sorted(+plain)
