"""Row windows: the last rows, and batches of rows, in an order that is data (IBM Streams, sliding and tumbling).

`last(10).trigger(2)` and `batch(4)` read as in IBM's own Python API, `streamsx.topology`. Rows leave and windows are
computed by count, by time of the axis, by the difference of an attribute, or where a marker row ends a batch.
"""

from muntin.rows.action import Action, ActionKind, Row
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.partitions import Partitions, PartitionView
from muntin.rows.policies import (
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    RowPolicy,
    delta,
    elapsed,
    marker,
)
from muntin.rows.row_windows import RowWindows
from muntin.rows.sliding import SlidingRows, last
from muntin.rows.tumbling import TumblingRows, batch

__all__ = [
    "Action",
    "ActionKind",
    "CountPolicy",
    "DeltaPolicy",
    "ElapsedPolicy",
    "MarkerPolicy",
    "PartitionView",
    "PartitionedRows",
    "Partitions",
    "Row",
    "RowPolicy",
    "RowWindows",
    "SlidingRows",
    "TumblingRows",
    "batch",
    "delta",
    "elapsed",
    "last",
    "marker",
]
