"""The version of a class that declares none."""

from __future__ import annotations

import importlib
import linecache
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy
import pytest

from muntin import Aggregate
from muntin_engine import module
from muntin_engine.packages.code_version import code_version, identity_of_function
from muntin_stats.average import Average

PROGRAM = '''
import enum
from dataclasses import dataclass
from muntin import IncrementalAggregate
from muntin_engine import module
import near

LIMIT = 3
NAMES = {"a", "b", "c"}
UNUSED = 1

class Kind(enum.Enum):
    PLAIN = 1

@dataclass
class Sum:
    total: int = 0

def outer(x: int) -> int:
    """Add."""
    return inner(x) if "a" in NAMES and Kind.PLAIN else x

def inner(x: int) -> int:
    return near.plus(x, LIMIT)

class Mine(IncrementalAggregate[int, Sum, int]):
    """Mine."""

    name = "my.sum"
    factor = 1

    def create_state(self) -> Sum:
        return Sum()

    def add_events(self, state, payloads):
        return Sum(state.total + sum(outer(payload) for payload in payloads))

    def compute_result(self, state):
        return state.total * self.factor

VERSION = module(Mine, "x").cls.version
print(VERSION)
'''
NEAR = "def plus(x, y):\n    return x + y\n"
"""The file beside the program, which it imports."""


@pytest.fixture
def first_version(tmp_path: Path) -> str:
    """The version of the module of the program as it is above."""
    (tmp_path / "first").mkdir()
    return version_of(tmp_path / "first")


def version_of(folder: Path, program: str = PROGRAM, near: str = NEAR) -> str:
    """Run a program as the main one, and return the version that it gives its module."""
    write_program(folder, program, near)
    sys.path.insert(0, str(folder))
    try:
        version: str = runpy.run_path(str(folder / "program.py"), run_name="__main__")["VERSION"]
    finally:
        sys.path.remove(str(folder))
        del sys.modules["near"]
        importlib.invalidate_caches()
    return version


def write_program(folder: Path, program: str = PROGRAM, near: str = NEAR) -> None:
    """Write a program, and the file beside it."""
    (folder / "near.py").write_text(near)
    (folder / "program.py").write_text(program)


def test_a_version_is_a_hash_of_eight_digits(first_version: str) -> None:
    assert re.fullmatch(r"code-.{8}", first_version)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_version_is_the_same_in_each_process(tmp_path: Path, first_version: str, seed: str) -> None:
    write_program(tmp_path)
    environment = {**os.environ, "PYTHONHASHSEED": seed}  # which gives sets another order
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == first_version, done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    """Mine."""\n', ""),
        ('    """Add."""\n', "    # adds\n\n"),
        ("UNUSED = 1", "UNUSED = 2"),
        ('{"a", "b", "c"}', '{"c", "b", "a"}'),
        ("class Kind", "def never_used():\n    return 7\n\nclass Kind"),
    ],
    ids=["docstring", "comment", "unused constant", "order in a set", "unused function"],
)
def test_what_makes_no_difference_to_results_leaves_the_version_as_it_is(
    tmp_path: Path, first_version: str, old: str, new: str
) -> None:
    assert old in PROGRAM
    assert version_of(tmp_path, PROGRAM.replace(old, new)) == first_version


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("state.total * self.factor", "state.total"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("factor = 1", "factor = 2"),
        ("near.plus(x, LIMIT)", "near.plus(LIMIT, x)"),
        ("total: int = 0", "total: int = 1"),
        ('{"a", "b", "c"}', '{"a", "b"}'),
    ],
    ids=["method", "constant", "attribute", "function of a function", "state", "set"],
)
def test_a_change_of_what_a_module_computes_is_another_version(
    tmp_path: Path, first_version: str, old: str, new: str
) -> None:
    assert old in PROGRAM
    assert version_of(tmp_path, PROGRAM.replace(old, new)) != first_version


def test_a_change_in_a_file_beside_the_program_is_another_version(tmp_path: Path, first_version: str) -> None:
    assert version_of(tmp_path, near=NEAR.replace("x + y", "x - y")) != first_version


