"""The reference evaluator: the meaning of a windowed query, computed plainly.

The meaning of a query is a function from the canonical history table of its input to that of its output. This file is
that function, for one key: it lists the windows, finds the members of each by looking at every event, and calls the
module on them. It is slow, obvious and trusted; every evaluator of the engine is tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from muntin.axis import INFINITY
from muntin.events import Event
from muntin.modules.aggregate import rows_of
from muntin.modules.module import Module
from muntin.modules.row_operator import RowOperator
from muntin.modules.stream_operator import StreamOperator
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.query_checks import QueryShape, check_cause, check_each, check_instance, check_needs, check_start
from muntin.rows import RowWindows
from muntin.testing.equality import equal
from muntin.testing.fitting import check_declared, check_evicted
from muntin.testing.key_lives import Life, lives_of
from muntin.testing.row_reference import Given, operator_rows, row_windows
from muntin.testing.stream_operator_run import stream_rows
from muntin.windows import Stretches, WindowKind, WindowSpecification
from muntin.windows.extent import Window
from muntin.windows.specification import Unwindowed


@dataclass(frozen=True, slots=True)
class Computation:
    """A module with the way from an event's payload to the module's input.

    Attributes:
        module: The module.
        select: Returns the module's input of a payload.
        accepts: True of a payload whose input the module is given.
    """

    module: Module
    select: Callable[[Any], Any] = lambda payload: payload
    accepts: Callable[[Any], bool] = lambda payload: True

    def __post_init__(self) -> None:
        check_instance(self.module)


@dataclass(frozen=True, slots=True)
class WindowedQuery:
    """A windowed query, as far as its meaning goes.

    Attributes:
        window: The windows.
        computations: One operator, or any number of aggregates.
        clip: The clipping of lifetimes before time-sensitive modules see them.
        timestamps: The lifetime of the output.
        keeps: The query's filter: True of a payload whose event is kept. The query ignores all others, except that
            the horizon is that of the whole input.
        event_ends_move: True if events may be revised, or are samples that last until the next one.
        forget_keys_after: For how long a key may be silent before its next event begins a new life, in ticks; None if
            a key is never forgotten.
        order: Returns the order of an event among those of its time, of a payload; null comes first. Events that are
            alike in it, or all of one time if it is None, come as they are given.

    Raises:
        QueryError: The window is not a specification, or an operator is not alone or not for such a query.
        PolicyError: A module cannot find what it looks for in such windows, or a policy is not right for a module or
            for the windows. The engine refuses the same, by the same checks.
    """

    window: WindowSpecification
    computations: Sequence[Computation]
    clip: ClipPolicy = ClipPolicy.NONE
    timestamps: TimestampPolicy = TimestampPolicy.ALIGN
    keeps: Callable[[Any], bool] = lambda payload: True
    event_ends_move: bool = True
    forget_keys_after: int | None = None
    order: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        check_each(self.computations, Computation)
        self.check_events(())
        check_needs(self.modules, self.window)

    def check_events(self, events: Iterable[Event[object]]) -> None:
        """Refuse what the engine refuses, of the query and of events that last longer than it takes.

        Raises:
            QueryError: As where the query is made; or events do not all last one tick, and rows are followed in order.
            PolicyError: As where the query is made.
        """
        lasting = "events with an end of their own" if any(event.end != event.start + 1 for event in events) else ""
        modules, age = self.modules, self.forget_keys_after
        QueryShape(modules, self.window, self.clip, self.timestamps, age, lasting=lasting).check()

    @property
    def modules(self) -> list[Module]:
        """The modules of the computations."""
        return [computation.module for computation in self.computations]

    @classmethod
    def unwindowed(
        cls,
        operator: StreamOperator[Any, Any, Any],
        select: Callable[[Any], Any] = lambda payload: payload,
        accepts: Callable[[Any], bool] = lambda payload: True,
    ) -> WindowedQuery:
        """Return the query that applies a stream operator, a `Computation` without windows."""
        return cls(Unwindowed(), [Computation(operator, select, accepts)])

    def in_order(self, events: Iterable[Event[Any]]) -> list[Event[Any]]:
        """Return events by time and, at one time, by the query's order."""

        def place(event: Event[Any]) -> tuple[Any, ...]:
            order = None if self.order is None else self.order(event.payload)
            return (event.start,) if order is None else (event.start, order)

        return sorted(events, key=place)

    @property
    def kind(self) -> WindowKind:
        """The windows, which cut the axis."""
        assert isinstance(self.window, WindowKind), f"{self.window} does not cut the axis"
        return self.window

    @property
    def waits_for_ends(self) -> bool:
        """True if a window's result depends on ends that lie after it and may move."""
        if not self.event_ends_move or self.clip.clips_right or self.timestamps is TimestampPolicy.TIME_BOUND:
            return False
        return any(c.module.reads_times for c in self.computations)


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """One row of the output's canonical history table.

    Attributes:
        window: The window it was computed from; without windows, the tick of its cause.
        start: Start of its lifetime.
        end: End of its lifetime.
        value: An operator's row, or the tuple of the aggregates' results.
    """

    window: Window
    start: int
    end: int
    value: Any


