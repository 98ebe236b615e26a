"""What a module sees under each clip."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.modules import Seen
from docs.pictures.picture import Picture
from muntin import ClipPolicy, Lifetime, TimestampPolicy, hopping
from muntin.drawings import Bar, Look
from muntin.testing import Computation, Script, WindowedQuery


def pictures() -> Iterator[Picture]:
    """Yield one picture of all clips."""
    script = Script().insert("a", 2, 8, "a").insert("b", 6, 9, "b").insert("c", 7, 13, "c").close()
    rows = [row for policy in ClipPolicy for row in _seen(script, policy)]
    title = "a window with three members, and what a module sees of them under each clip"
    yield Picture("clips", title, rows, tuple(ClipPolicy))


def _seen(script: Script, policy: ClipPolicy) -> Iterator[Bar | str]:
    """Yield the one window that starts at 5, and its members as the module sees them."""
    query = WindowedQuery(hopping(5, 100, 5), [Computation(Seen())], policy, TimestampPolicy.UNCHANGED)
    output = script.run(query)[None]
    (window,) = {row.window for row in output}
    yield f"clip={str(policy)!r}"
    yield Bar("window", window.start, window.end, look=Look.WINDOW)
    for row in output:
        event = next(event for (id, _), event in script.history()[None].items() if id == row.value)
        yield Bar(row.value, row.start, row.end, whole=Lifetime(event.start, event.end))
