"""Chain the rows of one event, in whatever order they come, to the event's state.

The rows of an event are the edges of a graph. Its nodes are the ends that the event may have, and its start, which
means that the event is absent: `[start, start)` has no tick. An insertion leads from the start to an end, a revision
from the end that it expects to its new end, a retraction from an end back to the start. If no row is missing, a trail
(in the sense of Euler) leads through every edge, and its end follows from the degrees of the nodes alone: it does not
depend on the order of the rows, nor on the micro-batches in which they came. The sync time of a row is the smaller of
its two nodes.

A revision that expects no end is *blind*: it leads from whichever end the event has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import INFINITY
from muntin.schemas.value_order import sorted_by_value
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import InputChange


class EventState(NamedTuple):
    """The state of an event; one that ends at its start is absent.

    Attributes:
        start: The start of the event.
        end: The end of the event.
        payload: The payload; of no meaning for an absent event.
    """

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


NO_PENDING: Final = PendingRows()
"""No row waits."""


class _RowEdge(NamedTuple):
    """A row as an edge of the graph.

    Attributes:
        source: The node that the row leads from.
        target: The node that the row leads to.
        row: The row.
    """

    source: int
    target: int
    row: InputChange


class _Walk(NamedTuple):
    """The way of an event along its rows.

    Attributes:
        base: The state of the event before the edges: that before all rows, or after the last blind revision.
        edges: The edges of the walk, in order.
        end: The end of the event after them.
    """

    base: EventState
    edges: list[_RowEdge]
    end: int


class _RowsBeside(NamedTuple):
    """The rows of an event that its walk does not lead over.

    Attributes:
        edges: The edges of the rows that are not rejected.
        imbalance: The number of edges that lead to each node less the number of those that lead from it, of all rows.
        are_waiting: True if rows are missing, so that these wait for them; False if all are detours.
        rejected: The edges of the rows that can no longer be applied.
    """

    edges: list[_RowEdge]
    imbalance: Counter[int]
    are_waiting: bool
    rejected: Sequence[_RowEdge] = ()


_Edges: TypeAlias = dict[int, list[_RowEdge]]
"""Edges by the node that they leave, the one to take first at the end of its list."""


def chain_rows(base: EventState, rows: Sequence[InputChange], watermark: int) -> ChainedRows:
    """Apply rows to an event, in the order in which they chain.

    Each row is an edge of a graph: it leads from one end that the event may have, a node, to another one. From the
    present end of the event, edges are followed until none leads on, the one to the smallest end first. If the edges
    beside this walk are balanced (each node has as many incoming as outgoing ones), they are detours that the event
    made on its way, and all rows are applied. If not, some rows are missing, and those beside the walk wait for them.

    A blind revision, which expects no end, applies to the end at which no other row leads on. Of several blind
    revisions, the one with the smallest new end is the last, so a retraction wins. A blind revision waits if the event
    is absent.

    Where a node below the watermark is out of balance, or the event has ended before the watermark, the missing rows
    can no longer come legally: waiting rows with a sync time before the watermark are rejected, except detours.

    Args:
        base: The state of the event before the rows.
        rows: The rows of the event, those that waited and new ones, in any order.
        watermark: The watermark from now on.

    Cost: linear in the number of rows, and sorting of those that leave one node.
    """
    start = base.start
    first_legal = INFINITY + 1 if watermark == INFINITY else watermark  # all rows are late once the input has ended

    # The event walks along its rows. The walk takes these out of `edges` and `blind_rows`: the rows beside it are left.
    edges = _by_source([_edge(start, row) for row in rows if not _is_blind(row)])
    blind_rows = [row for row in rows if _is_blind(row)]
    if len(blind_rows) > 1:  # in ascending order, as the walk takes them from the end of the list
        blind_rows = sorted_by_value(blind_rows, lambda row: (row.new_end, row))
    walk = _walk_of_event(base, edges, blind_rows)
    is_over = walk.end < first_legal
    edges_beside = list(chain.from_iterable(edges.values()))
    beside = _rows_beside(edges_beside, first_legal, is_over=is_over)
    waiting_edges = beside.edges if beside.are_waiting else []
    rejected = [edge.row for edge in beside.rejected]
    if is_over:
        rejected += blind_rows
        blind_rows = []

    # The state of the event now. Insertions and retractions are the edges at the start. If one of them is missing, the
    # rows beside the walk say nothing of the payload yet.
    waits_at_start = _has_node(waiting_edges, start)
    lacks_row_at_start = waits_at_start and bool(beside.imbalance[start])
    applied = walk.edges if lacks_row_at_start else walk.edges + beside.edges
    payload, all_retracted_were_inserted = _payload(walk.base, walk.end, applied)
    event = EventState(start, walk.end, payload)

    # The payload is unsure in two cases: a row retracts a payload whose insertion has not come, and still may; or an
    # insertion or a retraction waits, although others have changed the payload. Then all rows wait, with the state of
    # the event before them: they are chained again together with the next rows.
    is_unsure = not all_retracted_were_inserted and start >= first_legal
    if waits_at_start and not is_unsure:
        is_unsure = _has_node(walk.edges, start) or payload != walk.base.payload
    if is_unsure:
        waiting_edges = walk.edges + beside.edges
    waiting_rows = [edge.row for edge in waiting_edges] + blind_rows
    if not waiting_rows:
        return ChainedRows(event, NO_PENDING, rejected)
    base_of_waiting = walk.base if is_unsure else None
    return ChainedRows(event, PendingRows(tuple(waiting_rows), base_of_waiting), rejected)


def _walk_of_event(base: EventState, edges: _Edges, blind_rows: list[InputChange]) -> _Walk:
    """Follow the rows of an event from its end as far as they lead; a blind revision then leads on from there.

    Args:
        base: The state of the event before the rows.
        edges: The edges of the rows; those of the walk are taken out.
        blind_rows: The blind revisions, the next one to apply at the end; those that are applied are taken out.
    """
    event = base
    walk = _follow(edges, event.end)
    end = walk[-1].target if walk else event.end
    while blind_rows and end != base.start:  # at its start an event is retracted: blind revisions do not apply to it
        blind_edge = _edge(base.start, blind_rows.pop())
        # The event is now as the walk so far and the blind revision have left it: another walk begins there.
        payload_at_end, _ = _payload(event, end, walk)
        event = EventState(base.start, blind_edge.target, payload_at_end)
        walk = _follow(edges, event.end)
        end = walk[-1].target if walk else event.end
    return _Walk(event, walk, end)


def _rows_beside(edges: list[_RowEdge], first_legal: int, *, is_over: bool) -> _RowsBeside:
    """Tell the rows beside the walk of an event apart: detours, rows that wait, and rows that are rejected.

    All are detours if their nodes are in balance; otherwise rows are missing. Where missing rows can no longer come,
    the rows that need them are rejected if they are late.

    Args:
        edges: The edges that the walk does not lead over.
        first_legal: The earliest tick that a row which comes from now on may change.
        is_over: True if the event has ended before that tick.
    """
    imbalance = Counter[int]()
    if edges:
        imbalance.update(edge.target for edge in edges)
        imbalance.subtract(edge.source for edge in edges)
    are_detours = not any(imbalance.values())
    if are_detours:
        return _RowsBeside(edges, imbalance, are_waiting=False)
    if not is_over and not _lacks_late_rows(imbalance, first_legal):
        return _RowsBeside(edges, imbalance, are_waiting=True)

    detours, misfits = _detours(edges)
    waiting: list[_RowEdge] = []
    rejected: list[_RowEdge] = []
    for edge in misfits:
        if is_over or min(edge.source, edge.target) < first_legal:
            rejected.append(edge)
        else:
            waiting.append(edge)
    return _RowsBeside(detours + waiting, imbalance, are_waiting=bool(waiting), rejected=rejected)


def _has_node(edges: Iterable[_RowEdge], node: int) -> bool:
    """Return True if an edge leads from a node or to it."""
    return any(node in (edge.source, edge.target) for edge in edges)


def _is_blind(row: InputChange) -> bool:
    """Return True for a revision that expects no end: it leads from whichever end the event has."""
    return row.end is None and row.new_end is not None


def _lacks_late_rows(imbalance: Counter[int], first_legal: int) -> bool:
    """Return True if rows are missing at a node that lies before the first legal tick, so that they cannot come."""
    return any(count and node < first_legal for node, count in imbalance.items())


def sync_time(start: int, row: InputChange) -> int:
    """Return the earliest tick that a revision changes, of an event that starts at `start`."""
    target = start if row.new_end is None else max(start, row.new_end)
    return target if row.end is None else min(row.end, target)


def _edge(start: int, row: InputChange) -> _RowEdge:
    """Return the edge of a row of an event that starts at `start`; not of a blind revision, which has no source."""
    end = INFINITY if row.end is None else row.end
    if row.new_end is None:  # an insertion leads from the start, where the event is absent, to its end
        return _RowEdge(start, end, row)
    # An event that was adjusted may start after an end that its row names. That end counts as the start, at which the
    # event is absent.
    return _RowEdge(max(start, end), max(start, row.new_end), row)


def _by_source(edges: Iterable[_RowEdge]) -> _Edges:
    """Return edges by the node that they leave, the one to the smallest node at the end of its list."""
    leaving_by_node: _Edges = {}
    for edge in edges:
        leaving_by_node.setdefault(edge.source, []).append(edge)
    for node, leaving in leaving_by_node.items():
        if len(leaving) > 1:  # equal ones are ordered by their values, so that rejection does not depend on order
            leaving_by_node[node] = sorted_by_value(leaving, lambda edge: (edge.target, edge.row), descending=True)
    return leaving_by_node


def _follow(edges: _Edges, node: int) -> list[_RowEdge]:
    """Follow edges from a node until none leads on, take them out, and return them in order."""
    walk: list[_RowEdge] = []
    while leaving := edges.get(node):
        walk.append(leaving.pop())
        node = walk[-1].target
    return walk


def _detours(edges: Iterable[_RowEdge]) -> tuple[list[_RowEdge], list[_RowEdge]]:
    """Divide edges into detours, which are walks that lead back to their first node, and all other edges."""
    edges_by_source = _by_source(edges)
    detours: list[_RowEdge] = []
    misfits: list[_RowEdge] = []
    for node in sorted(edges_by_source):
        while walk := _follow(edges_by_source, node):
            # Up to the last return to the node, the walk is a detour.
            detour_length = 0
            for length, edge in enumerate(walk, 1):
                if edge.target == node:
                    detour_length = length
            detours += walk[:detour_length]
            misfits += walk[detour_length:]
    return detours, misfits


class _OfferedPayload(NamedTuple):
    """A payload that an event may have.

    Attributes:
        node: The end of the event after its insertion with the payload.
        payload: The payload.
    """

    node: int
    payload: tuple[Any, ...]


def _payload(base: EventState, end: int, applied: Sequence[_RowEdge]) -> tuple[tuple[object, ...], bool]:
    """Return the payload of an event after rows, and True if each payload that a row retracts was inserted.

    There is a choice only where an event was inserted several times. A retraction takes away the payload that it
    repeats; a retraction without a payload, or with one that was not inserted, takes away the first payload. Of the
    payloads that remain, some may come from an insertion from whose end rows lead to the present end: these are
    preferred. If there are still several, the greatest by its values is chosen.

    Args:
        base: The state of the event before the rows.
        end: The end of the event after the rows.
        applied: The edges of the rows.
    """
    inserted = [_OfferedPayload(edge.target, edge.row.payload) for edge in applied if edge.row.new_end is None]
    retracted = [edge.row.payload for edge in applied if edge.target == base.start]
    if not inserted and not retracted:
        return base.payload, True

    # Each retraction removes the payload that it repeats.
    repeated = Counter(freeze(payload) for payload in retracted if any(value is not None for value in payload))
    offers_before_rows = [_OfferedPayload(base.end, base.payload)] if base.is_alive else []
    offers: list[_OfferedPayload] = []
    for offer in offers_before_rows + inserted:
        frozen_payload = freeze(offer.payload)
        if repeated[frozen_payload]:
            repeated[frozen_payload] -= 1
        else:
            offers.append(offer)
    all_retracted_were_inserted = not any(repeated.values())

    # An event is inserted again only after it was retracted. So if there are several offers, the payload of before the
    # rows was retracted, even if no retraction repeats it.
    if offers_before_rows and offers[:1] == offers_before_rows and len(offers) > 1:
        del offers[0]

    if len(offers) > 1:
        leading_nodes = _nodes_that_lead_to(end, base.start, applied)
        leading_offers = [offer for offer in offers if offer.node in leading_nodes]
        offers = leading_offers or offers  # if none leads to the end, none is preferred
    if not offers:
        return base.payload, all_retracted_were_inserted
    greatest = sorted_by_value(offers, lambda offer: offer.payload)[-1]
    return greatest.payload, all_retracted_were_inserted


def _nodes_that_lead_to(node: int, start: int, edges: Sequence[_RowEdge]) -> set[int]:
    """Return the nodes from which edges lead to a node, and that node itself; edges at the start do not count."""
    sources_by_target: dict[int, set[int]] = {}
    for edge in edges:
        if start not in (edge.source, edge.target):
            sources_by_target.setdefault(edge.target, set()).add(edge.source)
    nodes = {node}
    unvisited = [node]
    while unvisited:
        sources = sources_by_target.get(unvisited.pop(), set())
        unvisited += sources - nodes
        nodes |= sources
    return nodes
