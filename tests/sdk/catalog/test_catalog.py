"""Discovery: lazy, honest about what is wrong, and never silent about a name used twice."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from itertools import chain
from pathlib import Path
from typing import Any

import pluggy
import pytest

from muntin import hookimpl
from muntin.catalog import catalog as catalog_file
from muntin.catalog import hooks
from muntin.catalog.plugin_entries import plugin_entries
from muntin.errors import DuplicateNameError, MalformedPackageError, PluginLoadError, UnknownModuleError
from tests.sdk.installation import Installation, installation_in, offering
from tests.sdk.testing.laws.muntin_hostile import HOSTILE, plugin
from tests.tables import entries, says

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


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    yield from installation_in(tmp_path, monkeypatch)


def test_whatever_is_offered_is_found_by_its_name(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.count")
    installation.plugin("tides", source=FUNCTIONS)
    installation.plugin("surges", source=TRIGGERS.replace("tides.", "surges."))
    catalog = catalog_file.Catalog(iter(installation.entries()))
    entry = catalog.module("stats.count")
    assert (entry.name, entry.__name__) == ("stats.count", "Offered1")
    assert entry is catalog.module("stats.count")
    assert catalog.function("tides.height")(3.0) == 3.0
    assert catalog.trigger("surges.surge").version == "1.2.0"
    with pytest.raises(UnknownModuleError, match=r"no trigger is named 'surges.serge'\n  did you mean 'surges.surge'"):
        catalog.trigger("surges.serge")
    with pytest.raises(UnknownModuleError, match=r"no function is named 'tides.hight'\n  did you mean 'tides.height'"):
        catalog.function("tides.hight")


def test_a_plugin_offers_what_adapters_and_combinators_made(installation: Installation) -> None:
    installation.plugin("tides", source=ADAPTED)
    instance: Any = installation.catalog().module("tides.range_of_present")()
    assert instance.compute_result(instance.add_events(instance.create_state(), [1.0, None, 4.0])) == 3.0


def test_a_module_is_found_by_its_aliases_and_keeps_its_name(installation: Installation) -> None:
    installation.plugin("tides", source=ALIASED)
    catalog = installation.catalog()
    assert catalog.module("tides.ptp") is catalog.module("tides.span") is catalog.module("tides.range")
    assert catalog.module("tides.ptp").name == "tides.range"


def test_only_the_plugin_that_is_asked_for_is_imported_and_once(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog()
    assert installation.imported() == []
    plugin = catalog.plugin("tides")
    assert (plugin.name, list(plugin.modules)) == ("tides", ["tides.range"])
    assert catalog.plugin("tides.range") is plugin
    assert installation.imported() == ["tides"]
    with pytest.raises(UnknownModuleError, match=r"no plugin is named 'tide'\n  did you mean .*'tides'"):
        catalog.plugin("tide")


def test_only_allowed_plugins_load(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog("tides")
    assert [plugin.name for plugin in catalog.plugins()[0]] == ["tides"]
    with pytest.raises(UnknownModuleError, match=r"installed modules: tides.range\n"):
        catalog.module("stats.average")
    assert installation.imported() == ["tides"]
    monkeypatch.setenv(catalog_file.ALLOW_VARIABLE, " stats, tides,")
    catalog_file.installed.cache_clear()
    try:
        assert catalog_file.installed().allowed == {"stats", "tides"}
    finally:
        catalog_file.installed.cache_clear()


# names that nobody offers

UNKNOWN = """
stats, patterns: stats.averge
    no module is named 'stats.averge'
      did you mean 'stats.average' (muntin-stats 0.1.0)?
stats, patterns: stats.amount
    no module is named 'stats.amount'
      did you mean 'stats.count' (muntin-stats 0.1.0)?
      installed modules: patterns.*, stats.average, stats.count
      a module's package must be installed where the driver and the workers run
stats, broken: stat.average
    …did you mean a module of the plugin 'stats' (muntin-stats 0.1.0)?…
stats: average
    …a name begins with its plugin, as in 'stats.average'
      installed modules: stats.*…
