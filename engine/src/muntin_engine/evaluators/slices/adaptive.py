"""Rows or states: per key and slice whichever takes less memory (AdaptWID; thesis, section 6.3)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from muntin_engine.core.window_grid import NEVER

Mode: TypeAlias = Literal["adaptive", "eager", "lazy"]
"""The choice between keeping states and keeping rows: as memory says, always states, or always rows."""

LEAST_ROWS: Final = 2.0
"""From how many rows per group on a blob is of states.

Measured by `python -m tests.core.sliced.measure`. A state is as many bytes as two rows. Below that a module as light as
a sum takes a fifth more time from rows if it gets a group in one blob, and less if in several; one that is not so light
takes half the time if in several.
"""

MOST_WAITING: Final = 8
"""Rows of a key and slice that may wait before they are added to a state, where memory does not decide."""

BACK: Final = 0.8
"""A key goes back from states to rows below this share of the threshold, so that it does not swing."""


@dataclass(frozen=True, slots=True)
class AdaptivePolicy:
    """The rule that decides between keeping states, eagerly, and keeping the rows themselves, lazily.

    For a group the thesis estimates the bytes that either takes while a window is open,

        MC_eager = aggr * wed / SLIDE                                         (6.5)
        MC_lazy  = tup * (vol * wed - sum over sources k of vol_k * offset_k)   (6.8)

    with `aggr` and `tup` the bytes of a state and of a row, `wed` how long a window is open, `SLIDE` the hop, `vol` the
    rows per tick, and `offset_k` how far source k is behind the others. So eager is preferred if and only if

        winVol > aggr * wed / (tup * SLIDE) + sum of vol_k * offset_k,   winVol = vol * wed   (6.9)

    Here states are kept of slices, not of windows, and each slice of a key is states or rows by itself: its rows take
    more bytes than its state, or they do not. The thesis names this at the end of section 6.3.4.2, for panes. The rows
    are counted, so nothing is estimated: neither `vol` nor `wed`, nor how far a source is behind the others. Which way
    the next slices of a key start follows from the rows of its last closed window and the slices that had any.

    Attributes:
        state_bytes: What the states of all modules take for one key and slice, as far as they say; None if none does.
        mode: What to do about it.

    Example:
        >>> policy = AdaptivePolicy(state_bytes=100)
        >>> policy.most_rows(row_bytes=9.0), policy.prefers_states(rows=23, slices=2, row_bytes=9.0)
        (11, True)
    """

    state_bytes: int | None = None
    mode: Mode = "adaptive"

    @property
    def is_adaptive(self) -> bool:
        """True if memory decides."""
        return self.mode == "adaptive" and self.state_bytes is not None

    @property
    def keeps_rows(self) -> bool:
        """True if rows may stay as they are until their windows close."""
        return self.mode == "lazy" or self.is_adaptive

    def most_rows(self, row_bytes: float) -> int:
        """Return the greatest number of rows of a key and slice that are kept as rows."""
        if self.mode != "adaptive":
            return 0 if self.mode == "eager" else NEVER
        return MOST_WAITING if self.state_bytes is None else int(self.state_bytes / row_bytes)

    def prefers_states(self, rows: int, slices: int, row_bytes: float, *, before: bool = False) -> bool:
        """True if the next slices of a key should start as states.

        Args:
            rows: The rows of its last closed window.
            slices: In how many slices they lie.
            row_bytes: What a row takes.
            before: Whether its slices start as states now.
        """
        threshold = (self.state_bytes or 0) * slices * (BACK if before else 1)
        return self.is_adaptive and rows * row_bytes > threshold

    def which_lift(self, counts: Sequence[int], row_bytes: float) -> bool | list[bool]:
        """Choose the groups of a blob to send as states: all, none, or a choice for each."""
        if not self.is_adaptive:
            return self.mode != "lazy" and (self.mode == "eager" or sum(counts) >= LEAST_ROWS * len(counts))
        most = self.most_rows(row_bytes)
        if min(counts, default=0) > most:
            return True
        return max(counts, default=0) > most and [count > most for count in counts]


class Volume(NamedTuple):
    """The volume of a key in its last closed window.

    Attributes:
        name: The key.
        rows: The number of rows.
        slices: The number of slices with rows.
    """

    name: Hashable
    rows: int
    slices: int


class Monitor:
    """Watches the volumes of keys, and what their rows take.

    Attributes:
        policy: Decides by them.
        eager: The keys whose slices start as states: the last closed window of any specification had enough for it.
    """

    def __init__(self, policy: AdaptivePolicy) -> None:
        self.policy = policy
        self.eager: set[Hashable] = set()
        self._eager: dict[int, set[Hashable]] = {}
        self._rows = self._bytes = 0

    @property
    def row_bytes(self) -> float:
        """The average size of a row when it was sent or stored."""
        return max(1.0, self._bytes / self._rows) if self._rows else 1.0

    @property
    def most_rows(self) -> int:
        """The greatest number of rows of a key and slice that are kept as rows."""
        return self.policy.most_rows(self.row_bytes)

    def saw(self, rows: int, size: int) -> None:
        """Take note of what some rows take."""
        self._rows += rows
        self._bytes += size

    def closed(self, place: int, volumes: Iterable[Volume]) -> None:
        """Take note of the last closed windows of all keys that had any.

        Args:
            place: The specification of the windows.
            volumes: What they had; not looked at unless memory decides.
        """
        if self.policy.is_adaptive:
            prefers, size, before = self.policy.prefers_states, self.row_bytes, self._eager.get(place, set())
            self._eager[place] = {
                name for name, rows, slices in volumes if prefers(rows, slices, size, before=name in before)
            }
            self.eager = set().union(*self._eager.values())
