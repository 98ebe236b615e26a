"""Whatever a module raises, and however: module, version, key, window and method are named, in short."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from muntin import INFINITY, Aggregate, ColumnarAggregate, Component, IncrementalAggregate, tumbling
from muntin.columnar import Ragged
from muntin.errors import ModuleContractError, ModuleFailedError
from tests.scenarios.feed import Feed, at, query


class MuteError(Exception):
    def __str__(self) -> str:  # noqa: PLE0307  # it never returns
        sys.exit(1)


class Reluctant(float):
    """A float that cannot be read as one."""

    def __float__(self) -> float:
        raise MuteError


def leave(_: Any) -> Any:
    sys.exit(3)


def interrupt(_: Any) -> Any:
    raise KeyboardInterrupt


def shout(_: Any) -> Any:
    raise ValueError("a" * 20_000_000)


def stay_mute(_: Any) -> Any:
    raise MuteError


def give_up(_: Any) -> Any:
    raise GeneratorExit


# Each of these functions raises; the name is that of the error.
RAISED: dict[str, Callable[[Any], Any]] = {
    "SystemExit": leave,
    "KeyboardInterrupt": interrupt,
    "ValueError": shout,
    "MuteError": stay_mute,
    "GeneratorExit": give_up,
}


class Whole(Aggregate[int, float]):
    """Calls `answer` for payloads among which there is a seven."""

    name, version = "test.whole", "1.2.3"

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def compute_result(self, payloads: Sequence[int]) -> float:
        return self.answer(payloads) if 7 in payloads else 1.0


class Parts(IncrementalAggregate[int, int, float]):
    """Calls `answer` for a sum of seven."""

    name, version = "test.parts", "1.2.3"

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> float:
        return self.answer(state) if state == 7 else 1.0


class WholeArray(ColumnarAggregate[int, float]):
    """Calls `answer` for an array in which there is a seven, in the method that `method` names."""

    name, version = "test.whole_array", "1"

    def __init__(self, answer: Callable[[Any], Any], method: str = "compute_results") -> None:
        self.answer = answer
        self.method = method

    def components(self) -> Mapping[str, Component]:
        return {"sum": Component.sum("int64"), "all": Component.values("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        if self.method == "lift" and 7 in payloads:
            self.answer(payloads)
        return {"sum": payloads, "all": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        values = components["all"]
        assert isinstance(values, Ragged)
        assert np.add.reduceat(values.values, values.offsets[:-1]).tolist() == components["sum"].tolist()
        if self.method == "compute_results" and 7 in components["sum"]:
            return self.answer(components["sum"])
        return components["sum"] / 1


PLACE_OF_SEVEN = "key: ('b',)\n  window: [20, 30)"
"""How an error spells the key and the window in which a module meets a seven."""

KINDS = ("general", "grouped", "sliced", "compute_results")
"""Evaluators, and the method in which a columnar module answers."""


def error_over_seven(kind: str, answer: Callable[[Any], Any], error: type[Exception]) -> Exception:
    """Return the error of a micro-batch in which the key `b` has a seven, in the window from 20.

    Args:
        kind: Evaluator, or the method of a columnar module that calls `answer`.
        answer: Function that the module calls where it meets the seven.
        error: Type of the error.
    """
    modules: dict[str, Any] = {"general": Whole(answer), "grouped": Whole(answer), "sliced": Parts(answer)}
    module = modules.get(kind, WholeArray(answer, kind))
    evaluator = kind if kind in modules else "columnar"
    feed = Feed(query(tumbling(10), module, lifetimes="points"), evaluator)
    with pytest.raises(error) as caught:
        feed.batch(
            at(3, value=5, key="a"),
            at(13, value=6, key="b"),
            at(23, value=7, key="b"),
            at(23, value=8, key="c"),
            watermark=INFINITY,
        )
    return caught.value


@pytest.mark.parametrize("kind", [*KINDS, "lift"])
@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_module_raises_is_named_with_its_place_in_short(kind: str, raised: str) -> None:
    error = error_over_seven(kind, RAISED[raised], ModuleFailedError)
    assert isinstance(error, ModuleFailedError)
    assert error.module.startswith("test.")
    assert error.key == ("b",)
    text = "".join(traceback.format_exception(error))
    assert len(text) < 20_000
    method = "lift" if kind == "lift" else "compute_result"
    assert f"failed in {method}" in text
    assert f": {raised}: " in text
    assert PLACE_OF_SEVEN in text
    assert f"in {RAISED[raised].__name__}" in text  # the frame of the module


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_that_raises_when_it_is_read_is_named_with_its_place_in_short(kind: str) -> None:
    def answer(values: Any) -> Any:
        if kind != "compute_results":
            return Reluctant()
        return np.array([Reluctant() if value == 7 else 1.0 for value in values], object)

    error = error_over_seven(kind, answer, ModuleContractError)
    assert "it raised MuteError: <MuteError, whose str() raises SystemExit>" in str(error)
    assert PLACE_OF_SEVEN in str(error)
    assert len("".join(traceback.format_exception(error))) < 20_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_of_another_type_is_named_with_its_place_in_short(kind: str) -> None:
    def answer(values: Any) -> Any:
        if kind != "compute_results":
            return "x" * 20_000_000
        return np.array(["x" * 20_000_000 if value == 7 else 1.0 for value in values], object)

    error = error_over_seven(kind, answer, ModuleContractError)
    assert "of type str, declared float" in str(error)
    assert PLACE_OF_SEVEN in str(error)
    assert len(str(error)) < 5_000
