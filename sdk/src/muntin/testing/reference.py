"""The reference evaluator: the meaning of a windowed query, computed plainly.

The meaning of a query is a function from the canonical history table of its input to that of its output. This file is
that function, for one key. It is slow, obvious and trusted; every evaluator of the engine is tested against it.

Over windows that cut the axis, `evaluate` does this:

1. *Filter.* Events that the query does not keep are ignored.
2. *Lives.* If keys are forgotten, the events are divided where the key was silent for long enough (`lives_of`).
3. *Windows.* Each event counts on a stretch of the axis, and the stretches cut the axis into windows (`windows`).
4. *Members.* An event is a member of each window with which its stretch shares a tick (`belongs`).
5. *Closing.* A window is final when no change after the watermark can alter it or its result (`is_closed`).
6. *Clipping.* A time-sensitive module sees lifetimes as the clipping policy has them (`clip`).
7. *Results.* Each module is called once with all members of a window that it accepts (`_call`).
8. *Timestamps.* The timestamp policy gives each result its lifetime (`_stamp`).

Queries that follow rows or events in order have no steps 2 to 5: `row_reference.py` and `stream_operator_run.py` run
their windows and operators one row at a time.
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
from muntin.query_checks import QueryShape, check_cause, check_computations, check_instance, check_needs, check_start
from muntin.rows import RowWindows
from muntin.testing.equality import equal
from muntin.testing.fitting import check_declared, check_evicted
from muntin.testing.key_lives import Life, lives_of
from muntin.testing.row_reference import HandlerRow, operator_rows, row_windows
from muntin.testing.stream_operator_run import stream_rows
from muntin.windows import Stretches, WindowKind, WindowSpecification
from muntin.windows.extent import Window
from muntin.windows.specification import Unwindowed


@dataclass(frozen=True, slots=True)
class Computation:
    """A module with the way from an event's payload to the module's input.

    Attributes:
        module: The module.
        select: The function from a payload to the module's input.
        accepts: The predicate of payloads whose input the module gets.
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
        keeps: The query's filter, a predicate of payloads. The query ignores all other events, except that the horizon
            is that of the whole input.
        event_ends_move: True if events may be revised, or are samples that last until the next one.
        forget_keys_after: The time for which a key may be silent before its next event begins a new life, in ticks;
            None if a key is never forgotten.
        order: The function from a payload to the place of its event among those of its time; null comes first. Events
            that are alike in it, or all of one time if it is None, keep their order.

    Raises:
        QueryError: The window is not a specification, or an operator is not alone or not for such a query.
        PolicyError: The windows do not fit the needs of a module, or a policy is not right for a module or for the
            windows. The engine refuses such queries too, by the same checks.
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
        check_computations(self.computations, Computation)
        self.check_events(())
        check_needs(self.modules, self.window)

    def check_events(self, events: Iterable[Event[object]]) -> None:
        """Refuse a query that the engine would refuse for input with these lifetimes.

        Raises:
            QueryError: As the constructor of the class; or the query follows rows in order, and an event does not last
                exactly one tick.
            PolicyError: As the constructor of the class.
        """
        are_points = all(event.end == event.start + 1 for event in events)
        shape = QueryShape(
            self.modules,
            self.window,
            clip=self.clip,
            timestamps=self.timestamps,
            forget_keys_after=self.forget_keys_after,
            lasting="" if are_points else "events with an end of their own",
        )
        shape.check()

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
        """Return the query that applies a stream operator, without windows.

        Args:
            operator: The operator.
            select: The function from a payload to the operator's input.
            accepts: The predicate of payloads whose input the operator gets.
        """
        return cls(Unwindowed(), [Computation(operator, select, accepts)])

    def in_order(self, events: Iterable[Event[Any]]) -> list[Event[Any]]:
        """Return events by time and, at one time, by the query's order."""

        def sort_key(event: Event[Any]) -> tuple[Any, ...]:
            """Return the start of an event and its order, if it has one."""
            order = None if self.order is None else self.order(event.payload)
            # The shorter of two tuples that begin alike sorts first: so null comes before all values of the order.
            return (event.start,) if order is None else (event.start, order)

        return sorted(events, key=sort_key)

    @property
    def kind(self) -> WindowKind:
        """The windows, which cut the axis."""
        assert isinstance(self.window, WindowKind), f"{self.window} does not cut the axis"
        return self.window

    @property
    def waits_for_ends(self) -> bool:
        """True if a window's result depends on ends that lie after it and may move."""
        # Clipped ends lie in the window, and time-bound results are computed from what is known at each of its ticks.
        if not self.event_ends_move or self.clip.clips_right or self.timestamps is TimestampPolicy.TIME_BOUND:
            return False
        return any(module.reads_times for module in self.modules)

    @property
    def is_operator(self) -> bool:
        """True if the query has an operator, which returns rows; False if it has aggregates."""
        return self.modules[0].is_operator


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """One row of the output's canonical history table.

    Attributes:
        window: The window from which it was computed; without windows, the tick of its cause.
        start: The start of its lifetime.
        end: The end of its lifetime.
        value: The row of an operator, or the tuple of the aggregates' results.
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
    all_events = list(events)
    query.check_events(all_events)
    # Events that the query does not keep advance the horizon all the same: they are part of the stream.
    limit = horizon_of(query.window, all_events, complete_to) if horizon is None else horizon
    history = [event for event in all_events if query.keeps(event.payload)]
    if isinstance(query.window, WindowKind):
        return _evaluate_windows(query, history, complete_to=complete_to, horizon=limit)

    ordered = query.in_order(history)
    if isinstance(query.modules[0], RowOperator):
        return _evaluate_row_operator(query, ordered, complete_to=complete_to, horizon=limit)
    if isinstance(query.modules[0], StreamOperator):
        return _evaluate_stream_operator(query, ordered, complete_to=complete_to, horizon=limit)
    assert isinstance(query.window, RowWindows), f"{query.window} do not follow rows"
    output: list[OutputEvent] = []
    for window, members in row_windows(query.window, ordered, complete_to=complete_to, horizon=limit):
        output += _evaluate_once(query, window, members)
    return output


def evaluate_evicted(
    query: WindowedQuery, events: Iterable[Event[object]], complete_to: int = INFINITY, horizon: int | None = None
) -> list[OutputEvent]:
    """Return the second output of one key: the rows that `on_evict` of a `RowOperator` returns, each at its tick.

    The arguments are those of `evaluate`.
    """
    all_events = list(events)
    limit = horizon_of(query.window, all_events, complete_to) if horizon is None else horizon
    history = query.in_order(event for event in all_events if query.keeps(event.payload))
    output: list[OutputEvent] = []
    for is_evicted, window, row in _rows_of_handlers(query, history, complete_to=complete_to, horizon=limit):
        if is_evicted:
            output.append(OutputEvent(window, window.start, window.end, row))
    return output


def _evaluate_windows(
    query: WindowedQuery, events: Sequence[Event[object]], complete_to: int, horizon: int
) -> list[OutputEvent]:
    """Return the output of windows that cut the axis: of those that are closed at the watermark `complete_to`."""
    output: list[OutputEvent] = []
    for life, window, members in windows_with_members(query, events, horizon):
        # Nothing can join a life that is over, so all of its windows are final.
        if complete_to >= life.end or is_closed(query, window, members, complete_to):
            output += evaluate_window(query, window, members)
    return output


def windows_with_members(
    query: WindowedQuery, events: Iterable[Event[object]], horizon: int
) -> Iterator[tuple[Life, Window, list[Event[object]]]]:
    """Yield the windows of one key that have members, each with the life that it is of and with its members.

    Every event is compared with every window: see `belongs`.

    Args:
        query: The query.
        events: The events of the key that the query keeps.
        horizon: The tick before which windows have to start that exist without events; see `evaluate`.
    """
    for life in lives_of(events, query.forget_keys_after):
        stretches: list[tuple[Event[object], int, int]] = []
        for event in life.events:
            start, end = query.kind.membership(event.start, event.end)
            if start < end:
                stretches.append((event, start, end))
        for window in life.cut(windows(query.kind, life.events, horizon)):
            members = [event for event, start, end in stretches if start < window.end and end > window.start]
            if members:
                yield life, window, members


def _evaluate_row_operator(
    query: WindowedQuery, events: Sequence[Event[object]], complete_to: int, horizon: int
) -> list[OutputEvent]:
    """Return the rows of a module that follows rows, without those of `on_evict`.

    The rows have the lifetimes that the timestamp policy gives them.

    The arguments are those of `evaluate`.
    """
    output: list[OutputEvent] = []
    for is_evicted, window, row in _rows_of_handlers(query, events, complete_to, horizon):
        if is_evicted:
            continue
        stamped = _stamp(query.timestamps, window, row)
        if stamped is not None:
            output.append(stamped)
    return output


def _rows_of_handlers(
    query: WindowedQuery, events: Sequence[Event[object]], complete_to: int, horizon: int
) -> list[HandlerRow]:
    """Return the rows of a module that follows the rows of a key, also those of `on_evict`, its second output.

    Each row is checked against the declared type of its output.

    The arguments are those of `evaluate`.
    """
    (computation,) = query.computations
    module = computation.module
    assert isinstance(module, RowOperator), f"{module.name} follows no rows"
    assert isinstance(query.window, RowWindows), f"{query.window} do not follow rows"
    # The windows follow all rows, also those that the module does not accept.
    inputs: list[tuple[Event[object], object, bool]] = []
    for event in events:
        is_accepted = computation.accepts(event.payload)
        module_input = computation.select(event.payload) if is_accepted else None
        inputs.append((event, module_input, is_accepted))
    rows = operator_rows(query.window, module, inputs, complete_to, horizon)
    for is_evicted, window, row in rows:
        if is_evicted:
            check_evicted(module, row, window)
        else:
            check_declared(module, [row], window)
    return rows


def _evaluate_stream_operator(
    query: WindowedQuery, events: Sequence[Event[object]], complete_to: int, horizon: int
) -> list[OutputEvent]:
    """Return the output of a module that follows the events of a key; events of one time keep their order.

    The arguments are those of `evaluate`.
    """
    (computation,) = query.computations
    module: Any = computation.module
    inputs = [
        Event(event.start, event.end, computation.select(event.payload))
        for event in events
        if computation.accepts(event.payload)
    ]
    output: list[OutputEvent] = []
    # The cause of a row is the time of the event or of the wake-up at which the module returned it. It stands in the
    # place of a window, and lasts one tick.
    for cause, start, end, row in stream_rows(module, inputs, complete_to, horizon):
        window = Window(cause, cause + 1)
        check_cause(module, start, cause)
        check_declared(module, [row], window)
        output.append(OutputEvent(window, start, end, row))
    return output


def horizon_of(kind: WindowSpecification, events: Iterable[Event[object]], complete_to: int = INFINITY) -> int:
    """Return the first tick past all starts, known ends and punctuation.

    Args:
        kind: The windows, whose reach is added to ends.
        events: The events of all keys.
        complete_to: The latest punctuation; `INFINITY` for a stream that was closed, which adds no tick.
    """
    ticks: list[int] = []
    if complete_to != INFINITY:
        ticks.append(complete_to)
    for event in events:
        ticks.append(event.start + 1)
        if event.end != INFINITY:
            ticks.append(event.end + kind.reach)  # a window may count an event for some time after its end
    return max(ticks, default=0)


def windows(kind: WindowKind, events: Iterable[Event[object]], horizon: int) -> list[Window]:
    """Return every window that could have a member, in order.

    Args:
        kind: The kind of windows.
        events: The events of one life of a key.
        horizon: The first tick past all known times, from `horizon_of`. It bounds the windows of an event without an
            end, which would be in infinitely many of those that exist without events, such as hopping ones.
    """
    stretches: list[tuple[int, int]] = []
    for event in events:
        start, end = kind.membership(event.start, event.end)
        if start < end:
            stretches.append((start, end))
    all_stretches = Stretches(stretches)
    # Windows that exist without events have to start before this tick.
    limit = INFINITY if kind.waits_for_events else horizon

    # Cut only the parts of the axis that have members. An event without an end is a member up to the horizon.
    bounded_stretches: list[tuple[int, int]] = []
    for start, end in all_stretches.all:
        bounded_stretches.append((start, limit if end == INFINITY else end))
    cut: set[Window] = set()
    for start, end in Stretches(bounded_stretches).covered:
        cut.update(kind.cut(all_stretches, start, end))

    # A late event without an end may have been moved to the watermark, so that it starts at the horizon or after it.
    # It is also a member of the windows there that began before the horizon.
    for start, end in all_stretches.all:
        if end == INFINITY and start >= limit:
            cut.update(window for window in kind.cut(all_stretches, start, start + 1) if window.start < limit)
    return sorted(cut)


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
    if window.end > complete_to:
        return False
    if query.kind.ends_move and window.end == complete_to:
        return False
    if query.waits_for_ends:
        return all(event.end < complete_to for event in members)
    return True


def evaluate_window(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[OutputEvent]:
    """Return the output of one window from all its members.

    Modules see, and results report, the extent of the window, which for some kinds is longer than the part of the axis
    that they cut.
    """
    window = query.kind.extent(window)
    if query.timestamps is TimestampPolicy.TIME_BOUND:  # its result changes as members start and end
        return _as_it_becomes_known(query, window, members)
    return _evaluate_once(query, window, members)


def _as_it_becomes_known(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[OutputEvent]:
    """Return the output of a window at each tick, computed from the input up to that tick.

    The result changes only at starts and ends of members. Neighbouring results with equal values are one output event.
    """
    # The members of some windows are all known at one tick: before it, there is no result.
    known_at = query.kind.known_at(window)
    first_tick = window.start if known_at is None else known_at
    ticks = {first_tick}
    for event in members:
        ticks.update(tick for tick in (event.start, event.end) if first_tick < tick < window.end)

    output: list[OutputEvent] = []
    for start, end in pairwise([*sorted(ticks), window.end]):
        members_so_far = [_as_of(query, event, start) for event in members if event.start <= start]
        if not members_so_far:
            continue
        for result in _evaluate_once(query, window, members_so_far):
            result_start = start
            # An equal result that lasted up to this tick goes on: its row grows, and no new row begins.
            for row in output:
                if row.end == start and equal(row.value, result.value):
                    output.remove(row)
                    result_start = row.start
                    break
            output.append(OutputEvent(window, result_start, end, result.value))
    return output


def _as_of(query: WindowedQuery, event: Event[object], tick: int) -> Event[object]:
    """Return the event as known at a tick: a later end may still move."""
    if query.event_ends_move and event.end > tick:
        return Event(event.start, INFINITY, event.payload)
    return event


def _evaluate_once(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[OutputEvent]:
    """Return the output of a window from its members, with the lifetimes of the timestamp policy."""
    output: list[OutputEvent] = []
    for result in _results(query, window, members):
        if query.timestamps is TimestampPolicy.UNCHANGED and isinstance(result, Event):
            check_start(query.modules[0], result, window)
        stamped = _stamp(query.timestamps, window, result)
        if stamped is not None:
            output.append(stamped)
    return output


def _results(query: WindowedQuery, window: Window, members: Sequence[Event[object]]) -> list[Any]:
    """Return the rows of the operator, or one tuple with the result of each aggregate."""
    results = [_call(query, computation, window, members) for computation in query.computations]
    if query.is_operator:
        rows = rows_of(results[0])
        check_declared(query.modules[0], rows, window)
        return rows
    for module, result in zip(query.modules, results, strict=True):
        check_declared(module, [result], window)
    return [tuple(results)]


def _call(query: WindowedQuery, computation: Computation, window: Window, members: Sequence[Event[object]]) -> Any:
    """Return a module's result for a window.

    A module that accepts no member is not called: the result is null, and an operator has no rows. If the module
    has an `empty_result`, that is its result, or its one row.
    """
    module: Any = computation.module
    accepted = [event for event in members if computation.accepts(event.payload)]
    if not accepted:
        empty = getattr(module, "empty_result", None)
        if module.is_operator:
            return () if empty is None else (empty,)
        return empty

    # The module sees members in order; to all others the order means nothing.
    if module.reads_order:
        accepted = query.in_order(accepted)
    inputs = [_input_of(query, computation, window, event) for event in accepted]
    window_argument = (window,) if module.is_time_sensitive else ()
    if not module.is_incremental:
        return module.compute_result(inputs, *window_argument)
    # All members in one call: by the laws, any split into calls gives the same.
    state = module.create_state(*window_argument)
    state = module.add_events(state, inputs, *window_argument)
    return module.compute_result(state, *window_argument)


def _input_of(query: WindowedQuery, computation: Computation, window: Window, event: Event[object]) -> object:
    """Return a member as the module gets it: the payload, or for a time-sensitive module an event with its lifetime."""
    payload = computation.select(event.payload)
    if not computation.module.is_time_sensitive:
        return payload
    return clip(Event(event.start, event.end, payload), window, query.clip)


def clip(event: Event[object], window: Window, policy: ClipPolicy) -> Event[Any]:
    """Clip the lifetime of a member for a module.

    A member by count or by reach may lie wholly outside its window on one side; clipping then leaves it alone on
    that side, since there is nothing inside to keep.
    """
    start = event.start
    end = event.end
    if policy.clips_left and event.end > window.start:
        start = max(event.start, window.start)
    if policy.clips_right and event.start < window.end:
        end = min(event.end, window.end)
    return Event(start, end, event.payload)


def _stamp(policy: TimestampPolicy, window: Window, result: object) -> OutputEvent | None:
    """Return a result with its lifetime; None if the policy leaves no tick of it."""
    value = result.payload if isinstance(result, Event) else result
    if policy is TimestampPolicy.POINT_AT_END:
        if window.end == INFINITY:
            return None
        return OutputEvent(window, window.end, window.end + 1, value)
    if not policy.is_set_by_module or not isinstance(result, Event):
        return OutputEvent(window, window.start, window.end, value)
    if policy is TimestampPolicy.UNCHANGED:
        return OutputEvent(window, result.start, result.end, value)
    # CLIP: the part of the module's lifetime that lies in the window.
    start = max(result.start, window.start)
    end = min(result.end, window.end)
    return OutputEvent(window, start, end, value) if start < end else None
