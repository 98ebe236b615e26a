"""The catalog of plugins: what it finds by name, what it imports, and what it says of plugins that are broken."""

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


def test_modules_functions_and_triggers_are_found_by_their_names(installation: Installation) -> None:
    installation.plugin("stats", "stats.average", "stats.count")
    installation.plugin("tides", source=FUNCTIONS)
    installation.plugin("surges", source=TRIGGERS.replace("tides.", "surges."))
    catalog = catalog_file.Catalog(iter(installation.entries()))
    count = catalog.module("stats.count")
    assert (count.name, count.__name__) == ("stats.count", "Offered1")
    assert catalog.module("stats.count") is count
    assert catalog.function("tides.height")(3.0) == 3.0
    assert catalog.trigger("surges.surge").version == "1.2.0"


def test_the_closest_function_or_trigger_is_suggested_for_an_unknown_one(installation: Installation) -> None:
    installation.plugin("tides", source=FUNCTIONS)
    installation.plugin("surges", source=TRIGGERS.replace("tides.", "surges."))
    catalog = installation.catalog()
    with pytest.raises(UnknownModuleError, match=r"no trigger is named 'surges.serge'\n  did you mean 'surges.surge'"):
        catalog.trigger("surges.serge")
    with pytest.raises(UnknownModuleError, match=r"no function is named 'tides.hight'\n  did you mean 'tides.height'"):
        catalog.function("tides.hight")


def test_a_plugin_may_offer_modules_of_adapters_and_combinators(installation: Installation) -> None:
    installation.plugin("tides", source=ADAPTED)
    range_of_present: Any = installation.catalog().module("tides.range_of_present")()
    state = range_of_present.add_events(range_of_present.create_state(), [1.0, None, 4.0])
    assert range_of_present.compute_result(state) == 3.0


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


def test_the_closest_plugin_is_suggested_for_an_unknown_one(installation: Installation) -> None:
    installation.plugin("tides", "tides.range")
    with pytest.raises(UnknownModuleError, match=r"no plugin is named 'tide'\n  did you mean .*'tides'"):
        installation.catalog().plugin("tide")


def test_only_allowed_plugins_are_imported(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    catalog = installation.catalog("tides")
    loaded, _ = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["tides"]
    with pytest.raises(UnknownModuleError, match=r"installed modules: tides.range\n"):
        catalog.module("stats.average")
    assert installation.imported() == ["tides"]


def test_a_variable_of_the_environment_has_the_allowed_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalog_file.ALLOW_VARIABLE, " stats, tides,")
    catalog_file.installed.cache_clear()
    try:
        assert catalog_file.installed().allowed == {"stats", "tides"}
    finally:
        catalog_file.installed.cache_clear()


# names that nobody offers

# The plugins that are installed and the name that is asked for; below them what the error says. After "loaded" all
# plugins have been imported before.
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
SOURCES = {
    "stats": offering("stats.average", "stats.count"),
    "patterns": offering("patterns.followed_by"),
    "tides": ALIASED,
    "broken": "raise SystemExit(3)\n",
}


@pytest.mark.parametrize(("lookup", "answer"), list(entries(UNKNOWN)), ids=[lookup for lookup, _ in entries(UNKNOWN)])
def test_a_name_that_nobody_offers_is_answered_with_the_closest_one_without_importing_other_plugins(
    installation: Installation, lookup: str, answer: str
) -> None:
    """By `loaded stats, tides: stats` two plugins are installed and imported, and the module `stats` is asked for."""
    plugin_names, _, unknown_name = lookup.removeprefix("loaded ").partition(": ")
    plugins = plugin_names.split(", ")
    for plugin_name in plugins:
        installation.plugin(plugin_name, source=SOURCES[plugin_name])
    catalog = installation.catalog()
    all_are_imported = lookup.startswith("loaded")
    if all_are_imported:
        catalog.plugins()

    with pytest.raises(UnknownModuleError) as unknown:
        catalog.module(unknown_name)
    assert says(str(unknown.value), answer), unknown.value
    assert unknown.value.name == unknown_name
    assert isinstance(unknown.value, LookupError)
    if not all_are_imported:
        owners = [plugin_name for plugin_name in plugins if unknown_name.startswith(f"{plugin_name}.")]
        assert installation.imported() == owners


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


@pytest.mark.parametrize("distributions", [("Muntin_Stats", "acme-stats"), ("acme-stats", "Muntin_Stats")])
def test_the_package_of_a_plugins_name_keeps_it_and_who_takes_it_is_named(
    installation: Installation, distributions: tuple[str, str]
) -> None:
    for distribution in distributions:
        installation.plugin("stats", "stats.average", distribution=distribution)
    installation.plugin("tides", "tides.range")
    module_of_muntin = f"plugin_{distributions.index('Muntin_Stats')}_stats"
    module_of_acme = f"plugin_{distributions.index('acme-stats')}_stats"

    catalog = installation.catalog()
    assert catalog.module("stats.average").__module__ == module_of_muntin
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats", "tides"]
    assert [str(error) for error in failed] == [
        f"the name 'stats' is offered twice: by {module_of_muntin} of Muntin_Stats 0.1.0"
        f" and by {module_of_acme} of acme-stats 0.1.0\n"
        "  the first keeps it, as the package muntin-stats; the second is not loaded: rename its entry point,"
        " or uninstall it"
    ]


