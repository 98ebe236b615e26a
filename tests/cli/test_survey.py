"""Plugins are listed by a process for each, so that one that ends or breaks its process hides no other."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.cli.plugins import TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation
from tests.torture.bad_packages import BREAKS, ENDS

FAULTS = {
    "interrupts": (ENDS, "cannot be loaded: KeyboardInterrupt: "),
    "ends the process well": (ENDS, "it ends with code 0 where it is imported, before it offers anything"),
    "kills its process": (ENDS, "it is ended by signal 9 where it is imported, before it offers anything"),
    "clears sys.modules": (BREAKS, "it removes or replaces what others use of sys.modules: sys, builtins, "),
    "replaces open": (BREAKS, "it removes or replaces what others use of builtins: open"),
}


def test_plugins_that_end_or_break_their_process_are_named_and_hide_no_other(
    installation: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    installation.plugin("tides", source=TIDES)
    names = [f"bad{number}" for number in range(len(FAULTS))]
    for name, (fault, (sources, _)) in zip(names, FAULTS.items(), strict=True):
        installation.plugin(name, source=sources[fault].replace('"bad.', f'"{name}.'))
    allow("tides", *names)

    listed = muntin("modules", "--json")

    assert listed.code == 1
    assert listed.data["plugins"] == {"tides": "muntin-tides 0.1.0: 4 modules, 1 function, 1 trigger"}
    assert [offer["name"] for offer in listed.data["offers"]][:2] == ["tides.above", "tides.average"]
    for name, failure, (_, reason) in zip(names, listed.data["failures"], FAULTS.values(), strict=True):
        assert failure["kind"] == "PluginLoadError"
        assert failure["message"].startswith(f"plugin '{name}' of muntin-{name} 0.1.0 cannot be loaded: ")
        assert reason in failure["message"]
    assert installation.imported() == []
    assert builtins_are_whole()

    described = muntin("describe", "tides.average")
    assert described.code == 0, described.errors
    assert "columnar" in described.output or "sliced" in described.output
    written = muntin("stubs", "--output", installation.folder / "modules")
    assert (written.code, written.errors.count("left out: plugin 'bad")) == (1, len(FAULTS))
    assert (installation.folder / "modules" / "tides.py").is_file()


def test_a_plugin_that_never_ends_is_named_after_a_time(
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
def test_a_time_that_is_none_is_a_wrong_call(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MUNTIN_PLUGIN_SECONDS", text)
    done = muntin("modules")
    assert (done.code, done.output) == (2, "")
    assert done.errors == f"muntin: MUNTIN_PLUGIN_SECONDS is '{text}'\n  expected: seconds, for example 60\n"


def builtins_are_whole() -> bool:
    """Return True if what the bad plugins break was broken in their own processes alone."""
    return open.__name__ == "open" and "json" in sys.modules
