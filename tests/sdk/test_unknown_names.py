"""What is answered to a name that nobody offers: the closest one, a plugin's modules, or all names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin.errors import UnknownModuleError
from tests.sdk.installation import Installation, installation_in

ALIASED = """
from muntin import Aggregate, hookimpl

class Range(Aggregate[float, float]):
    name, version, aliases = "tides.range", "1.0.0", ("span", "ptp")
    def compute_result(self, payloads):
        return 0.0

@hookimpl
def muntin_modules():
    return [Range]
"""


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    yield from installation_in(tmp_path, monkeypatch)


def test_a_name_that_resembles_none_enough_is_answered_with_all(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.count")
    installation.plugin("patterns", "patterns.followed_by")
    with pytest.raises(UnknownModuleError) as unknown:
        installation.catalog().module("stats.amount")
    assert str(unknown.value) == (
        "no module is named 'stats.amount'\n"
        "  did you mean 'stats.count' (muntin-stats 0.1.0)?\n"
        "  installed modules: patterns.*, stats.average, stats.count\n"
        "  a module's package must be installed where the driver and the workers run"
    )


def test_a_plugins_name_alone_is_answered_with_its_modules(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.count")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog()
    catalog.plugins()
    with pytest.raises(UnknownModuleError) as unknown:
        catalog.module("stats")
    assert str(unknown.value) == (
        "no module is named 'stats'\n  'stats' is a plugin, with the modules stats.average, stats.count"
    )
    assert unknown.value.suggestion is None


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("range", "\n  did you mean 'tides.range' (muntin-tides 0.1.0)?"),
        ("ptp", "\n  did you mean 'tides.range' (muntin-tides 0.1.0)?"),
        ("rnage", "\n  did you mean 'tides.range' (muntin-tides 0.1.0)?"),
        (
            "weight",
            "\n  a name begins with its plugin, as in 'stats.average'\n  installed modules: tides.range",
        ),
    ],
)
def test_a_name_without_a_plugin_is_compared_with_modules_and_aliases(
    installation: Installation, name: str, answer: str
) -> None:
    installation.plugin("tides", source=ALIASED)
    catalog = installation.catalog()
    catalog.plugins()
    with pytest.raises(UnknownModuleError) as unknown:
        catalog.module(name)
    assert str(unknown.value).startswith(f"no module is named {name!r}{answer}")


def test_a_name_without_a_plugin_imports_none(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    with pytest.raises(UnknownModuleError, match=r"a name begins with its plugin, .*\n  installed modules: stats\.\*"):
        installation.catalog().module("average")
    assert installation.imported() == []