def evaluate(
    query: WindowedQuery, events: Iterable[Event[object]], complete_to: int = INFINITY, horizon: int | None = None
) -> list[OutputEvent]:
    """Return the output of one key, of the windows that no legal change can alter any more.

    This is the reference evaluator, slow and plain: it lists the windows, finds the members of each by looking at every
    event, and calls the modules. The engine is tested against it.

    Args:
        query: The windows, policies and modules.
        events: The rows of the input's canonical history table, in any order.
        complete_to: The latest punctuation; `INFINITY` for a stream that was closed.
        horizon: The first tick past all events and punctuation of the whole input, over all keys. Only events without
            an end need it: they are members of every later window, and windows that start at or after the horizon
            are not emitted. By default the `horizon_of` the `events`.

    Cost:
        Every event is compared with every window.

    Example:
        >>> from muntin import Aggregate, tumbling
        >>> class Number(Aggregate[str, int]):
        ...     name, version = "demo.number", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return len(payloads)
        >>> query, rides = WindowedQuery(tumbling(5), [Computation(Number())]), [Event(1, 6, "a"), Event(4, 12, "b")]
        >>> [(row.start, row.value) for row in evaluate(query, rides)]
        [(0, (2,)), (5, (2,)), (10, (1,))]
        >>> [(row.start, row.value) for row in evaluate(query, rides, complete_to=10)]
        [(0, (2,)), (5, (2,))]
    """
    whole = list(events)
    query.check_events(whole)
    limit = horizon_of(query.window, whole, complete_to) if horizon is None else horizon
    history = [event for event in whole if query.keeps(event.payload)]
    if not isinstance(query.window, WindowKind):
        history = query.in_order(history)
    if isinstance(query.computations[0].module, RowOperator):
        given = [each for each in _followed(query, history, complete_to, limit) if not each.is_evicted]
        stamped = [_stamp(query.timestamps, window, row) for _, window, row in given]
        return [row for row in stamped if row is not None]
    if isinstance(query.computations[0].module, StreamOperator):
        return _streamed(query, history, complete_to, limit)
    if isinstance(query.window, RowWindows):
        computed = row_windows(query.window, history, complete_to, limit)
        return [row for window, members in computed for row in _evaluate_once(query, window, members)]
    output: list[OutputEvent] = []
    for life, window, members in windows_with_members(query, history, limit):
        if complete_to >= life.end or is_closed(query, window, members, complete_to):
            output += evaluate_window(query, window, members)
    return output


def windows_with_members(
    query: WindowedQuery, events: Iterable[Event[object]], horizon: int
) -> Iterator[tuple[Life, Window, list[Event[object]]]]:
    """Yield the windows of one key that have members, with the life that they are of and with these members.

    The members are the events that belong to a window, found with one look at each event.
    """
    for life in lives_of(events, query.forget_keys_after):
        counted = ((event, *query.kind.membership(event.start, event.end)) for event in life.events)
        stretches = [(event, start, end) for event, start, end in counted if start < end]
        for window in life.cut(windows(query.kind, life.events, horizon)):
            since, until = window.start, window.end
            members = [event for event, start, end in stretches if start < until and end > since]
            if members:
                yield life, window, members


