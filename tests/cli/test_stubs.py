"""`muntin stubs`: what an editor shows of a plugin's modules, in functions and a stub beside them."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from muntin.catalog import installed
from muntin_cli.stubs import calls_of
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation

OUR_PLUGINS = ("stats", "patterns")

MODULES = '''
from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from muntin import Aggregate, Duration, hookimpl


class Unit(Enum):
    METRES = "m"


@dataclass(frozen=True)
class Level:
    metres: float
    unit: str = "m"


class Range(Aggregate[Level, float]):
    r"""The range of levels, as in \\\\tides.

    Args:
        unit: Of the result.
    """

    name, version = "harbour.range", "1.0.0"

    def __init__(self, *, unit: Unit = Unit.METRES, way: str = "it's", day: datetime.date | None = None) -> None:
        pass

    def compute_result(self, payloads: Sequence[Level]) -> float:
        return 0.0


class Ships(Aggregate[object, int]):
    """Count ships."""

    name, version = "harbour.ships", "1.0.0"

    def __init__(self, every: Duration = 1, **others: int) -> None:
        pass

    def compute_result(self, payloads: Sequence[object]) -> int:
        return len(payloads)


@hookimpl
def muntin_modules():
    return [Ships, Range]
'''

"""The source of a plugin, with parameters of every kind, and with a backslash in a docstring."""

WITHOUT_MODULES = """
from muntin import hookimpl

@hookimpl
def muntin_functions():
    return []
"""

CALLS = '''\
"""Functions that name the modules of `harbour` in a query; written by `muntin stubs harbour`."""

from muntin import typed_call
from muntin_harbour import Range, Ships

range = typed_call(Range)
ships = typed_call(Ships)
'''
"""The functions that are written for it."""

STUB = '''\
"""The functions that name the modules of `harbour`, as editors show them; written by `muntin stubs harbour`."""

import datetime

from muntin import Duration
from muntin.modules.call import Column, ModuleCall
from muntin_harbour import Unit

def range(
    metres: Column,
    column2: Column = ...,
    /,
    *,
    unit: Unit = ...,
    way: str = "it's",
    day: datetime.date | None = None,
) -> ModuleCall:
    r"""The range of levels, as in \\\\tides.

    Args:
        unit: Of the result.
    """

def ships(column: Column = ..., /, *, every: Duration = 1, **others: int) -> ModuleCall:
    """Count ships."""
'''
"""The stub that is written beside them."""


@pytest.fixture
def harbour(offer: Offer, installation: Installation) -> Path:
    """Install a plugin that is a package, and return its folder."""
    offer(harbour="from muntin_harbour import muntin_modules\n")
    entry_points = installation.folder / "muntin_harbour-0.1.0.dist-info/entry_points.txt"
    entry_points.write_text("[muntin]\nharbour = muntin_harbour\n", encoding="utf-8")
    folder = installation.folder / "muntin_harbour"
    folder.mkdir()
    (folder / "__init__.py").write_text(MODULES, encoding="utf-8")
    installation.modules.append("muntin_harbour")  # forgotten when the test ends
    return folder


@pytest.mark.parametrize("plugin", OUR_PLUGINS)
def test_the_functions_of_our_plugins_are_those_of_their_modules(plugin: str) -> None:
    assert calls_of(installed(), plugin).outdated() == [], f"run: muntin stubs {plugin}"


@pytest.mark.parametrize("plugin", OUR_PLUGINS)
def test_a_stub_has_the_parameters_and_the_docstring_of_each_function(plugin: str) -> None:
    calls = import_module(f"muntin_{plugin}.calls")
    stub = ast.parse(calls_of(installed(), plugin).stub)
    functions = [node for node in stub.body if isinstance(node, ast.FunctionDef)]
    names = [function.name for function in functions]
    assert names
    assert names == sorted(names)
    for function in functions:
        call = getattr(calls, function.name)
        _, *parameters = inspect.signature(call).parameters  # the first one takes the columns
        assert [argument.arg for argument in function.args.kwonlyargs] == parameters
        assert ast.get_docstring(function) == inspect.getdoc(call)


def test_an_editor_completes_and_explains_the_modules_of_a_plugin() -> None:
    jedi = import_module("jedi")  # the library by which Jupyter and other editors read code
    script = jedi.Script("import muntin_stats as stats\nstats.quantile(\nstats.q")
    completions = script.complete(line=3, column=len("stats.q"))
    assert "quantile" in [completion.name for completion in completions]
    (signature,) = script.get_signatures(line=2, column=len("stats.quantile("))
    assert signature.to_string() == "quantile(column: Column, /, *, q: float) -> ModuleCall"
    assert "Types: float, int or Decimal to float." in signature.docstring(raw=True)


def test_a_plugin_gets_functions_with_columns_parameters_and_docstrings(harbour: Path, muntin: Run) -> None:
    calls = harbour / "calls.py"
    stub = harbour / "calls.pyi"

    missing = muntin("stubs", "harbour", "--check")
    assert (missing.code, calls.exists(), stub.exists()) == (1, False, False)
    assert missing.output.endswith("write it: muntin stubs harbour\n")

    written = muntin("stubs", "harbour")
    assert written.output == f"{calls} is written\n{stub} is written\n"
    assert calls.read_text(encoding="utf-8") == CALLS
    assert stub.read_text(encoding="utf-8") == STUB
    assert muntin("stubs", "harbour", "--check").code == 0


def test_a_docstring_that_ends_with_a_quote_does_not_end_the_stub(harbour: Path, muntin: Run) -> None:
    docstring = 'Count what the harbour calls "ships"'
    (harbour / "__init__.py").write_text(MODULES.replace('"""Count ships."""', f"'{docstring}'"), encoding="utf-8")
    muntin("stubs", "harbour")
    stub = ast.parse((harbour / "calls.pyi").read_text(encoding="utf-8"))
    (ships,) = [node for node in stub.body if isinstance(node, ast.FunctionDef) and node.name == "ships"]
    assert ast.get_docstring(ships) == docstring


def test_a_formatter_may_lay_out_the_files(harbour: Path, muntin: Run) -> None:
    muntin("stubs", "harbour")
    calls = harbour / "calls.py"
    calls.write_text(CALLS.replace("typed_call(Range)", "typed_call(\n    Range,\n)"), encoding="utf-8")
    assert muntin("stubs", "harbour", "--check").code == 0


def test_a_file_that_is_no_python_is_written_anew(harbour: Path, muntin: Run) -> None:
    muntin("stubs", "harbour")
    calls = harbour / "calls.py"
    calls.write_text("this is no Python", encoding="utf-8")
    assert muntin("stubs", "harbour").output == f"{calls} is written\n"


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ("port", "the plugin port is the module plugin_0_port, and typed calls need a package"),
        ("empty", "the plugin empty has no modules"),
        ("nothing", ""),
    ],
)
def test_a_plugin_that_has_no_package_or_no_modules_or_does_not_exist_is_refused(
    plugin: str, message: str, offer: Offer, muntin: Run
) -> None:
    offer(port=MODULES.replace('name, version = "harbour.', 'name, version = "port.'), empty=WITHOUT_MODULES)
    done = muntin("stubs", plugin)
    assert done.code == 2
    assert message in done.errors
