"""Compute windows by calling modules under the query's policies: one window by itself, or many in one sweep."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from muntin import INFINITY, ClipPolicy, Event, TimestampPolicy, Window
from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import safe_cause
from muntin.modules.aggregate import rows_of
from muntin.query_checks import check_start
from muntin.windows import WindowKind, WindowSpecification
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_id, by_since, by_until
from muntin_engine.evaluators.keyed.live_output import OutputRow
from muntin_engine.evaluators.keyed.sequence import in_sequence
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.calls import CURRENT_CALL
from muntin_engine.modules.skipping import SKIPPED, Present, payloads_of
from muntin_engine.plan.evaluator_query import EvaluatorQuery

T = TypeVar("T")


Extent: TypeAlias = Callable[[Window], Window]
"""Maps a window that the engine works with to its extent: the window that modules see and results report."""


def extent_of(query: EvaluatorQuery) -> Extent | None:
    """Return the function from windows to their extents; None if each window is its own extent.

    The last extents are cached, so that all calls for a window get the same object.
    """
    kind: WindowSpecification = query.window
    if not isinstance(kind, WindowKind) or type(kind).extent_start is WindowKind.extent_start:
        return None
    return lru_cache(maxsize=16)(kind.extent)


class ModuleComputation:
    """One module of a query. An exception inside it names module, version, key, window and method.

    Attributes:
        module: The module.
        is_incremental: True if it keeps a state from one result to the next. One that reads the order of events does
            only where they come in it: over windows of time a late one may lie before those that are in the state.
        can_remove: True if events can be taken out of a state again; of one that reads the order, the oldest.
        is_choosy: True if it does not accept every payload.
        can_slide: True if the state of a window can be updated to that of the next, at least if no event leaves. That
            is so if the module's view of an event does not depend on the window.
    """

    def __init__(
        self,
        binding: Binding,
        clip: ClipPolicy,
        extent: Extent | None = None,
        place: Callable[[StoredEvent], tuple[Any, ...]] | None = None,
    ) -> None:
        """Prepare to call a module.

        Args:
            binding: The module.
            clip: The part of lifetimes that it sees.
            extent: The function from windows to their extents; None if each window is its own extent.
            place: Returns the place of an event in their order; None where events come in it.
        """
        self.module: Any = binding.module
        self._called = binding.called
        self.is_choosy = binding.called is not binding.module
        self._place = place if binding.module.reads_order else None
        self.is_incremental = binding.module.is_incremental and self._place is None
        self.can_remove = self.is_incremental and hasattr(binding.module, "remove_events")
        self.can_slide = self.is_incremental and not binding.module.is_time_sensitive
        self._label = f"{binding.module.name} {binding.module.version}"
        self._select = binding.select
        self._meter = binding.meter
        self._clip = clip
        self._extent = extent
        self._is_time_sensitive = binding.module.is_time_sensitive
        self._reads_times = binding.module.reads_times
        self._plain = binding.plain
        is_plain = binding.plain is None and not binding.module.is_operator
        self._compute = self._called.compute_result if is_plain else self._compute_plain

    @property
    def sees_events(self) -> bool:
        """True if it sees more of events than their payloads, or looks at it to find their order."""
        return self._is_time_sensitive or self._place is not None

    def payloads(self, columns: Sequence[list[Any]], count: int) -> list[Any]:
        """Return what it sees of rows that are given as columns, unless it `sees_events`; `SKIPPED` if nothing."""
        return payloads_of(self._select, columns, count)

    def see(self, events: Iterable[StoredEvent], window: Window) -> list[object]:
        """Return members as the module sees them: their payloads, or events with clipped lifetimes.

        Members whose input it skips, such as a null, are left out. A module that reads the order gets them in it; of
        those at one place, what it sees decides, which is the same whatever else is known of them.
        """
        select = self._select
        if self._place is not None:
            return self._see_in_order(events, window, self._place)
        if not self._is_time_sensitive:
            if type(select) is Present:
                place = select.place
                return [value for event in events if (value := event.payload[place]) is not None]
            return [payload for event in events if (payload := select(event.payload)) is not SKIPPED]
        seen = [(event, payload) for event in events if (payload := select(event.payload)) is not SKIPPED]
        if self._clip is ClipPolicy.NONE:
            return [Event(event.start, event.end, payload) for event, payload in seen]
        return [Event(*self.lifetime(event.start, event.end, window), payload) for event, payload in seen]

    def _see_in_order(
        self, events: Iterable[StoredEvent], window: Window, place: Callable[[StoredEvent], tuple[Any, ...]]
    ) -> list[object]:
        select = self._select
        seen = [(event, payload) for event in events if (payload := select(event.payload)) is not SKIPPED]
        if not self._is_time_sensitive:
            return [payload for _, payload in in_sequence(seen, lambda pair: place(pair[0]), itemgetter(1))]
        # of equal payloads alone the ends decide, which may still move
        timed = [(event, Event(*self.lifetime(event.start, event.end, window), payload)) for event, payload in seen]
        in_order = in_sequence(timed, lambda pair: place(pair[0]), lambda pair: (pair[1].payload, pair[1].end))
        return [event for _, event in in_order]

    def lifetime(self, start: int, end: int, window: Window) -> tuple[int, int]:
        """Return a member's lifetime as the module sees it.

        A member by count or by reach may lie wholly outside the window; it is then not clipped on that side.
        """
        if self._extent is not None:
            window = self._extent(window)
        clipped_start = max(start, window.start) if self._clip.clips_left and end > window.start else start
        clipped_end = min(end, window.end) if self._clip.clips_right and start < window.end else end
        return clipped_start, clipped_end

    def looks_alike(self, before: StoredEvent, after: StoredEvent, window: Window) -> bool:
        """True if two versions of an event are the same to the module, so that its result for the window stays."""
        return not self._reads_times or (
            self.lifetime(before.start, before.end, window) == self.lifetime(after.start, after.end, window)
        )

    def add(self, state: object, events: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return a state with more members."""
        seen = self.see(events, window)
        return self.call("add_events", key, window, self._called.add_events, state, seen) if seen else state

    def remove(self, state: object, events: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return a state with fewer members."""
        seen = self.see(events, window)
        return self.call("remove_events", key, window, self._called.remove_events, state, seen) if seen else state

    def build(self, members: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return the state of a window from all its members."""
        state, seen = self.call("create_state", key, window, self._called.create_state), self.see(members, window)
        return self.call("add_events", key, window, self._called.add_events, state, seen) if seen else state

    def upgrade(self, state: object, version: str, key: object, window: Window) -> object:
        """Convert a state that an older version of the module wrote."""
        return self.call("upgrade_state", key, window, self._called.upgrade_state, state, version)

    def result_of_state(self, state: object, key: object, window: Window) -> object:
        """Return a result from a state."""
        return self.call("compute_result", key, window, self._compute, state)

    def result_of_members(self, members: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return a result from all members of a window."""
        return self.result_of_seen(self.see(members, window), key, window)

    def result_of_seen(self, seen: list[object], key: object, window: Window) -> object:
        """Return a result from all members of a window, as the module sees them."""
        if not self.module.is_incremental:
            return self.call("compute_result", key, window, self._compute, seen)
        state = self.call("create_state", key, window, self._called.create_state)
        if seen:
            state = self.call("add_events", key, window, self._called.add_events, state, seen)
        return self.result_of_state(state, key, window)

    def _compute_plain(self, *arguments: object) -> object:
        """Return a result as plain data."""
        result = self._called.compute_result(*arguments)
        if self.module.is_operator:
            rows = rows_of(result)
            return rows if self._plain is None else list(map(self._plain, rows))
        return result if self._plain is None else self._plain(result)

    def call(self, name: str, key: object, window: Window, method: Callable[..., T], *arguments: object) -> T:
        """Return the result of a method of the module, which may be a handler of one that follows rows."""
        if self._extent is not None:
            window = self._extent(window)
        if CURRENT_CALL.window is not window or CURRENT_CALL.key is not key or CURRENT_CALL.label is not self._label:
            CURRENT_CALL.set_window(self._label, key, window)
        meter = self._meter
        if meter.skips:
            meter.skips -= 1
        else:
            method = meter.timed(method)
        try:
            return method(*arguments, window) if self._is_time_sensitive else method(*arguments)
        except BaseException as error:  # an exit, too, is the module's failure
            failed = ModuleFailedError(self.module.name, self.module.version, key, window, name, error)
            raise failed from safe_cause(error)


class Timestamper:
    """Turns the results of a window into rows with lifetimes."""

    def __init__(self, query: EvaluatorQuery) -> None:
        self._policy = query.timestamps
        self._is_operator = query.is_operator
        self._module = query.bindings[0].module
        self._is_of_window = not query.timestamps.is_set_by_module
        self._known_at = query.window.known_at if query.is_cut_at_changes else None
        self._extent = extent_of(query)

    def rows(self, key: object, window: Window, results: Sequence[Any]) -> list[OutputRow]:
        """Return the rows of a window of a key from one result per computation.

        Raises:
            ModuleContractError: A module's output starts before its window, and the policy keeps it.
        """
        if self._extent is not None:
            window = self._extent(window)
        start, end = window.start, window.end
        if self._policy is TimestampPolicy.POINT_AT_END:
            if end == INFINITY:
                return []
            start, end = end, end + 1
        elif self._known_at is not None and (known_at := self._known_at(window)) is not None:
            start = known_at
        if not self._is_operator:
            return [OutputRow(start, end, tuple(results))]
        rows: list[OutputRow] = []
        for value in results[0]:
            if not isinstance(value, Event):
                rows.append(OutputRow(start, end, value))
            elif self._is_of_window:
                rows.append(OutputRow(start, end, value.payload))
            elif self._policy is TimestampPolicy.UNCHANGED:
                check_start(self._module, value, window, key)
                rows.append(OutputRow(value.start, value.end, value.payload))
            else:
                clipped = OutputRow(max(value.start, start), min(value.end, end), value.payload)
                rows += [clipped] if clipped.start < clipped.end else []
        return rows


class SweptWindow(NamedTuple):
    """One window of a sweep.

    Attributes:
        window: The window.
        members: All its members, by id. The next step changes it.
        entered: The members that the previous window did not have.
        left: The members of the previous window that this one does not have.
    """

    window: Window
    members: dict[Hashable, StoredEvent]
    entered: list[StoredEvent]
    left: list[StoredEvent]


def sweep(windows: Iterable[Window], leaving: Sequence[StoredEvent]) -> Iterator[SweptWindow]:
    """Yield windows in order, each with its members, unless neither it nor the window before it has any.

    Args:
        windows: Ordered by start and by end.
        leaving: The members, in order of the ends of their memberships.

    Cost:
        Sorting the members by start; then each enters once and leaves once, however much the windows overlap. The
        members of a window are not copied.
    """
    entering = sorted(leaving, key=by_since)
    members: dict[Hashable, StoredEvent] = {}
    came = went = 0
    for window in windows:
        start, end = window.start, window.end
        place = bisect_left(entering, end, came, key=by_since)
        entered = [event for event in entering[came:place] if event.until > start]
        members.update(zip(map(by_id, entered), entered, strict=True))
        came, place = place, bisect_right(leaving, start, went, key=by_until)
        left = [event for event in leaving[went:place] if members.pop(event.id, None) is not None]
        went = place
        if members or left:
            yield SweptWindow(window, members, entered, left)


class Slide:
    """Computes the results of one module along a sweep, in the cheapest way that the module allows.

    A state that does not depend on the window slides: events that left are removed, events that entered are added. It
    is rebuilt from the members where more events left than stayed, or where the module cannot remove those that left.
    """

    __slots__ = ("_computation", "_is_at_step", "_key", "_state")

    def __init__(self, computation: ModuleComputation, key: object) -> None:
        self._computation = computation
        self._key = key
        self._state: Any = None
        self._is_at_step = False

    def result(self, step: SweptWindow) -> Any:
        """Return the module's result for a step that has members."""
        computation, key, (window, members, entered, left) = self._computation, self._key, step
        if not computation.can_slide:
            return computation.result_of_members(members.values(), key, window)
        if not self._is_at_step or len(left) > len(members) or (left and not self._can_remove(step)):
            state = computation.build(members.values(), key, window)
        else:
            state = computation.remove(self._state, left, key, window) if left else self._state
            state = computation.add(state, entered, key, window)
        self._state, self._is_at_step = state, True
        return computation.result_of_state(state, key, window)

    def _can_remove(self, step: SweptWindow) -> bool:
        """True if those that left can be taken out of the state; where it has an order, the oldest alone can."""
        computation = self._computation
        return computation.can_remove and (not computation.module.reads_order or _are_oldest(step))

    def skip(self) -> None:
        """Skip a step; the state is rebuilt at the next one."""
        self._state, self._is_at_step = None, False


def _are_oldest(step: SweptWindow) -> bool:
    """True if the rows that left came before all that are left, of rows that are numbered as they came."""
    oldest: Any = next(iter(step.members), INFINITY)
    return all(oldest > event.id for event in step.left)


class WindowResults:
    """Computes the results of windows and gives them lifetimes.

    Attributes:
        extent: The function from windows to their extents; None if each window is its own extent.
        computations: The modules of the query.
        stamper: Gives results their lifetimes.
    """

    def __init__(self, query: EvaluatorQuery, *, in_order: bool = False) -> None:
        """Prepare to compute the windows of a query, whose events come in order or not."""
        self.extent = extent_of(query)
        place = None if in_order else query.place
        self.computations = [ModuleComputation(binding, query.clip, self.extent, place) for binding in query.bindings]
        self.stamper = Timestamper(query)

    def slides(self, key: object) -> list[Slide]:
        """Return a `Slide` per module, which carries its state from window to window of a key."""
        return [Slide(computation, key) for computation in self.computations]

    def rows(self, key: object, steps: Iterable[SweptWindow]) -> Iterator[tuple[SweptWindow, list[OutputRow]]]:
        """Yield the steps of a sweep that have members, with their rows."""
        stamped = self.stamper.rows
        for step, values in self.values(key, steps):
            yield step, stamped(key, step.window, values)

    def values(self, key: object, steps: Iterable[SweptWindow]) -> Iterator[tuple[SweptWindow, list[Any]]]:
        """Yield the steps of a sweep that have members, with the result of each module."""
        slides = self.slides(key)
        for step in steps:
            if step.members:
                yield step, [slide.result(step) for slide in slides]
            else:
                for slide in slides:
                    slide.skip()


def results_in_order(query: EvaluatorQuery) -> WindowResults:
    """Return the computation of windows for a query whose events come in order; for `once`."""
    return WindowResults(query, in_order=True)
