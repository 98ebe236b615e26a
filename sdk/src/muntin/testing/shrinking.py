"""Making a stream that fails as small as it gets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

from muntin.changes import Revision
from muntin.errors import StreamError
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script


def smallest_failing(stream: Script, fails: Callable[[Script], bool]) -> Script:
    """Return a stream that still fails, with no event, revision or other step that it could do without.

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
    """Yield streams without one of the events, without one revision of one, without one of the other steps."""
    names = [
        (step.key, step.change.id, step.change.event.start) if isinstance(step, KeyedChange) else place
        for place, step in enumerate(stream.steps)
    ]
    for name in dict.fromkeys(names):
        yield from _legal(stream, [step for other, step in zip(names, stream.steps, strict=True) if other != name])
    for place, step in enumerate(stream.steps):
        if isinstance(step, KeyedChange) and isinstance(step.change, Revision):
            rest = [*stream.steps[:place], *stream.steps[place + 1 :]]
            yield from _legal(stream, rest)
            yield from _legal(stream, _bridged(rest, step.key, step.change))


def _bridged(steps: list[Step], key: Hashable, gone: Revision[object]) -> list[Step]:
    """Let the revision that goes on from one that is gone go on from what that one expected."""
    left = replace(gone.event, end=gone.new_end) if not gone.is_retraction else None
    for place, step in enumerate(steps):
        if isinstance(step, KeyedChange) and (step.key, step.change.id) == (key, gone.id):
            change = step.change
            if isinstance(change, Revision) and change.event == left:
                return [*steps[:place], replace(step, change=replace(change, event=gone.event)), *steps[place + 1 :]]
    return steps


def _legal(stream: Script, steps: list[Step]) -> Iterator[Script]:
    try:
        yield replace(stream, steps=tuple(steps))
    except StreamError:  # a revision without its event, say
        return
