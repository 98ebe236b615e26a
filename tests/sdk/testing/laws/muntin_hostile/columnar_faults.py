"""Columnar aggregates with a fault; `breaks` names the law that each breaks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from muntin import Component

from .columnar import HonestColumnarAggregate, State, as_objects
from .faults import HasNoVersion, Opaque


class ColumnarFault(HonestColumnarAggregate):
    """A way to be wrong; the name of the module is made of that of its class."""

    breaks: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.name = "hostile.columnar" + re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", cls.__name__)


class ColumnsHaveNoVersion(HasNoVersion, ColumnarFault):
    breaks = "test_definition_is_complete"


class ReturnsText(ColumnarFault):
    breaks = "test_result_has_declared_type"

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return as_objects("text" for _ in components["count"])


class ReturnsTheFirst(ColumnarFault):
    breaks = "test_order_does_not_matter"

    def compute_result(self, state: State) -> list[int]:
        return list(state["kept"]["payloads"][:1])


class CountsItsCalls(ColumnarFault):
    breaks = "test_same_payloads_same_result"
    calls = 0

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        self.calls += 1
        return as_objects([self.calls] for _ in components["count"])


class ReversesWhatItReads(ColumnarFault):
    breaks = "test_payloads_are_read_only"

    def add_events(self, state: State, payloads: Sequence[int]) -> State:
        payloads.reverse()  # type: ignore[attr-defined]  # that is the fault
        return super().add_events(state, payloads)


class CountsAdditions(ColumnarFault):
    breaks = "test_splitting_does_not_matter"

    def add_events(self, state: State, payloads: Sequence[int]) -> State:
        return super().add_events(state, [*payloads, 1])


class SharesItsState(ColumnarFault):
    breaks = "test_each_state_is_its_own"
    shared: ClassVar[State] = {"payloads": 0, "kept": {"payloads": [], "mixed": 0, "count": 0}}

    def create_state(self) -> State:
        return self.shared

    def add_events(self, state: State, payloads: Sequence[int]) -> State:
        state |= super().add_events(state, payloads)
        return state


class ReturnsItsState(ColumnarFault):
    breaks = "test_results_do_not_alias_the_state"

    def add_events(self, state: State, payloads: Sequence[int]) -> State:
        payloads_kept = state["kept"]["payloads"]
        payloads_kept.extend(payloads)
        payloads_kept.sort()
        return {"payloads": state["payloads"] + len(payloads), "kept": {**state["kept"], "payloads": payloads_kept}}

    def compute_result(self, state: State) -> list[int]:
        result: list[int] = state["kept"]["payloads"]
        return result


class ReversesItsState(ColumnarFault):
    breaks = "test_compute_result_leaves_the_state_as_it_was"

    def compute_result(self, state: State) -> list[int]:
        state["kept"]["payloads"].reverse()
        return super().compute_result(state)


class KeepsAnOpaqueState(ColumnarFault):
    breaks = "test_state_survives_its_codec"

    def add_events(self, state: State, payloads: Sequence[int]) -> State:
        return {**super().add_events(state, payloads), "opaque": Opaque()}  # type: ignore[typeddict-unknown-key]  # the fault


class RemovesOneMore(ColumnarFault):
    breaks = "test_incremental_equals_recomputed"

    def remove_events(self, state: State, payloads: Sequence[int]) -> State:
        remaining = super().remove_events(state, payloads)
        return super().remove_events(remaining, remaining["kept"]["payloads"][:1])


class NeverRemoves(ColumnarFault):
    breaks = "test_removing_undoes_adding"

    def remove_events(self, state: State, payloads: Sequence[int]) -> State:
        return state


class CombinesOneSide(ColumnarFault):
    breaks = "test_combining_equals_adding"

    def combine(self, state: State, other: State) -> State:
        return state


class MarksTheSeam(ColumnarFault):
    breaks = "test_combine_is_associative"

    def combine(self, state: State, other: State) -> State:
        return self.add_events(super().combine(state, other), [state["payloads"]])


class PrefersTheFirst(ColumnarFault):
    breaks = "test_combine_is_commutative"

    def combine(self, state: State, other: State) -> State:
        return self.add_events(super().combine(state, other), state["kept"]["payloads"][:1])


class CountsCombinations(ColumnarFault):
    breaks = "test_combine_has_an_identity"

    def combine(self, state: State, other: State) -> State:
        return self.add_events(super().combine(state, other), [1])


class NeverDeducts(ColumnarFault):
    breaks = "test_deducting_undoes_combining"

    def deduct(self, state: State, other: State) -> State:
        return state


class TakesTheOtherOver(ColumnarFault):
    breaks = "test_second_state_is_read_only"

    def combine(self, state: State, other: State) -> State:
        other |= super().combine(state, other)
        return other


class IsAnotherAlone(ColumnarFault):
    """The result of a single state differs from the results of all windows at once."""

    breaks = "test_columnar_form_gives_the_same_result"

    def compute_result(self, state: State) -> list[int]:
        return [*super().compute_result(state), 0]


class TurnsItsComponents(ColumnarFault):
    """Names its components backwards at every second call.

    That is harmless to the result; but the order of components is part of the layout of a checkpoint.
    """

    breaks = "test_components_stay_the_same"
    calls = 0

    def components(self) -> Mapping[str, Component]:
        self.calls += 1
        components = list(super().components().items())
        return dict(components if self.calls % 2 == 0 else reversed(components))


class KeepsNothing(ColumnarFault):
    breaks = "test_components_stay_the_same"

    def components(self) -> Mapping[str, Component]:
        return {}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return as_objects([[]])


class LiftsMore(ColumnarFault):
    """Returns the count, too, which is not lifted."""

    breaks = "test_lift_returns_each_component"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {**super().lift(payloads), "count": np.ones(len(payloads))}


class LiftsOneLess(ColumnarFault):
    breaks = "test_lift_returns_each_component"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {**super().lift(payloads), "mixed": payloads[1:]}


class LiftsFloats(ColumnarFault):
    breaks = "test_lift_returns_each_component"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {**super().lift(payloads), "mixed": payloads / 2}


class LiftsRunningTotals(ColumnarFault):
    breaks = "test_rows_are_independent"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {**super().lift(payloads), "mixed": np.cumsum(payloads)}


class NeedsARow(ColumnarFault):
    """Reads the first row, which fails where there is none."""

    breaks = "test_rows_are_independent"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return super().lift(payloads + 0 * payloads[0])


class CountsTheWindows(ColumnarFault):
    """Adds to each result the number of windows that are computed at once."""

    breaks = "test_results_are_independent"

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        window_count = len(components["count"])
        return as_objects([*result, window_count] for result in super().compute_results(components))


class SortsItsPayloads(ColumnarFault):
    breaks = "test_arrays_are_read_only"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        payloads.sort()
        return super().lift(payloads)


class SortsItsComponents(ColumnarFault):
    breaks = "test_arrays_are_read_only"

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        components["payloads"].values.sort()
        return super().compute_results(components)


class MergesInPlace(ColumnarFault):
    breaks = "test_arrays_are_read_only"
    mixed = Component.merged(lambda first, second: np.bitwise_xor(first, second, out=first), 0, "int64")


class MergesOverPairs(ColumnarFault):
    breaks = "test_merging_goes_pair_by_pair"
    mixed = Component.merged(lambda first, second: (first ^ second)[::-1], 0, "int64")


class MergesToOne(ColumnarFault):
    breaks = "test_merging_goes_pair_by_pair"
    mixed = Component.merged(lambda first, second: np.sum(first ^ second), 0, "int64")


class MergesToTheHalf(ColumnarFault):
    breaks = "test_merging_is_associative"
    mixed = Component.merged(lambda first, second: (first + second) // 2, 0, "int64")


class MergesToTheFirst(ColumnarFault):
    breaks = "test_merging_is_commutative"
    mixed = Component.merged(lambda first, second: first, 0, "int64")


class StartsFromOne(ColumnarFault):
    breaks = "test_merging_has_an_identity"
    mixed = Component.merged(np.bitwise_xor, 1, "int64")


class SubtractsItsMinimum(ColumnarFault):
    breaks = "test_inverse_undoes_merging"
    mixed = Component.merged(np.minimum, 2**63 - 1, "int64", inverse=np.subtract)
