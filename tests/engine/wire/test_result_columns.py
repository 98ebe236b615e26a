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


class Leaving(Span):
    """A span of which one part cannot be read; a second look at it would hide that."""

    looks = 0

    @property
    def high(self) -> float:
        Leaving.looks += 1
        if Leaving.looks == 1:
            raise SystemExit("gone")
        return 1.0


def test_a_field_of_a_row_is_read_once_and_an_exit_in_it_is_told_with_the_row() -> None:
    query = Query(tumbling(5), ANY["operator"])
    row = describe(Span, "value")
    task = query.task(query.plan())
    results = ResultColumns(task, "some.module 1.0.0", lambda place: (("a",), Window(place, place + 5)))
    rows = [Span(0.0, 1.0), object.__new__(Leaving), Span(2.0, 3.0)]
    with pytest.raises(ModuleContractError, match=r"(?s)some\.module.*gone.*\[1, 6\)"):
        results.part(rows, row, 1, describe(float, "high"), pa.float64())
    assert Leaving.looks == 1
