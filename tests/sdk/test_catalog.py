"""Discovery: lazy, honest about what is wrong, and never silent about a name used twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muntin import catalog as catalog_file
from muntin.catalog import plugin_entries
from muntin.errors import DuplicateNameError, MalformedPackageError, PluginLoadError, UnknownModuleError
from tests.sdk.installation import Installation, installation_in

FUNCTIONS = """
from muntin import function, hookimpl

@function("tides.height", version="1.0.0")
def height(hour: float) -> float:
    return hour

@hookimpl
def muntin_functions():
    return [height]
"""

TRIGGERS = """
from dataclasses import dataclass
from muntin import hookimpl
from muntin.triggers import Decision, Trigger

@dataclass(frozen=True)
class Surge(Trigger):
    name, version = "tides.surge", "1.2.0"
    height: float

    def step(self, state, window, view):
        return None, Decision.WAIT

@hookimpl
def muntin_triggers():
    return [Surge]
"""


ADAPTED = """
from muntin import hookimpl
from muntin_adapters import from_sqlite_aggregate
from muntin_adapters.combinators import skipping_nulls

class Range:
    def __init__(self):
        self.heights = []
    def step(self, height: float):
        self.heights.append(height)
    def finalize(self) -> float:
        return max(self.heights) - min(self.heights)

TidalRange = from_sqlite_aggregate(Range, name="tides.range", version="1.0.0")

class RangeOfPresent(skipping_nulls(TidalRange)):
    name = "tides.range_of_present"

@hookimpl
def muntin_modules():
    return [TidalRange, RangeOfPresent]
