"""`muntin modules`: what is installed, and what could not be loaded.

A process lists each plugin, so that one that ends or breaks its process hides no other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.cli.plugins import BROKEN, ENDS_THE_PROCESS, TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation
from tests.torture.bad_packages import BREAKS, ENDS


def test_modules_and_functions_are_listed_by_name(offer: Offer, muntin: Run) -> None:
    offer(tides=TIDES)

    done = muntin("modules", "--wide")

    assert done.code == 0
    lines = done.output.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "name",
        "tides.above",
        "tides.average",
        "tides.feet",
        "tides.patience",
        "tides.range",
        "tides.turns",
    ]
    average = " ".join(lines[2].split())
    assert average == "tides.average 1.2.0 incremental aggregate float float muntin-tides 0.1.0"


def test_a_list_that_goes_to_no_terminal_has_no_colours_and_no_blanks_at_the_ends_of_lines(
    offer: Offer, muntin: Run
) -> None:
    offer(tides=TIDES)
    output = muntin("modules", "--wide").output
    assert "\x1b" not in output
    assert [line for line in output.splitlines() if line != line.rstrip()] == []


def test_versions_and_packages_are_left_out_of_each_line_and_told_below(offer: Offer, muntin: Run) -> None:
    offer(tides=TIDES)

    lines = [" ".join(line.split()) for line in muntin("modules").output.splitlines()]

    assert lines[0] == "name shape reads returns"
    assert lines[2] == "tides.average incremental aggregate float float"
    assert lines[-1] == "tides muntin-tides 0.1.0: 4 modules, 1 function, 1 trigger"


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


def test_where_no_plugin_is_installed_it_says_how_to_get_one(installation: Installation, muntin: Run) -> None:
    done = muntin("modules")
    assert done.code == 0
    assert done.output == "no plugin is installed\n  pip install muntin-stats, or start one: muntin new <name>\n"


def test_a_plugin_whose_modules_break_all_laws_is_listed(offer: Offer, muntin: Run) -> None:
    offer(hostile="from tests.sdk.testing.laws.muntin_hostile.plugin import *\n")
    done = muntin("modules", "--json")
    assert done.code == 0
    assert len(done.data["offers"]) > 80


FAULTS = {
    # the fault: the sources that have it among others, and the reason that is told
    "interrupts": (ENDS, "cannot be loaded: KeyboardInterrupt: "),
    "ends the process well": (ENDS, "it ends with code 0 where it is imported, before it offers anything"),
    "kills its process": (ENDS, "it is ended by signal 9 where it is imported, before it offers anything"),
    "clears sys.modules": (BREAKS, "it removes or replaces what others use of sys.modules: sys, builtins, "),
    "replaces open": (BREAKS, "it removes or replaces what others use of builtins: open"),
}


@pytest.mark.nightly
def test_plugins_that_end_or_break_their_process_are_named_and_hide_no_other(
    installation: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    installation.plugin("tides", source=TIDES)
    reasons: dict[str, str] = {}  # by the name of the plugin
    for number, (fault, (sources, reason)) in enumerate(FAULTS.items()):
        name = f"bad{number}"
        reasons[name] = reason
        installation.plugin(name, source=sources[fault].replace('"bad.', f'"{name}.'))
    allow("tides", *reasons)

    listed = muntin("modules", "--json")

    assert listed.code == 1
    assert listed.data["plugins"] == {"tides": "muntin-tides 0.1.0: 4 modules, 1 function, 1 trigger"}
    assert [offer["name"] for offer in listed.data["offers"]][:2] == ["tides.above", "tides.average"]
    for (name, reason), failure in zip(reasons.items(), listed.data["failures"], strict=True):
        assert failure["kind"] == "PluginLoadError"
        assert failure["message"].startswith(f"plugin '{name}' of muntin-{name} 0.1.0 cannot be loaded: ")
        assert reason in failure["message"]
    assert installation.imported() == []
    assert builtins_are_whole()

    described = muntin("describe", "tides.average")
    assert described.code == 0, described.errors
    assert "columnar" in described.output or "sliced" in described.output


def test_a_plugin_whose_import_never_ends_is_named_after_the_seconds_that_the_user_sets(
    offer: Offer, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(endless=ENDS["never ends, and takes no interrupt"])
    monkeypatch.setenv("MUNTIN_PLUGIN_SECONDS", "0.5")
    done = muntin("modules")
    assert done.code == 1
    assert (
        "plugin 'endless' of muntin-endless 0.1.0 cannot be loaded: it takes more than 0.5 s; "
        "if it needs longer, set MUNTIN_PLUGIN_SECONDS" in done.output
    )


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_seconds_that_are_no_time_to_wait_are_wrong_usage(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MUNTIN_PLUGIN_SECONDS", text)
    done = muntin("modules")
    assert (done.code, done.output) == (2, "")
    assert done.errors == f"muntin: MUNTIN_PLUGIN_SECONDS is '{text}'\n  expected: seconds, for example 60\n"


def builtins_are_whole() -> bool:
    """Return True if this process has what the bad plugins break in their own ones: `open`, and imported modules."""
    return open.__name__ == "open" and "json" in sys.modules
