"""The laws of what runs on arrays, as a module's writer meets them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from muntin import Component
from muntin.testing import ColumnarAggregateLaws, IncrementalAggregateLaws, LawError, laws_of
from tests.sdk import columnar_modules as modules

FORM_LAW = "test_columnar_form_gives_the_same_result"


class OffByOne(modules.Total):
    name = "demo.off_by_one"

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["total"] + (abs(components["total"]) >= 2**40)


class OffByABit(modules.FloatTotal):
    name = "demo.off_by_a_bit"

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["total"] * (1 + 2**-40)


SUM: modules.Sum[Any] = modules.Sum(integer=modules.Total(), float=modules.FloatTotal())
WRONG: modules.Sum[Any] = modules.Sum(integer=OffByOne(), float=OffByABit())


def suite(laws: type[Any], **attributes: Any) -> Any:
    """Return what pytest makes of a laws class that a writer subclassed."""
    return type("TestSuite", (laws,), attributes)()


def broken(law: str, laws: type[Any] = ColumnarAggregateLaws, **attributes: Any) -> str:
    """Return the report of a law that is broken."""
    with pytest.raises(LawError) as failure:
        getattr(suite(laws, **attributes), law)()
    return str(failure.value)


HONEST = (modules.Mean, modules.Histogram, modules.Words, modules.Busiest, modules.NullShare, modules.Account)
"""Numbers, vectors, values that are collected, times with nulls, masks, and objects."""


@pytest.mark.parametrize("module", HONEST, ids=lambda module: module.__name__)
def test_an_honest_columnar_aggregate_keeps_all_laws(module: type[Any]) -> None:
    tested, skipped = suite(ColumnarAggregateLaws, module=module()), []
    for law in laws_of(ColumnarAggregateLaws):
        try:
            getattr(tested, law)()
        except pytest.skip.Exception as reason:
            skipped.append(f"{law}: {reason}")
    assert len(laws_of(ColumnarAggregateLaws)) - len(skipped) >= 18, skipped


@pytest.mark.parametrize(
    ("module", "law", "reason"),
    [
        (modules.Mean, "test_merging_is_associative", "demo.mean has no component with a function of its own"),
        (modules.Median, "test_merging_has_an_identity", "demo.median has no component that is merged"),
        (modules.Variance, "test_inverse_undoes_merging", "demo.variance has no component with an inverse"),
        (modules.Count, "test_rows_are_independent", "demo.count counts, and lifts nothing"),
        (modules.Count, "test_removing_undoes_adding", "demo.count has no remove_events"),
    ],
)
def test_a_law_that_does_not_apply_is_skipped_with_the_reason(module: type[Any], law: str, reason: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"does not apply: {reason}"):
        getattr(suite(ColumnarAggregateLaws, module=module()), law)()


@pytest.mark.parametrize(
    "payloads",
    [
        st.integers(-9, 9),
        st.floats(-1e6, 1e6),
        st.integers(-9, 9) | st.floats(-9, 9),
        st.integers(-(2**70), 2**70),
        st.sampled_from([1.7e308, -1.7e308, float("nan"), float("inf"), 5e-324]),
    ],
    ids=["ints", "floats", "both", "big ints", "hard floats"],
)
def test_a_columnar_form_is_asked_for_the_type_of_the_payloads(payloads: Any) -> None:
    laws = suite(IncrementalAggregateLaws, module=SUM, payloads=payloads, tolerance=0.0)
    laws.test_columnar_form_gives_the_same_result()


def test_a_form_for_other_payloads_than_come_is_not_tried() -> None:
    decimals = suite(IncrementalAggregateLaws, module=SUM, payloads=st.just(Decimal(1)))
    with pytest.raises(pytest.skip.Exception, match=r"demo.sum has no columnar form for decimal"):
        decimals.test_columnar_form_gives_the_same_result()
    mixture = suite(IncrementalAggregateLaws, module=SUM, payloads=st.booleans() | st.just("text"))
    with pytest.raises(pytest.skip.Exception, match=r"demo.sum are not of one type"):
        mixture.test_columnar_form_gives_the_same_result()


def test_whole_numbers_of_a_form_are_exact_whatever_the_tolerance() -> None:
    big = {"module": WRONG, "payloads": st.integers(2**41, 2**42)}
    report = broken(FORM_LAW, IncrementalAggregateLaws, **big, tolerance=0.5)
    assert "first window, columnar form: 2199023255553\n  module: 2199023255552\n" in report


def test_floats_of_a_form_differ_by_no_more_than_rounding_and_the_tolerance() -> None:
    rough = {"module": WRONG, "payloads": st.floats(-1e6, 1e6)}
    assert "columnar form: " in broken(FORM_LAW, IncrementalAggregateLaws, **rough, tolerance=0.0)
    suite(IncrementalAggregateLaws, **rough).test_columnar_form_gives_the_same_result()


def test_a_writer_may_say_how_large_the_sums_of_a_form_are() -> None:
    class TestSum(IncrementalAggregateLaws):
        module = WRONG
        payloads = st.floats(-1e6, 1e6)
        tolerance = 0.0

        @classmethod
        def magnitude(cls, payloads: Any) -> float:
            return 2**20 * super().magnitude(payloads)

    TestSum().test_columnar_form_gives_the_same_result()


def test_a_form_that_returns_another_type_is_reported() -> None:
    wrong: modules.Sum[Any] = modules.Sum(integer=modules.FloatTotal())
    report = broken(FORM_LAW, IncrementalAggregateLaws, module=wrong, payloads=st.integers(-9, 9))
    assert "of the form does not fit: it is 0.0, expected integer" in report


def test_a_form_that_raises_or_is_none_is_reported() -> None:
    class Raising(modules.Sum[Any]):
        def columnar_form(self, reads: Any) -> Any:
            raise KeyError(reads.name)

    class Odd(modules.Sum[Any]):
        def columnar_form(self, reads: Any) -> Any:
            return "columns"

    payloads = st.integers(-9, 9)
    assert "columnar_form raised KeyError: " in broken(
        FORM_LAW, IncrementalAggregateLaws, module=Raising(), payloads=payloads
    )
    assert "columnar_form returned 'columns'" in broken(
        FORM_LAW, IncrementalAggregateLaws, module=Odd(), payloads=payloads
    )


class FloatSumWithInverse(modules.Mean):
    """Exact for the friendly floats that are drawn by default, and not for floats."""

    name = "demo.float_sum_with_inverse"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.merged(np.add, 0.0, inverse=np.subtract), "count": Component.count()}


def test_an_inverse_is_tried_on_floats_that_round() -> None:
    assert "and without it again" in broken("test_inverse_undoes_merging", module=FloatSumWithInverse())
    friendly = suite(ColumnarAggregateLaws, module=FloatSumWithInverse(), payloads=st.integers(-9, 9))
    friendly.test_inverse_undoes_merging()


def test_masked_values_from_lift_are_reported() -> None:
    class Masked(modules.NullShare):
        name = "demo.masked"

        def lift(self, payloads: Any) -> Mapping[str, Any]:
            return {"nulls": payloads.astype("int64")}

    report = broken("test_lift_returns_each_component", module=Masked())
    assert "'nulls' from lift has masked entries\n    expected: a value for each payload" in report


def test_a_changed_mask_or_object_is_reported() -> None:
    class Unmasking(modules.NullShare):
        name = "demo.unmasking"

        def lift(self, payloads: Any) -> Mapping[str, Any]:
            payloads[0] = 0.0
            return super().lift(payloads)

    class Clearing(modules.Count):
        name = "demo.clearing"
        _types = classmethod(lambda cls: {"input": list[int], "result": int})

        def components(self) -> Mapping[str, Component]:
            return {"count": Component.sum("int64")}

        def lift(self, payloads: Any) -> Mapping[str, Any]:
            for payload in payloads:
                payload.append(1)
            return {"count": np.ones(len(payloads), "int64")}

    assert "read-only" in broken("test_arrays_are_read_only", module=Unmasking())
    assert "given to lift: [[[]]]\n  afterwards: [[[1]]]" in broken("test_arrays_are_read_only", module=Clearing())


def test_components_that_raise_or_are_none_are_reported_by_every_law() -> None:
    class Broken(modules.Mean):
        name = "demo.broken"

        def components(self) -> Mapping[str, Component]:
            raise LookupError(date.min)

    for law in ("test_components_stay_the_same", "test_rows_are_independent", "test_merging_is_associative"):
        assert "raised LookupError: 0001-01-01" in broken(law, module=Broken())


def test_compute_results_is_no_misspelt_compute_result_where_it_belongs() -> None:
    suite(ColumnarAggregateLaws, module=modules.Mean()).test_definition_is_complete()
    misspelt = type("Misspelt", (modules.Sum,), {"compute_results": lambda self, state: state})()
    report = broken("test_definition_is_complete", IncrementalAggregateLaws, module=misspelt)
    assert "it defines compute_results, which nothing calls; did you mean compute_result?" in report
