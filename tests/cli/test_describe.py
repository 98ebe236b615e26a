"""`muntin describe`: all there is to say about one name; parameters as a user types them, and examples of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from itertools import chain
from typing import Any, Literal

import pytest

from muntin import Aggregate
from muntin.catalog import installed
from muntin.errors import ParameterError
from muntin_cli.description import Description, describe
from muntin_cli.errors import UsageError
from muntin_cli.parameters import example_of, parse_parameters
from muntin_cli.shapes import shape_of
from muntin_stats import CollectList, ExponentiallyWeightedAverage, TopBy
from tests.cli.plugins import BROKEN, TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation


@pytest.fixture
def tides(offer: Offer, installation: Installation) -> Installation:
    """An installation with the plugin of the tides."""
    offer(tides=TIDES)
    return installation


def test_the_shape_of_a_module_says_whether_it_reads_the_order() -> None:
    assert shape_of(CollectList) == "ordered incremental aggregate"
    assert shape_of(ExponentiallyWeightedAverage) == "time-sensitive ordered aggregate"
    assert shape_of(TopBy) == "incremental operator"


def test_the_planner_says_how_each_kind_of_window_is_evaluated(tides: Installation, muntin: Run) -> None:
    description = muntin("describe", "tides.average", "--json").data
    assert description["capabilities"] == ["combine"]
    evaluators: dict[tuple[str, str], str] = {}
    for evaluation in description["evaluations"]:
        evaluators[evaluation["window"], evaluation["events"]] = evaluation["evaluator"]
        assert evaluation["row"]
        assert evaluation["reason"]
    assert len(evaluators) == 16
    assert evaluators["tumbling", "points"] == "sliced"
    assert evaluators["tumbling", "lifetimes"] == "grouped"
    assert evaluators["trailing", "any"] == "general"


def test_parameters_have_types_and_defaults_and_payloads_have_fields(tides: Installation, muntin: Run) -> None:
    description = muntin("describe", "tides.range", "--json").data
    assert description["parameters"] == [
        {"name": "unit", "type": "plugin_0_tides.Unit", "default": "<Unit.METRES: 'm'>"},
        {"name": "digits", "type": "int | None", "default": "None"},
    ]
    assert description["offer"]["reads"] == "struct<metres: float, is_estimate: boolean>"


DESCRIBED = {
    # the arguments: the exit code, and parts of what is printed
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


@pytest.mark.parametrize("arguments", DESCRIBED)
def test_a_name_is_described_with_its_parameters(
    arguments: str, tides: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    allow("tides", "patterns")
    code, parts = DESCRIBED[arguments]
    done = muntin("describe", *arguments.split(), "--wide")
    assert done.code == code
    printed = done.output + done.errors
    assert [part for part in parts if part not in printed] == []


def test_a_trigger_is_described_without_the_policies_of_modules(tides: Installation, muntin: Run) -> None:
    assert "clip" in muntin("describe", "tides.average").output
    assert "clip" not in muntin("describe", "tides.patience").output


def test_a_name_of_a_broken_plugin_says_why_it_is_broken_and_others_are_described(
    tides: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    tides.plugin("wrecked", source=BROKEN)
    allow("tides", "wrecked")
    assert muntin("describe", "tides.average").code == 0
    done = muntin("describe", "wrecked.anything")
    assert done.code == 1
    assert "no_such_package" in done.errors


@pytest.mark.nightly
def test_every_module_of_a_plugin_that_breaks_all_laws_can_be_described(offer: Offer) -> None:
    offer(hostile="from tests.sdk.testing.laws.muntin_hostile.plugin import *\n")
    (plugin,), _ = installed().plugins()
    descriptions = [describe(installed(), name) for name in (*plugin.modules, *plugin.functions)]
    assert len(descriptions) > 80
    for description in descriptions:
        assert description.laws or description.example is None, description


def test_every_module_of_our_own_plugins_is_planned_with_parameters_that_it_accepts(allow: Callable[..., None]) -> None:
    allow("stats", "patterns")
    plugins, _ = installed().plugins()
    descriptions: dict[str, Description] = {}
    for plugin in plugins:
        descriptions |= {name: describe(installed(), name) for name in plugin.modules}
    assert len(descriptions) >= 20
    assert [name for name, description in descriptions.items() if not description.evaluations] == []

    # Only patterns are refused in some windows: where they could find nothing, and with events that last.
    refusals: dict[str, list[str]] = {}
    for name, description in descriptions.items():
        reasons = [evaluation.reason for evaluation in description.evaluations if not evaluation.evaluator]
        if reasons:
            refusals[name] = reasons
    assert {name.partition(".")[0] for name in refusals} == {"patterns"}
    for reason in chain.from_iterable(refusals.values()):
        assert " finds nothing in " in reason or " follows events at " in reason


def test_the_documentation_of_a_base_class_is_not_that_of_the_module(tides: Installation, muntin: Run) -> None:
    assert muntin("describe", "tides.turns", "--json").data["documentation"] == ""


def test_without_the_engine_the_evaluation_of_modules_is_left_out(
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
    """A module; those below have parameters."""

    name, version = "tides.level", "1.0.0"

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class OneOfEachType(Level):
    """It refuses the first examples of two of its parameters."""

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
            raise ValueError("whole is too small, or share too large")


class OneOfTwo(Level):
    def __init__(self, half_life: int | timedelta | None = None, alpha: float | None = None) -> None:
        if (half_life is None) == (alpha is None):
            raise ValueError("one of half_life and alpha")


class Impossible(Level):
    def __init__(self, level: int) -> None:
        raise ValueError("never")


def test_examples_are_found_by_type_until_the_constructor_accepts_them() -> None:
    example = example_of(OneOfEachType)
    assert example is not None
    module, parameters = example
    assert isinstance(module, OneOfEachType)
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
    _, parameters = example
    assert parameters == {"half_life": 2}


def test_an_example_has_the_parameters_that_the_user_gives() -> None:
    example = example_of(OneOfEachType, {"share": 0.25, "digits": 0, "whole": 11})
    assert example is not None
    _, parameters = example
    assert (parameters["share"], parameters["digits"], parameters["whole"]) == (0.25, 0, 11)


def test_a_constructor_that_accepts_nothing_has_no_example() -> None:
    assert example_of(Impossible) is None


def test_parameters_of_the_user_that_the_constructor_refuses_are_an_error() -> None:
    with pytest.raises(ParameterError, match="never"):
        example_of(Impossible, {"level": 1})
    with pytest.raises(ParameterError, match="one of"):
        example_of(OneOfTwo, {"half_life": 2, "alpha": 0.5})


def test_parameters_in_text_are_literals_of_python_or_else_texts() -> None:
    assert parse_parameters(["a=1", "b=0.5", "c=[1, 2]", "d=None", "e=10 minutes", "f=x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": [1, 2],
        "d": None,
        "e": "10 minutes",
        "f": "x=y",
    }


@pytest.mark.parametrize("text", ["q", "=1", "2q=1", ""])
def test_a_text_that_names_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected: <name>=<value>"):
        parse_parameters([text])
