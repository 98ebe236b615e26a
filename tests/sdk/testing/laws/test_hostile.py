"""The laws find faults: each law has a subject that breaks it and is reported under its name; honest ones keep all.

A subject is what a laws class is about: a module, a function, a trigger, a policy of progress or a kind of windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from muntin import (
    Module,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    testing,
    trailing,
    tumbling,
)
from muntin.errors import ModuleDefinitionError
from muntin.progress import bounded_delay, bounded_disorder, ordered, punctuate_every, punctuated
from muntin.testing import LawError, Outcome, laws_applying_to, laws_for, laws_of, try_laws
from muntin.testing.laws import trial as law_module
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.module_laws import SeveralInputsLaws
from muntin.triggers import when
from muntin.windows import TrailingWindows, WindowKind
from tests.modules.progress_policies import Elapsing, Guarded, Outvoted
from tests.modules.refinements import HONEST as HONEST_REFINEMENTS
from tests.modules.refinements import HOSTILE as HOSTILE_REFINEMENTS
from tests.modules.several_inputs import KeptMembers, Members, Pairs
from tests.modules.stream_operators import Alarms, Newest, Overdue, Reminders, Silence, Ticker
from tests.naming import spelled
from tests.sdk.testing.laws.hostile_subjects import HOSTILE_OPERATORS, HOSTILE_POLICIES, HOSTILE_TO_INPUTS, Renews
from tests.sdk.testing.laws.muntin_hostile import (
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
from tests.sdk.testing.laws.muntin_hostile.crowded import JoinsASet
from tests.sdk.testing.laws.muntin_hostile.windows import HOSTILE_GRIDS, HOSTILE_KINDS, Each, Growing

AS_BY_USERS = pytest.mark.usefixtures("tried_as_by_users")
"""With as many examples as where users run them: so many find the fault of a hostile module."""

MOST_LINES = 8
"""How long the drawing of a smallest stream may be: a ruler, a window and a few members."""

ARGUMENTS = st.tuples(st.integers(-9, 9))
"""Arguments for vectorised functions, whose parameters have no types."""

HONEST_KINDS: list[WindowKind] = [
    *(tumbling(8), hopping(10, 3, -5), hopping(4, 9, 1), hopping(3, 8, reach=4), snapshot()),
    *(count_by_start(1), count_by_start(3), count_by_end(2), count_by_start(1, every=2), count_by_start(3, every=3)),
    *(count_by_start(3, every=2), count_by_start(2, every=5), count_by_end(1, every=3), count_by_end(2, every=2)),
    *(count_by_end(4, every=3), session(1), session(5), cumulate(9, 3, 1), cumulate(4, 1), trailing(6)),
    *(trailing(7, every=3), landmark(4, -3), global_windows(), Each(), Growing(), Growing(3, 2), Growing(1, 1)),
    Growing(1, 3),
]


class Kit(NamedTuple):
    """A laws class and its subjects; those of modules over rows are in `tests/sdk/rows`.

    Attributes:
        laws: The laws class.
        hostile: The subjects that break a law, by the law.
        honest: The subjects that keep all laws.
    """

    laws: type[Conformance]
    hostile: Mapping[str, Sequence[Any]]
    honest: list[Any] = []  # noqa: RUF012  # nobody changes it


def one_each(hostile: dict[str, Any]) -> dict[str, list[Any]]:
    """Make a list of the one subject that breaks each law."""
    return {law: [subject] for law, subject in hostile.items()}


def module_kit(honest: type[Module], laws: type[Conformance]) -> Kit:
    """Return the kit of an honest module, with the hostile modules that have a fault in front of it."""
    hostile: dict[str, list[Any]] = {}
    for (base, law), classes in HOSTILE.items():
        if base is honest:
            hostile[law] = [cls() for cls in classes]
    return Kit(laws, hostile, [honest()])


MODULE_KITS = [module_kit(honest, laws) for honest, laws in HONEST.items()]
KITS = [
    *MODULE_KITS,
    Kit(testing.FunctionLaws, one_each(HOSTILE_FUNCTIONS), [honest_function, honest_vectorised_function]),
    Kit(testing.TriggerLaws, one_each(HOSTILE_TRIGGERS), [*honest_triggers()]),
    Kit(
        testing.StreamOperatorLaws,
        HOSTILE_OPERATORS,
        [Silence(4), Ticker(5), Silence(1), Overdue(4), Reminders(), Alarms()],
    ),
    Kit(
        testing.ProgressPolicyLaws,
        HOSTILE_POLICIES,
        [
            *(punctuated(), ordered(), bounded_delay(5).with_idle(3, lag=1), bounded_disorder(2)),
            *(punctuate_every(span=10, delay=3), Guarded(3), Elapsing(4), Outvoted(2)),
        ],
    ),
    Kit(testing.ResultRefinementLaws, HOSTILE_REFINEMENTS, [*HONEST_REFINEMENTS]),
    Kit(testing.WindowKindLaws, one_each(HOSTILE_KINDS), HONEST_KINDS),
]


def breaking_cases() -> Iterator[tuple[type[Conformance], str, Any]]:
    """Yield each hostile subject, with its laws class and the law that it breaks."""
    for kit in KITS:
        if kit.laws is testing.WindowKindLaws:
            continue  # a test below says that each of these is found by its law alone
        for law, subjects in kit.hostile.items():
            for subject in subjects:
                yield kit.laws, law, subject
    for law, subjects in HOSTILE_TO_INPUTS.items():
        for subject in subjects:
            yield laws_for(subject), law, subject


BREAKING = list(breaking_cases())


def attributes_for(subject: Any) -> dict[str, Any]:
    """Return what a writer has to set in the laws class beside the subject."""
    if getattr(subject, "is_vectorized", False):
        return {"arguments": ARGUMENTS}
    if isinstance(subject, testing.TriggerLaws.subject_type()):
        return {"values": VALUES}
    return {}


def try_law(laws: type[Conformance], law: str, subject: Any, **attributes: Any) -> None:
    """Run the test of a law on a subject; it raises a `LawError` if the subject breaks it.

    It fails if the law does not apply, which would prove nothing.
    """
    suite = type("TestSuspect", (laws,), {laws.subject_name(): subject, **attributes})
    try:
        getattr(suite(), law)()
    except pytest.skip.Exception as skipped:
        pytest.fail(f"{law} was skipped: {skipped}")


def laws_broken_by(subject: Any) -> list[str]:
    """Try all laws, and return those that a subject breaks."""
    return [verdict.law for verdict in try_laws(subject) if verdict.outcome is Outcome.BROKEN]


def name_of_test(law: str) -> str:
    """Return the name of the test of a law."""
    return f"test_{law.replace(' ', '_')}"


def name_of(value: object) -> str:
    """Return the name of a case's part."""
    if isinstance(value, str):
        return value
    return getattr(value, "__name__", None) or spelled(value)[:60]


