"""The laws of kinds of windows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice, pairwise, starmap, takewhile
from typing import Any, ClassVar, Final

from hypothesis import strategies as st

from muntin.axis import EARLIEST, INFINITY
from muntin.drawings import Bar
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Law, Trial
from muntin.windows import Periods, Stretches, WindowContext, WindowKind
from muntin.windows.extent import Window
from muntin.windows.kind import next_frontier
from muntin.windows.regular import GrowingSteps, RegularWindows

MOST_WINDOWS: Final = 20_000
"""A cut with more windows than this is taken for one that never ends."""

Lifetime = tuple[int, int]


class WindowKindTrial(Trial):
    """Draws events of one key, and what becomes of them after a watermark.

    Attributes:
        kind: The windows.
        scale: The number of ticks in a step.
    """

    def __init__(self, law: Law, laws: Any, data: object) -> None:
        """Prepare an attempt."""
        super().__init__(law, laws, data)
        self.kind = self.another()
        self.scale: int = laws.scale
        self._numbers = count(1_000)  # of events that come later; those that are forgotten keep theirs
        self.first = -60 * self.scale
        self.last = 160 * self.scale

    def another(self) -> WindowKind:
        """Return a fresh copy of the windows, without anything cached."""
        kind: WindowKind = replace(self.tested)
        return kind

    def tick(self) -> int:
        """Draw a tick near the events."""
        return self.draw(st.integers(-15, 60)) * self.scale + self._near()

    def lifetime(self) -> Lifetime:
        """Draw the lifetime of an event."""
        start = self.draw(st.integers(-10, 40)) * self.scale + self._near()
        length = self.draw(st.sampled_from([1, 1, 2, 5, 9, 20, None]))
        event = (start, INFINITY if length is None else start + max(1, length * self.scale + self._near()))
        self.stream.append(Bar("event", *event))
        return event

    def history(self) -> list[Lifetime]:
        """Draw the events that are known."""
        return [self.lifetime() for _ in range(self.draw(st.integers(0, 7)))]

    def continued(self) -> tuple[list[Lifetime], int, list[Lifetime]]:
        """Draw events, a watermark, and what the events are some time after it."""
        history, watermark = self.history(), self.tick()
        return history, watermark, list(self.later(dict(enumerate(history)), watermark).values())

    def later(self, events: Mapping[int, Lifetime], watermark: int) -> dict[int, Lifetime]:
        """Draw what a legal stream may make of events after a watermark: changes at the watermark or later."""
        self.stream.append(f"watermark {watermark}")
        changed = dict(events)
        for id, (start, end) in events.items():
            what = self.draw(st.sampled_from(["stays", "stays", "ends", "goes"]))
            if what == "goes" and start >= watermark:
                del changed[id]
                self.stream.append(Bar("goes", start, end))
            elif what == "ends" and end >= watermark:
                least = max(watermark, start + 1)
                new_end = self.draw(
                    st.sampled_from([least, least + self.draw(st.integers(0, 20)) * self.scale, INFINITY])
                )
                changed[id] = (start, new_end)
                self.stream.append(Bar("ends", start, new_end))
        for _ in range(self.draw(st.integers(0, 3))):
            start = watermark + self.draw(st.integers(0, 20)) * self.scale + abs(self._near())
            length = self.draw(st.sampled_from([1, 2, 9, None]))
            changed[next(self._numbers)] = event = (start, INFINITY if length is None else start + length * self.scale)
            self.stream.append(Bar("comes", *event))
        return changed

    def limit(self, watermark: int) -> int:
        """Return up to where windows have ended at a watermark."""
        return watermark - 1 if self.kind.ends_move else watermark

    def stretch(self, event: Lifetime) -> Lifetime:
        """Return the stretch on which an event counts."""
        since, until = self.ask("membership", *event)
        return since, until

    def members(self, events: Iterable[Lifetime]) -> list[Lifetime]:
        """Return the stretches of the events that count somewhere."""
        return [stretch for stretch in map(self.stretch, events) if stretch[0] < stretch[1]]

    def stretches(self, events: Iterable[Lifetime]) -> Stretches:
        """Return the stretches of some events, none of which was forgotten."""
        return Stretches(self.members(events))

    def cut(
        self, known: Stretches, start: int | None = None, end: int | None = None, kind: WindowKind | None = None
    ) -> list[Window]:
        """Return the windows on a part of the axis, by default on all of it that may have events."""
        asked = self.kind if kind is None else kind
        last = INFINITY if asked.waits_for_events else self.last
        span = (self.first if start is None else start, last if end is None else end)
        windows = self.call("cut", lambda: list(islice(asked.cut(known, *span), MOST_WINDOWS)))
        self.expect(len(windows) < MOST_WINDOWS, f"cut yields {MOST_WINDOWS} windows and more: {windows[:3]}")
        return windows

    def windows_of(self, known: Stretches, event: Lifetime) -> list[Window]:
        """Return the windows of an event, as far as the axis may have events."""
        last = INFINITY if self.kind.waits_for_events else self.last

        def found() -> list[Window]:
            of_event = takewhile(lambda window: window.start < last, self.kind.windows_of(known, *event))
            return list(islice(of_event, MOST_WINDOWS))

        return self.call("windows_of", found)

    def with_members(self, events: Collection[Lifetime], known: Stretches | None = None) -> list[Window]:
        """Return the windows that have a member."""
        members = self.members(events)
        windows = self.cut(self.stretches(events) if known is None else known)
        return [w for w in windows if any(start < w.end and end > w.start for start, end in members)]

    def windows_on(self, grid: RegularWindows) -> list[Window]:
        """Return the windows of a grid on the part of the axis that may have events; where periods are, some empty."""
        periods, ends = grid.periods, (self.first, self.last)
        first, last = ends if periods is None else (self.number_at(periods, tick) for tick in ends)
        first = (first - grid.size - grid.offset) // grid.hop * grid.hop + grid.offset
        windows = [Window(start, start + grid.size) for start in range(first, last + 1, grid.hop)]
        if periods is not None:
            windows = [Window(*(self.begins(periods, number) for number in (w.start, w.end))) for w in windows]
        return [window for window in windows if window.start < self.last]

    def number_at(self, periods: Periods, tick: int) -> int:
        """Return the number of the period of a tick, which has to lie in it."""
        number = self.call("number_at", periods.number_at, tick)
        begins, ends = self.begins(periods, number), self.begins(periods, number + 1)
        self.expect(begins <= tick < ends, f"number_at({tick}) is {number}, the period [{begins}, {ends})")
        return number

    def begins(self, periods: Periods, number: int) -> int:
        """Return the start of a period."""
        return self.call("begins", periods.begins, number)

    def expect_equal(self, left: str, some: Sequence[Window], right: str, others: Sequence[Window]) -> None:
        """Raise unless two lists of windows are equal."""
        self.expect(list(some) == list(others), lambda: f"{left}: {_told(some)}\n{right}: {_told(others)}")

    def ask(self, method: str, *arguments: object) -> Any:
        """Call a method of the kind; an exception breaks the law."""
        __tracebackhide__ = True
        return self.call(method, getattr(self.kind, method), *arguments)

    def _near(self) -> int:
        return self.draw(st.sampled_from([0, 0, -1, 1])) if self.scale > 1 else 0


def _told(windows: Sequence[Window]) -> str:
    return ", ".join(f"[{window.start}, {window.end})" for window in windows) or "no windows"


class WindowKindLaws(Conformance, of=WindowKind, subject="kind", trial=WindowKindTrial):
    """The laws of a kind of windows, tried on random streams of one key.

    Attributes:
        kind: Windows of the kind under test, with lengths of a few ticks, or of a few times `scale`.
        scale: The number of ticks in a step of the random streams; for a kind whose lengths are fixed, such as days.

    Example:
        >>> from muntin import hopping
        >>> class TestHops(WindowKindLaws):
        ...     kind = hopping(10, 4, reach=3)
        >>> TestHops().test_windows_that_ended_are_settled()
    """

    kind: ClassVar[WindowKind]
    scale: ClassVar[int] = 1

    @law("let each window start and end later than the one before it, and end after it starts")
    def test_windows_ascend_in_start_and_in_end(self, trial: WindowKindTrial) -> None:
        """Windows come in order, and none lies within another."""
        windows = trial.cut(trial.stretches(trial.history()))
        for window in windows:
            trial.expect(window.start < window.end, f"{window} is empty")
        for first, second in pairwise(windows):
            trial.expect(first.start < second.start and first.end < second.end, f"{second} comes after {first}")
        last = EARLIEST
        for window in windows:
            begin = trial.ask("extent_start", window.start)
            if not last <= begin <= window.start:
                raise trial.broken(f"the extent of {window} begins at {begin}, and that of the one before at {last}")
            last = begin

    @law("yield all windows that share a tick with [start, end), and no others")
    def test_a_part_is_the_whole_cut_restricted(self, trial: WindowKindTrial) -> None:
        """Asked for a part of the axis, a kind yields the windows of the whole cut that lie on that part."""
        known = trial.stretches(trial.history())
        whole, start = trial.cut(known), trial.tick()
        end = start + trial.draw(st.integers(1, 30)) * trial.scale
        part = trial.cut(known, start, end)
        expected = [window for window in whole if window.start < end and window.end > start]
        trial.expect_equal(f"cut(known, {start}, {end})", part, "of the whole cut", expected)

    @law("cut by known alone: keep nothing between calls")
    def test_only_the_set_of_stretches_matters(self, trial: WindowKindTrial) -> None:
        """Windows do not depend on the order of events, on the number with equal stretches, or on earlier calls."""
        history = trial.history()
        kind = trial.another()
        expected = trial.cut(trial.stretches(history))
        trial.cut(trial.stretches(history[: len(history) // 2]), kind=kind)
        trial.cut(trial.stretches(trial.history()), kind=kind)
        again = Stretches([*reversed(trial.members(history)), *trial.members(history)])
        trial.expect_equal("asked again", trial.cut(again, kind=kind), "asked first", expected)

    @law("let membership begin at the start of the event or later")
    def test_a_stretch_never_begins_before_its_event(self, trial: WindowKindTrial) -> None:
        """An event counts from its start on at the earliest; where windows do not wait, until its reach is over."""
        for start, end in trial.history():
            since, until = trial.ask("membership", start, end)
            if not start <= since <= until:
                raise trial.broken(f"membership({start}, {end}) is {(since, until)}")
            if not trial.kind.waits_for_events and end < INFINITY and end + trial.kind.reach < until < INFINITY:
                raise trial.broken(f"membership({start}, {end}) ends at {until}, and the reach is {trial.kind.reach}")

    @law("let windows that ended depend on nothing that may still come; or say ends_move = True")
    def test_windows_that_ended_are_settled(self, trial: WindowKindTrial) -> None:
        """Whatever comes after a watermark, windows that ended by then are what they were.

        With `ends_move`, those that ended before it.
        """
        history, watermark, later = trial.continued()
        limit = trial.limit(watermark)
        before, after = (
            [window for window in trial.with_members(events) if window.end <= limit] for events in (history, later)
        )
        trial.expect_equal(f"ended by {limit}", before, "later", after)

    @law("return from unborn the least start of a window that known stretches may still open")
    def test_later_windows_start_where_they_may(self, trial: WindowKindTrial) -> None:
        """No later event opens a window before the first open one, `unborn` and the watermark.

        Where windows do not wait for events, none before the first that ends after the watermark.
        """
        history, watermark, later = trial.continued()
        known, limit = trial.stretches(history), trial.limit(watermark)
        before = trial.with_members(history)
        if trial.kind.waits_for_events:
            starts = [watermark, trial.ask("unborn", known), *(w.start for w in before if w.end > limit)]
        else:
            starts = [window.start for window in trial.cut(known, watermark, trial.last)[:1]]
        least = min(starts, default=EARLIEST)
        for window in trial.with_members(later):
            if window not in before and window.start < least:
                raise trial.broken(f"after the watermark {watermark}, {window} starts before {least}")

    @law("return from carried what cut needs of the stretches that end at the frontier or before")
    def test_what_is_carried_replaces_what_is_forgotten(self, trial: WindowKindTrial) -> None:
        """Once events are forgotten, windows from the frontier on are those that all events would make."""
        whole = dict(enumerate(trial.history()))
        kept, known, watermark = dict(whole), trial.stretches(whole.values()), EARLIEST
        for _ in range(2):
            watermark = max(watermark, trial.tick())
            limit = trial.limit(watermark) - trial.draw(st.sampled_from([0, 0, 3])) * trial.scale
            frontier = next_frontier(trial.kind, known, limit)
            carried = trial.ask("carried", known, frontier) if frontier > known.frontier else known.carried
            kept = {id: e for id, e in kept.items() if trial.stretch(e)[1] > frontier or e[1] >= watermark}
            left_over = len(kept)
            changed = trial.later(kept, watermark)
            whole = {id: e for id, e in whole.items() if id not in kept} | changed
            kept = changed
            known = Stretches(trial.members(kept.values()), frontier, carried)
            if not left_over and not trial.ask("outlives", carried):
                known = Stretches(trial.members(kept.values()))
            left, right = (
                [window for window in trial.with_members(events.values(), of) if window.start >= frontier]
                for events, of in ((kept, known), (whole, trial.stretches(whole.values())))
            )
            trial.expect_equal(f"from {frontier} on, with {carried!r} carried", left, "with all events", right)

    @law("let affected_stretch cover all that may change when a stretch comes, goes, or changes its end")
    def test_a_change_stays_where_the_kind_says(self, trial: WindowKindTrial) -> None:
        """A window that comes or goes with an event, or with its end, lies where `affected_stretch` says."""
        others, (start, end) = trial.history(), trial.lifetime()
        new_end = trial.draw(st.sampled_from([None, start + trial.draw(st.integers(1, 20)) * trial.scale, INFINITY]))
        versions = [(start, end)] if new_end is None else [(start, end), (start, new_end)]
        before, after = [*others, versions[0]], [*others, *versions[1:]]
        stretches = [(trial.stretch(e), e[1]) for e in versions if trial.stretch(e)[0] < trial.stretch(e)[1]]
        if not stretches:
            return
        first, last = min(s[0] for s, _ in stretches), max(s[1] for s, _ in stretches)
        if len(stretches) == 2 and all(s[0] == first and s[1] >= until for s, until in stretches):
            first = min(until for _, until in stretches)
        since, until = trial.ask("affected_stretch", first, last)
        changed = set(trial.with_members(before)) ^ set(trial.with_members(after))
        for window in sorted(changed):
            if window.start >= until or window.end <= since:
                raise trial.broken(f"affected_stretch({first}, {last}) is {(since, until)}, and {window} comes or goes")

    @law("let grid, growing, fuses_within and cuts_at_edges say what makes the same windows and members, or nothing")
    def test_a_shortcut_makes_the_same_windows(self, trial: WindowKindTrial) -> None:
        """A grid, steps, a gap within which events fuse, or edges make the windows of `cut`, with the same members.

        Where a grid counts `Periods`, a tick lies in the one that `number_at` says. Kinds that return nothing
        from `grid`, `growing` and `fuses_within`, and False from `cuts_at_edges`, take no shortcut.
        """
        history = trial.history()
        steps: GrowingSteps | None = trial.ask("growing")
        if steps is not None:
            points = [(start, start + 1) for start, _ in history]
            starts = {start: steps.around(start) for start, _ in points}
            wanted = [(start, end) for start, (since, end) in starts.items() if since <= start]
            counted = sorted(set(trial.members(points)))
            trial.expect(counted == sorted(wanted), lambda: f"events count on {counted}, not on {wanted}")
            grown = [
                Window(steps.around(step.start)[0], step.end)
                for step in trial.windows_on(steps)
                if any(start < step.end and end > step.start for start, end in wanted)
            ]
            windows = [window for window in trial.with_members(points) if window.start < trial.last]
            extents = [Window(trial.ask("extent_start", window.start), window.end) for window in windows]
            trial.expect_equal("of the steps", grown, "windows", extents)
        grid, gap = trial.ask("grid"), trial.ask("fuses_within")
        stretches, windows = trial.members(history), trial.with_members(history)
        if gap is not None:
            wanted = [(start, end if end == INFINITY else end - 1 + gap) for start, end in history]
            trial.expect(sorted(stretches) == sorted(wanted), lambda: f"members count on {stretches}, not on {wanted}")
            parts = [Window(*part) for part in Stretches(wanted).covered]
            trial.expect_equal("what is connected", parts, "windows", windows)
        if trial.ask("cuts_at_edges"):
            trial.expect(
                sorted(stretches) == sorted(history), lambda: f"members count on {stretches}, not as they last"
            )
            between = starmap(Window, pairwise(Stretches(history).edges))
            held = [w for w in between if any(start < w.end and end > w.start for start, end in history)]
            trial.expect_equal("between edges", held, "windows", windows)
        if grid is not None:
            same = grid.periods == trial.ask("grid").periods and type(grid.periods).__hash__ is not None
            told = f"{grid.periods!r} is another one each time, or cannot be hashed: make it a frozen dataclass"
            trial.expect(same, lambda: told)
            on_grid = [window for window in trial.windows_on(grid) if window.start < window.end]
            held = [w for w in on_grid if any(start < w.end and end > w.start for start, end in history)]
            for start, _ in history if grid.periods is not None else ():
                trial.number_at(grid.periods, start)
            trial.expect_equal("on the grid", held, "windows", [w for w in windows if w.start < trial.last])

    @law("let members and windows_of be two definitions of one thing: which event is in which window")
    def test_members_and_windows_are_dual(self, trial: WindowKindTrial) -> None:
        """An event is a member of a window if, and only if, that window is one of the event's.

        So `members` and `windows_of` are two definitions of one thing. By default both follow from `membership`
        and `cut`, and there is nothing to compare: override `members` with the definition that users of the
        windows know, and the law checks the one against the other. Muntin's own kinds are compared with their
        definitions in the reference evaluator.
        """
        history = trial.history()
        known = trial.stretches(history)
        windows, of = trial.cut(known), {event: trial.windows_of(known, event) for event in history}
        for event, own in of.items():
            strange = [window for window in own if window not in windows]
            trial.expect(not strange, f"windows_of yields {strange} for {event}, which cut does not")
        for window in windows:
            members = sorted(trial.ask("members", window, history))
            wanted = sorted(event for event in history if window in of[event])
            trial.expect(members == wanted, f"{window} has {members}, and is a window of {wanted}")

    @law("say as context what the windows of an event depend on besides its own times")
    def test_windows_depend_on_no_more_than_the_context(self, trial: WindowKindTrial) -> None:
        """Events of which a kind says that they do not matter leave the windows of another event as they are.

        A kind says so by its `context`.
        """
        context, history = trial.kind.context, trial.history()
        if context is WindowContext.FORWARD:
            return
        for event in history:
            is_free = context is WindowContext.FREE
            needed = [other for other in history if other == event or (not is_free and other[0] <= event[0])]
            some, all_of_them = (trial.windows_of(trial.stretches(events), event) for events in (needed, history))
            trial.expect_equal(f"windows of {event}", some, "with all events", all_of_them)

    @law("make the fields plain data, and let to_dict and from_dict be inverse")
    def test_the_kind_and_what_it_carries_are_plain_data(self, trial: WindowKindTrial) -> None:
        """The kind, and what is carried of the past, can be written into a checkpoint and read again."""
        kind = trial.kind
        data = trial.ask("to_dict")
        try:
            read: Any = json.loads(json.dumps(data))
        except (TypeError, ValueError) as error:
            raise trial.broken(f"{data!r} cannot be stored: {error}") from None
        trial.expect(
            read.get("kind") == kind.name and read.get("version") == kind.version,
            lambda: f"{data!r} does not say {kind.name} and {kind.version}",
        )
        again = trial.ask("from_dict", read)
        trial.expect(again == kind, lambda: f"{kind!r} is read as {again!r}")
        trial.stored(trial.ask("carried", trial.stretches(trial.history()), trial.tick()))