tides: tides.spam
    …did you mean 'tides.range' (muntin-tides…
loaded stats, tides: stats
    no module is named 'stats'
      'stats' is a plugin, with the modules stats.average, stats.count
loaded tides: range
    no module is named 'range'
      did you mean 'tides.range' (muntin-tides 0.1.0)?…
loaded tides: ptp
    no module is named 'ptp'
      did you mean 'tides.range' (muntin-tides 0.1.0)?…
loaded tides: rnage
    no module is named 'rnage'
      did you mean 'tides.range' (muntin-tides 0.1.0)?…
loaded tides: weight
    no module is named 'weight'
      a name begins with its plugin, as in 'stats.average'
      installed modules: tides.half, tides.range…
"""
KNOWN = {
    "stats": offering("stats.average", "stats.count"),
    "patterns": offering("patterns.followed_by"),
    "tides": ALIASED,
    "broken": "raise SystemExit(3)\n",
}


@pytest.mark.parametrize(("asked", "answer"), list(entries(UNKNOWN)), ids=[asked for asked, _ in entries(UNKNOWN)])
def test_a_name_that_nobody_offers_is_answered_with_the_closest(
    installation: Installation, asked: str, answer: str
) -> None:
    plugins, _, name = asked.removeprefix("loaded ").partition(": ")
    for of in plugins.split(", "):
        installation.plugin(of, source=KNOWN[of])
    catalog = installation.catalog()
    if asked.startswith("loaded"):
        catalog.plugins()
    with pytest.raises(UnknownModuleError) as unknown:
        catalog.module(name)
    assert says(str(unknown.value), answer), unknown.value
    assert unknown.value.name == name
    assert isinstance(unknown.value, LookupError)
    if not asked.startswith("loaded"):  # a suggestion imports no other plugin
        assert installation.imported() == [of for of in plugins.split(", ") if name.startswith(f"{of}.")]


def test_an_empty_installation_says_so() -> None:
    with pytest.raises(UnknownModuleError, match="installed modules: none"):
        catalog_file.Catalog(()).module("stats.average")


# names that are offered twice


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
    muntin_place = 0 if first else 1
    acme_place = 1 - muntin_place
    assert catalog.module("stats.average").__module__ == f"plugin_{muntin_place}_stats"
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats", "tides"]
    assert [str(error) for error in failed] == [
        f"the name 'stats' is offered twice: by plugin_{muntin_place}_stats of Muntin_Stats 0.1.0"
        f" and by plugin_{acme_place}_stats of acme-stats 0.1.0\n"
        "  the first keeps it, as the package muntin-stats; the second is not loaded: rename its entry point,"
        " or uninstall it"
    ]


def test_one_distribution_found_twice_on_the_path_is_one(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    twice = catalog_file.Catalog([*installation.entries(), *installation.entries()])
    assert twice.module("stats.average").name == "stats.average"


# plugins and packages that are broken


def hooked(hook: str, offered: str) -> str:
    return f"from muntin import hookimpl\n@hookimpl\ndef {hook}():\n    return {offered}\n"


BAD_PLUGINS = {
    "import a_package_that_is_not_there\n": "ModuleNotFoundError: No module named 'a_package_that_is_not_there'",
    "1 / 0\n": "ZeroDivisionError: division by zero",
    "def muntin_modules():\n    return []\n": "implements no hook; expected: a function such as muntin_modules, marked",
    "from muntin import errors\nraise errors.DuplicateNameError('a', 'b', 'c')\n": "the name 'a' is offered twice",
    "import sys\nsys.exit(3)\n": "SystemExit: 3",
    "class Gone(BaseException): pass\nraise Gone('bye')\n": "Gone: bye",
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E\n": "E: <E, whose str",
    "raise ValueError('x' * 10**6)\n": "characters left out",
    "syntax error\n": "SyntaxError",
    offering("stats.range"): "it offers 'stats.range', whose first part must be the entry point's name 'broken'",
    offering("broken.range").replace(', "1.0.0"', ', ""'): "ModuleDefinitionError: broken.range has no version",
    offering("broken.range", "broken.range"): "'broken.range' is offered twice: by ",
    hooked("muntin_windwos", "[]"): "unknown hook 'muntin_windwos' in plugin <module",
    hooked("muntin_windows", "[]").replace("()", "(self)"): "expected: muntin_functions, muntin_modules,",
    hooked("muntin_modules", "[3]"): "it offers 3; expected: a list of module classes",
    hooked("muntin_modules", "None"): "muntin_modules returned None; expected: a list of module classes",
    hooked("muntin_modules", "7"): "a hook returned 7; expected: a list of module classes",
    hooked("muntin_modules", "'abc'"): "a hook returned 'abc'; expected: a list of module classes",
    hooked("muntin_functions", "[len]"): "it offers <built-in function len>; expected: a list of what @function",
    hooked("muntin_triggers", "[int]"): "it offers <class 'int'>; expected: a list of trigger classes",
    **{
        TRIGGERS.replace("tides", "broken").replace(old, new): reason
        for old, new, reason in (
            ("@dataclass(frozen=True)\n", "", "expected: a frozen dataclass that subclasses Trigger"),
            ("broken.surge", "surge", "expected: text of the form '<plugin>.<module>'"),
            ("def step", "def stop", "broken.surge does not define step"),
        )
    },
    **{
        ALIASED.replace("tides", "broken").replace('("span", "ptp")', aliases): reason
        for aliases, reason in (
            ('("half",)', "offered twice"),
            ('"span"', "expected: a tuple of names in lower case"),
            ('("broken.span",)', "expected: a tuple of names in lower case"),
        )
    },
}


@pytest.mark.parametrize("source", BAD_PLUGINS, ids=BAD_PLUGINS.values())
def test_whatever_a_plugin_does_it_is_named_and_hides_no_other(installation: Installation, source: str) -> None:
    installation.plugin("broken", source=source)
    installation.plugin("stats", "stats.average")
    catalog = installation.catalog()
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats"]
    (error,) = failed
    assert isinstance(error, PluginLoadError | DuplicateNameError)
    assert BAD_PLUGINS[source] in str(error)
    assert len(str(error)) < 3000
    assert catalog.module("stats.average").name == "stats.average"
    with pytest.raises((PluginLoadError, DuplicateNameError)) as again:
        installation.catalog().module("broken.anything")
    if isinstance(error, PluginLoadError):
        assert str(error).startswith("plugin 'broken' of muntin-broken 0.1.0 cannot be loaded: ")
        assert str(error).endswith("\n  other plugins are not affected")
        assert (error.plugin, error.distribution) == ("broken", "muntin-broken 0.1.0")
        assert "1 / 0" not in source or isinstance(again.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("muntin_tides.plugn", "is 'muntin_tides.plugn', and there is no Python module 'muntin_tides'; correct it in"),
        ("muntin_tides/plugin.py", "is 'muntin_tides/plugin.py'; expected: the name of a Python module, such as"),
    ],
)
def test_an_entry_point_that_names_no_module_says_what_to_correct(value: str, reason: str) -> None:
    (error,) = catalog_file.Catalog([EntryPoint("tides", value, "muntin")]).plugins()[1]
    assert f"cannot be loaded: its entry point {reason}" in str(error)


@pytest.mark.parametrize("content", [b"[muntin]\nthis is no entry point\n", b"[muntin]\n\xff\xfe = a\n"])
def test_a_malformed_package_is_named_and_hides_no_other(installation: Installation, content: bytes) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    (installation.folder / "muntin_tides-0.1.0.dist-info" / "entry_points.txt").write_bytes(content)
    entries = plugin_entries([str(installation.folder)])
    catalog = catalog_file.Catalog(entries.entries, None, entries.unreadable)
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
    entries = plugin_entries([str(installation.folder)])
    loaded, _ = catalog_file.Catalog(entries.entries, None, entries.unreadable).plugins()
    assert [plugin.name for plugin in loaded] == ["stats", "tides"]
    assert "a package without a name" in loaded[1].distribution


# hooks


def test_the_hooks_are_those_of_the_specification_which_is_never_called() -> None:
    specified = [name for name, value in vars(hooks).items() if hasattr(value, f"{hooks.PROJECT}_spec")]
    assert specified == ["muntin_modules", "muntin_functions", "muntin_triggers", "muntin_windows"]
    for name in specified:
        assert inspect.getdoc(getattr(hooks, name))
        with pytest.raises(AssertionError):
            getattr(hooks, name)()


def test_a_plugin_may_implement_one_hook_alone_and_the_hostile_one_all() -> None:
    class OnlyFunctions:
        @hookimpl
        def muntin_functions(self) -> list[object]:
            return []

    def hooks_of(plugin: object) -> Any:
        manager = pluggy.PluginManager(hooks.PROJECT)
        manager.add_hookspecs(hooks)
        manager.register(plugin)
        manager.check_pending()
        return manager.hook

    alone = hooks_of(OnlyFunctions())
    assert alone.muntin_modules() == []
    assert alone.muntin_functions() == [[]]
    offered = list(chain.from_iterable(hooks_of(plugin).muntin_modules()))
    assert len({module.name for module in offered}) == len(offered) > len(HOSTILE)