class Plain(Aggregate[int, int]):
    name = "show.plain"

    def compute_result(self, payloads: list[int]) -> int:  # type: ignore[override]  # enough here
        return len(payloads)


class Declared(Plain):
    version = "2.0.0"


class Successor(Declared):
    """Its version is that of the class that it extends, which is of the same program."""


class Scaled(Average[float]):
    """Extends a module that is installed, whose version says nothing of this code."""

    name = "show.scaled"

    def compute_result(self, state: object) -> float:
        return 2.0


def test_only_what_declares_no_version_gets_one() -> None:
    assert module(Declared).cls is Declared
    assert module(Successor).cls is Successor
    assert module(Average).cls is Average
    assert module(Plain).cls.version == code_version(Plain)
    assert not hasattr(Plain, "version")


def test_a_version_inherited_from_an_installed_module_is_not_its_own() -> None:
    assert Scaled.version == Average.version
    assert module(Scaled).cls.version == code_version(Scaled)


def test_the_class_with_the_version_is_the_class_in_everything_else() -> None:
    cls = module(Plain).cls
    assert issubclass(cls, Plain)
    assert (cls.__module__, cls.__qualname__, cls.name) == (Plain.__module__, "Plain", "show.plain")
    assert cls.input_field() == Plain.input_field()


def test_what_a_class_uses_of_its_own_package_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    original_version = code_version(Average)
    monkeypatch.setattr(sys.modules["muntin_stats.amount"], "exact_sum", lambda amount: amount)
    assert code_version(Average) != original_version


class OneSlot:
    """Has the name of its only slot in the place of several."""

    __slots__ = "amount"  # noqa: PLC0205  # Python allows a single name

    def __init__(self, amount: int) -> None:
        self.amount = amount


class PrivateSlot:
    """Has a slot whose attribute Python names after the class as well."""

    __slots__ = ("__amount",)

    def __init__(self, amount: int) -> None:
        self.__amount = amount


class SlotAndField(OneSlot):
    """Has a field beside the slot of its base."""

    def __init__(self, amount: int, field: int) -> None:
        super().__init__(amount)
        self.field = field


def class_that_uses(value: object) -> type:
    """Return a class with a method that returns a constant with this value."""

    class Using:
        def of(self) -> object:
            return value

    return Using


@pytest.mark.parametrize(
    ("value", "equal_value", "other_value"),
    [
        (numpy.arange(3), numpy.arange(3), numpy.arange(4)),
        ({"a": [1, 2]}, {"a": [1, 2]}, {"a": [1, 3]}),
        (timedelta(days=1), timedelta(days=1), timedelta(days=2)),
        (re.compile("a+"), re.compile("a+"), re.compile("a*")),
        (cache(abs), cache(abs), cache(len)),
        (partial(int, base=2), partial(int, base=2), partial(int, base=3)),
        (list[int], list[int], list[str]),
        (Plain(), Plain(), Declared()),
        (OneSlot(1), OneSlot(1), OneSlot(2)),
        (PrivateSlot(1), PrivateSlot(1), PrivateSlot(2)),
        (SlotAndField(1, 1), SlotAndField(1, 1), SlotAndField(2, 1)),
        (SlotAndField(1, 1), SlotAndField(1, 1), SlotAndField(1, 2)),
    ],
    ids=[
        "array",
        "mapping",
        "duration",
        "pattern",
        "cached",
        "partial",
        "type",
        "object",
        "slot",
        "private slot",
        "base",
        "field",
    ],
)
def test_a_constant_counts_with_its_value(value: object, equal_value: object, other_value: object) -> None:
    assert code_version(class_that_uses(value)) == code_version(class_that_uses(equal_value))
    assert code_version(class_that_uses(value)) != code_version(class_that_uses(other_value))


def dataclass_that_takes(function: Callable[[Any], int]) -> type:
    """Return a dataclass whose method was written outside of it."""

    @dataclass
    class Taking:
        field: int = 0
        method = function

    return Taking


