"""Putting the revisions of one event in order, whatever order they came in."""

from __future__ import annotations

from collections.abc import Sequence

from muntin_engine.core.changes import InputChange


def in_order(revisions: Sequence[InputChange], end: int) -> list[InputChange]:
    """Return revisions in an order in which each expects the end that the one before it leaves.

    A revision is a step from the end it expects to its new end. Steps may come back to an end and even stay there,
    so this looks for a trail that takes every step once (Hierholzer, 1873). Where the revisions contradict each
    other there is none; the misfits then follow where they do not fit.

    Args:
        revisions: Those of one event that are to be applied now. One that expects nothing comes, in the order given,
            where no other fits.
        end: The event's end before all of them.

    Cost: linear in the number of revisions.
    """
    if len(revisions) == 1:
        return list(revisions)
    steps: dict[int, list[InputChange]] = {}
    for revision in reversed(revisions):
        if revision.end is not None:
            steps.setdefault(revision.end, []).append(revision)
    ordered = _trail(steps, end)
    for blind in (revision for revision in revisions if revision.end is None):
        ordered.append(blind)
        ordered += _trail(steps, _end_after(blind))
    return ordered + [revision for left in steps.values() for revision in left]


def _trail(steps: dict[int, list[InputChange]], end: int) -> list[InputChange]:
    """Take steps from an end on until none fits; a loop that was passed by is put in where it starts."""
    trail: list[InputChange] = []
    walk: list[InputChange] = []
    while True:
        here = _end_after(walk[-1]) if walk else end
        if steps.get(here):
            walk.append(steps[here].pop())
        elif walk:
            trail.append(walk.pop())
        else:
            return trail[::-1]


def _end_after(revision: InputChange) -> int:
    assert revision.new_end is not None
    return revision.new_end
