"""The kit as its user meets it: what it refuses, what it skips and what it reports."""

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
    CLIPPED_MEAN,
    CLIPS,
    CONTRACT,
    INVERSE,
    KEPT,
    ORDER,
    REPORTS,
    SKIPPED,
    UNDOES,
    Area,
    Incremental,
    Mode,
    Total,
    crowd,
    timed,
)


def suite(laws: type[Any], subject: Any = None, **attributes: Any) -> Any:
    """Return an instance of a laws class that a writer subclassed for a subject."""
    if subject is not None:
        attributes = {laws.subject_name(): subject, **attributes}
    return type("TestSuite", (laws,), attributes)()


def broken(laws: type[Any], law: str, subject: Any, **attributes: Any) -> LawError:
    """Return the report of a law that is broken."""
    with pytest.raises(LawError) as failure:
        getattr(suite(laws, subject, **attributes), law)()
    return failure.value


def law_and_name(value: object) -> str:
    return value.removeprefix("test_") if isinstance(value, str) else str(getattr(value, "name", ""))


@pytest.mark.usefixtures("tried_as_by_users")
def test_a_report_says_who_breaks_what_on_which_stream_and_what_to_do_and_the_same_every_time() -> None:
    report = broken(AggregateLaws, ORDER, Mode())
    assert str(broken(AggregateLaws, ORDER, Mode())) == str(report)
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
    assert isinstance(broken(AggregateLaws, ORDER, INVERSE).__cause__, ZeroDivisionError)


@pytest.mark.usefixtures("tried_as_by_users")
@pytest.mark.parametrize(("laws", "law", "subject", "attributes", "parts"), REPORTS, ids=law_and_name)
def test_a_broken_law_is_reported(
    laws: type[Any], law: str, subject: Any, attributes: dict[str, Any], parts: list[str]
) -> None:
    report = broken(laws, law, subject, **attributes)
    assert [part for part in parts if part not in f"{report}\n{report.stream}"] == []


@pytest.mark.cases(84)
@pytest.mark.parametrize(("laws", "law", "subject", "attributes"), KEPT, ids=law_and_name)
def test_a_law_is_kept(laws: type[Any], law: str, subject: Any, attributes: dict[str, Any]) -> None:
    with suppress(pytest.skip.Exception) if not attributes else nullcontext():
        check_law(suite(laws, subject, **attributes), law)


def check_law(suite: Any, law: str) -> None:
    """Try one law; it raises where the subject breaks it."""
    getattr(suite, law)()


@pytest.mark.parametrize(("laws", "law", "subject", "attributes", "reason"), SKIPPED, ids=law_and_name)
def test_a_law_that_does_not_apply_is_skipped_with_the_reason(
    laws: type[Any], law: str, subject: Any, attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(pytest.skip.Exception) as skipped:
        getattr(suite(laws, subject, **attributes), law)()
    assert reason in str(skipped.value)


def test_laws_of_what_a_module_does_not_promise_are_left_out() -> None:
    unrestricted = timed(Operator[int, int], crowd, contract=OutputContract.UNRESTRICTED)()
    assert CONTRACT not in laws_of(type(suite(OperatorLaws, unrestricted)))
    assert CLIPS in laws_of(type(suite(AggregateLaws, CLIPPED_MEAN)))


def test_a_report_on_an_event_without_an_end_says_how_to_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        law_module, "SETTINGS", settings(law_module.SETTINGS, max_examples=100)
    )  # few lifetimes have no end
    clips = "accepted_clips = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})"
    assert clips in str(broken(Incremental, UNDOES, Area()))
    clipped = type("ClippedArea", (Area,), {"accepted_clips": frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})})
    suite(Incremental, clipped()).test_removing_undoes_adding()


def test_a_laws_class_that_would_test_nothing_or_something_else_is_refused() -> None:
    def refused(make: Any, message: str) -> None:
        with pytest.raises(ModuleDefinitionError, match=message):
            make()

    wrong = r"TestSuite checks the laws of Aggregate, got module = .*Total"
    refused(lambda: suite(AggregateLaws, Total()), wrong)
    refused(lambda: suite(AggregateLaws, Mode), r"to do: use module = Mode\(\), an instance and not the class")
    not_collected = "pytest does not collect ModeLaws\n  to do: name it TestModeLaws"
    refused(lambda: type("ModeLaws", (AggregateLaws,), {"module": Mode()}), not_collected)
    for replacement in (lambda self: None, None):
        replaced = {ORDER: replacement}
        refused(
            lambda replaced=replaced: suite(AggregateLaws, Mode(), **replaced), f"TestSuite replaces the law {ORDER}"
        )
    for law in laws_of(AggregateLaws):
        nothing = "TestSuite tests nothing\n  set the class attribute: module = "
        refused(getattr(suite(AggregateLaws), law), nothing)


@pytest.mark.usefixtures("tried_as_by_users")
def test_a_law_may_be_marked_as_known_to_be_broken() -> None:
    class TestMode(AggregateLaws):
        module = Mode()

        @pytest.mark.xfail(reason="ties are broken by arrival", strict=True)
        def test_order_does_not_matter(self) -> None:
            super().test_order_does_not_matter()

    with pytest.raises(LawError):
        TestMode().test_order_does_not_matter()


def test_a_vectorised_function_gets_its_own_kind_of_column() -> None:
    class Column(list[int]):
        pass

    @function("demo.negative", version="1.0.0", result=int, vectorized=True)
    def negative(numbers: Any) -> Any:
        assert type(numbers) is Column
        return Column(-number for number in numbers)

    subject: Function[..., Any] = negative
    tested = suite(FunctionLaws, subject, arguments=st.tuples(st.integers(-5, 5)), series=Column)
    for law in laws_of(FunctionLaws):
        getattr(tested, law)()


def test_every_law_has_a_statement_and_a_remedy() -> None:
    classes = [getattr(testing, name) for name in testing.__all__ if name.endswith("Laws")]
    tests: list[Any] = []
    for cls in classes:
        tests += [getattr(cls, law) for law in laws_of(cls)]
    assert len(tests) > 80
    for test in tests:
        assert re.fullmatch(r"[A-Z].*\.", test.law.statement)
        assert test.law.remedy
        assert test.__doc__.startswith(test.law.statement)


def test_the_example_of_the_kit_is_two_files_that_pass(tmp_path: Path) -> None:
    files = re.findall(r"`(\w+\.py)`:\n\n((?:    .*\n|\n)+)", testing.__doc__ or "")
    assert [name for name, _ in files] == ["average.py", "test_average.py"]
    for name, source in files:
        (tmp_path / name).write_text(textwrap.dedent(source), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", "."]
    environment = {**os.environ, "PYTHONPATH": str(Path(muntin.__file__).parents[1])}
    done = subprocess.run(
        [*command, "test_average.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "13 passed, 8 skipped" in done.stdout, done.stdout + done.stderr


def test_the_examples_in_the_kits_docstrings_are_seen_by_doctest() -> None:
    finder = doctest.DocTestFinder()
    modules = [sys.modules[name] for name in list(sys.modules) if name.startswith("muntin.testing")]
    examples = 0
    for module in modules:
        examples += len([test for test in finder.find(module) if test.examples])
    assert examples >= 12
