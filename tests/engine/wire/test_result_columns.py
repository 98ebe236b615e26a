"""Result columns of modules, and the errors of wrong results."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from muntin import Window, tumbling
from muntin.errors import ModuleContractError
from muntin.schemas import describe
from muntin_engine.wire.result_columns import ResultColumns
from tests.modules.merged_states import ANY
from tests.scenarios.query import Query


@dataclass(frozen=True, slots=True)
class Span:
    low: float
    high: float


class ExitingSpan(Span):
    """A span that exits the process when its field `high` is read for the first time, and later never."""

    reads = 0

    @property
    def high(self) -> float:
        ExitingSpan.reads += 1
        if ExitingSpan.reads == 1:
            raise SystemExit("gone")
        return 1.0


def test_a_field_of_a_row_is_read_once_and_an_exit_in_it_is_an_error_that_names_the_window_of_the_row() -> None:
    query = Query(tumbling(5), ANY["operator"])
    task = query.task(query.plan())
    results = ResultColumns(task, "some.module 1.0.0", lambda place: (("a",), Window(place, place + 5)))
    exiting_span = object.__new__(ExitingSpan)
    rows = [Span(0.0, 1.0), exiting_span, Span(2.0, 3.0)]

    with pytest.raises(ModuleContractError, match=r"(?s)some\.module.*gone.*\[1, 6\)"):
        results.part(rows, describe(Span, "value"), 1, describe(float, "high"), pa.float64())
    assert ExitingSpan.reads == 1
