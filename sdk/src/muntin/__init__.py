"""Muntin: the names that module and query writers use every day; others are in rooms such as `muntin.windows`."""

from muntin.axis import EARLIEST, INFINITY, Axis, Duration, Instant, instant, moment, ticks
from muntin.catalog.hooks import hookimpl
from muntin.catalog.named_windows import window
from muntin.events import Event, Lifetime
from muntin.modules.aggregate import Aggregate, Operator
from muntin.modules.call import typed_call
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.function import Function, function
from muntin.modules.incremental import IncrementalAggregate, IncrementalOperator
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.modules.row_operator import RowOperator
from muntin.modules.stream_operator import IntervalOperator, StreamOperator
from muntin.policies import (
    ClipPolicy,
    EmitPolicy,
    JoinKind,
    Lateness,
    LatePolicy,
    OutputContract,
    Refinement,
    TimestampPolicy,
    correct,
)
from muntin.schemas.components import Component, Merge
from muntin.triggers.emission import EarlyEmission, early
from muntin.triggers.refining import ResultRefinement
from muntin.windows.calendar import calendar
from muntin.windows.count import count_by_end, count_by_start
from muntin.windows.extent import Window
from muntin.windows.growing import cumulate, global_windows, landmark
from muntin.windows.hopping import hopping, tumbling
from muntin.windows.session import session
from muntin.windows.snapshot import snapshot
from muntin.windows.trailing import trailing

__all__ = [
    "EARLIEST",
    "INFINITY",
    "Aggregate",
    "Axis",
    "ClipPolicy",
    "ColumnarAggregate",
    "Component",
    "Duration",
    "EarlyEmission",
    "EmitPolicy",
    "Event",
    "Function",
    "IncrementalAggregate",
    "IncrementalOperator",
    "Instant",
    "IntervalOperator",
    "JoinKind",
    "LatePolicy",
    "Lateness",
    "Lifetime",
    "Merge",
    "Module",
    "Needs",
    "Operator",
    "OutputContract",
    "Refinement",
    "ResultRefinement",
    "RowOperator",
    "StreamOperator",
    "TimestampPolicy",
    "Window",
    "calendar",
    "correct",
    "count_by_end",
    "count_by_start",
    "cumulate",
    "early",
    "function",
    "global_windows",
    "hookimpl",
    "hopping",
    "instant",
    "landmark",
    "moment",
    "session",
    "snapshot",
    "ticks",
    "trailing",
    "tumbling",
    "typed_call",
    "window",
]
