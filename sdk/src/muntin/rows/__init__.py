"""Row windows: the last rows, batches of rows, and the rows from one that opens to one that closes.

`last(10).trigger(2)` and `batch(4)` read as in IBM's own Python API, `streamsx.topology`. Rows leave and windows are
computed by count, by time of the axis, by the difference of an attribute, or at a row that ends a batch or triggers a
window.
"""

from muntin.rows.last_rows import LastRows, last
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.policies import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    Partitions,
    PartitionView,
    RowPolicy,
    delta,
    elapsed,
    marker,
    on_row,
)
from muntin.rows.row_batches import RowBatches, RowsBetween, batch, between
from muntin.rows.row_windows import RankedWindows, RowWindows
from muntin.rows.view import Action, ActionKind, MemberRow, Row, RowsInWindow

__all__ = [
    "Action",
    "ActionKind",
    "ConditionPolicy",
    "CountPolicy",
    "DeltaPolicy",
    "ElapsedPolicy",
    "LastRows",
    "MarkerPolicy",
    "MemberRow",
    "PartitionView",
    "PartitionedRows",
    "Partitions",
    "RankedWindows",
    "Row",
    "RowBatches",
    "RowPolicy",
    "RowWindows",
    "RowsBetween",
    "RowsInWindow",
    "batch",
    "between",
    "delta",
    "elapsed",
    "last",
    "marker",
    "on_row",
]
