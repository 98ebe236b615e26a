"""The tools of a module writer: base classes, the function decorator and the capabilities."""

from muntin.modules.aggregate import Aggregate, TimeSensitiveAggregate
from muntin.modules.capabilities import (
    SupportsColumns,
    SupportsCombine,
    SupportsDeduct,
    SupportsRemove,
    SupportsUpgrade,
)
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.function import Function, function
from muntin.modules.incremental_aggregate import IncrementalAggregate, TimeSensitiveIncrementalAggregate
from muntin.modules.incremental_operator import IncrementalOperator, TimeSensitiveIncrementalOperator
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.modules.operator import Operator, TimeSensitiveOperator
from muntin.modules.row_operator import RowOperator
from muntin.modules.stream_operator import IntervalOperator, StreamOperator

__all__ = [
    "Aggregate",
    "ColumnarAggregate",
    "Function",
    "IncrementalAggregate",
    "IncrementalOperator",
    "IntervalOperator",
    "Module",
    "Needs",
    "Operator",
    "RowOperator",
    "StreamOperator",
    "SupportsColumns",
    "SupportsCombine",
    "SupportsDeduct",
    "SupportsRemove",
    "SupportsUpgrade",
    "TimeSensitiveAggregate",
    "TimeSensitiveIncrementalAggregate",
    "TimeSensitiveIncrementalOperator",
    "TimeSensitiveOperator",
    "function",
]
