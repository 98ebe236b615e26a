"""What a plan says of modules that read the order of events, and which evaluator such a query gets."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import ColumnarAggregate, session, snapshot
from muntin.errors import ModuleDefinitionError, QueryError
from muntin.rows import last
from muntin_engine.plan import Input, NamedColumn
from muntin_engine.plan.explanation import explain_plan
from muntin_stats import CollectList, First, Last, Sum
from tests.differential.forms import Statistics
from tests.plan.plans import input_of, plan_of, planned
from tests.scenarios.modules import Joined

SEQ = {"payload": (NamedColumn("c0", "bigint"), NamedColumn("seq", "bigint"))}


def told(*modules: Any, order: int | None = None, **changed: Any) -> dict[str, str]:
    plan = plan_of(*modules, columns=SEQ, input=input_of(order=order), **changed)
    return {line[:12].strip(): line[12:] for line in explain_plan(plan).splitlines()}


def test_the_order_of_events_is_said_where_a_module_reads_it() -> None:
    first, last_one, total = planned(First, "a"), planned(Last, "b"), planned(Sum, "c")
    assert told(first, total, last_one, order=1)["order"] == (
        "stats.first 0.1.0, stats.last 0.1.0: events by time, and at one time by seq"
    )
    assert told(planned(Joined))["order"] == (
        "test.joined 1: events by time, and at one time by what it reads of them: "
        "events(..., order='offset') says another order"
    )
    assert "order" not in told(total)


@pytest.mark.parametrize("changed", [{}, {"window": session("1 minute")}, {"window": snapshot()}], ids=str)
def test_windows_over_time_compute_it_from_events(changed: dict[str, Any]) -> None:
    lines = told(planned(First), **changed)
    assert lines["evaluator"] == (
        "grouped: stats.first 0.1.0 reads the order of events, and the rows of a partial state come in any"
    )
    assert lines["module"].endswith("computed from the members of each window in their order")
    with pytest.raises(QueryError, match="reads the order of events"):
        told(planned(First), wanted="sliced", **changed)


def test_windows_over_rows_update_it_row_by_row() -> None:
    lines = told(planned(CollectList), order=1, window=last(3))
    assert lines["order"] == "by time, and at one time by seq; a row is released when the watermark passes it"
    assert lines["module"].endswith("its state follows the rows that come and go")


def test_an_aggregate_on_arrays_cannot_read_the_order() -> None:
    class Ordered(Statistics):
        reads_order = True

    assert issubclass(Ordered, ColumnarAggregate)
    with pytest.raises(ModuleDefinitionError, match="reads the order, and the rows of an array are in none"):
        Ordered.check_definition()


def test_the_order_is_part_of_what_a_checkpoint_depends_on() -> None:
    def identity(order: int | None) -> object:
        given: Input = plan_of(planned(First), columns=SEQ, input=input_of(order=order)).input
        return given.identity()

    assert identity(1) != identity(None)