def test_one_distribution_found_twice_on_the_path_is_one(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    twice = catalog_file.Catalog([*installation.entries(), *installation.entries()])
    assert twice.module("stats.average").name == "stats.average"


# plugins and packages that are broken


def hooked(hook: str, offered: str) -> str:
    """Return the source of a plugin in which a hook returns an expression."""
    return f"from muntin import hookimpl\n@hookimpl\ndef {hook}():\n    return {offered}\n"


# the source of a plugin that is named `broken`, and a part of what the error says
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
    assert catalog.module("stats.average").name == "stats.average"

    (error,) = failed
    assert isinstance(error, PluginLoadError | DuplicateNameError)
    assert BAD_PLUGINS[source] in str(error)
    assert len(str(error)) < 3000
    if isinstance(error, PluginLoadError):
        assert str(error).startswith("plugin 'broken' of muntin-broken 0.1.0 cannot be loaded: ")
        assert str(error).endswith("\n  other plugins are not affected")
        assert (error.plugin, error.distribution) == ("broken", "muntin-broken 0.1.0")

    with pytest.raises((PluginLoadError, DuplicateNameError)):
        installation.catalog().module("broken.anything")


def test_the_exception_of_a_plugin_is_the_cause_of_the_error(installation: Installation) -> None:
    installation.plugin("broken", source="1 / 0\n")
    with pytest.raises(PluginLoadError) as failed:
        installation.catalog().module("broken.anything")
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("muntin_tides.plugn", "is 'muntin_tides.plugn', and there is no Python module 'muntin_tides'; correct it in"),
        ("muntin_tides/plugin.py", "is 'muntin_tides/plugin.py'; expected: the name of a Python module, such as"),
    ],
)
def test_an_entry_point_that_names_no_module_says_what_to_correct(value: str, reason: str) -> None:
    _, failed = catalog_file.Catalog([EntryPoint("tides", value, "muntin")]).plugins()
    (error,) = failed
    assert f"cannot be loaded: its entry point {reason}" in str(error)


def catalog_of_folder(installation: Installation) -> catalog_file.Catalog:
    """Return a catalog of what is on disk, as a process finds it: packages may be unreadable."""
    packages = plugin_entries([str(installation.folder)])
    return catalog_file.Catalog(packages.entries, None, packages.unreadable)


@pytest.mark.parametrize(
    "entry_points",
    [b"[muntin]\nthis is no entry point\n", b"[muntin]\n\xff\xfe = a\n"],
    ids=["no entry point", "no UTF-8"],
)
def test_a_malformed_package_is_named_and_hides_no_other(installation: Installation, entry_points: bytes) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    (installation.folder / "muntin_tides-0.1.0.dist-info" / "entry_points.txt").write_bytes(entry_points)

    catalog = catalog_of_folder(installation)
    assert catalog.module("stats.average").name == "stats.average"
    loaded, failed = catalog.plugins()
    assert [plugin.name for plugin in loaded] == ["stats"]
    (error,) = failed
    assert type(error) is MalformedPackageError
    assert str(error).startswith("the entry points of muntin-tides 0.1.0 cannot be read: ")
    with pytest.raises(UnknownModuleError, match=r"may be in a package that cannot be read: .* muntin-tides 0.1.0"):
        catalog.module("tides.range")


def test_a_plugin_of_a_package_without_a_name_is_loaded_too(installation: Installation) -> None:
    installation.plugin("stats", "stats.average")
    installation.plugin("tides", "tides.range")
    (installation.folder / "muntin_tides-0.1.0.dist-info" / "METADATA").unlink()

    (stats, tides), _ = catalog_of_folder(installation).plugins()
    assert stats.name == "stats"
    assert tides.name == "tides"
    assert "a package without a name" in tides.distribution


# hooks


def test_each_hook_has_a_specification_with_a_docstring_that_is_never_called() -> None:
    specified = [name for name, value in vars(hooks).items() if hasattr(value, f"{hooks.PROJECT}_spec")]
    assert specified == ["muntin_modules", "muntin_functions", "muntin_triggers", "muntin_windows"]
    for name in specified:
        assert inspect.getdoc(getattr(hooks, name))
        with pytest.raises(AssertionError):
            getattr(hooks, name)()


def hooks_of(plugin: object) -> Any:
    """Return the hooks with a plugin registered; this fails if the plugin implements an unknown hook."""
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    manager.register(plugin)
    manager.check_pending()
    return manager.hook


def test_a_plugin_may_implement_one_hook_alone() -> None:
    class OnlyFunctions:
        @hookimpl
        def muntin_functions(self) -> list[object]:
            return []

    hook = hooks_of(OnlyFunctions())
    assert hook.muntin_modules() == []
    assert hook.muntin_functions() == [[]]


def test_the_hostile_plugin_offers_modules_with_different_names() -> None:
    modules = list(chain.from_iterable(hooks_of(plugin).muntin_modules()))
    assert len(modules) > len(HOSTILE)
    assert len({module.name for module in modules}) == len(modules)
