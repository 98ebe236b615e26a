"""The values that columns could not hold, counted until they are reported."""

from __future__ import annotations

from muntin_engine.wire.overflows import Overflow, Overflows


def too_large(value: str) -> Overflow:
    return Overflow(
        module="demo.sum 1.0.0",
        column="total",
        arrow_type="int64",
        value=value,
        key="('a',)",
        window="[0, 10)",
        is_infinite=False,
    )


def test_the_first_value_is_the_first_since_the_counts_were_taken() -> None:
    overflows = Overflows(fails=False)
    for values in (["1e30", "2e30"], ["3e30"]):
        for value in values:
            overflows.add(too_large(value), 1)
        taken = overflows.take()["total"]
        assert (taken.number, taken.first.value) == (len(values), values[0])
    assert overflows.take() == {}


def test_values_of_a_task_that_failed_are_forgotten() -> None:
    overflows = Overflows(fails=False)
    overflows.add(too_large("1e30"), 1)
    overflows.clear()
    overflows.add(too_large("2e30"), 1)
    assert overflows.take()["total"].first.value == "2e30"
