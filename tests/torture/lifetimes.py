"""Random changes of the lifetimes of random streams, and unions of them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from muntin import hopping, snapshot, tumbling
from muntin_engine.core.lifetimes import (
    Align,
    Extend,
    LengthColumn,
    LifetimeChange,
    PointsAtEnd,
    PointsAtStart,
    SetDuration,
    ShareWindows,
    Shift,
    Shorten,
)
from tests.differential.test_lifetimes import check
from tests.differential.test_union import check_union
from tests.torture.kind import Figures

_RARE: Final = 0.15


def lifetimes(seed: int, folder: Path) -> Figures:
    """Change lifetimes several times, and unite two streams: the output is as if events had come so."""
    del folder
    random = Random(seed)
    changes = [_change(random, place) for place in range(random.randint(1, 4))]
    if random.random() < _RARE:
        changes.append(random.choice((PointsAtStart(), PointsAtEnd(is_repeated=True))))
    check(changes, random.choice((tumbling(10), snapshot(), hopping(9, 4))), seed, are_revised=random.random() < 2 / 3)
    check_union(seed)
    return {"streams": 3}


def _change(random: Random, place: int) -> LifetimeChange:
    length = random.randint(1, 15)
    said, back = (LengthColumn(f"length_{place}", "said", least) for least in (1, -length))
    grid = random.choice((tumbling(length, 2), hopping(length + 4, 4)))
    return random.choice(
        (
            Shift(random.choice((random.randint(-15, 15), back))),
            SetDuration(random.choice((length, said))),
            Extend(random.choice((length, said))),
            Shorten(length),
            Align(grid),
            ShareWindows(grid),
            PointsAtEnd(is_repeated=True),
        )
    )
