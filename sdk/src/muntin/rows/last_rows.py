"""Sliding row windows: rows leave step by step, and a trigger says when the window is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Final

from muntin.axis import Axis
from muntin.errors import WindowError
from muntin.rows.automaton import RowAutomaton
from muntin.rows.policies import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    RowPolicy,
    policy_of,
)
from muntin.rows.row_windows import RankedWindows
from muntin.windows.specification import WindowContext

_EVERY_ROW: Final = CountPolicy(1)


@dataclass(frozen=True, slots=True)
class LastRows(RowAutomaton):
    """The last rows of each partition; made by `last` (IBM Streams: sliding windows).

    The steps when a row comes, by policy; the steps after `|` come when time passes:

    | rows leave by | trigger by count, or by a row | by delta | by time |
    |---|---|---|---|
    | count, delta | evict, insert, trigger | trigger, evict, insert | evict, insert, `|` trigger |
    | time | insert, trigger, `|` evict | trigger, insert, `|` evict | insert, `|` evict, `|` trigger |

    The steps of time come before the row at that time; at one tick, rows leave before the window is computed. A row
    leaves by time when it has been a member for longer than the length. So a window that is computed by time holds the
    rows in `[end - length, end)`, and a window that is computed for a row holds the rows that are at most the length
    older.

    A row whose attribute is null or NaN makes no row leave by delta and triggers nothing. It leaves with the row before
    it; if no row before it has the attribute, with the first one that has it.

    The window of a result starts with its oldest row, or, if rows leave by time, its length before it is computed. It
    ends where it is computed: at a time, or right after a row that is a member. The result is emitted when the
    watermark has reached that time or passed that row; a row that comes behind the watermark is late. At the end of a
    stream a trigger by time fires once more, at its next multiple, for keys that had a row since it last fired. Rows
    that are too old by then have left, and the window ends after the last row of the stream. Other triggers do not fire
    at the end.

    Source: IBM Streams, *Window handling*, tables 1 and 2.

    Attributes:
        evicts: The policy by which rows leave: `CountPolicy`, `DeltaPolicy` or `ElapsedPolicy`.
        triggers: The policy that computes the window: `CountPolicy`, `DeltaPolicy`, `ElapsedPolicy` or
            `ConditionPolicy`.
        waits_until_full: True if a window is not computed before it was full once. For other fields see
            `PartitionedRows`.
    """

    name: ClassVar[str] = "last"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows over the last rows"

    evicts: RowPolicy
    triggers: RowPolicy = _EVERY_ROW
    waits_until_full: bool = False

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return a call of `last`."""
        return "last(10)"

    def __post_init__(self) -> None:
        """Refuse policies that end whole windows, and a condition in place of the policy by which rows leave."""
        for role, policy in (("evicted", self.evicts), ("triggered", self.triggers)):
            if isinstance(policy, MarkerPolicy):
                raise WindowError(
                    f"sliding windows cannot be {role} by {policy.spell(Axis.TICKS)}\n"
                    "  a marker ends a whole window, and a sliding one has no end: use batch(marker(...))"
                )
        if isinstance(self.evicts, ConditionPolicy):
            raise WindowError(
                f"{self.evicts.spell(Axis.TICKS)} says when a window is computed, and not which rows leave it\n"
                f"  write last(10).trigger({self.evicts.spell(Axis.TICKS)}), with the rows that stay"
            )

    def trigger(self, when: RowPolicy | int | str | timedelta = 1) -> LastRows:
        """Return the windows with another policy that says when they are computed.

        Args:
            when: The policy: a number of rows; a period, such as `"1 minute"`; `delta`, to compute the window when an
                attribute has grown; or `on_row`, for rows that meet a condition. With a period, windows are computed at
                its multiples, counted from tick 0.

        Raises:
            WindowError: The argument is not a policy, or it is a `marker`, which ends whole windows.

        Example:
            >>> print(last(10).trigger(2))
            last(10).trigger(2)
        """
        return replace(self, triggers=policy_of(when))

    def when_full(self) -> LastRows:
        """Return the windows so that none is computed before it was full: it had its number of rows, or a row left."""
        return replace(self, waits_until_full=True)

    @property
    def least_events(self) -> int:
        """The number of rows in a window and one more, which makes the oldest leave; 1 if rows leave otherwise."""
        return self.evicts.size + 1 if isinstance(self.evicts, CountPolicy) else 1

    @property
    def context(self) -> WindowContext:
        """The other rows on which the windows of a row depend.

        None of them (free) if rows leave and windows are computed by time. Earlier rows (backward) if both go by
        number, or if windows by time wait until they are full. Otherwise, and always where the number of partitions is
        limited, all rows (forward).
        """
        # Later rows decide in which windows a row is, if rows leave and windows are computed by policies of different
        # kinds, or if rows leave by their attributes. Where partitions are limited, later rows of other partitions may
        # remove the partition of the row.
        mixes_policies = type(self.evicts) is not type(self.triggers)
        if self._is_limited or mixes_policies or isinstance(self.evicts, DeltaPolicy):
            return WindowContext.FORWARD
        if isinstance(self.evicts, ElapsedPolicy) and not self.waits_until_full:
            return WindowContext.FREE
        return WindowContext.BACKWARD

    def by_rank(self) -> RankedWindows | None:
        """Return the windows as runs of rows by rank, if only numbers of rows decide; None otherwise."""
        # A subclass may step in another way, and has to say by itself that its windows are such runs.
        if type(self) is not LastRows or self.reads:
            return None
        if not isinstance(self.evicts, CountPolicy) or not isinstance(self.triggers, CountPolicy):
            return None
        return RankedWindows(size=self.evicts.size, every=self.triggers.size, only_full=self.waits_until_full)

    @property
    def _eviction_policy(self) -> RowPolicy:
        """The policy by which rows leave one by one."""
        return self.evicts

    @property
    def _trigger_policy(self) -> RowPolicy:
        """The policy that says when a window is computed."""
        return self.triggers

    @property
    def _waits_until_full(self) -> bool:
        """True if a window is not computed before it was full once."""
        return self.waits_until_full

    def _call(self, axis: Axis) -> str:
        """Return the call of `last`, with those of `trigger` and `when_full` behind it if they change anything."""
        call = f"last({self.evicts.spell(axis)})"
        if self.triggers != _EVERY_ROW:
            call += f".trigger({self.triggers.spell(axis)})"
        if self.waits_until_full:
            call += ".when_full()"
        return call


def last(size: RowPolicy | int | str | timedelta = 1) -> LastRows:
    """Return sliding windows over the last rows, computed at each row unless `trigger` says otherwise.

    Three events, and the windows that `last(2)` makes of them, with the number of members:

    ```text
             1         11
    event a  [)
    event b     [)
    event c             [)
    window   [)              1
    window   [---)           2
    window      [--------)   2
    ```

    Args:
        size: The rows that a window keeps: a number of rows; the rows of a length of time, such as `"5 minutes"`; or,
            with `delta`, the rows whose attribute is not too far behind that of the newest.

    Raises:
        WindowError: The size is not a policy, or it is a `marker`, which ends whole windows.
        DurationError: A length of time cannot be read.

    Example:
        >>> print(last(100), last("5 minutes").trigger("1 minute").describe())
        last(100) last('5 minutes').trigger('1 minute')
    """
    return LastRows(policy_of(size))