def test_a_function_that_a_dataclass_takes_from_elsewhere_counts() -> None:
    def one(self: Any) -> int:
        return 1

    def two(self: Any) -> int:
        return 2

    assert code_version(dataclass_that_takes(one)) == code_version(dataclass_that_takes(one))
    assert code_version(dataclass_that_takes(one)) != code_version(dataclass_that_takes(two))


def class_with_lambda(step: int) -> type:
    """Return a class whose function adds a step, which it closes over."""

    class Adding:
        add = staticmethod(lambda x: x + step)

    return Adding


def test_what_a_function_closes_over_counts() -> None:
    assert code_version(class_with_lambda(1)) == code_version(class_with_lambda(1))
    assert code_version(class_with_lambda(1)) != code_version(class_with_lambda(2))


class Notebook:
    """Runs cells as a notebook does: Python finds their source by the names of files that there are not.

    Attributes:
        names: What the cells have defined.
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._cells = 0

    def run_cell(self, text: str) -> None:
        """Run a cell."""
        self._cells += 1
        name = f"/nowhere/ipykernel_7/{self._cells}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), self.names)


CELL = 'class Noted:\n    """Doc."""\n    def of(self):\n        return helper(1)\n'


def test_a_cell_that_is_run_again_is_the_same_code_and_one_whose_helper_has_changed_is_not() -> None:
    notebook = Notebook()
    notebook.run_cell("def helper(x):\n    return x + 1\n")
    notebook.run_cell(CELL)
    version = code_version(notebook.names["Noted"])

    notebook.run_cell("# moved down\n\n" + CELL.replace("Doc.", "Another."))
    assert code_version(notebook.names["Noted"]) == version

    notebook.run_cell("def helper(x):\n    return x + 2\n")
    assert code_version(notebook.names["Noted"]) != version


def test_a_class_keeps_its_version_when_python_has_kept_its_annotations() -> None:
    class Helper:
        def double(self, x: int) -> int:
            return 2 * x

    class Doubled(Aggregate[int, int]):
        name = "my.doubled"

        def compute_result(self, payloads: Any) -> int:
            return Helper().double(sum(payloads))

    version = code_version(Doubled)
    assert [cls.__annotations__ for cls in (Doubled, Helper)] == [{}, {}], "Python keeps these in the classes now"
    assert code_version(Doubled) == version
    assert module(Doubled, "x").cls.version == version


def test_a_value_that_an_object_has_cached_makes_no_difference_and_a_changed_attribute_does() -> None:
    class Table:
        def __init__(self) -> None:
            self.rows = 2

        @cached_property
        def total(self) -> int:
            return self.rows * 10

    table = Table()
    cls = class_that_uses(table)
    version = code_version(cls)
    assert table.total == 20  # which is kept in the object
    assert code_version(cls) == version
    table.rows = 3
    assert code_version(cls) != version


def test_a_function_of_an_installed_package_goes_by_its_name_and_arguments() -> None:
    median = partial(numpy.quantile, q=0.5)
    functions = [numpy.ptp, numpy.median, numpy.linalg.norm, max, median]
    identities = [identity_of_function(function) for function in functions]
    names = [name for name, _version in identities]
    versions = [version for _name, version in identities]
    assert names == ["numpy.ptp", "numpy.median", "numpy.norm", "builtins.max", "numpy.quantile"]
    assert len(set(versions)) == len(functions)

    assert identity_of_function(partial(numpy.quantile, q=0.5)) == identity_of_function(median)
    assert identity_of_function(partial(numpy.quantile, q=0.6)) != identity_of_function(median)


def test_a_function_of_no_package_goes_by_its_code_and_what_it_closes_over() -> None:
    def above(limit: int) -> Any:
        return lambda km: int((km > limit).sum())

    name, version = identity_of_function(above(3))
    assert name == "function.lambda"
    assert version.startswith("code-")
    assert identity_of_function(above(3)) == (name, version)
    assert identity_of_function(above(4)) != (name, version)


def test_a_package_with_compiled_parts_can_be_hashed() -> None:
    assert code_version(numpy.linalg.norm) == code_version(numpy.linalg.norm)