def evaluate_evicted(
    query: WindowedQuery, events: Iterable[Event[object]], complete_to: int = INFINITY, horizon: int | None = None
) -> list[OutputEvent]:
    """Return the second output of one key: what a `RowOperator` gives of rows that leave, each at its tick.

    The arguments are those of `evaluate`.
    """
    whole = list(events)
    limit = horizon_of(query.window, whole, complete_to) if horizon is None else horizon
    history = query.in_order(event for event in whole if query.keeps(event.payload))
    given = _followed(query, history, complete_to, limit)
    return [OutputEvent(window, window.start, window.end, row) for is_evicted, window, row in given if is_evicted]


def _followed(query: WindowedQuery, events: Sequence[Event[object]], complete_to: int, horizon: int) -> list[Given]:
    """Return the output of the module that follows the rows of a key."""
    (one,), windows = query.computations, query.window
    assert isinstance(one.module, RowOperator), f"{one.module.name} follows no rows"
    assert isinstance(windows, RowWindows), f"{windows} do not follow rows"
    seen = [
        (event, one.select(event.payload) if is_accepted else None, is_accepted)
        for event in events
        for is_accepted in [one.accepts(event.payload)]
    ]
    found = operator_rows(windows, one.module, seen, complete_to, horizon)
    for is_evicted, window, row in found:
        if is_evicted:
            check_evicted(one.module, row, window)
        else:
            check_declared(one.module, [row], window)
    return found


def _streamed(
    query: WindowedQuery, events: Sequence[Event[object]], complete_to: int, horizon: int
) -> list[OutputEvent]:
    """Return the output of a module that follows the events of a key, those of one time as they are given."""
    (one,) = query.computations
    module: Any = one.module
    seen = [Event(event.start, event.end, one.select(event.payload)) for event in events if one.accepts(event.payload)]
    found = stream_rows(module, seen, complete_to, horizon)
    for cause, start, _, row in found:
        check_cause(module, start, cause)
        check_declared(module, [row], Window(cause, cause + 1))
    return [OutputEvent(Window(cause, cause + 1), start, end, row) for cause, start, end, row in found]


def horizon_of(kind: WindowSpecification, events: Iterable[Event[object]], complete_to: int = INFINITY) -> int:
    """Return the first tick past all starts, known ends and punctuation."""
    whole = list(events)
    ends = [event.end + kind.reach for event in whole if event.end != INFINITY]
    complete = [complete_to] if complete_to != INFINITY else []
    return max([*(event.start + 1 for event in whole), *ends, *complete], default=0)


def windows(kind: WindowKind, events: Iterable[Event[object]], horizon: int) -> list[Window]:
    """Return every window that could have a member, in order: the whole cut, where members may be.

    Where there is no end of windows, they start before the horizon.
    """
    stretches = [kind.membership(event.start, event.end) for event in events]
    known = Stretches((start, end) for start, end in stretches if start < end)
    last = INFINITY if kind.waits_for_events else horizon
    spans = Stretches((start, last if end == INFINITY else end) for start, end in known.all).covered
    found = {window for start, end in spans for window in kind.cut(known, start, end)}
    # an event without an end may start at the horizon, if it was late and moved: windows that began before have it
    moved = [start for start, end in known.all if end == INFINITY and start >= last]
    return sorted(found | {cut for start in moved for cut in kind.cut(known, start, start + 1) if cut.start < last})


def belongs(kind: WindowKind, event: Event[object], window: Window) -> bool:
    """True if the event is a member of the window: the stretch on which it counts shares a tick with the window."""
    start, end = kind.membership(event.start, event.end)
    return start < end and start < window.end and end > window.start


def is_closed(query: WindowedQuery, window: Window, members: Sequence[Event[object]], complete_to: int) -> bool:
    """True if no change with a sync time of at least `complete_to` can alter the window or its result.

    A boundary at exactly `complete_to` can still move: a snapshot that ends there can be merged with the next, and
    an event that ends there can be prolonged. The paper's section V.F says "up to" in both places; a watermark is
    strict, so a snapshot, and a window that waits for ends, need one tick more.
    """
    if complete_to == INFINITY:
        return True
    if window.end > complete_to or (query.kind.ends_move and window.end == complete_to):
        return False
    return not query.waits_for_ends or all(event.end < complete_to for event in members)


