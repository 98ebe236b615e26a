"""The kit bites: for every law of every laws class there is a module that breaks it and fails under its name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from muntin import Function, Module, testing
from muntin.errors import ModuleDefinitionError
from muntin.testing import (
    FunctionLaws,
    LawError,
    Outcome,
    ProgressPolicyLaws,
    ResultRefinementLaws,
    RowOperatorLaws,
    RowWindowLaws,
    StreamOperatorLaws,
    TriggerLaws,
    WindowKindLaws,
    laws_of,
    try_laws,
)
from muntin.testing.laws import law as law_module
from muntin.testing.laws.conformance import Conformance
from muntin.triggers import Trigger, when
from tests.hostile.muntin_hostile import (
    CROWDED,
    HONEST,
    HOSTILE,
    HOSTILE_FUNCTIONS,
    HOSTILE_TRIGGERS,
    VALUES,
    FirstFifty,
    TopTen,
    honest_function,
    honest_triggers,
    honest_vectorised_function,
)
from tests.hostile.muntin_hostile.crowded import JoinsASet
from tests.hostile.muntin_hostile.windows import HOSTILE_KINDS
from tests.naming import spelled

AS_BY_USERS = pytest.mark.usefixtures("tried_as_by_users")
"""With as many examples as where users run them: so many find the fault of a hostile module."""

LAWS_CLASSES = [
    offered for offered in vars(testing).values() if isinstance(offered, type) and issubclass(offered, Conformance)
]
OTHERS = (
    FunctionLaws,
    TriggerLaws,
    WindowKindLaws,
    RowWindowLaws,
    RowOperatorLaws,
    StreamOperatorLaws,
    ProgressPolicyLaws,
    ResultRefinementLaws,
)
MODULE_LAWS = [
    (honest, f"test_{law.replace(' ', '_')}") for honest in HONEST for law in testing.laws_applying_to(honest())
]
HOSTILE_CASES = [(HONEST[honest], law, module) for (honest, law), modules in HOSTILE.items() for module in modules]
MOST_LINES = 8
"""How long the drawing of a smallest stream may be: a ruler, a window and a few members."""
ROWS = st.tuples(st.integers(-9, 9))


def check(laws: type[Conformance], law: str, **attributes: Any) -> None:
    """Run one law of a laws class; a skip would prove nothing, so it fails."""
    suite = type("TestSuspect", (laws,), attributes)
    try:
        getattr(suite(), law)()
    except pytest.skip.Exception as skipped:
        pytest.fail(f"{law} was skipped: {skipped}")


def name_of(value: object) -> str:
    return value.__name__ if isinstance(value, type) else value if isinstance(value, str) else spelled(value)


@AS_BY_USERS
@pytest.mark.parametrize(("laws", "law", "module"), HOSTILE_CASES, ids=name_of)
def test_a_module_that_breaks_a_law_fails_under_its_name(
    laws: type[Conformance], law: str, module: type[Module]
) -> None:
    with pytest.raises(LawError) as broken:
        check(laws, law, module=module())
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    label = f"{module.name} {module.version}" if module.version else f"{module.name} without a version"
    assert f"{label} breaks the law: {broken.value.law}" in str(broken.value)
    assert "to do: " in str(broken.value)
    if law != "test_definition_is_complete" and module.name != "hostile.columnar_keeps_nothing":
        assert "smallest stream:" in str(broken.value)
        assert 0 < len(broken.value.stream.splitlines()) <= MOST_LINES


@AS_BY_USERS
@pytest.mark.parametrize(("module", "law"), CROWDED.items(), ids=name_of)
def test_a_module_that_is_right_for_a_few_members_or_at_first_is_found_out(
    module: type[Module], law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module is JoinsASet:  # how soon a set gives itself away depends on the hashes of the process
        monkeypatch.setattr(law_module, "CROWDED", settings(law_module.CROWDED, max_examples=24))
    with pytest.raises(LawError) as broken:
        check(testing.laws_for(module()), f"test_{law.replace(' ', '_')}", module=module())
    assert len(broken.value.stream.splitlines()) <= MOST_LINES + 4
    assert max(map(len, str(broken.value).splitlines())) < 220


@AS_BY_USERS
def test_a_report_tells_of_many_members_in_a_line() -> None:
    with pytest.raises(LawError, match=r"\n    and \d+ more[:,] ") as broken:
        check(testing.IncrementalAggregateLaws, "test_order_does_not_matter", module=FirstFifty())
    (crowd,) = [line for line in broken.value.stream.splitlines() if line.startswith("and ")]
    assert int(crowd.split()[1]) == 50  # with the one that is drawn alone, one more than it keeps


@AS_BY_USERS
def test_a_bound_that_depends_on_the_members_alone_breaks_no_law() -> None:
    assert {verdict.outcome for verdict in try_laws(TopTen())} == {Outcome.KEPT, Outcome.SKIPPED}


@AS_BY_USERS
@pytest.mark.parametrize(("law", "function"), HOSTILE_FUNCTIONS.items(), ids=name_of)
def test_a_function_that_breaks_a_law_fails_under_its_name(law: str, function: Function[..., Any]) -> None:
    with pytest.raises(LawError) as broken:
        check(FunctionLaws, law, function=function, **({"arguments": ROWS} if function.is_vectorized else {}))
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")


@AS_BY_USERS
@pytest.mark.parametrize(("law", "trigger"), HOSTILE_TRIGGERS.items(), ids=name_of)
def test_a_trigger_that_breaks_a_law_fails_under_its_name(law: str, trigger: Trigger) -> None:
    with pytest.raises(LawError) as broken:
        check(TriggerLaws, law, trigger=trigger)
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    assert f"{trigger.name} 1 breaks the law: {broken.value.law}" in str(broken.value)


@pytest.mark.parametrize("trigger", honest_triggers(), ids=str)
@pytest.mark.parametrize("law", laws_of(TriggerLaws))
def test_a_trigger_that_keeps_all_laws_passes(law: str, trigger: Trigger) -> None:
    check(TriggerLaws, law, trigger=trigger, values=VALUES)


def test_the_values_that_a_trigger_reads_must_be_known() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"when 1 reads 'y > 5'.*\n  set the class attribute: values = "):
        check(TriggerLaws, "test_states_are_plain_data", trigger=when("y > 5"))


@pytest.mark.parametrize("law", laws_of(FunctionLaws))
def test_a_function_that_keeps_all_laws_passes(law: str) -> None:
    check(FunctionLaws, law, function=honest_vectorised_function, arguments=ROWS)
    if law != "test_splitting_does_not_matter":
        check(FunctionLaws, law, function=honest_function)


def test_every_law_of_every_class_has_a_module_that_breaks_it() -> None:
    assert set(HONEST.values()) == set(LAWS_CLASSES) - set(OTHERS)
    assert set(HOSTILE) == set(MODULE_LAWS)
    assert set(HOSTILE_FUNCTIONS) == set(laws_of(FunctionLaws))
    assert set(HOSTILE_TRIGGERS) == set(laws_of(TriggerLaws))
    assert set(HOSTILE_KINDS) == set(laws_of(WindowKindLaws))
