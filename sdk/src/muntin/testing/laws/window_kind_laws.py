"""The laws of kinds of windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, starmap
from typing import Any, ClassVar

from hypothesis import strategies as st

from muntin.axis import EARLIEST, INFINITY
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.law import Law, law
from muntin.testing.laws.window_kind_trial import WindowKindTrial
from muntin.testing.plain_data import restored
from muntin.testing.window_meaning import members_defined
from muntin.windows import Stretches, WindowContext, WindowKind
from muntin.windows.extent import Window
from muntin.windows.kind import next_frontier


class WindowKindLaws(Conformance):
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

    _subject_name: ClassVar[str] = "kind"
    _subject_type: ClassVar[type] = WindowKind

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once, on fresh windows."""
        body(cls(), WindowKindTrial(law, cls.subject(), cls.scale, data))

    @law("let each window start and end later than the one before it, and end after it starts")
    def test_windows_ascend_in_start_and_in_end(self, trial: WindowKindTrial) -> None:
        """Windows come in order, and none lies within another."""
        windows = trial.cut(trial.stretches(trial.history()))
        for window in windows:
            if window.start >= window.end:
                raise trial.broken(f"{window} is empty")
        for first, second in pairwise(windows):
            if first.start >= second.start or first.end >= second.end:
                raise trial.broken(f"{second} comes after {first}")
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
        """Whatever comes after a watermark, windows that ended by then are what they were."""
        history, watermark, later = trial.continued()
        limit = trial.limit(watermark)
        before, after = (
            [window for window in trial.with_members(events) if window.end <= limit] for events in (history, later)
        )
        trial.expect_equal(f"ended by {limit}", before, "later", after)

    @law("return from unborn the least start of a window that known stretches may still open")
    def test_later_windows_start_where_they_may(self, trial: WindowKindTrial) -> None:
        """No later event opens a window before the first open one, `unborn` and the watermark."""
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

    @law("let grid, fuses_within and cuts_at_edges say what makes the same windows and members, or nothing")
    def test_a_shortcut_makes_the_same_windows(self, trial: WindowKindTrial) -> None:
        """A grid, a gap within which events fuse, or edges make the windows that `cut` makes, with the same members."""
        history = trial.history()
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
        """An event is a member of a window if, and only if, that window is one of the event's."""
        history = trial.history()
        known = trial.stretches(history)
        windows, of = trial.cut(known), {event: trial.windows_of(known, event) for event in history}
        for event, own in of.items():
            strange = [window for window in own if window not in windows]
            trial.expect(not strange, lambda: f"windows_of yields {strange} for {event}, which cut does not")  # noqa: B023
        for window in windows:
            members = sorted(trial.ask("members", window, history))
            wanted = sorted(event for event in history if window in of[event])
            trial.expect(members == wanted, lambda: f"{window} has {members}, and is a window of {wanted}")  # noqa: B023
        # by default both follow from membership and cut, so Muntin's own kinds are compared with a third definition
        defined = members_defined(trial.kind, history, trial.last)
        found = {(event, trial.kind.extent(window)) for event, own in of.items() for window in own}
        if defined is not None and found != defined:
            raise trial.broken(f"by definition {sorted(defined - found)} are in, and {sorted(found - defined)} are not")

    @law("say as context what the windows of an event depend on besides its own times")
    def test_windows_depend_on_no_more_than_the_context(self, trial: WindowKindTrial) -> None:
        """Events of which a kind says that they do not matter leave the windows of another event as they are."""
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
        carried = trial.ask("carried", trial.stretches(trial.history()), trial.tick())
        try:
            restored(carried)
        except TypeError as error:
            raise trial.broken(f"carried {carried!r} cannot be stored: {error}") from None
