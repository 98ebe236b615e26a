"""`muntin modules`: what is installed, and what could not be loaded."""

from __future__ import annotations

import pytest

from tests.cli.plugins import BROKEN, ENDS_THE_PROCESS, TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation


def test_modules_and_functions_are_listed_by_name(offer: Offer, muntin: Run) -> None:
    offer(tides=TIDES)

    done = muntin("modules")

    assert done.code == 0
    assert [line.split("  ")[0] for line in done.output.splitlines()] == [
        "name",
        "tides.above",
        "tides.average",
        "tides.feet",
        "tides.patience",
        "tides.range",
        "tides.turns",
    ]
    assert [" ".join(line.split()) for line in done.output.splitlines()][2] == (
        "tides.average 1.2.0 incremental aggregate float float muntin-tides 0.1.0"
    )
    assert "\x1b" not in done.output, "it is for no terminal"
    assert [line for line in done.output.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [(BROKEN, "No module named 'no_such_package'"), (ENDS_THE_PROCESS, "SystemExit: nobody expects this")],
)
def test_a_broken_plugin_hides_no_other(offer: Offer, source: str, reason: str, muntin: Run) -> None:
    offer(tides=TIDES, wrecked=source)

    done = muntin("modules")

    assert done.code == 1
    assert "tides.average" in done.output
    assert "\n1 could not be loaded\n" in done.output
    assert reason in done.output
    assert "muntin-wrecked 0.1.0" in done.output


def test_programs_get_json(offer: Offer, muntin: Run) -> None:
    offer(tides=TIDES, wrecked=BROKEN)

    done = muntin("modules", "--json")

    assert done.code == 1
    average = next(offer for offer in done.data["offers"] if offer["name"] == "tides.average")
    assert average == {
        "name": "tides.average",
        "version": "1.2.0",
        "shape": "incremental aggregate",
        "reads": "float",
        "returns": "float",
        "plugin": "tides",
        "distribution": "muntin-tides 0.1.0",
        "source": "plugin_0_tides.Average",
    }
    assert [failure["kind"] for failure in done.data["failures"]] == ["PluginLoadError"]


def test_where_nothing_is_installed_it_says_what_to_do(installation: Installation, muntin: Run) -> None:
    done = muntin("modules")
    assert (done.code, done.output) == (
        0,
        "no plugin is installed\n  pip install muntin-stats, or start one: muntin new <name>\n",
    )


def test_the_hostile_plugin_is_listed(offer: Offer, muntin: Run) -> None:
    offer(hostile="from tests.hostile.muntin_hostile.plugin import *\n")
    done = muntin("modules", "--json")
    assert done.code == 0
    assert len(done.data["offers"]) > 80
