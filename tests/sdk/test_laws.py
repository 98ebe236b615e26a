"""The kit as its user meets it: what it refuses, what it skips and what it reports."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st

import muntin
from muntin import (
    Aggregate,
    ClipPolicy,
    Event,
    Function,
    IncrementalAggregate,
    Operator,
    OutputContract,
    Window,
    function,
    testing,
)
from muntin.errors import ModuleDefinitionError
from muntin.testing import (
    AggregateLaws,
    FunctionLaws,
    IncrementalAggregateLaws,
    LawError,
    OperatorLaws,
    laws_of,
)
from muntin.testing.laws import law as law_module

pytestmark = pytest.mark.usefixtures("tried_as_by_users")


class Mode(Aggregate[str, str]):
    """The most frequent payload; of several, the first that came. That is the bug."""

    name, version = "demo.mode", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> str:
        return Counter(payloads).most_common(1)[0][0]


class Total(IncrementalAggregate[int, int, int]):
    name, version = "demo.total", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


def suite(laws: type[Any], **attributes: Any) -> Any:
    """Return what pytest makes of a laws class that a writer subclassed."""
    return type("TestSuite", (laws,), attributes)()


def broken(laws: type[Any], law: str, **attributes: Any) -> LawError:
    """Return the report of a law that is broken."""
    with pytest.raises(LawError) as failure:
        getattr(suite(laws, **attributes), law)()
    return failure.value


def test_a_report_says_who_breaks_what_on_which_stream_and_what_to_do() -> None:
    report = broken(AggregateLaws, "test_order_does_not_matter", module=Mode())
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


def test_a_report_is_the_same_every_time() -> None:
    reports = {str(broken(AggregateLaws, "test_order_does_not_matter", module=Mode())) for _ in range(3)}
    assert len(reports) == 1


def test_a_module_that_raises_is_reported_with_its_own_exception() -> None:
    class Inverse(Aggregate[float, float]):
        name, version = "demo.inverse", "1.0.0"

        def compute_result(self, payloads: Sequence[float]) -> float:
            return 1 / min(payloads)

    report = broken(AggregateLaws, "test_order_does_not_matter", module=Inverse())
    assert "compute_result raised ZeroDivisionError: float division by zero" in str(report)
    assert "to do: make it work for the stream above, or say with payloads = ... what may come" in str(report)
    assert isinstance(report.__cause__, ZeroDivisionError)
    suite(AggregateLaws, module=Inverse(), payloads=st.floats(1, 2)).test_order_does_not_matter()


def test_an_operator_that_returns_no_rows_at_all_is_reported() -> None:
    class Silent(Operator[int, int]):
        name, version = "demo.silent", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> Iterable[int]:
            return None  # type: ignore[return-value]  # that is the point

    report = broken(OperatorLaws, "test_order_does_not_matter", module=Silent())
    assert "the rows of compute_result cannot be read: TypeError: 'NoneType' object is not iterable" in str(report)


def test_rows_are_compared_as_a_bag() -> None:
    class Echo(Operator[int, int]):
        name, version = "demo.echo", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> Iterable[int]:
            return payloads

    assert Echo().compute_result([1, 2]) != Echo().compute_result([2, 1])
    suite(OperatorLaws, module=Echo()).test_order_does_not_matter()


def test_a_law_of_an_absent_capability_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"does not apply: demo.total has no remove_events"):
        suite(IncrementalAggregateLaws, module=Total()).test_removing_undoes_adding()
    with pytest.raises(pytest.skip.Exception, match=r"demo.total has no combine and no deduct"):
        suite(IncrementalAggregateLaws, module=Total()).test_deducting_undoes_combining()


def test_an_operator_that_promises_nothing_may_return_any_lifetime() -> None:
    class Early(Operator[int, int]):
        name, version = "demo.early", "1.0.0"
        is_time_sensitive = True
        contract: ClassVar[OutputContract] = OutputContract.UNRESTRICTED

        def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
            return [Event(window.start - 1, window.end, 0)]

    assert "test_outputs_obey_the_contract" not in laws_of(type(suite(OperatorLaws, module=Early())))


class Starts(Operator[int, int]):
    """A point at the start of each event: caused by it, and never before it."""

    name, version = "demo.starts", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.TIME_BOUND

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        return [Event.point(event.start, event.payload) for event in events if event.start >= window.start]


class Durations(Starts):
    """Says at the start how long the event will last, which is known at its end alone."""

    name = "demo.durations"

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        return [Event.point(event.start, event.end) for event in events if event.start >= window.start]


class Crowded(Starts):
    """Says at the window's start how many events it will have."""

    name = "demo.crowded"

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        return [Event.point(window.start, len(events))]


def test_a_time_bound_module_says_nothing_before_it_can_be_known() -> None:
    suite(OperatorLaws, module=Starts()).test_outputs_obey_the_contract()
    for module in (Durations(), Crowded()):
        report = broken(OperatorLaws, "test_outputs_obey_the_contract", module=module)
        assert "the change's sync time" in str(report)


class Mean(Aggregate[float, float]):
    """Right under full clip alone, and says so or not."""

    name, version = "demo.mean", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[float]], window: Window) -> float:
        if any(event.start < window.start or event.end > window.end for event in events):
            raise ValueError("an event reaches beyond the window")
        return sum(event.payload * event.duration for event in events) / window.duration


class HonestMean(Mean):
    accepted_clips = frozenset({ClipPolicy.FULL})


