"""A micro-batch without Spark, for tests of sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from muntin_engine.sinks.net_changes_on_driver import net_changes_on_driver


class ArrowRow(dict[str, Any]):
    """A row with its columns by name, as items and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def asDict(self) -> dict[str, Any]:
        """Return the row as a dict."""
        return dict(self)


class ArrowBatch:
    """Stands in for the DataFrame of a micro-batch: it answers what asks for columns or rows, without Spark.

    Example:
        >>> ArrowBatch(pa.table({"n": [1, 2]})).collect()
        [{'n': 1}, {'n': 2}]
    """

    def __init__(self, table: pa.Table) -> None:
        """Wrap the rows of a micro-batch."""
        self._table = table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        names: list[str] = self._table.column_names
        return names

    def toArrow(self) -> pa.Table:
        """Return the rows as a table."""
        return self._table

    def toPandas(self) -> Any:
        """Return the rows as a DataFrame of pandas."""
        return self._table.to_pandas()

    def collect(self) -> list[ArrowRow]:
        """Return the rows."""
        return [ArrowRow(row) for row in self._table.to_pylist()]

    def toLocalIterator(self) -> Iterator[ArrowRow]:
        """Return the rows one by one."""
        return iter(self.collect())

    def take(self, num: int) -> list[ArrowRow]:
        """Return the first rows."""
        return self.collect()[:num]

    def count(self) -> int:
        """Return the number of rows."""
        return int(self._table.num_rows)

    def isEmpty(self) -> bool:
        """Return True if there are no rows."""
        return self.count() == 0

    def net_changes(self, key: Sequence[str] | None) -> ArrowBatch:
        """Compute the net changes; `muntin_engine.net_changes` calls this."""
        return ArrowBatch(net_changes_on_driver(self._table, [*(key or ()), "event_id"]))
