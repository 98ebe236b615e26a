"""`RestartLaws`: each of them is kept by an honest module of every shape, and broken by a wrong one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from muntin import ColumnarAggregate, IncrementalAggregate, Module, snapshot, tumbling
from muntin.rows import batch
from muntin.schemas import Field
from muntin.testing import LawError, laws_of
from muntin_engine.testing import RestartLaws
from tests.crashing.modules import (
    Cache,
    Calls,
    CombinesOnSelf,
    Departures,
    DeparturesOnSelf,
    Mean,
    Numbers,
    NumbersOnSelf,
    TotalOnSelf,
)
from tests.hostile.muntin_hostile import HONEST

WRONG: dict[str, type[Module]] = {
    "test_final_results_survive_restarts": TotalOnSelf,
    "test_speculative_results_survive_restarts": TotalOnSelf,
    "test_eager_results_survive_restarts": Calls,
    "test_early_results_survive_restarts": Calls,
    "test_results_over_slices_survive_restarts": CombinesOnSelf,
    "test_results_of_row_windows_survive_restarts": TotalOnSelf,
    "test_results_without_windows_survive_restarts": NumbersOnSelf,
}
OF_STREAMS = "test_results_without_windows_survive_restarts"


def check(law: str, module: Module, **attributes: Any) -> None:
    suite = type("TestSubject", (RestartLaws,), {"module": module, **attributes})
    getattr(suite(), law)()


@pytest.mark.parametrize("law", laws_of(RestartLaws))
def test_a_wrong_module_breaks_the_law_and_the_smallest_stream_shows_it(law: str) -> None:
    module = WRONG[law]()
    with pytest.raises(LawError) as broken:
        check(law, module)
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    assert str(broken.value).startswith(f"{module.name} 1 breaks the law: {broken.value.law}\n")
    assert "smallest stream:" in str(broken.value)
    assert "to do: keep all that a result depends on in the state" in str(broken.value)
    assert broken.value.stream.count("+ ") <= 3


def test_the_smallest_stream_is_one_event_where_that_is_enough() -> None:
    with pytest.raises(LawError) as broken:
        check("test_eager_results_survive_restarts", TotalOnSelf(), windows=(snapshot(),))
    assert broken.value.stream == ("           0\n+ 'E0'     [)   1\n\nwithout    [)   1\nrun again  [)   2")


@pytest.mark.parametrize("module", [cls() for cls in HONEST], ids=lambda module: module.name)
def test_an_honest_module_of_every_shape_keeps_its_laws(module: Module) -> None:
    check("test_speculative_results_survive_restarts", module)


@pytest.mark.parametrize("law", [law for law in laws_of(RestartLaws) if law != OF_STREAMS])
def test_a_module_with_all_capabilities_keeps_each_law(law: str) -> None:
    check(law, Mean(), payloads=st.integers(0, 40).map(float))
    check(law, Cache())


ROWS = "test_results_of_row_windows_survive_restarts"


def test_an_operator_that_follows_rows_has_one_law_over_both_of_its_outputs() -> None:
    check(ROWS, Departures())
    with pytest.raises(LawError) as broken:
        check(ROWS, DeparturesOnSelf())
    assert "given by rows that left" in str(broken.value)
    with pytest.raises(pytest.skip.Exception, match=r"test\.departures follows rows"):
        check("test_final_results_survive_restarts", Departures())


def test_an_operator_that_follows_a_stream_has_one_law_which_others_do_not_have() -> None:
    check(OF_STREAMS, Numbers())
    with pytest.raises(pytest.skip.Exception, match=r"test\.numbers follows a stream"):
        check("test_final_results_survive_restarts", Numbers())
    with pytest.raises(pytest.skip.Exception, match=r"test\.departures is for windows"):
        check(OF_STREAMS, Departures())


def test_row_windows_of_ones_own_are_tried_alone_and_none_is_skipped() -> None:
    with pytest.raises(LawError, match=r"results of batch\(2\)"):
        check(ROWS, TotalOnSelf(), windows=(tumbling(5), batch(2)))
    with pytest.raises(pytest.skip.Exception, match=r"there are no such windows among tumbling\(5\)"):
        check(ROWS, TotalOnSelf(), windows=(tumbling(5),))


NOT_SLICED = [cls() for cls in HONEST if cls.is_time_sensitive or not hasattr(cls, "combine")]


@pytest.mark.parametrize("module", NOT_SLICED, ids=lambda module: module.name)
def test_what_is_never_evaluated_over_slices_is_skipped_with_a_reason(module: Module) -> None:
    with pytest.raises(pytest.skip.Exception, match=rf"{module.name} (is time-sensitive|has no combine)"):
        check("test_results_over_slices_survive_restarts", module)


class ReadsNothingKnown(IncrementalAggregate[dict[str, int], int, int]):
    """Cannot be combined, and has a columnar form only for numbers."""

    name, version = "test.reads_nothing_known", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[dict[str, int]]) -> int:
        return state + len(payloads)

    def compute_result(self, state: int) -> int:
        return state

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        return None


def test_a_module_without_a_columnar_form_for_its_payloads_is_tried_with_its_rows() -> None:
    check("test_results_over_slices_survive_restarts", ReadsNothingKnown())