"""


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    yield from installation_in(tmp_path, monkeypatch)


def test_a_module_is_found_by_its_name(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.count")
    found = installation.catalog().module("stats.count")
    assert (found.name, found.__name__) == ("stats.count", "Offered1")


def test_a_plugin_offers_what_adapters_and_combinators_made(installation: Installation) -> None:
    installation.plugin("tides", source=ADAPTED)
    found: Any = installation.catalog().module("tides.range_of_present")()
    assert found.compute_result(found.add_events(found.create_state(), [1.0, None, 4.0])) == 3.0


def test_only_the_plugin_that_is_asked_for_is_imported(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog()
    assert installation.imported() == []
    catalog.module("tides.range")
    assert installation.imported() == ["tides"]


def test_a_plugin_is_found_by_its_name_or_that_of_what_it_offers_and_imported_once(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog()
    found = catalog.plugin("tides")
    assert (found.name, list(found.modules)) == ("tides", ["tides.range"])
    assert catalog.plugin("tides.range") is found
    assert installation.imported() == ["tides"]
    with pytest.raises(UnknownModuleError, match=r"no plugin is named 'tide'\n  did you mean .*'tides'"):
        catalog.plugin("tide")


def test_a_function_is_found_by_its_name(installation: Installation) -> None:
    installation.plugin("tides", source=FUNCTIONS)
    assert installation.catalog().function("tides.height")(3.0) == 3.0


def test_a_trigger_is_found_by_its_name(installation: Installation) -> None:
    installation.plugin("tides", source=TRIGGERS)
    catalog = installation.catalog()
    assert catalog.trigger("tides.surge").version == "1.2.0"
    with pytest.raises(UnknownModuleError, match=r"no trigger is named 'tides.serge'\n  did you mean 'tides.surge'"):
        catalog.trigger("tides.serge")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("@dataclass(frozen=True)\n", "", "expected: a frozen dataclass that subclasses Trigger"),
        ("tides.surge", "surge", "expected: text of the form '<plugin>.<module>'"),
        ("def step", "def stop", "tides.surge does not define step"),
    ],
)
def test_a_trigger_that_cannot_be_stored_is_not_offered(
    installation: Installation, old: str, new: str, reason: str
) -> None:
    installation.plugin("tides", source=TRIGGERS.replace(old, new))
    with pytest.raises(PluginLoadError, match=reason):
        installation.catalog().trigger("tides.surge")


def test_a_name_that_nobody_offers_is_answered_with_the_closest(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.count")
    installation.plugin("patterns", "patterns.followed_by")
    with pytest.raises(UnknownModuleError) as unknown:
        installation.catalog().module("stats.averge")
    assert str(unknown.value) == (
        "no module is named 'stats.averge'\n  did you mean 'stats.average' (muntin-stats 0.1.0)?"
    )
    assert (unknown.value.name, unknown.value.installed[0]) == ("stats.averge", "patterns.*")
    assert installation.imported() == ["stats"]
    assert isinstance(unknown.value, LookupError)


def test_a_function_that_nobody_offers_is_told_apart_from_a_module(installation: Installation) -> None:
    installation.plugin("tides", source=FUNCTIONS)
    with pytest.raises(UnknownModuleError, match=r"no function is named 'tides.hight'\n  did you mean 'tides.height'"):
        installation.catalog().function("tides.hight")


def test_an_empty_installation_says_so() -> None:
    with pytest.raises(UnknownModuleError, match="installed modules: none"):
        catalog_file.Catalog(()).module("stats.average")


def test_two_distributions_that_claim_one_plugin_are_both_named(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", distribution="tidy-stats")
    installation.plugin("stats", "stats.average", distribution="acme-stats")
    with pytest.raises(DuplicateNameError) as twice:
        installation.catalog().module("stats.average")
    assert str(twice.value) == (
        "the name 'stats' is offered twice: by plugin_0_stats of tidy-stats 0.1.0"
        " and by plugin_1_stats of acme-stats 0.1.0\n"
        "  uninstall one of them"
    )
    assert installation.imported() == []


@pytest.mark.parametrize("first", [True, False])
def test_the_package_of_a_plugins_name_keeps_it_and_who_takes_it_is_named(
    installation: Installation, first: bool
) -> None:
    for distribution in ("Muntin_Stats", "acme-stats") if first else ("acme-stats", "Muntin_Stats"):
        installation.plugin("stats", "stats.average", distribution=distribution)
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog()
    own, other = (0, 1) if first else (1, 0)
    assert catalog.module("stats.average").__module__ == f"plugin_{own}_stats"
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats", "tides"]
    assert [str(error) for error in failed] == [
        f"the name 'stats' is offered twice: by plugin_{own}_stats of Muntin_Stats 0.1.0"
        f" and by plugin_{other}_stats of acme-stats 0.1.0\n"
        "  the first keeps it, as the package muntin-stats; the second is not loaded: rename its entry point,"
        " or uninstall it"
    ]


def test_one_distribution_found_twice_on_the_path_is_one(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    twice = catalog_file.Catalog([*installation.entries(), *installation.entries()])
    assert twice.module("stats.average").name == "stats.average"


def test_a_name_used_twice_inside_a_plugin_is_an_error(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.average")
    with pytest.raises(
        DuplicateNameError, match=r"'stats.average' is offered twice: by .*Offered0.* and by .*Offered1"
    ):
        installation.catalog().module("stats.average")


def test_a_plugin_that_cannot_be_imported_is_named_and_hides_no_other(installation: Installation) -> None:
    installation.plugin("broken", source="import a_package_that_is_not_there\n")
    installation.plugin("stats", "stats.average")
    catalog = installation.catalog()
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats"]
    assert [str(error) for error in failed] == [
        "plugin 'broken' of muntin-broken 0.1.0 cannot be loaded: "
        "ModuleNotFoundError: No module named 'a_package_that_is_not_there'\n"
        "  other plugins are not affected"
    ]
    assert catalog.module("stats.average").name == "stats.average"
    with pytest.raises(PluginLoadError):
        catalog.module("broken.anything")


def test_the_cause_of_a_failed_import_is_kept(installation: Installation) -> None:
    installation.plugin("broken", source="1 / 0\n")
    with pytest.raises(PluginLoadError) as failed:
        installation.catalog().module("broken.anything")
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert (failed.value.plugin, failed.value.distribution) == ("broken", "muntin-broken 0.1.0")


def test_a_name_under_another_plugins_prefix_is_refused(installation: Installation) -> None:
    installation.plugin("tides", "stats.range")
    with pytest.raises(PluginLoadError) as refused:
        installation.catalog().module("tides.range")
    assert "it offers 'stats.range', whose first part must be the entry point's name 'tides'" in str(refused.value)


def test_an_incomplete_module_is_refused_with_its_plugin(installation: Installation) -> None:
    installation.plugin("stats", source="from muntin import *\n" + _without_version())
    with pytest.raises(PluginLoadError, match=r"ModuleDefinitionError: stats.average has no version"):
        installation.catalog().module("stats.average")


def test_a_hook_that_does_not_exist_is_refused(installation: Installation) -> None:
    source = "from muntin import hookimpl\n\n@hookimpl\ndef muntin_windwos():\n    return []\n"
    installation.plugin("stats", source=source)
    with pytest.raises(PluginLoadError, match="unknown hook 'muntin_windwos'"):
        installation.catalog().module("stats.average")


def test_only_allowed_plugins_load(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog("tides")
    assert [plugin.name for plugin in catalog.plugins()[0]] == ["tides"]
    with pytest.raises(UnknownModuleError, match=r"installed modules: tides.range\n"):
        catalog.module("stats.average")
    assert installation.imported() == ["tides"]


def test_the_environment_restricts_what_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalog_file.ALLOW_VARIABLE, " stats, tides,")
    catalog_file.installed.cache_clear()
    try:
        assert catalog_file.installed().allowed == {"stats", "tides"}
    finally:
        catalog_file.installed.cache_clear()


def test_entries_may_come_from_an_iterator(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    catalog = catalog_file.Catalog(iter(installation.entries()))
    assert catalog.module("stats.average") is catalog.module("stats.average")


def _without_version() -> str:
    return """
class Average(Aggregate[float, float]):
    name = "stats.average"
    def compute_result(self, payloads):
        return 0.0

@hookimpl
def muntin_modules():
    return [Average]
