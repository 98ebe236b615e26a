"""`muntin describe`: all there is to say about one name."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from muntin.catalog import installed
from muntin_cli.description import describe
from muntin_cli.shapes import shape_of
from muntin_stats import CollectList, ExponentiallyWeightedAverage, TopBy
from tests.cli.plugins import BROKEN, TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation

ABOVE = """\
tides.above 1.0.0

  Return the share of the window above a level.

from        muntin-tides 0.1.0, plugin_0_tides.Above
shape       time-sensitive aggregate
parameters  level: float
            way: Literal['strict', 'loose']
reads       float
returns     float
clip        only full; full unless a query names another

laws
  accepted clips work        Under each clip in accepted_clips the module computes a result, also of events without an end.
  definition is complete     The class has a name, a version, types and every method that its base class asks for, rightly spelt.
  order does not matter      Any permutation of the members gives an equal result.
  payloads are read only     Neither a payload nor the collection they come in is changed.
  result has declared type   Every result, and every row of an operator, fits the declared result type.
  same payloads same result  The same members give the same result at any time, to the last bit.

evaluation, for final results and level=0.5, way='strict'
  window               evaluator  a row costs                                                          why
  calendar, any        grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
  count_by_end, any    general    a constant for each window that it is a member of                    count_by_end(10) is cut by each key's own events
  count_by_start, any  general    a constant for each window that it is a member of                    count_by_start(10) is cut by each key's own events
  cumulate, points     grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
  cumulate, lifetimes  general    a constant for each window that it is a member of                    cumulate('1 hour', '10 minutes') keeps a running state of points alone, and events last
  global_windows, any  general    a constant for each window that it is a member of                    global_windows() is no regular grid
  hopping, any         grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
  landmark, points     grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
  landmark, lifetimes  general    a constant for each window that it is a member of                    landmark('1 hour') keeps a running state of points alone, and events last
  session, any         grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
  snapshot, any        grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
  trailing, any        general    a constant for each window that it is a member of                    trailing('1 hour') is cut by each key's own events
  tumbling, any        grouped    a constant for each window that it is a member of, when that closes  tides.above 1.0.0 sees events and the window
"""  # noqa: E501  # as it is printed


@pytest.fixture
def tides(offer: Offer, installation: Installation) -> Installation:
    offer(tides=TIDES)
    return installation


def test_a_module_is_described_as_a_whole(tides: Installation, muntin: Run) -> None:
    done = muntin("describe", "tides.above")
    assert (done.code, done.output) == (0, ABOVE)


def test_a_module_that_reads_the_order_is_an_ordered_one() -> None:
    shapes = {shape_of(cls) for cls in (CollectList, ExponentiallyWeightedAverage, TopBy)}
    assert shapes == {"ordered incremental aggregate", "time-sensitive ordered aggregate", "incremental operator"}


def test_the_planner_says_how_each_kind_of_window_is_evaluated(tides: Installation, muntin: Run) -> None:
    found = muntin("describe", "tides.average", "--json").data
    assert found["capabilities"] == ["combine"]
    assert [(e["window"], e["events"], e["evaluator"]) for e in found["evaluations"]] == [
        ("calendar", "points", "sliced"),
        ("calendar", "lifetimes", "grouped"),
        ("count_by_end", "any", "general"),
        ("count_by_start", "any", "general"),
        ("cumulate", "points", "sliced"),
        ("cumulate", "lifetimes", "general"),
        ("global_windows", "any", "general"),
        ("hopping", "points", "sliced"),
        ("hopping", "lifetimes", "grouped"),
        ("landmark", "points", "sliced"),
        ("landmark", "lifetimes", "general"),
        ("session", "any", "sliced"),
        ("snapshot", "any", "grouped"),
        ("trailing", "any", "general"),
        ("tumbling", "points", "sliced"),
        ("tumbling", "lifetimes", "grouped"),
    ]
    assert all(evaluation["row"] and evaluation["reason"] for evaluation in found["evaluations"])


def test_parameters_have_types_and_defaults(tides: Installation, muntin: Run) -> None:
    found = muntin("describe", "tides.range", "--json").data
    assert found["parameters"] == [
        {"name": "unit", "type": "plugin_0_tides.Unit", "default": "<Unit.METRES: 'm'>"},
        {"name": "digits", "type": "int | None", "default": "None"},
    ]
    assert found["offer"]["reads"] == "struct<metres: float, is_estimate: boolean>"


DESCRIBED = {
    # what is asked: the exit code, and parts of the answer
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
    done = muntin("describe", *asked.split())
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


def test_every_module_of_the_hostile_plugin_can_be_described(offer: Offer) -> None:
    offer(hostile="from tests.hostile.muntin_hostile.plugin import *\n")
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


def test_documentation_is_shown_as_it_was_written(tides: Installation, muntin: Run) -> None:
    shown = muntin("describe", "tides.range").output
    documentation = inspect.getdoc(installed().module("tides.range"))
    assert documentation
    assert documentation in shown.replace("\n  ", "\n")
