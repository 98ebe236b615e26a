"""`muntin stubs`: typed functions for what is installed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from muntin_engine import module
from tests.cli.plugins import BROKEN, TIDES
from tests.cli.running import Offer, Run
from tests.sdk.installation import Installation
from tests.typing.checking import check_types, expected_in

QUERY = """
from pyspark.sql import functions as F

from muntin_engine import from_stream
from query_modules import stats, tides

stats.quantile("delay", q=0.9)
stats.count()
stats.count(F.col("delay"), skip_nulls=True)
stats.linear_trend("x", F.col("y"))
stats.linear_trend(F.struct("x", "y"))
stats.average_difference(left="celsius", right=from_stream("outside", "celsius"))
tides.range("metres")
tides.range("metres", "is_estimate", digits=2)
tides.above("metres", level=2.0, way="loose")
tides.patience(members=3)

stats.quantile("delay", p=0.9)  # E: [call-arg] Unexpected keyword argument "p"
stats.quantile("delay", q="high")  # E: [arg-type] expected "float"
stats.quantile("delay")  # E: [call-arg] Missing named argument "q"
stats.quantile(q=0.9)  # E: [call-arg] Too few arguments
stats.quantile("delay", 0.9)  # E: [call-arg] Too many positional arguments
stats.linear_trend("x", "y", "z")  # E: [call-overload] No overload variant
stats.average_difference(left="celsius")  # E: [call-arg] Missing named argument "right"
stats.qantile("delay", q=0.9)  # E: [attr-defined] maybe "quantile"
tides.above("metres", level=2.0, way="strong")  # E: [arg-type] Literal['strict', 'loose']
tides.patience(members="three")  # E: [arg-type] expected "int"
tides.range(1)  # E: [call-overload] No overload variant
"""


@pytest.fixture
def tides(installation: Installation, allow: Callable[..., None]) -> Installation:
    installation.plugin("tides", source=TIDES)
    allow("tides", "stats")
    return installation


@pytest.fixture
def stubs(tides: Installation, tmp_path: Path, muntin: Run) -> Path:
    folder = tmp_path / "query_modules"
    assert muntin("stubs", "--output", folder).code == 0
    return folder


@pytest.fixture
def query_modules(stubs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(stubs.parent)
    yield import_module("query_modules")
    for name in [name for name in sys.modules if name.partition(".")[0] == "query_modules"]:
        del sys.modules[name]


def test_a_stub_makes_the_call_that_a_query_would_make_and_says_what_its_module_does(query_modules: Any) -> None:
    assert query_modules.stats.quantile("delay", q=0.9) == module("stats.quantile", "delay", q=0.9)
    assert query_modules.stats.count() == module("stats.count", skip_nulls=False)
    compared = query_modules.stats.average_difference(left="inside", right="outside")
    assert compared == module("stats.average_difference", left="inside", right="outside")
    tides = query_modules.tides
    assert tides.average("metres") == module("tides.average", "metres")
    assert tides.turns("metres", most=timedelta(1)) == module("tides.turns", "metres", most=timedelta(1))
    assert tides.range("metres").parameters == {"digits": None}, "a default without a literal is left to the module"
    assert tides.range("metres", unit="ft").parameters == {"unit": "ft", "digits": None}
    trigger = tides.patience(members=3)
    assert (trigger.name, trigger.members) == ("tides.patience", 3)
    assert inspect.getdoc(tides.above) == "Return the share of the window above a level.\n\nReads float, returns float."


def test_a_type_checker_completes_and_refuses(
    stubs: Path, tides: Installation, tmp_path: Path, mypy_cache: Path
) -> None:
    query = tmp_path / "query.py"
    query.write_text(QUERY, encoding="utf-8")
    found = check_types([query, *stubs.glob("*.py")], mypy_cache, path=[tmp_path, tides.folder])
    expected = expected_in(query)
    assert len(expected) == 11
    assert sorted(found[query]) == sorted(expected)
    for line, (code, text) in expected.items():
        assert found[query][line].says(code, text), f"line {line}: {found[query][line]}"
    assert [file.name for file in found if file != query] == []


def test_a_build_can_ask_whether_stubs_are_up_to_date_and_write_the_same_again(
    stubs: Path, allow: Callable[..., None], muntin: Run
) -> None:
    before = {file.name: file.read_text("utf-8") for file in stubs.iterdir()}
    assert muntin("stubs", "--output", stubs, "--check").code == 0
    assert muntin("stubs", "--output", stubs).code == 0
    assert {file.name: file.read_text("utf-8") for file in stubs.iterdir()} == before
    assert set(before) == {"__init__.py", "stats.py", "tides.py"}
    allow("tides")
    done = muntin("stubs", "--output", stubs, "--check")
    assert (done.code, done.output) == (
        1,
        f"{stubs} is out of date: __init__.py, stats.py\n  write it anew: muntin stubs --output {stubs}\n",
    )
    assert (stubs / "stats.py").is_file()
    muntin("stubs", "--output", stubs)
    assert not (stubs / "stats.py").exists()


def test_files_of_others_are_left_alone(tides: Installation, tmp_path: Path, muntin: Run) -> None:
    mine = tmp_path / "mine" / "stats.py"
    mine.parent.mkdir()
    mine.write_text("mine = 1\n", encoding="utf-8")
    done = muntin("stubs", "--output", mine.parent)
    assert done.code == 2
    assert f"{mine} was not written by this command" in done.errors
    assert mine.read_text("utf-8") == "mine = 1\n"


def test_a_broken_plugin_is_left_out_with_its_reason(
    tides: Installation, allow: Callable[..., None], tmp_path: Path, muntin: Run
) -> None:
    tides.plugin("wrecked", source=BROKEN)
    allow("tides", "wrecked")
    done = muntin("stubs", "--output", tmp_path / "out")
    assert done.code == 1
    assert "muntin: left out: " in done.errors
    assert "no_such_package" in done.errors
    assert (tmp_path / "out" / "tides.py").is_file()


def test_stubs_of_the_hostile_plugin_can_be_imported(offer: Offer, tmp_path: Path, muntin: Run) -> None:
    offer(hostile="from tests.hostile.muntin_hostile.plugin import *\n")
    assert muntin("stubs", "--output", tmp_path / "out").code == 0
    source = (tmp_path / "out" / "hostile.py").read_text("utf-8")
    assert source.count("\ndef ") > 80
    compile(source, "hostile.py", "exec")
