"""Divide the events of a key into lives, after the changes of a batch.

A change may join lives, and may split one. It is no earlier than the watermark, so nothing after it was closed or
dropped. So the first of several joined lives gets the events of the others, and the later part of a split life becomes
a new life.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from muntin import EARLIEST, Window
from muntin_engine.evaluators.general.lives import KeyLives, LifeState, Span
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.net_changes import EventChange, NetChanges

_by_start = attrgetter("start")


class LifeChanges(NetChanges):
    """The net changes of the events of one life.

    Attributes:
        life: The life. Its span is that after the changes; its index of events does not have the changes yet.
        was_over_at: The tick at which the life was over before the changes.
        is_absorbed: True if all events of the life are gone, or belong to another life now.
        renamed: The windows that go on but end elsewhere now, as the life does: the new window by the old one.
    """

    def __init__(self, life: LifeState) -> None:
        """Collect the changes of a life."""
        super().__init__(life)
        self.life = life
        self.was_over_at = life.over_at
        self.is_absorbed = False
        self.renamed: dict[Window, Window] = {}


class _Piece(NamedTuple):
    """A part of a key that lies in one life: all events of a life, the forgotten events of one, or a single event.

    Attributes:
        start: The first start of its events.
        end: The last end of its events.
        origin: The life that it belonged to before the batch; None for a new event.
        change: The single event before and after the batch, which are the same if it did not change; None for the
            events of a life.
    """

    start: int
    end: int
    origin: LifeState | None
    change: EventChange | None = None


def divide(key: KeyLives, net: NetChanges, *, has_triggers: bool) -> list[LifeChanges]:
    """Divide the events of a key into lives, with the net changes of a batch, and set `key.lives` to the new lives.

    The changes are not applied to the indexes of the lives; that is left to the caller.

    Cost: sorting the lives and the new events; where events are revised, also all events of their lives.

    Args:
        key: The state of the key.
        net: The net changes.
        has_triggers: True if windows that go on with another end have to be found: their triggers keep their states.

    Returns:
        The changes in each life. Those of lives that are joined to other lives come first.
    """
    previous_lives = key.lives
    changes_by_life = {life: LifeChanges(life) for life in previous_lives}
    changes = _changes_of_lives(key, net)
    if not changes:
        return list(changes_by_life.values())

    # Events that are gone change the life that they belonged to, and are no part of the new lives.
    for change in changes:
        if change.previous is not None and change.present is None:
            life_changes = changes_by_life[_life_at(previous_lives, change.previous)]
            life_changes.changes_by_id[change.previous.id] = change

    # The key is taken apart into pieces: a life that did not change is one piece, and of any other life each event is
    # one. The pieces are then grouped by silence: each group is a life now.
    key.lives = []
    lives_with_group: set[LifeState] = set()
    pieces = _pieces(previous_lives, changes)
    silence = key.query.forget_keys_after or 0  # None only where keys have no lives
    for group in _group_by_silence(pieces, silence):
        # The first life of a group goes on; the others are joined to it. A life goes on in one group alone.
        origins: list[LifeState] = []
        for piece in group:
            if piece.origin is not None and piece.origin not in lives_with_group:
                origins.append(piece.origin)
        lives_with_group.update(origins)
        life = origins[0] if origins else LifeState(key.query, key.next_serial())
        life_changes = changes_by_life.setdefault(life, LifeChanges(life))
        life.set_span(Span(group[0].start, max(piece.end for piece in group)))
        key.lives.append(life)
        for piece in group:
            _add_piece(piece, life_changes, changes_by_life)

    # A life that is over at another tick than before cuts its windows at another tick.
    absorbed: list[LifeChanges] = []
    present_lives = set(key.lives)
    for life in previous_lives:
        life_changes = changes_by_life[life]
        if life not in present_lives:
            life_changes.is_absorbed = True
            absorbed.append(life_changes)
        if has_triggers:
            life_changes.renamed = _renamed_windows(life_changes)
        earlier, later = sorted([life_changes.was_over_at, life.over_at])
        if earlier != later:
            # A window that was cut at the earlier tick ends there: its last tick is the one before.
            life_changes.changed_bounds = (earlier - 1, later)
    return absorbed + [changes_by_life[life] for life in key.lives]


def _changes_of_lives(key: KeyLives, net: NetChanges) -> list[EventChange]:
    """Return the changes of events that belong to lives; those that a filter leaves out go into the key's own index."""
    changes = [*net.changes_by_id.values()]
    changes += [EventChange(previous=None, present=event) for event in net.inserted]
    old_filtered: list[StoredEvent] = []
    new_filtered: list[StoredEvent] = []
    for previous, present in changes:
        if previous is not None and previous.is_filtered:
            old_filtered.append(previous)
        if present is not None and present.is_filtered:
            new_filtered.append(present)
    if not old_filtered and not new_filtered:
        return changes
    key.replace(old_filtered, new_filtered)

    # To a life, an event that the filter leaves out does not exist.
    changes_of_lives: list[EventChange] = []
    for previous, present in changes:
        visible_previous = None if previous is None or previous.is_filtered else previous
        visible_present = None if present is None or present.is_filtered else present
        if visible_previous is not None or visible_present is not None:
            changes_of_lives.append(EventChange(visible_previous, visible_present))
    return changes_of_lives


