"""Laws classes as a module writer meets them: what they refuse, what they skip and what they report."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import textwrap
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

import muntin
from muntin import ClipPolicy, Function, Operator, OutputContract, function, testing
from muntin.errors import ModuleDefinitionError
from muntin.testing import AggregateLaws, FunctionLaws, LawError, OperatorLaws, laws_of
from muntin.testing.laws import trial as law_module
from tests.sdk.testing.laws.law_cases import (
    BROKEN,
    CLIPPED_MEAN,
    CLIPS,
    CONTRACT,
    INVERSE,
    KEPT,
    ORDER,
    SKIPPED,
    UNDOES,
    Area,
    Incremental,
    LawCase,
    Mode,
    Total,
    count_at_start,
    time_sensitive,
)


def suite(laws: type[Any], subject: Any = None, **attributes: Any) -> Any:
    """Return an instance of a laws class that a writer has subclassed for a subject, such as `module = Mode()`."""
    if subject is not None:
        attributes = {laws.subject_name(): subject, **attributes}
    return type("TestSuite", (laws,), attributes)()


def try_law(laws: type[Any], law: str, subject: Any, **attributes: Any) -> None:
    """Run the test of a law on a subject; it raises a `LawError` if the subject breaks it."""
    getattr(suite(laws, subject, **attributes), law)()


def report_of_broken_law(laws: type[Any], law: str, subject: Any, **attributes: Any) -> LawError:
    """Run the test of a law that the subject breaks, and return the report."""
    with pytest.raises(LawError) as failure:
        try_law(laws, law, subject, **attributes)
    return failure.value


@pytest.mark.usefixtures("tried_as_by_users")
def test_a_report_says_who_breaks_what_on_which_stream_and_what_to_do() -> None:
    report = report_of_broken_law(AggregateLaws, ORDER, Mode())
    assert str(report) == "\n".join(
        [
            "demo.mode 1.0.0 breaks the law: order does not matter",
            "  Any permutation of the members gives an equal result.",
            "  as listed below: ''",
            "  in the order [1, 0]: 'a'",
            "  smallest stream:",
            "            0",
            "    member  [)    ''",
            "    member   [)   'a'",
            "  to do: use nothing of their order: sort by a key that has no ties, keep all that tie, or say "
            "reads_order = True",
        ]
    )
    assert (report.law, report.module) == ("order does not matter", "demo.mode 1.0.0")
    assert isinstance(report, AssertionError)


@pytest.mark.usefixtures("tried_as_by_users")
def test_a_report_is_the_same_every_time() -> None:
    first_report = report_of_broken_law(AggregateLaws, ORDER, Mode())
    second_report = report_of_broken_law(AggregateLaws, ORDER, Mode())
    assert str(second_report) == str(first_report)


def test_the_cause_of_a_report_is_the_exception_of_the_module() -> None:
    report = report_of_broken_law(AggregateLaws, ORDER, INVERSE)
    assert isinstance(report.__cause__, ZeroDivisionError)


@pytest.mark.usefixtures("tried_as_by_users")
@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_broken_law_is_reported(case: LawCase) -> None:
    report = report_of_broken_law(case.laws, case.law, case.subject, **case.attributes)
    for part in case.says:
        assert part in f"{report}\n{report.stream}"


@pytest.mark.cases(84)
@pytest.mark.parametrize("case", KEPT, ids=str)
def test_a_law_is_kept(case: LawCase) -> None:
    may_be_skipped = not case.attributes
    with suppress(pytest.skip.Exception) if may_be_skipped else nullcontext():
        try_law(case.laws, case.law, case.subject, **case.attributes)


@pytest.mark.parametrize("case", SKIPPED, ids=str)
def test_a_law_that_does_not_apply_is_skipped_with_the_reason(case: LawCase) -> None:
    (reason,) = case.says
    with pytest.raises(pytest.skip.Exception) as skipped:
        try_law(case.laws, case.law, case.subject, **case.attributes)
    assert reason in str(skipped.value)


def test_the_law_of_a_contract_is_left_out_for_an_operator_that_promises_none() -> None:
    unrestricted = time_sensitive(Operator[int, int], count_at_start, contract=OutputContract.UNRESTRICTED)()
    assert CONTRACT not in laws_of(type(suite(OperatorLaws, unrestricted)))


def test_the_law_of_clips_is_tried_on_a_module_that_accepts_some() -> None:
    assert CLIPS in laws_of(type(suite(AggregateLaws, CLIPPED_MEAN)))


ENDS_CLIPPED = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})


def test_a_report_on_an_event_without_an_end_says_which_clips_to_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    enough_to_draw_an_open_end = settings(law_module.SETTINGS, max_examples=100)
    monkeypatch.setattr(law_module, "SETTINGS", enough_to_draw_an_open_end)

    report = report_of_broken_law(Incremental, UNDOES, Area())
    assert "accepted_clips = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})" in str(report)

    area_of_clipped_events = type("ClippedArea", (Area,), {"accepted_clips": ENDS_CLIPPED})()
    try_law(Incremental, UNDOES, area_of_clipped_events)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (Total(), r"TestSuite checks the laws of Aggregate, got module = .*Total"),
        (Mode, r"to do: use module = Mode\(\), an instance and not the class"),
    ],
    ids=["a module of another shape", "a class of modules"],
)
def test_a_laws_class_is_refused_for_anything_but_a_module_of_its_shape(subject: Any, message: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=message):
        suite(AggregateLaws, subject)


def test_a_laws_class_with_a_name_that_pytest_does_not_collect_is_refused() -> None:
    with pytest.raises(ModuleDefinitionError, match="pytest does not collect ModeLaws\n  to do: name it TestModeLaws"):
        type("ModeLaws", (AggregateLaws,), {"module": Mode()})


@pytest.mark.parametrize("replacement", [lambda self: None, None], ids=["a method", "None"])
def test_a_laws_class_that_replaces_a_law_is_refused(replacement: Any) -> None:
    with pytest.raises(ModuleDefinitionError, match=f"TestSuite replaces the law {ORDER}"):
        suite(AggregateLaws, Mode(), **{ORDER: replacement})


@pytest.mark.parametrize("law", laws_of(AggregateLaws))
def test_each_law_of_a_laws_class_without_a_module_fails(law: str) -> None:
    with pytest.raises(ModuleDefinitionError, match="TestSuite tests nothing\n  set the class attribute: module = "):
        getattr(suite(AggregateLaws), law)()


@pytest.mark.usefixtures("tried_as_by_users")
def test_a_law_may_be_marked_as_known_to_be_broken() -> None:
    class TestMode(AggregateLaws):
        module = Mode()

        @pytest.mark.xfail(reason="ties are broken by arrival", strict=True)
        def test_order_does_not_matter(self) -> None:
            super().test_order_does_not_matter()

    with pytest.raises(LawError):
        TestMode().test_order_does_not_matter()


class Column(list[int]):
    """A writer's own kind of column."""


