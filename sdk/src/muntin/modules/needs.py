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

    A query whose windows are not enough is refused where it is built, with a call that works. The two policies are what
    a query gets that names none; one that names another has that one, as long as the module accepts it. Aggregates of
    one query must agree, or the query must choose. A `WindowedQuery` of a test names its policies itself.

    Attributes:
        windows: The kinds of windows in which the module finds something; any, unless it says which.
        reach: The number of ticks after its end for which an event must stay a member of one of the windows of later
            events. Overlapping windows hold part of them; the remainder is the `reach` of the windows.
        clip: The clip that the module is made for; None for the one among its `accepted_clips` that changes the least.
        timestamps: The timestamps that it is made for; None for `align`, under which the lifetimes of an operator's own
            rows are lost.

    Example:
        Those who come back within some time after they left:

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
        needs: list[str] = []
        if WindowSpecification not in self.windows:
            needs.append(self._kinds())
        if self.reach:
            needs.append(f"a reach that keeps events as members for {self.reach} ticks after their end")
        return ", with ".join(needs)

    def lacks(self, window: WindowSpecification, axis: Axis = Axis.TICKS) -> ErrorMessage:
        """Return the shortcoming of windows, with advice on others; empty if there is none.

        Args:
            window: The windows.
            axis: The unit of ticks, for the words.
        """
        if not isinstance(window, self.windows):
            return ErrorMessage(
                "finds nothing in {windows}: it needs {kinds}\n  write, for example: {instead}",
                windows=WrittenWindows(window, axis),
                kinds=self._kinds(),
                instead=self.windows[0].suggest(self.reach, axis),
            )
        if window.holds_past >= self.reach:
            return ErrorMessage()
        wider = window.with_reach(axis.round_up(self.reach))
        # Windows to which a reach means nothing return themselves: then another kind is the advice.
        takes_no_reach = wider == window
        instead = HoppingWindows.suggest(self.reach, axis) if takes_no_reach else WrittenWindows(wider, axis)
        return ErrorMessage(
            "needs events to stay members for {reach} after their end, and {windows} keeps them for {kept}\n"
            "  what lies further apart would not be found, and nothing would say so\n"
            "  write: {instead}",
            reach=axis.spell_length(self.reach),
            windows=WrittenWindows(window, axis),
            kept=axis.spell_length(min(window.reach, window.holds_past)),
            instead=instead,
        )

    def together_with(self, other: Needs) -> Needs:
        """Return the needs of two modules together; a policy on which they differ is left to the query."""
        # Kinds that suit both: of a kind and its base class, the kind.
        windows = [kind for kind in self.windows if issubclass(kind, other.windows)]
        for kind in other.windows:
            if kind not in windows and issubclass(kind, self.windows):
                windows.append(kind)
        # A policy that only one of them names is the policy of both; two different ones are no policy.
        clips = {self.clip, other.clip} - {None}
        timestamps = {self.timestamps, other.timestamps} - {None}
        return Needs(
            windows=tuple(windows),
            reach=max(self.reach, other.reach),
            clip=clips.pop() if len(clips) == 1 else None,
            timestamps=timestamps.pop() if len(timestamps) == 1 else None,
        )

    def _kinds(self) -> str:
        return " or ".join(kind.title for kind in self.windows)