def _pieces(lives: Sequence[LifeState], changes: Sequence[EventChange]) -> list[_Piece]:
    """Return the parts of a key after changes, each in one life: a life as a whole, if none of its events changed."""
    pieces: list[_Piece] = []
    changed_ids: dict[LifeState, set[Hashable]] = {}
    for change in changes:
        origin = None
        if change.previous is not None:
            origin = _life_at(lives, change.previous)
            changed_ids.setdefault(origin, set()).add(change.previous.id)
        if change.present is not None:
            pieces.append(_Piece(change.present.start, change.present.end, origin, change))
    for life in lives:
        if life not in changed_ids:
            start, end = life.span
            pieces.append(_Piece(start, end, origin=life))
            continue
        if life.forgotten_span is not None:
            start, end = life.forgotten_span
            pieces.append(_Piece(start, end, origin=life))
        for event in life.events:
            if event.id not in changed_ids[life]:
                unchanged = EventChange(previous=event, present=event)
                pieces.append(_Piece(event.start, event.end, origin=life, change=unchanged))
    return pieces


def _life_at(lives: Sequence[LifeState], event: StoredEvent) -> LifeState:
    """Return the life that an event of the key belongs to."""
    return next(life for life in lives if life.span.start <= event.start < life.span.end)


def _group_by_silence(pieces: Iterable[_Piece], silence: int) -> list[list[_Piece]]:
    """Return the pieces of each life, in order; a life is over after `silence` ticks without an event."""
    groups: list[list[_Piece]] = []
    over_at = EARLIEST
    for piece in sorted(pieces, key=_by_start):
        if not groups or piece.start >= over_at:
            groups.append([])
            over_at = EARLIEST
        groups[-1].append(piece)
        over_at = max(over_at, piece.end + silence)
    return groups


def _add_piece(piece: _Piece, life_changes: LifeChanges, changes_by_life: dict[LifeState, LifeChanges]) -> None:
    """Add a piece to the changes of the life that it belongs to now, and of the life that it belonged to before.

    Args:
        piece: The piece.
        life_changes: The changes of the life that the piece belongs to now.
        changes_by_life: The changes of all lives.
    """
    origin = piece.origin
    has_moved = origin is not None and origin is not life_changes.life
    if piece.change is None:
        # The events of a whole life, which move together if the life is joined to another one.
        if origin is not None and has_moved:
            assert origin.forgotten_span is None, "nothing after a change was forgotten"
            for event in origin.events:
                changes_by_life[origin].changes_by_id[event.id] = EventChange(event, present=None)
                life_changes.inserted.append(event)
        return

    # A single event: it is new, has moved to another life, or stays in its own, changed or not.
    previous, present = piece.change
    assert present is not None, "the pieces of a key are those after the batch"
    if previous is None or origin is None:
        life_changes.inserted.append(present)
    elif has_moved:
        changes_by_life[origin].changes_by_id[previous.id] = EventChange(previous, present=None)
        life_changes.inserted.append(present)
    elif previous is not present:
        life_changes.changes_by_id[previous.id] = piece.change


def _renamed_windows(life_changes: LifeChanges) -> dict[Window, Window]:
    """Find the emitted windows of a life that end elsewhere now, as the life does: the new window by the old one.

    All windows of a life are cut at the tick at which the life is over. So if that tick moves, a window that reaches it
    goes on with another end.
    """
    life = life_changes.life
    was_over_at = life_changes.was_over_at
    over_at = life.over_at
    if life_changes.is_absorbed or was_over_at == over_at or not life.held_windows:
        return {}
    renamed: dict[Window, Window] = {}
    # Only windows that last up to the earlier one of the two cuts can change: they have the tick before it.
    first_cut = min(was_over_at, over_at)
    for uncut_window in life.life_assigner.uncut(first_cut - 1, first_cut):
        previous_window = Window(uncut_window.start, min(uncut_window.end, was_over_at))
        window = Window(uncut_window.start, min(uncut_window.end, over_at))
        if previous_window != window and life.windows.get(previous_window).size:
            renamed[previous_window] = window
    return renamed