def test_a_vectorised_function_gets_the_kind_of_column_that_its_laws_class_names() -> None:
    @function("demo.negative", version="1.0.0", result=int, vectorized=True)
    def negative(numbers: Any) -> Any:
        assert type(numbers) is Column
        return Column(-number for number in numbers)

    subject: Function[..., Any] = negative
    for law in laws_of(FunctionLaws):
        try_law(FunctionLaws, law, subject, arguments=st.tuples(st.integers(-5, 5)), series=Column)


def test_every_law_has_a_statement_and_a_remedy() -> None:
    laws_classes = [getattr(testing, name) for name in testing.__all__ if name.endswith("Laws")]
    tests_of_laws: list[Any] = []
    for laws in laws_classes:
        tests_of_laws += [getattr(laws, law) for law in laws_of(laws)]
    assert len(tests_of_laws) > 80

    for test in tests_of_laws:
        assert re.fullmatch(r"[A-Z].*\.", test.law.statement)
        assert test.law.remedy
        assert test.__doc__.startswith(test.law.statement)


def test_the_example_in_the_docstring_of_testing_is_two_files_that_pass(tmp_path: Path) -> None:
    names_and_sources = re.findall(r"`(\w+\.py)`:\n\n((?:    .*\n|\n)+)", testing.__doc__ or "")
    assert [name for name, _ in names_and_sources] == ["average.py", "test_average.py"]
    for name, source in names_and_sources:
        (tmp_path / name).write_text(textwrap.dedent(source), encoding="utf-8")

    run_pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", "."]
    environment = {**os.environ, "PYTHONPATH": str(Path(muntin.__file__).parents[1])}
    completed = subprocess.run(
        [*run_pytest, "test_average.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "13 passed, 8 skipped" in completed.stdout, completed.stdout + completed.stderr


def test_doctest_finds_the_examples_in_the_docstrings_of_testing() -> None:
    finder = doctest.DocTestFinder()
    modules = [sys.modules[name] for name in list(sys.modules) if name.startswith("muntin.testing")]
    docstrings_with_examples = 0
    for module in modules:
        docstrings_with_examples += len([test for test in finder.find(module) if test.examples])
    assert docstrings_with_examples >= 12