def evaluate_window(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[OutputEvent]:
    """Return the output of one window from all its members."""
    window = query.kind.extent(window)
    if query.timestamps is TimestampPolicy.TIME_BOUND:
        return _as_it_becomes_known(query, window, members)
    return _evaluate_once(query, window, members)


def _as_it_becomes_known(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[OutputEvent]:
    """Return the output of a window at each tick, from what the input says up to that tick."""
    known_at = query.kind.known_at(window)
    first = window.start if known_at is None else known_at
    changes = {tick for event in members for tick in (event.start, event.end) if first < tick < window.end}
    output: list[OutputEvent] = []
    for start, end in pairwise([*sorted({first, *changes}), window.end]):
        known = [_as_of(query, event, start) for event in members if event.start <= start]
        for result in _evaluate_once(query, window, known) if known else []:
            same = next((row for row in output if row.end == start and equal(row.value, result.value)), None)
            if same is not None:
                output.remove(same)
            output.append(OutputEvent(window, start if same is None else same.start, end, result.value))
    return output


def _as_of(query: WindowedQuery, event: Event[object], tick: int) -> Event[object]:
    """Return the event as known at a tick: a later end may still move."""
    return Event(event.start, INFINITY, event.payload) if query.event_ends_move and event.end > tick else event


def _evaluate_once(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[OutputEvent]:
    found = [_call(query, computation, window, members) for computation in query.computations]
    results: list[Any] = rows_of(found[0]) if query.modules[0].is_operator else [tuple(found)]
    for module, own in zip(query.modules, [results] if query.modules[0].is_operator else zip(found), strict=True):
        check_declared(module, own, window)
    if query.timestamps is TimestampPolicy.UNCHANGED:
        for row in (result for result in results if isinstance(result, Event)):
            check_start(query.computations[0].module, row, window)
    stamped = [_stamp(query.timestamps, window, result) for result in results]
    return [output for output in stamped if output is not None]


def _call(query: WindowedQuery, computation: Computation, window: Window, members: Sequence[Event[object]]) -> Any:
    """Return a module's result for a window.

    A module that accepts no member is not called: the result is null, and an operator has no rows. If the module
    has an `empty_result`, that is its result, or its one row.
    """
    module: Any = computation.module
    arguments = (window,) if module.is_time_sensitive else ()
    accepted = [event for event in members if computation.accepts(event.payload)]
    if module.reads_order:
        accepted = query.in_order(accepted)
    if not accepted:
        empty = getattr(module, "empty_result", None)
        if module.is_operator:
            return () if empty is None else (empty,)
        return empty
    seen = [_see(query, computation, window, event) for event in accepted]
    if not module.is_incremental:
        return module.compute_result(seen, *arguments)
    state = module.create_state(*arguments)
    return module.compute_result(module.add_events(state, seen, *arguments), *arguments)


def _see(query: WindowedQuery, computation: Computation, window: Window, event: Event[object]) -> object:
    payload = computation.select(event.payload)
    if not computation.module.is_time_sensitive:
        return payload
    return clip(Event(event.start, event.end, payload), window, query.clip)


def clip(event: Event[object], window: Window, policy: ClipPolicy) -> Event[Any]:
    """Clip the lifetime of a member for a module.

    A member by count or by reach may lie wholly outside its window on one side; clipping then leaves it alone on
    that side, since there is nothing inside to keep.
    """
    start = max(event.start, window.start) if policy.clips_left and event.end > window.start else event.start
    end = min(event.end, window.end) if policy.clips_right and event.start < window.end else event.end
    return Event(start, end, event.payload)


def _stamp(policy: TimestampPolicy, window: Window, result: object) -> OutputEvent | None:
    if policy is TimestampPolicy.POINT_AT_END:
        return None if window.end == INFINITY else OutputEvent(window, window.end, window.end + 1, _bare(result))
    if policy in (TimestampPolicy.ALIGN, TimestampPolicy.TIME_BOUND) or not isinstance(result, Event):
        return OutputEvent(window, window.start, window.end, _bare(result))
    if policy is TimestampPolicy.UNCHANGED:
        return OutputEvent(window, result.start, result.end, result.payload)
    start, end = max(result.start, window.start), min(result.end, window.end)
    return OutputEvent(window, start, end, result.payload) if start < end else None


def _bare(result: object) -> object:
    return result.payload if isinstance(result, Event) else result
