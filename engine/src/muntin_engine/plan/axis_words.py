"""Ticks, lengths and windows of a query in words: what `lengths.AxisScale` reads is written here."""

from __future__ import annotations

from dataclasses import dataclass

from muntin import Axis, Lateness
from muntin.axis import AnyAxis, DecimalAxis, spell_ticks
from muntin.errors.messages import Call
from muntin.windows import WindowSpecification
from muntin.windows.specification import WrittenWindows
from muntin_engine.plan.lengths import in_microseconds, window_in_decimals, window_in_microseconds


@dataclass(frozen=True, slots=True)
class AxisWords:
    """Spells the times, lengths and windows on the axis of a query, as the writer of the query would.

    Attributes:
        kind: The kind of ticks.
        unit: The unit of integer times, if they have one; lengths are then spelled as time.
        decimal_places: The decimal places of the times, if these are decimals.
    """

    kind: Axis
    unit: str | None = None
    decimal_places: int | None = None

    @property
    def axis(self) -> AnyAxis:
        """The axis, which spells single ticks and intervals."""
        return self.kind if self.decimal_places is None else DecimalAxis(self.decimal_places)

    def spell_length(self, length: int) -> str:
        """Return a length in words: in time where the axis is time, or where its integers have a unit."""
        if self.unit is not None:
            return spell_ticks(in_microseconds(length, self.unit))
        return self.axis.spell_length(length)

    def spell_late(self, late: Lateness) -> str:
        """Return a policy for late rows as a query writes it, such as `correct('1 hour')`."""
        if late.corrects:
            return late.spell(lambda length: repr(self.spell_length(length)))
        return repr(str(late))

    def written_lateness(self, late: Lateness) -> str | Call:
        """Return a policy for late rows in a message, as the value of `late_policy`."""
        return Call("correct", self.spell_length(late.allowed)) if late.corrects else str(late)

    def spell_window(self, window: WindowSpecification) -> str:
        """Return windows as a query writes them, with lengths in time where the axis is time."""
        return self._in_words(window).spell(self._axis_of_words)

    def describe_window(self, window: WindowSpecification) -> str:
        """Return windows as `spell_window` does, and add the version to windows that a plugin offers."""
        return self._in_words(window).describe(self._axis_of_words)

    def written_window(self, window: WindowSpecification, spelled: str) -> WrittenWindows:
        """Return windows as a part of an error message, which is written as a call of Python or as SQL.

        Args:
            window: The windows, which a message about SQL writes as a function.
            spelled: All windows of the query, as a message about Python writes them.
        """
        return WrittenWindows(self._in_words(window), self._axis_of_words, spelled)

    @property
    def _axis_of_words(self) -> Axis:
        """The axis on which `_in_words` has lengths: that of time, where integers have a unit."""
        return self.kind if self.unit is None else Axis.TIME

    def _in_words(self, window: WindowSpecification) -> WindowSpecification:
        """Convert the lengths of windows to the units in which messages spell them."""
        if self.decimal_places is not None:
            return window_in_decimals(window, self.decimal_places)
        if self.unit is not None:
            return window_in_microseconds(window, self.unit)
        return window
