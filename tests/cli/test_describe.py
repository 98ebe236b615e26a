"""`muntin describe`: all there is to say about one name; parameters as a user types them, and examples of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, Literal

import pytest

from muntin import Aggregate
from muntin.catalog import installed
from muntin.errors import ParameterError
from muntin_cli.description import describe
from muntin_cli.errors import UsageError
from muntin_cli.parameters import example_of, parse_parameters
from muntin_cli.shapes import shape_of
from muntin_stats import CollectList, ExponentiallyWeightedAverage, TopBy
from tests.cli.plugins import BROKEN, TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation


@pytest.fixture
def tides(offer: Offer, installation: Installation) -> Installation:
    offer(tides=TIDES)
    return installation


def test_a_module_that_reads_the_order_is_an_ordered_one() -> None:
    shapes = {shape_of(cls) for cls in (CollectList, ExponentiallyWeightedAverage, TopBy)}
    assert shapes == {"ordered incremental aggregate", "time-sensitive ordered aggregate", "incremental operator"}


def test_the_planner_says_how_each_kind_of_window_is_evaluated(tides: Installation, muntin: Run) -> None:
    description = muntin("describe", "tides.average", "--json").data
    assert description["capabilities"] == ["combine"]
    evaluators = {(each["window"], each["events"]): each["evaluator"] for each in description["evaluations"]}
    assert len(evaluators) == 16
    assert (evaluators["tumbling", "points"], evaluators["tumbling", "lifetimes"], evaluators["trailing", "any"]) == (
        "sliced",
        "grouped",
        "general",
    )
    assert all(evaluation["row"] and evaluation["reason"] for evaluation in description["evaluations"])


def test_parameters_have_types_and_defaults(tides: Installation, muntin: Run) -> None:
    description = muntin("describe", "tides.range", "--json").data
    assert description["parameters"] == [
        {"name": "unit", "type": "plugin_0_tides.Unit", "default": "<Unit.METRES: 'm'>"},
        {"name": "digits", "type": "int | None", "default": "None"},
    ]
    assert description["offer"]["reads"] == "struct<metres: float, is_estimate: boolean>"


DESCRIBED = {
    # what is asked: the exit code, and parts of the answer
    "tides.above": (
        0,
        [
            "tides.above 1.0.0\n\n  Return the share of the window above a level.\n\nfrom        muntin-tides 0.1.0",
            "\nshape       time-sensitive aggregate\nparameters  level: float\n            way: Literal['strict', ",
            "\nclip        only full; full unless a query names another\n\nlaws\n  accepted clips work ",
            "\nevaluation, for final results and level=0.5, way='strict'\n  window ",
            "\n  landmark, lifetimes  general    a constant for each window that it is a member of ",
        ],
    ),
    "tides.above --with level=2 --with way=loose": (0, ["\nevaluation, for final results and level=2, way='loose'\n"]),
    "tides.range --with unt=1": (2, ["unexpected keyword argument 'unt'"]),
    "tides.range --with unit": (2, []),
    "tides.averge": (2, ["muntin: no module is named 'tides.averge'\n  did you mean 'tides.average'"]),
    "tides.feet": (
        0,
        [
            "tides.feet 1.0.0\n\n  Return metres as feet.\n\n",
            "shape       function\nparameters  metres: float\nreturns     float\n",
            "arguments are read only",
        ],
    ),
    "tides.patience": (
        0,
        [
            "tides.patience 1.0.0\n\n  Fire after so many members.\n\n",
            "shape       trigger\nparameters  members: int\n",
            "it sleeps until it is woken",
        ],
    ),
    "patterns.silence --with after=10": (
        0,
        [
            "\nshape       stream operator\n",
            "\nneeds       a stream without windows\n",
            "\n  no windows, points     event_by_event  a call of the operator",
            "\n  no windows, lifetimes  none ",
        ],
    ),
    "patterns.followed_by --with within=10": (
        0,
        [
            "\nclip        only none or right; right unless a query names another\n",
            "\nneeds       hopping or tumbling windows, with a reach that keeps events as members for 11 ticks",
            "\ntimestamps  unchanged unless a query names others\n",
        ],
    ),
}


@pytest.mark.parametrize("asked", DESCRIBED)
def test_a_name_is_described_with_its_parameters(
    asked: str, tides: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    allow("tides", "patterns")
    code, parts = DESCRIBED[asked]
    done = muntin("describe", *asked.split(), "--wide")
    assert done.code == code
    assert [part for part in parts if part not in done.output + done.errors] == []
    assert asked != "tides.patience" or "clip" not in done.output


def test_a_name_of_a_broken_plugin_says_why_it_is_broken(
    tides: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    tides.plugin("wrecked", source=BROKEN)
    allow("tides", "wrecked")
    assert muntin("describe", "tides.average").code == 0
    done = muntin("describe", "wrecked.anything")
    assert done.code == 1
    assert "no_such_package" in done.errors


@pytest.mark.nightly
def test_every_module_of_the_hostile_plugin_can_be_described(offer: Offer) -> None:
    offer(hostile="from tests.sdk.testing.laws.muntin_hostile.plugin import *\n")
    (plugin,), _ = installed().plugins()
    described = [describe(installed(), name) for name in (*plugin.modules, *plugin.functions)]
    assert len(described) > 80
    assert all(description.laws for description in described if description.example is not None)


def test_every_module_of_our_own_plugins_is_planned_with_parameters_that_it_accepts(allow: Callable[..., None]) -> None:
    allow("stats", "patterns")
    plugins, _ = installed().plugins()
    names = [name for plugin in plugins for name in plugin.modules]
    described = {name: describe(installed(), name) for name in names}
    assert len(described) >= 20
    assert [name for name, description in described.items() if not description.evaluations] == []
    refused = [
        (name, evaluation.reason)
        for name, description in described.items()
        for evaluation in description.evaluations
        if not evaluation.evaluator
    ]
    assert {name.partition(".")[0] for name, _ in refused} == {"patterns"}
    assert {" ".join(reason.split()[2:5]) for _, reason in refused} == {"finds nothing in", "follows events at"}


def test_the_documentation_of_a_base_class_is_not_that_of_the_module(tides: Installation, muntin: Run) -> None:
    assert muntin("describe", "tides.turns", "--json").data["documentation"] == ""


def test_without_the_engine_all_but_the_evaluation_is_told(
    tides: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("muntin_cli.description", "muntin_cli.commands.describe"):
        monkeypatch.setattr(f"{place}.can_evaluate", lambda: False)
    done = muntin("describe", "tides.range")
    assert done.code == 0
    assert done.output.endswith(
        "\nhow it is evaluated is known where muntin-engine is installed: pip install 'muntin-cli[engine]'\n"
    )
    assert "pip install" not in muntin("describe", "tides.feet").output


class Unit(Enum):
    METRES = "m"


class Level(Aggregate[float, float]):
    name, version = "tides.level", "1.0.0"

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Everything(Level):
    def __init__(  # noqa: PLR0913  # one of each type
        self,
        whole: int,
        share: float,
        label: str,
        way: Literal["up", "down"],
        unit: Unit,
        within: timedelta | None,
        levels: list[float],
        anything: Any,
        *,
        digits: int = 3,
    ) -> None:
        if whole < 10 or share >= 0.5:
            raise ValueError("no")


class OneOfTwo(Level):
    def __init__(self, half_life: int | timedelta | None = None, alpha: float | None = None) -> None:
        if (half_life is None) == (alpha is None):
            raise ValueError("one of half_life and alpha")


class Impossible(Level):
    def __init__(self, level: int) -> None:
        raise ValueError("never")


def test_examples_are_found_by_type_until_the_constructor_accepts_them() -> None:
    example = example_of(Everything)
    assert example is not None
    module, parameters = example
    assert isinstance(module, Everything)
    assert parameters == {
        "whole": 10,
        "share": 0.1,
        "label": "a",
        "way": "up",
        "unit": Unit.METRES,
        "within": timedelta(hours=1),
        "levels": [0.5],
        "anything": 2,
    }


def test_an_optional_parameter_is_looked_for_where_the_constructor_wants_one_of_several() -> None:
    example = example_of(OneOfTwo)
    assert example is not None
    assert example[1] == {"half_life": 2}
    with pytest.raises(ParameterError, match="one of"):
        example_of(OneOfTwo, {"half_life": 2, "alpha": 0.5})


def test_what_is_known_is_kept() -> None:
    example = example_of(Everything, {"share": 0.25, "digits": 0, "whole": 11})
    assert example is not None
    assert (example[1]["share"], example[1]["digits"], example[1]["whole"]) == (0.25, 0, 11)


def test_a_constructor_that_accepts_nothing_has_no_example() -> None:
    assert example_of(Impossible) is None


def test_what_is_given_and_complete_must_be_accepted() -> None:
    with pytest.raises(ParameterError, match="never"):
        example_of(Impossible, {"level": 1})


def test_literals_are_read_as_python_and_the_rest_is_text() -> None:
    assert parse_parameters(["a=1", "b=0.5", "c=[1, 2]", "d=None", "e=10 minutes", "f=x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": [1, 2],
        "d": None,
        "e": "10 minutes",
        "f": "x=y",
    }


@pytest.mark.parametrize("text", ["q", "=1", "2q=1", ""])
def test_what_names_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected: <name>=<value>"):
        parse_parameters([text])