def test_every_laws_class_has_a_kit_here_or_in_the_tests_of_rows() -> None:
    offered = [getattr(testing, name) for name in testing.__all__]  # loads what nothing has asked for yet
    laws_classes = {cls for cls in offered if isinstance(cls, type) and issubclass(cls, Conformance)}
    assert laws_classes - {kit.laws for kit in KITS} == {testing.RowOperatorLaws, testing.RowWindowLaws}


def test_every_law_has_a_subject_that_breaks_it() -> None:
    for kit in KITS:
        laws = set(laws_of(kit.laws))
        if kit in MODULE_KITS:  # of which each shape has laws of its own
            laws = {name_of_test(law) for law in laws_applying_to(kit.honest[0])}
        assert set(kit.hostile) == laws, kit.laws
    assert set(HOSTILE_TO_INPUTS) == {name for name in vars(SeveralInputsLaws) if name.startswith("test_")}
    assert len(BREAKING) > 130


def test_honest_subjects_are_tried_on_the_laws_of_their_kit() -> None:
    for kit in KITS:
        for subject in kit.honest:
            assert laws_for(subject) is kit.laws


@AS_BY_USERS
@pytest.mark.parametrize(("laws", "law", "subject"), BREAKING, ids=name_of)
def test_a_subject_that_breaks_a_law_is_reported_under_its_name(
    laws: type[Conformance], law: str, subject: Any
) -> None:
    is_vectorized = getattr(subject, "is_vectorized", False)
    attributes = {"arguments": ARGUMENTS} if is_vectorized else {}
    with pytest.raises(LawError) as broken:
        try_law(laws, law, subject, **attributes)
    report = str(broken.value)
    assert name_of_test(broken.value.law) == law
    assert f" breaks the law: {broken.value.law}" in report
    assert (getattr(subject, "name", None) or type(subject).__name__) in report
    assert "to do: " in report

    draws_a_stream = isinstance(subject, Module) and subject.name.startswith(("hostile.honest", "both."))
    if draws_a_stream and law != "test_definition_is_complete":
        assert 0 < len(broken.value.stream.splitlines()) <= MOST_LINES


