"""What a reader may look up is on its page of the reference, by its docstring or in a table."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import muntin.testing
import muntin_engine.testing
from muntin import Function, Module, errors, policies
from muntin.catalog import hooks, installed
from muntin.testing import laws_of
from muntin_engine import errors as engine_errors
from muntin_engine.plan.metrics import METRICS, TIME_AXIS, WAITS_FOR_ENDS, Metric
from muntin_engine.time.changes import Reason
from tests.docs.pages import DOCS, REFERENCE, ROOT, entries, headings
from tests.docs.test_reference import collection, target_of

HOOKS = [function for function in vars(hooks).values() if hasattr(function, f"{hooks.PROJECT}_spec")]
BASES = [name for name, cls in vars(muntin).items() if inspect.isclass(cls) and issubclass(cls, Module)]


def error_names() -> Iterator[str]:
    """Yield the names of the errors that users may meet."""
    for module in (errors, engine_errors, muntin.testing, muntin_engine.testing):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, errors.MuntinError):
                yield value.__name__


ERRORS = sorted(set(error_names()))


def policies_with_members() -> Iterator[type[StrEnum]]:
    """Yield the policies that a query chooses by a word."""
    for value in vars(policies).values():
        is_enum = isinstance(value, type) and issubclass(value, StrEnum)
        if is_enum and value.__module__ == policies.__name__ and len(value):
            yield value


POLICIES = list(policies_with_members())


def laws_of_kits() -> Iterator[tuple[str, str, str]]:
    """Yield the kit, the laws class and the name of each law."""
    for kit in (muntin.testing, muntin_engine.testing):
        for laws in kit.__all__:
            if laws.endswith("Laws"):
                for test in laws_of(getattr(kit, laws)):
                    yield kit.__name__, laws, test


LAWS = list(laws_of_kits())
OURS = [plugin for plugin in installed().plugins()[0] if plugin.name in ("patterns", "stats")]
MODULES: list[tuple[str, str, Any]] = []
FUNCTIONS: list[tuple[str, str, Any]] = []
for our_plugin in OURS:
    MODULES += [(our_plugin.name, name, cls) for name, cls in our_plugin.modules.items()]
    FUNCTIONS += [(our_plugin.name, name, function) for name, function in our_plugin.functions.items()]


@cache
def sections(page: Path) -> dict[str, str]:
    """Return the sections of a page by their headings."""
    return {heading.text: heading.section for heading in headings(page)}


def reasons() -> Iterator[str]:
    """Yield the reasons for which rows are rejected: by a bucket, and before the shuffle."""
    yield from map(str, Reason)
    sources = (ROOT / "engine/src/muntin_engine/tasks").glob("*.py")
    problems: list[str] = []
    for file in sources:
        problems += re.findall(r'Problem\(\s*"([^"]+)"', file.read_text("utf-8"))
    assert problems
    yield from problems


LISTED: dict[str, set[str]] = {}
for reference_page in REFERENCE.glob("*.md"):
    LISTED[reference_page.name] = {entry.name.rpartition(".")[2] for entry in entries(reference_page)}
NAMES = [
    *(("hooks.md", hook.__name__) for hook in HOOKS),
    *(("errors.md", name) for name in ERRORS),
    *(("policies.md", policy.__name__) for policy in POLICIES),
    *(("laws.md", name) for name in sorted({laws_class for _, laws_class, _ in LAWS})),
    *(("modules.md", name) for name in (*BASES, "Needs")),
]


@pytest.mark.parametrize(("page", "name"), NAMES, ids=[name for _, name in NAMES])
def test_a_hook_an_error_a_policy_a_laws_class_and_a_base_class_is_on_its_page(page: str, name: str) -> None:
    assert name in LISTED[page]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)
def test_a_member_of_a_policy_has_a_docstring_or_it_would_not_show(policy: type[StrEnum]) -> None:
    shown = collection()[f"muntin.policies.{policy.__name__}"].members
    assert [member.name for member in policy if shown[member.name].docstring is None] == []


@pytest.mark.parametrize(("kit", "laws", "test"), LAWS, ids=[f"{laws}.{test}" for _, laws, test in LAWS])
def test_a_law_is_among_the_members_of_its_class_with_what_it_states(kit: str, laws: str, test: str) -> None:
    shown = target_of(f"{kit}.{laws}").all_members[test]
    statement = laws_of(getattr(import_module(kit), laws))[test]
    assert shown.docstring is not None
    assert shown.docstring.value.startswith(statement)


@pytest.mark.parametrize(("plugin", "name", "cls"), MODULES)
def test_a_module_is_in_the_table_with_its_aliases_and_its_docstring_has_its_parameters(
    plugin: str, name: str, cls: type[Module]
) -> None:
    text = (REFERENCE / f"{plugin}.md").read_text(encoding="utf-8")
    short_name = name.partition(".")[2]
    (row,) = re.findall(rf"^\| \[`{short_name}`\]\(#{cls.__name__.lower()}\) \|.*$", text, re.MULTILINE)
    cell_of_aliases = row.split("|")[4]
    assert re.findall(r"`(\w+)`", cell_of_aliases) == list(cls.own_aliases())
    assert cls.__name__ in LISTED[f"{plugin}.md"]
    _, _, arguments = str(inspect.getdoc(cls)).partition("Args:")
    for parameter in inspect.signature(cls).parameters:
        assert f"{parameter}: " in arguments, f"{name} does not say what {parameter} is"


@pytest.mark.parametrize(("plugin", "name", "function"), FUNCTIONS)
def test_a_function_is_on_the_page_of_its_plugin(plugin: str, name: str, function: Function[..., Any]) -> None:
    assert name.partition(".")[2] in LISTED[f"{plugin}.md"]


def test_every_row_in_the_table_of_a_plugin_is_a_module_of_it() -> None:
    for plugin in OURS:
        text = (REFERENCE / f"{plugin.name}.md").read_text(encoding="utf-8")
        names = re.findall(r"^\| \[`(\w+)`\]", text, re.MULTILINE)
        assert sorted(f"{plugin.name}.{name}" for name in names) == sorted(plugin.modules)


@pytest.mark.parametrize("reason", sorted(set(reasons())))
def test_a_reason_for_which_a_row_is_set_aside_is_in_the_table(reason: str) -> None:
    assert f"| `{reason}` | " in sections(DOCS / "how-to/late-and-bad-rows.md")["The reasons"]


@pytest.mark.parametrize("measure", METRICS, ids=lambda measure: measure.name)
def test_a_measure_is_in_the_table_with_its_unit_and_kind(measure: Metric) -> None:
    rows = sections(REFERENCE / "metrics.md")["The metrics"].splitlines()
    (row,) = [row for row in rows if row.startswith(f"| `{measure.name}` | {measure.unit} | ")]
    assert row.endswith("| gauge |" if measure.is_level else "| counter |")


def test_the_table_of_measures_has_no_others() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", sections(REFERENCE / "metrics.md")["The metrics"], re.MULTILINE)
    assert rows == [*(measure.name for measure in METRICS), TIME_AXIS, WAITS_FOR_ENDS]


def test_the_lists_that_these_tests_go_through_are_not_short_of_anything() -> None:
    assert len(HOOKS) >= 2
    assert len(ERRORS) >= 20
    assert {policy.__name__ for policy in POLICIES} >= {"ClipPolicy", "EmitPolicy", "OutputContract", "TimestampPolicy"}
    assert len(LAWS) >= 50
    assert {plugin.name for plugin in OURS} == {"patterns", "stats"}
    assert len(MODULES) >= 19
    assert FUNCTIONS
