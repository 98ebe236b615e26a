"""Streams and output as drawings: what a test prints, and what a reader of its failure sees."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from muntin.axis import INFINITY
from muntin.changes import Insertion, Punctuation
from muntin.drawings import Bar, Look, timeline
from muntin.events import Event
from muntin.testing.batches import Boundary, KeyedChange, KeyPunctuation, Step, spell_pattern
from muntin.testing.reference import OutputEvent, WindowedQuery


def draw_steps(steps: Iterable[Step]) -> str:
    """Return a stream as a drawing, one line per step in order of arrival.

    Insertions are marked `+`, revisions `~` with the old end behind them, and retractions `-`.

    Example:
        >>> from muntin.changes import Revision
        >>> event = Event(1, 8, "a")
        >>> inserted, revised = KeyedChange("k", Insertion(1, event)), KeyedChange("k", Revision(1, event, 4))
        >>> print(draw_steps([inserted, Boundary.RESTART, revised, Punctuation(4), Punctuation(INFINITY)]))
                     1
        + 'k' 1      [------)   'a'
        ======= restart
        ~ 'k' 1      [--)       ended at 8
        punctuation     !       4
        the stream is closed
    """
    return timeline(map(row_of, steps))


def row_of(step: Step) -> Bar | str:
    """Return a step of a stream as a row of a drawing."""
    if isinstance(step, Boundary):
        return "------- batch" if step is Boundary.BATCH else "======= restart"
    if isinstance(step, Punctuation):
        if step.time == INFINITY:
            return "the stream is closed"
        return Bar("punctuation", step.time, step.time, str(step.time))
    if isinstance(step, KeyPunctuation):
        keys = spell_pattern(step.key)
        if step.time == INFINITY:
            return f"{keys} is closed"
        return Bar("punctuation", step.time, step.time, f"{step.time} of {keys}")
    return _bar_of_change(step, step.change.event)


def bar_of(key: Hashable, row: OutputEvent, query: WindowedQuery) -> Bar:
    """Return a row of the output of a key as a bar; the query tells how its value is spelt."""
    label = "output" if key is None else f"output {key!r}"
    return Bar(label, row.start, row.end, spell_value(row.value, query), Look.RESULT)


def spell_value(value: Any, query: WindowedQuery) -> str:
    """Spell the value of a row of a query's output; if the query has one aggregate, its result without the tuple."""
    is_single = len(query.computations) == 1 and not query.computations[0].module.is_operator
    return repr(value[0] if is_single else value)


def _bar_of_change(step: KeyedChange, event: Event[object]) -> Bar:
    """Return a change as a bar of its event: as inserted, as revised with the old end behind it, or struck out."""
    name = f"{step.change.id!r}" if step.key is None else f"{step.key!r} {step.change.id!r}"
    if isinstance(step.change, Insertion):
        return Bar(f"+ {name}", event.start, event.end, repr(event.payload))
    if step.change.is_retraction:
        return Bar(f"- {name}", event.start, event.end, is_struck=True)
    ended = "was open" if event.end == INFINITY else f"ended at {event.end}"
    return Bar(f"~ {name}", event.start, step.change.new_end, ended, whole=event.lifetime)