@pytest.mark.cases(31)
@pytest.mark.parametrize(
    "subject",
    list(chain.from_iterable(kit.honest for kit in KITS)),
    ids=lambda subject: name_of(type(subject)),
)
def test_an_honest_subject_keeps_all_laws_that_apply_to_it(subject: Any) -> None:
    verdicts = list(try_laws(subject, **attributes_for(subject)))
    kept_laws = {verdict.law for verdict in verdicts if verdict.outcome is Outcome.KEPT}
    assert kept_laws == set(laws_applying_to(subject)), list(map(str, verdicts))
    assert {verdict.outcome for verdict in verdicts} <= {Outcome.KEPT, Outcome.SKIPPED}


@pytest.mark.parametrize("law", ["test_a_silent_input_is_handled", "test_inputs_interleave_in_any_way"])
@pytest.mark.parametrize("module", [Members(), Pairs(), KeptMembers()])
def test_modules_with_several_inputs_keep_the_laws_of_inputs(module: Any, law: str) -> None:
    try_law(laws_for(module), law, module)


def test_an_incremental_module_from_which_an_input_is_removed_keeps_the_law_of_its_traces() -> None:
    try_law(laws_for(KeptMembers()), "test_an_input_leaves_no_trace", KeptMembers())


# modules that only many members, or the second call, give away


@AS_BY_USERS
@pytest.mark.parametrize(("module", "law"), CROWDED.items(), ids=name_of)
def test_a_module_that_is_right_for_a_few_members_or_at_first_is_reported_in_few_lines(
    module: type[Module], law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module is JoinsASet:  # how soon a set gives itself away depends on the hashes of the process
        monkeypatch.setattr(law_module, "CROWDED", settings(law_module.CROWDED, max_examples=24))
    with pytest.raises(LawError) as broken:
        try_law(laws_for(module()), name_of_test(law), module())
    report = str(broken.value)
    assert len(broken.value.stream.splitlines()) <= MOST_LINES + 4
    assert max(map(len, report.splitlines())) < 220


@AS_BY_USERS
def test_a_report_tells_of_many_members_in_a_line() -> None:
    with pytest.raises(LawError, match=r"\n    and \d+ more[:,] ") as broken:
        try_law(testing.IncrementalAggregateLaws, "test_order_does_not_matter", FirstFifty())
    (line_of_many,) = [line for line in broken.value.stream.splitlines() if line.startswith("and ")]
    assert int(line_of_many.split()[1]) == 50  # and one that is drawn alone: one more than the module sums


@AS_BY_USERS
def test_a_bound_that_depends_on_the_members_alone_breaks_no_law() -> None:
    assert {verdict.outcome for verdict in try_laws(TopTen())} == {Outcome.KEPT, Outcome.SKIPPED}


# what a writer may say


def test_a_law_is_not_broken_where_the_writer_says_that_the_fault_is_meant() -> None:
    wake_ups = "test_wake_ups_do_not_come_at_each_tick"
    try_law(testing.StreamOperatorLaws, wake_ups, Renews(), wakes_at_each_tick=True)

    batches = "test_it_makes_no_difference_where_micro_batches_end"
    try_law(testing.ProgressPolicyLaws, batches, punctuate_every(rows=2), depends_on_batches=True)


def test_the_law_of_wake_ups_is_skipped_for_an_operator_that_asks_for_none() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"was skipped: .*test.newest asks for no wake-ups"):
        try_law(testing.StreamOperatorLaws, "test_wake_ups_do_not_come_at_each_tick", Newest())


def test_the_values_that_a_trigger_reads_must_be_known() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"when 1 reads 'y > 5'.*\n  set the class attribute: values = "):
        try_law(testing.TriggerLaws, "test_states_are_plain_data", when("y > 5"))


# kinds of windows


class Backwards(Each):
    """Claims that later windows begin earlier."""

    def extent_start(self, start: int) -> int:
        return -abs(start)


class CountingOn(TrailingWindows):
    """Counts on for a key without events, and does not say so."""

    def outlives(self, carried: tuple[int, int] | None) -> bool:
        return False


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        *((kind, law.removeprefix("test_").replace("_", " ")) for law, kind in HOSTILE_KINDS.items()),
        *((kind, "a shortcut makes the same windows") for kind in HOSTILE_GRIDS),
        (Backwards(), "windows ascend in start and in end"),
        (CountingOn(4, every=3), "what is carried replaces what is forgotten"),
    ],
    ids=name_of,
)
def test_a_kind_that_breaks_one_law_is_found_by_that_law_alone(kind: WindowKind, law: str) -> None:
    assert laws_broken_by(kind) == [law]


def test_a_broken_law_of_windows_shows_a_stream_and_what_to_do() -> None:
    law = "test_what_is_carried_replaces_what_is_forgotten"
    with pytest.raises(LawError, match=r"(?s)^snapshot 1.0 breaks the law: .*watermark.*to do: return from carried"):
        try_law(testing.WindowKindLaws, law, HOSTILE_KINDS[law])
