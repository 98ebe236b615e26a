"""Chain the rows of one event, in whatever order they come, to the event's state.

The rows of an event are the edges of a graph. Its nodes are the ends that the event may have, and its start, which
means that the event is absent: `[start, start)` has no tick. An insertion leads from the start to an end, a revision
from the end that it expects to its new end, a retraction from an end back to the start. If no row is missing, a trail
(in the sense of Euler) leads through every edge, and its end follows from the degrees of the nodes alone: it does not
depend on the order of the rows, nor on the micro-batches in which they came. The sync time of a row is the smaller of
its two nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import INFINITY
from muntin.schemas.value_order import sorted_by_value
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import InputChange


class EventState(NamedTuple):
    """The state of an event; one that ends at its start is absent."""

    start: int
    end: int
    payload: tuple[Any, ...]

    @property
    def is_alive(self) -> bool:
        """True unless the event is absent."""
        return self.end > self.start


class PendingRows(NamedTuple):
    """The rows of an event that wait for rows that are still missing.

    Attributes:
        rows: The rows that wait.
        base: The state of the event before them, if their effect depends on rows that are missing; usually None.
    """

    rows: tuple[InputChange, ...] = ()
    base: EventState | None = None


class ChainedRows(NamedTuple):
    """The result of chaining the rows of an event.

    Attributes:
        event: The state of the event now.
        pending: The rows that wait.
        rejected: The rows that can no longer be applied.
    """

    event: EventState
    pending: PendingRows
    rejected: Sequence[InputChange] = ()


_NOTHING: Final = PendingRows()

_Edge: TypeAlias = tuple[int, int, InputChange]
_Edges: TypeAlias = dict[int, list[_Edge]]
"""Edges by the node they leave, the one to take first at the end of its list."""


def chain_rows(base: EventState, rows: Sequence[InputChange], until: int) -> ChainedRows:
    """Apply rows to an event, in the order in which they chain.

    From the end that the event has, edges are followed until none leads on, the one to the smallest end first. If the
    edges that are left are balanced (each node has as many incoming as outgoing ones), they are detours that the event
    made on its way, and all rows are applied. If not, some rows are missing, and the ones left over wait for them. A
    blind revision, which expects no end, applies to the end at which no other row leads on; of several, the one with
    the smallest new end is the last, so a retraction wins. It waits if the event is absent.

    Where a node below the watermark is out of balance, or the event has ended before the watermark, the missing rows
    can no longer come legally: waiting rows with a sync time before the watermark are rejected, except detours.

    Args:
        base: The state of the event before all of them.
        rows: Waiting and new rows, in any order.
        until: The watermark from now on.

    Cost: linear in the number of rows, and sorting of those that leave one node.
    """
    start = base.start
    first_legal = INFINITY + 1 if until == INFINITY else until  # all rows are late once the input has ended
    blind = [row for row in rows if row.end is None and row.new_end is not None]
    if len(blind) > 1:
        blind = sorted_by_value(blind, lambda row: (row.new_end, row))
    edges = _by_source([_edge(start, row) for row in rows if row.end is not None or row.new_end is None])

    before = base
    walk = _walk(edges, base.end)
    here = walk[-1][1] if walk else base.end
    while blind and here != start:
        _, new_end, _ = _edge(start, blind.pop())
        payload_here, _ = _payload(before, here, walk)
        before = EventState(start, new_end, payload_here)
        walk = _walk(edges, before.end)
        here = walk[-1][1] if walk else before.end

    is_over = here < first_legal
    beside = [edge for leaving in edges.values() for edge in leaving]
    missing = Counter[int]()
    if beside:
        missing.update(target for _, target, _ in beside)
        missing.subtract(source for source, _, _ in beside)
    is_detour = not any(missing.values())
    rejected: list[InputChange] = []
    if not is_detour and (is_over or _lacks_late_rows(missing, first_legal)):
        detours, misfits = _detours(beside)
        waiting_misfits: list[_Edge] = []
        for edge in misfits:
            source, target, row = edge
            if is_over or min(source, target) < first_legal:
                rejected.append(row)
            else:
                waiting_misfits.append(edge)
        beside = detours + waiting_misfits
        is_detour = not waiting_misfits

    waiting_edges = [] if is_detour else beside
    # An insertion or a retraction waits: the payload may still be another one.
    is_open = any(start in (source, target) for source, target, _ in waiting_edges)
    applied = walk if is_open and missing[start] else walk + beside
    payload, has_come = _payload(before, here, applied)
    event = EventState(start, here, payload)
    if blind and is_over:
        rejected += blind
        blind = []

    is_unsure = not has_come and start >= first_legal
    if is_open and not is_unsure:
        leads_through_start = any(start in (source, target) for source, target, _ in walk)
        is_unsure = leads_through_start or payload != before.payload
    waiting_rows = [row for _, _, row in (walk + beside if is_unsure else waiting_edges)]
    waiting_rows += blind
    if not waiting_rows:
        return ChainedRows(event, _NOTHING, rejected)
    return ChainedRows(event, PendingRows(tuple(waiting_rows), before if is_unsure else None), rejected)


def _lacks_late_rows(missing: Counter[int], first_legal: int) -> bool:
    """Return True if rows are missing at a node that lies before the first legal tick, so that they cannot come."""
    return any(count and node < first_legal for node, count in missing.items())


def sync_time(start: int, row: InputChange) -> int:
    """Return the earliest tick that a revision changes, of an event with a start."""
    target = start if row.new_end is None else max(start, row.new_end)
    return target if row.end is None else min(row.end, target)


def _edge(start: int, row: InputChange) -> _Edge:
    end = INFINITY if row.end is None else row.end
    return (start, end, row) if row.new_end is None else (max(start, end), max(start, row.new_end), row)


def _by_source(edges: Iterable[_Edge]) -> _Edges:
    leaving_by_node: _Edges = {}
    for edge in edges:
        leaving_by_node.setdefault(edge[0], []).append(edge)
    for node, leaving in leaving_by_node.items():
        if len(leaving) > 1:  # equal ones are ordered by their values, so that rejection does not depend on order
            leaving_by_node[node] = sorted_by_value(leaving, lambda edge: (edge[1], edge[2]), descending=True)
    return leaving_by_node


def _walk(edges: _Edges, node: int) -> list[_Edge]:
    """Follow edges from a node until none leads on."""
    walk: list[_Edge] = []
    while leaving := edges.get(node):
        walk.append(leaving.pop())
        node = walk[-1][1]
    return walk


def _detours(beside: Iterable[_Edge]) -> tuple[list[_Edge], list[_Edge]]:
    """Return the edges that lead from a node back to it, and those that do not."""
    edges = _by_source(beside)
    detours: list[_Edge] = []
    misfits: list[_Edge] = []
    for node in sorted(edges):
        while walk := _walk(edges, node):
            back = max((place for place, edge in enumerate(walk, 1) if edge[1] == node), default=0)
            detours += walk[:back]
            misfits += walk[back:]
    return detours, misfits


def _payload(base: EventState, here: int, taken: Sequence[_Edge]) -> tuple[tuple[object, ...], bool]:
    """Return the payload of an event after some rows, and True if each retracted payload has come.

    There is a choice only where an event was inserted again. A retraction retracts the payload that it repeats; one
    without a payload, or with one that has not come, retracts the first. Of several that are left, those count whose
    insertion can have led here last, and of these the greatest by its values.
    """
    inserted = [(target, row.payload) for _, target, row in taken if row.new_end is None]
    retracted = [row.payload for _, target, row in taken if target == base.start]
    if not inserted and not retracted:
        return base.payload, True

    # Each retraction takes the payload out that it repeats.
    repeated = Counter(freeze(payload) for payload in retracted if any(value is not None for value in payload))
    first = [(base.end, base.payload)] if base.is_alive else []
    offers: list[tuple[int, tuple[Any, ...]]] = []
    for offer in first + inserted:
        name = freeze(offer[1])
        if repeated[name]:
            repeated[name] -= 1
        else:
            offers.append(offer)
    has_come = not any(repeated.values())
    if first and offers[:1] == first and len(offers) > 1:
        del offers[0]

    if len(offers) > 1:
        leading_nodes = _nodes_that_lead_to(here, base.start, taken)
        offers = [offer for offer in offers if offer[0] in leading_nodes] or offers
    if not offers:
        return base.payload, has_come
    _, payload = sorted_by_value(offers, lambda offer: offer[1])[-1]
    return payload, has_come


def _nodes_that_lead_to(here: int, start: int, edges: Sequence[_Edge]) -> set[int]:
    """Return the nodes from which edges lead to a node, and that node, without those through the start."""
    backwards = _by_source((target, source, row) for source, target, row in edges if start not in (source, target))
    nodes = {here}
    unvisited = [here]
    while unvisited:
        sources = {source for _, source, _ in backwards.pop(unvisited.pop(), ())}
        unvisited += sources - nodes
        nodes |= sources
    return nodes
