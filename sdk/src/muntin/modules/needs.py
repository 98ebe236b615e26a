"""The needs of a module: windows in which it can find something, and policies of the query."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import Axis
from muntin.errors.messages import ErrorMessage
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.windows import HoppingWindows, WindowSpecification
from muntin.windows.specification import WrittenWindows


@dataclass(frozen=True, slots=True)
class Needs:
    """The requirements of a module on a query: the value of its `needs`.

    A query whose windows are not enough is refused where it is built, with a call that works. The clip and the
    timestamps hold for a query that names none; a query that names another policy gets that one, if the module accepts
    it. The aggregates of one query must agree on a policy, or the query must choose. A `WindowedQuery` of a test names
    its policies itself.

    Attributes:
        windows: The kinds of windows in which the module can find something; by default all kinds.
        reach: The number of ticks after its end for which an event must stay a member of a window of later events. If
            windows overlap, they hold it for some of that time; their own `reach` has to add the remainder.
        clip: The clip that the module is made for; None for the clip among its `accepted_clips` that changes the least.
        timestamps: The timestamps that the module is made for; None for `align`, under which the lifetimes that an
            operator sets are lost.

    Example:
        Visitors who come back within some time after they left:

        >>> from muntin import Operator, ticks, tumbling
        >>> from muntin.testing import Computation, WindowedQuery
        >>> class Returns(Operator[str, str]):
        ...     name, version = "demo.returns", "1.0.0"
        ...     is_time_sensitive = True
        ...     def __init__(self, within):
        ...         self.within = ticks(within)
        ...     @property
        ...     def needs(self):
        ...         return Needs(windows=(HoppingWindows,), reach=self.within + 1, clip=ClipPolicy.RIGHT)
        ...     def compute_result(self, events, window):
        ...         left = {(event.payload, event.end) for event in events}
        ...         for event in events:
        ...             gone = (event.start - end for who, end in left if who == event.payload)
        ...             if window.start <= event.start and any(0 <= time <= self.within for time in gone):
        ...                 yield event
        >>> try:
        ...     WindowedQuery(tumbling(60), [Computation(Returns(within=30))])
        ... except ValueError as error:
        ...     print(str(error).splitlines()[-1].strip())
        write: tumbling(60, reach=31)
    """

    windows: tuple[type[WindowSpecification], ...] = (WindowSpecification,)
    reach: int = 0
    clip: ClipPolicy | None = None
    timestamps: TimestampPolicy | None = None

    def __str__(self) -> str:
        """Describe the kinds of windows and the reach; empty if any windows will do."""
        needs: list[str] = []
        if WindowSpecification not in self.windows:
            needs.append(self._kinds())
        if self.reach:
            needs.append(f"a reach that keeps events as members for {self.reach} ticks after their end")
        return ", with ".join(needs)

    def lacks(self, window: WindowSpecification, axis: Axis = Axis.TICKS) -> ErrorMessage:
        """Return why windows do not meet the needs, with advice on other windows; empty if they do.

        Args:
            window: The windows.
            axis: The unit of ticks, in which the message spells lengths.
        """
        if not self.windows:
            return ErrorMessage(
                "needs windows of no kind, so no query can have it\n"
                "  modules that are combined need a kind of windows that suits all of them"
            )
        if not isinstance(window, self.windows):
            return ErrorMessage(
                "finds nothing in {windows}: it needs {kinds}\n  write, for example: {instead}",
                windows=WrittenWindows(window, axis),
                kinds=self._kinds(),
                instead=self.windows[0].suggest(self.reach, axis),
            )
        if window.holds_past >= self.reach:
            return ErrorMessage()

        # The advice is the same windows with a reach. Windows for which a reach means nothing come back as they are:
        # then the advice is another kind.
        window_with_reach = window.with_reach(axis.round_up(self.reach))
        instead: object = WrittenWindows(window_with_reach, axis)
        if window_with_reach == window:
            instead = HoppingWindows.suggest(self.reach, axis)
        # Windows that overlap hold an event for longer than their reach, and windows that grow within a period may hold
        # an event for less: the message names the shorter time.
        kept = min(window.reach, window.holds_past)
        return ErrorMessage(
            "needs events to stay members for {reach} after their end, and {windows} keeps them for {kept}\n"
            "  what lies further apart would not be found, and nothing would say so\n"
            "  write: {instead}",
            reach=axis.spell_length(self.reach),
            windows=WrittenWindows(window, axis),
            kept=axis.spell_length(kept),
            instead=instead,
        )

    def together_with(self, other: Needs) -> Needs:
        """Return the needs of two modules together; None for a policy on which they differ, which the query chooses."""
        # The kinds of windows that suit both modules: if one names a base class and the other a subclass, the subclass.
        windows = [kind for kind in self.windows if issubclass(kind, other.windows)]
        for kind in other.windows:
            if kind not in windows and issubclass(kind, self.windows):
                windows.append(kind)
        # A policy that only one of the modules names is the policy of both.
        clips = {self.clip, other.clip} - {None}
        timestamps = {self.timestamps, other.timestamps} - {None}
        return Needs(
            windows=tuple(windows),
            reach=max(self.reach, other.reach),
            clip=clips.pop() if len(clips) == 1 else None,
            timestamps=timestamps.pop() if len(timestamps) == 1 else None,
        )

    def _kinds(self) -> str:
        """Return the titles of the kinds of windows, such as `session windows or snapshot windows`."""
        return " or ".join(kind.title for kind in self.windows) or "windows of no kind"