"""


def test_a_suggestion_imports_nothing(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("broken", source="raise SystemExit(3)\n")
    with pytest.raises(UnknownModuleError) as unknown:
        installation.catalog().module("stat.average")
    assert "did you mean a module of the plugin 'stats' (muntin-stats 0.1.0)?" in str(unknown.value)
    assert unknown.value.installed == ("broken.*", "stats.*")
    assert installation.imported() == []


ALIASED = """
from muntin import Aggregate, hookimpl

class Range(Aggregate[float, float]):
    name, version, aliases = "tides.range", "1.0.0", ("span", "ptp")
    def compute_result(self, payloads):
        return 0.0

class Half(Range):
    name = "tides.half"

@hookimpl
def muntin_modules():
    return [Range, Half]
"""


def test_a_module_is_found_by_its_aliases_and_keeps_its_name(installation: Installation) -> None:
    installation.plugin("tides", source=ALIASED)
    catalog = installation.catalog()
    assert catalog.module("tides.ptp") is catalog.module("tides.span") is catalog.module("tides.range")
    assert catalog.module("tides.ptp").name == "tides.range"
    with pytest.raises(UnknownModuleError, match=r"did you mean 'tides.range' \(muntin-tides"):
        catalog.module("tides.spam")


@pytest.mark.parametrize(
    ("aliases", "reason"),
    [
        ('("half",)', "DuplicateNameError|offered twice"),
        ('"span"', "expected: a tuple of names in lower case"),
        ('("tides.span",)', "expected: a tuple of names in lower case"),
    ],
)
def test_aliases_that_cannot_be_are_refused(installation: Installation, aliases: str, reason: str) -> None:
    installation.plugin("tides", source=ALIASED.replace('("span", "ptp")', aliases))
    with pytest.raises((PluginLoadError, DuplicateNameError), match=reason):
        installation.catalog().module("tides.range")


BAD_PLUGINS = {
    "def muntin_modules():\n    return []\n": "implements no hook; expected: a function such as muntin_modules, marked",
    "from muntin import errors\nraise errors.DuplicateNameError('a', 'b', 'c')\n": "the name 'a' is offered twice",
    "import sys\nsys.exit(3)\n": "SystemExit: 3",
    "class Gone(BaseException): pass\nraise Gone('bye')\n": "Gone: bye",
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E\n": "E: <E, whose str",
    "raise ValueError('x' * 10**6)\n": "characters left out",
    "syntax error\n": "SyntaxError",
    **{
        f"from muntin import hookimpl\n@hookimpl\ndef {hook}():\n    return {offered}\n": reason
        for hook, offered, reason in (
            ("muntin_modules", "[3]", "it offers 3; expected: a list of module classes"),
            ("muntin_modules", "None", "muntin_modules returned None; expected: a list of module classes"),
            ("muntin_modules", "7", "a hook returned 7; expected: a list of module classes"),
            ("muntin_modules", "'abc'", "a hook returned 'abc'; expected: a list of module classes"),
            ("muntin_functions", "[len]", "it offers <built-in function len>; expected: a list of what @function"),
            ("muntin_triggers", "[int]", "it offers <class 'int'>; expected: a list of trigger classes"),
        )
    },
}


@pytest.mark.parametrize("source", BAD_PLUGINS, ids=BAD_PLUGINS.values())
def test_whatever_a_plugin_does_it_is_named_and_hides_no_other(installation: Installation, source: str) -> None:
    installation.plugin("broken", source=source)
    installation.plugin("stats", "stats.average")
    loaded, failed = installation.catalog().plugins()
    assert [plugin.name for plugin in loaded] == ["stats"]
    assert [type(error) for error in failed] == [PluginLoadError]
    assert BAD_PLUGINS[source] in str(failed[0])
    assert len(str(failed[0])) < 3000
    with pytest.raises(PluginLoadError, match=r"plugin 'broken' of muntin-broken 0.1.0 cannot be loaded"):
        installation.catalog().module("broken.anything")


@pytest.mark.parametrize("content", [b"[muntin]\nthis is no entry point\n", b"[muntin]\n\xff\xfe = a\n"])
def test_a_malformed_package_is_named_and_hides_no_other(installation: Installation, content: bytes) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    (installation.folder / "muntin_tides-0.1.0.dist-info" / "entry_points.txt").write_bytes(content)
    found = plugin_entries([str(installation.folder)])
    catalog = catalog_file.Catalog(found.entries, None, found.unreadable)
    assert catalog.module("stats.average").name == "stats.average"
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats"]
    assert [type(error) for error in failed] == [MalformedPackageError]
    assert str(failed[0]).startswith("the entry points of muntin-tides 0.1.0 cannot be read: ")
    with pytest.raises(UnknownModuleError, match=r"may be in a package that cannot be read: .* muntin-tides 0.1.0"):
        catalog.module("tides.range")


def test_a_package_without_a_name_hides_no_other(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    (installation.folder / "muntin_tides-0.1.0.dist-info" / "METADATA").unlink()
    found = plugin_entries([str(installation.folder)])
    catalog = catalog_file.Catalog(found.entries, None, found.unreadable)
    assert [plugin.name for plugin in catalog.plugins()[0]] == ["stats", "tides"]
    assert "a package without a name" in catalog.plugins()[0][1].distribution