def test_a_module_is_tried_under_the_clips_it_accepts() -> None:
    report = broken(AggregateLaws, "test_accepted_clips_work", module=Mean())
    assert "clip none" in report.stream
    assert "name in accepted_clips only" in str(report) or "an event reaches beyond the window" in str(report)
    tested = suite(AggregateLaws, module=HonestMean())
    assert "test_accepted_clips_work" in laws_of(type(tested))
    for law in laws_of(type(tested)):
        getattr(tested, law)()


class Area(IncrementalAggregate[float, float, float]):
    """A sum whose digits do not suffice for an event without an end and the others too."""

    name, version = "demo.area", "1.0.0"
    is_time_sensitive = True

    def create_state(self, window: Window) -> float:
        return 0.0

    def add_events(self, state: float, events: Sequence[Event[float]], window: Window) -> float:
        return state + sum(event.payload * event.duration for event in events)

    def remove_events(self, state: float, events: Sequence[Event[float]], window: Window) -> float:
        return state - sum(event.payload * event.duration for event in events)

    def compute_result(self, state: float, window: Window) -> float:
        return state


class ClippedArea(Area):
    accepted_clips = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})


def test_a_report_on_an_event_without_an_end_says_how_to_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        law_module, "SETTINGS", settings(law_module.SETTINGS, max_examples=100)
    )  # few lifetimes have no end
    laws = IncrementalAggregateLaws
    report = broken(laws, "test_removing_undoes_adding", module=Area())
    assert "accepted_clips = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})" in str(report)
    suite(laws, module=ClippedArea()).test_removing_undoes_adding()


@pytest.mark.parametrize(
    ("attributes", "complaint"),
    [
        (
            {"remove_event": lambda self, state, payloads: state},
            "it defines remove_event, which nothing calls; did you mean",
        ),
        ({"deduct": lambda self, state, other: state}, "it defines deduct, which undoes combine, but no combine"),
        ({"accepted_clips": frozenset()}, "accepted_clips is set(), expected at least one ClipPolicy"),
        ({"name": "Total"}, "Total is named 'Total'"),
    ],
)
def test_an_incomplete_definition_is_reported(attributes: dict[str, Any], complaint: str) -> None:
    module = type("Total", (Total,), attributes)()
    assert complaint in str(broken(IncrementalAggregateLaws, "test_definition_is_complete", module=module))


def test_a_module_of_another_base_class_is_refused_where_the_class_is_written() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"TestSuite checks the laws of Aggregate, got module = .*Total"):
        suite(AggregateLaws, module=Total())
    with pytest.raises(ModuleDefinitionError, match="to do: use an instance, not the class"):
        suite(AggregateLaws, module=Mode)


def test_a_class_that_pytest_would_not_collect_is_refused() -> None:
    with pytest.raises(ModuleDefinitionError, match="pytest does not collect ModeLaws\n  to do: name it TestModeLaws"):
        type("ModeLaws", (AggregateLaws,), {"module": Mode()})


def test_a_class_without_a_module_fails_instead_of_passing() -> None:
    for law in laws_of(AggregateLaws):
        with pytest.raises(
            ModuleDefinitionError, match="TestSuite tests nothing\n  set the class attribute: module = "
        ):
            getattr(suite(AggregateLaws), law)()


@pytest.mark.parametrize("replacement", [lambda self: None, None])
def test_a_law_cannot_be_replaced_silently(replacement: Any) -> None:
    with pytest.raises(ModuleDefinitionError, match="TestSuite replaces the law test_order_does_not_matter"):
        suite(AggregateLaws, module=Mode(), test_order_does_not_matter=replacement)


def test_a_law_may_be_marked_as_known_to_be_broken() -> None:
    class TestMode(AggregateLaws):
        module = Mode()

        @pytest.mark.xfail(reason="ties are broken by arrival", strict=True)
        def test_order_does_not_matter(self) -> None:
            super().test_order_does_not_matter()

    with pytest.raises(LawError):
        TestMode().test_order_does_not_matter()


def test_a_function_without_annotations_needs_a_strategy() -> None:
    @function("demo.add", version="1.0.0")
    def add(left, right) -> int:  # type: ignore[no-untyped-def]  # that is the point
        return int(left + right)

    bare: Function[..., Any] = add
    report = broken(FunctionLaws, "test_definition_is_complete", function=bare)
    assert "the arguments of demo.add are not known: its parameters left, right have no annotation" in str(report)
    pairs = st.tuples(st.integers(), st.integers())
    suite(FunctionLaws, function=bare, arguments=pairs).test_definition_is_complete()


def test_a_vectorised_function_gets_its_own_kind_of_column() -> None:
    class Column(list[int]):
        pass

    @function("demo.negative", version="1.0.0", result=int, vectorized=True)
    def negative(numbers: Any) -> Any:
        assert type(numbers) is Column
        return Column(-number for number in numbers)

    tested = suite(FunctionLaws, function=negative, arguments=st.tuples(st.integers(-5, 5)), series=Column)
    for law in laws_of(FunctionLaws):
        getattr(tested, law)()


def test_every_law_has_a_statement_and_a_remedy() -> None:
    classes = [getattr(testing, name) for name in testing.__all__ if name.endswith("Laws")]
    tests = [getattr(cls, law) for cls in classes for law in laws_of(cls)]
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
    examples = [test for module in modules for test in finder.find(module) if test.examples]
    assert len(examples) >= 12
