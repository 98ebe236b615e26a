"""What a module writer subclasses: eight base classes, the function decorator and the capabilities."""

from muntin.modules.aggregate import Aggregate, TimeSensitiveAggregate
from muntin.modules.capabilities import SupportsCombine, SupportsDeduct, SupportsRemove
from muntin.modules.function import Function, function
from muntin.modules.incremental_aggregate import IncrementalAggregate, TimeSensitiveIncrementalAggregate
from muntin.modules.incremental_operator import IncrementalOperator, TimeSensitiveIncrementalOperator
from muntin.modules.module import Module
from muntin.modules.operator import Operator, TimeSensitiveOperator

__all__ = [
    "Aggregate",
    "Function",
    "IncrementalAggregate",
    "IncrementalOperator",
    "Module",
    "Operator",
    "SupportsCombine",
    "SupportsDeduct",
    "SupportsRemove",
    "TimeSensitiveAggregate",
    "TimeSensitiveIncrementalAggregate",
    "TimeSensitiveIncrementalOperator",
    "TimeSensitiveOperator",
    "function",
]
