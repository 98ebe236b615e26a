"""Results of the declared type that their column cannot hold: counted, warned of once, or refused."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muntin_engine.errors import ResultOverflowError

_LOG: Final = logging.getLogger("muntin.overflows")


@dataclass(frozen=True, slots=True)
class Overflow:
    """A result that its column cannot hold.

    Attributes:
        module: The module's name and version.
        column: The name of the result column.
        arrow_type: The type of the column, in words.
        value: The value, or the part of a record or a list, in words.
        key: The key, in words.
        window: The window, in words.
        is_infinite: True if the value becomes infinite; otherwise it becomes null.
    """

    module: str
    column: str
    arrow_type: str
    value: str
    key: str
    window: str
    is_infinite: bool

    @property
    def fact(self) -> str:
        """A sentence that says which module returned too large a value for which column, with its key and window."""
        return (
            f"{self.module} returned a value that its column {self.column!r}, of {self.arrow_type}, cannot hold\n"
            f"  value: {self.value}\n"
            f"  key: {self.key}\n"
            f"  window: {self.window}"
        )


@dataclass(frozen=True, slots=True)
class ColumnOverflows:
    """The values that a column could not hold.

    Attributes:
        number: The number of values.
        first: The first of them.
    """

    number: int
    first: Overflow


class Overflows:
    """Counts the results of a query that their columns cannot hold, in one worker."""

    def __init__(self, *, fails: bool) -> None:
        """Begin without overflows.

        Args:
            fails: True if the first overflow is an error; otherwise overflows are counted.
        """
        self._fails = fails
        self._numbers: Counter[str] = Counter()
        self._first: dict[str, Overflow] = {}
        self._logged: set[str] = set()

    def add(self, overflow: Overflow, number: int) -> None:
        """Count values that a column cannot hold.

        Args:
            overflow: The first of the values.
            number: The number of values.

        Raises:
            ResultOverflowError: The session's setting `spark.muntin.overflow.fail` makes an overflow an error.
        """
        column = overflow.column
        if self._fails:
            raise ResultOverflowError(
                f"{overflow.fact}\n"
                "  spark.muntin.overflow.fail is true, so the query stops\n"
                f"  to do: {_REMEDY}; or set spark.muntin.overflow.fail to false, which makes such values null"
            )
        self._numbers[column] += number
        self._first.setdefault(column, overflow)

    def clear(self) -> None:
        """Forget the values that were counted, which a task that failed may have left."""
        self._numbers.clear()
        self._first.clear()

    def take(self) -> Mapping[str, ColumnOverflows]:
        """Return the values that each column could not hold, by column, and set the counts to zero."""
        overflows_by_column: dict[str, ColumnOverflows] = {}
        for column, number in self._numbers.items():
            overflows_by_column[column] = ColumnOverflows(number, self._first[column])
        self.clear()
        return overflows_by_column

    def report(self) -> dict[str, int]:
        """Return the number of values that each column could not hold, and set the counts to zero.

        The first value of each column is logged by `muntin.overflows`, once in a worker for each query.
        """
        numbers: dict[str, int] = {}
        for column, overflows in self.take().items():
            numbers[column] = overflows.number
            if column not in self._logged:
                self._logged.add(column)
                _LOG.warning("%s", warning_of(overflows.first))
        return numbers


_REMEDY: Final = "cast the column that the module reads to a wider type, such as decimal(38, 0) or double"
"""The way out of an overflow, in words."""


def warning_of(overflow: Overflow) -> str:
    """Return the warning about the first value that a column cannot hold."""
    becomes = "infinite" if overflow.is_infinite else "null"
    return (
        f"{overflow.fact}\n"
        f"  it is {becomes} in the results; the metric overflows:{overflow.column} counts such values\n"
        f"  to hold them {_REMEDY}; to stop instead, on Spark, set spark.muntin.overflow.fail to true"
    )
