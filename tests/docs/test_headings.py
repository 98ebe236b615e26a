"""What a reader may look up has a heading: hooks, errors, laws, policies, base classes and modules."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import muntin.testing
import muntin_engine.testing
from muntin import Function, Module, errors, hooks, policies
from muntin.catalog import installed
from muntin.schemas import spell
from muntin.testing import laws_of
from muntin_engine import errors as engine_errors
from muntin_engine.core.changes import Reason
from muntin_engine.metrics import METRICS, TIME_AXIS, WAITS_FOR_ENDS, Metric
from tests.docs.pages import DOCS, REFERENCE, ROOT, headings

HOOKS = [function for function in vars(hooks).values() if hasattr(function, f"{hooks.PROJECT}_spec")]
BASES = [name for name, cls in vars(muntin).items() if inspect.isclass(cls) and issubclass(cls, Module)]
ERRORS = sorted(
    {
        error.__name__
        for module in (errors, engine_errors, muntin.testing, muntin_engine.testing)
        for error in vars(module).values()
        if isinstance(error, type) and issubclass(error, errors.MuntinError)
    }
)
POLICIES = [
    policy
    for policy in vars(policies).values()
    if isinstance(policy, type) and issubclass(policy, StrEnum) and policy.__module__ == policies.__name__
]
MEMBERS = [f"{policy.__name__}.{member.name}" for policy in POLICIES for member in policy]
LAWS = [
    (laws, test, statement)
    for kit in (muntin.testing, muntin_engine.testing)
    for laws in kit.__all__
    if laws.endswith("Laws")
    for test, statement in laws_of(getattr(kit, laws)).items()
]
OURS = [plugin for plugin in installed().plugins()[0] if plugin.name in ("patterns", "stats")]
MODULES = [(plugin.name, name, cls) for plugin in OURS for name, cls in plugin.modules.items()]
FUNCTIONS = [(plugin.name, name, function) for plugin in OURS for name, function in plugin.functions.items()]


QUOTE = "'"


@cache
def sections(page: Path) -> dict[str, str]:
    return {heading.text: heading.section for heading in headings(page)}


def parameters_of(callable: Callable[..., Any]) -> str:
    """Return the parameters of a module or function as its page spells them."""
    return ", ".join(map(_spell_parameter, inspect.signature(callable).parameters.values()))


def _spell_parameter(parameter: inspect.Parameter) -> str:
    annotation = inspect.formatannotation(parameter.annotation).strip("'")
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: {annotation}{default}"


def reasons() -> Iterator[str]:
    """Yield the reasons for which rows are set aside: those of the core, and those found before the shuffle."""
    yield from map(str, Reason)
    sources = (ROOT / "engine/src/muntin_engine/exchange").glob("*.py")
    found = [reason for file in sources for reason in re.findall(r'Problem\(\s*"([^"]+)"', file.read_text("utf-8"))]
    assert found
    yield from found


HEADINGS = [
    # a page, a heading, and what stands below it
    *(("hooks.md", f"{hook.__name__}{str(inspect.signature(hook)).replace(QUOTE, '')}", "") for hook in HOOKS),
    *(("errors.md", name, "") for name in ERRORS),
    *(("policies.md", name, "") for name in MEMBERS),
    *(("laws.md", test.removeprefix("test_").replace("_", " ").capitalize(), said) for _, test, said in LAWS),
    *(("modules.md", name, "") for name in (*BASES, "Needs", "upgrade_state", "columnar_form")),
]


@pytest.mark.parametrize(("page", "heading", "said"), HEADINGS, ids=[heading for _, heading, _ in HEADINGS])
def test_a_hook_an_error_a_policy_a_law_and_a_base_class_has_a_heading(page: str, heading: str, said: str) -> None:
    section = sections(REFERENCE / page)[heading]
    assert section.strip()
    assert said in section


@pytest.mark.parametrize(("plugin", "name", "cls"), MODULES)
def test_a_module_has_a_heading_with_its_parameters_and_types(plugin: str, name: str, cls: type[Module]) -> None:
    expected = f"`{name}({parameters_of(cls)})`: `{spell(cls.input_field())}` to `{spell(cls.result_field())}`."
    section = sections(REFERENCE / f"{plugin}.md")[name]

    assert expected in section.splitlines()
    for parameter in inspect.signature(cls).parameters:
        assert f"- `{parameter}`: " in section, f"{name} does not say what {parameter} is"


@pytest.mark.parametrize(("plugin", "name", "function"), FUNCTIONS)
def test_a_function_has_a_heading_with_its_parameters_and_type(
    plugin: str, name: str, function: Function[..., Any]
) -> None:
    expected = f"`{name}({parameters_of(function.implementation)})`: to `{spell(function.result)}`."
    assert expected in sections(REFERENCE / f"{plugin}.md")[name].splitlines()


def test_every_heading_of_a_plugin_page_is_a_module_or_function_of_it() -> None:
    for plugin in OURS:
        _, *names, _ = sections(REFERENCE / f"{plugin.name}.md")  # between the title and the API
        assert sorted(names) == sorted({**plugin.modules, **plugin.functions})


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


def test_something_was_found() -> None:
    assert len(HOOKS) >= 2
    assert len(ERRORS) >= 20
    assert {policy.__name__ for policy in POLICIES} >= {"ClipPolicy", "EmitPolicy", "OutputContract", "TimestampPolicy"}
    assert len(LAWS) >= 50
    assert {plugin.name for plugin in OURS} == {"patterns", "stats"}
    assert len(MODULES) >= 19
    assert FUNCTIONS


CALLS = re.findall(
    r"^`((?:(?:EventStream|Query)\.)?[a-z_]+)\((.*?)\)` ",
    (REFERENCE / "query.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""The calls of a query that the reference shows with their arguments."""


@pytest.mark.parametrize(("call", "shown"), CALLS, ids=[call for call, _ in CALLS])
def test_a_call_is_shown_with_the_arguments_that_it_has(call: str, shown: str) -> None:
    function: Any = muntin_engine
    for part in call.split("."):
        function = getattr(function, part)
    has = {name for name in inspect.signature(function).parameters if name not in ("self", "unnamed")}
    says = {name.strip(" *") for name in re.findall(r"(?:^|, )([* a-z_]+)(?=[=,]|$)", shown)} - {""}
    assert says <= has, "the page shows an argument that there is not"
    assert has - says <= {"watermark"} if call == "Query.results" else has == says


def test_the_reference_shows_the_arguments_of_calls() -> None:
    assert {"events", "Query.write", "Query.check", "EventStream.window"} <= {call for call, _ in CALLS}
