"""Events whose lifetimes a query changes."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.picture import Picture
from muntin.drawings import Bar, Look


def pictures() -> Iterator[Picture]:
    """Yield a picture of one event under each change."""
    start, end = 3, 8
    changed = {
        "shift(6)": (start + 6, end + 6),
        "set_duration(2)": (start, start + 2),
        "extend(4)": (start, end + 4),
        "shorten(3)": (start, end - 3),
        "to_points('start')": (start, start + 1),
        "to_points('end')": (end, end + 1),
        "align_to(tumbling(5))": (start // 5 * 5, -(-end // 5) * 5),
    }
    rows: list[Bar | str] = [Bar("ride", start, end), "changed"]
    rows += [Bar(call, *lifetime, look=Look.RESULT) for call, lifetime in changed.items()]
    rows += ["windows", *(Bar("tumbling(5)", first, first + 5, look=Look.WINDOW) for first in (0, 5, 10))]
    title = "a ride, and what each change makes of its lifetime; the last one follows the windows below"
    yield Picture("lifetimes", title, rows)
