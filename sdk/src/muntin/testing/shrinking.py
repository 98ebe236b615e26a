"""Making a stream that fails as small as it gets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

from muntin.errors import StreamError
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script


def smallest_failing(stream: Script, fails: Callable[[Script], bool]) -> Script:
    """Return a stream that still fails, with no event, seam or punctuation that it could do without.

    Args:
        stream: A stream that fails.
        fails: Says whether a stream fails; it is called many times.

    Example:
        >>> stream = Script().point("a", 1, 5).point("b", 2, 50).batch().point("c", 3, 7).close()
        >>> def fails(script):
        ...     return any(step.change.event.payload > 9 for step in script.changes())
        >>> print(smallest_failing(stream, fails))
               2
        + 'b'  [)   50
    """
    current = stream
    while True:
        smaller = next((candidate for candidate in _smaller(current) if fails(candidate)), None)
        if smaller is None:
            return current
        current = smaller


def _smaller(stream: Script) -> Iterator[Script]:
    """Yield streams without one of the events, without the last revision of one, without one of the other steps."""
    names = [_name(place, step) for place, step in enumerate(stream.steps)]
    for name in dict.fromkeys(names):
        yield from _keep(stream, [place for place, other in enumerate(names) if other != name])
    for name in dict.fromkeys(names):
        places = [place for place, other in enumerate(names) if other == name]
        if len(places) > 1:
            yield from _keep(stream, [place for place in range(len(names)) if place != places[-1]])


def _keep(stream: Script, places: list[int]) -> Iterator[Script]:
    try:
        yield replace(stream, steps=tuple(stream.steps[place] for place in places))
    except StreamError:  # a revision without its event, say
        return


def _name(place: int, step: Step) -> Hashable:
    return (step.key, step.change.id) if isinstance(step, KeyedChange) else place
