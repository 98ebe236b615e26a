"""The laws of every module: its definition, that it is a function of its members, lifetimes, and several inputs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, cycle
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.axis import EARLIEST
from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.policies import ClipPolicy, OutputContract, TimestampPolicy
from muntin.schemas import OneOf
from muntin.testing.equality import same_bag
from muntin.testing.fitting import misfit
from muntin.testing.laws import strategies
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.trial import CallError, LawError, Reason, first_of, named, reads_order

_CALLED: Final = (
    "create_state",
    "add_events",
    "remove_events",
    "combine",
    "deduct",
    "compute_result",
    "columnar_form",
)
_SIMILAR: Final = 0.75


_COMPARE_RESULTS: Final = (
    "order does not matter",
    "splitting does not matter",
    "incremental equals recomputed",
    "state survives its codec",
)
"""Laws that a module also breaks by keeping values on itself, so that their reports would hide that fault."""


class PayloadLaws(Conformance, subject="module"):
    """Laws of something that computes on payloads; subclass the laws class of its base class.

    Attributes:
        module: The module under test, an instance.
        payloads: A strategy for one payload; by default values of the module's input type.
    """

    module: ClassVar[Any]
    payloads: ClassVar[SearchStrategy[Any] | None] = None

    @classmethod
    @cache
    def _payload_strategy(cls) -> SearchStrategy[Any]:
        """Return the strategy for one payload: the writer's, or else values of the module's input type."""
        return strategies.payloads(cls.subject().input_field()) if cls.payloads is None else cls.payloads


class ModuleLaws(PayloadLaws, of=Module, trial=ModuleTrial):
    """Laws of a module; subclass the laws class of its base class."""

    @classmethod
    def crowd(cls) -> int:
        """Return the size of the large windows; smaller for operators, which may return a row per pair of members."""
        module = cls.subject()
        most_members = 130 if module.is_operator else 250
        if module.exact_up_to is None:
            return most_members
        # The laws hold for windows of up to `exact_up_to` members. One law adds up as many as six groups of members,
        # each of which has a crowd and up to five members besides.
        most_exact: int = module.exact_up_to // 6 - 5
        return max(0, min(most_members, most_exact))

    @classmethod
    @cache
    def _many_payloads(cls) -> tuple[object, ...]:
        """Return payloads for the members of large windows, drawn once."""
        return tuple(first_of(cls._payload_strategy(), count=200))


class DefinitionLaws(ModuleLaws):
    """Every module declares its name, its input and its result."""

    @law("complete the class attributes, the types in brackets and the methods", is_random=False)
    def test_definition_is_complete(self, trial: ModuleTrial) -> None:
        """The class has a name, a version, types and every method that its base class asks for, rightly spelt.

        A method that nothing calls, such as `remove_event`, is reported with the name that was meant.
        """
        try:
            type(trial.tested).check_definition()
        except ModuleDefinitionError as error:
            raise trial.broken(str(error)) from None
        complaints = _complaints(trial.tested)
        if complaints:
            raise trial.broken(complaints[0])

    @law(
        "return what the class declares, on every path, or declare None too: float | None; NumPy's numbers are numbers"
    )
    def test_result_has_declared_type(self, trial: ModuleTrial) -> None:
        """Every result, and every row of an operator, fits the declared result type.

        It may be any value that Spark accepts for that type: NumPy's numbers and booleans as well as Python's.
        None, which a path without `return` gives, fits a type such as `float | None` alone; on Spark it is null
        whatever is declared.
        """
        module = trial.tested
        result = trial.subject.result(trial.members())
        for value in result if module.is_operator else [result]:
            bare = value.payload if isinstance(value, Event) else value
            reason = misfit(module.result_field(), bare)
            trial.expect(not reason, f"the result {bare!r} does not fit: {reason}")


def _complaints(module: Module) -> list[str]:
    """List the faults of a module's class: methods and attributes that do not go together, or that no query can use.

    The law reports the first of them.
    """
    cls = type(module)
    needs: object = module.needs
    complaints = _misspelt_methods(cls)
    if hasattr(cls, "deduct") and not hasattr(cls, "combine"):
        complaints.append("it defines deduct, which undoes combine, but no combine")
    if cls.reads_order and hasattr(cls, "columnar_form"):
        complaints.append("it reads the order, and defines columnar_form, for which rows are in none")
    if not cls.accepted_clips or not cls.accepted_clips <= set(ClipPolicy):
        complaints.append(f"accepted_clips is {set(cls.accepted_clips)}, expected at least one ClipPolicy")

    # The needs have to be ones that a query can meet.
    if not isinstance(needs, Needs):
        complaints.append(f"needs is {needs!r}, expected for example Needs(windows=(HoppingWindows,), reach=10)")
        return complaints
    if not needs.windows:
        complaints.append("needs names no windows, so no query could have the module")
    if needs.clip is not None and needs.clip not in module.accepted_clips:
        complaints.append(f"it is made for clip={str(needs.clip)!r}, which is not among its accepted_clips")
    returns_lifetimes = module.is_time_sensitive and module.is_operator
    if needs.timestamps in (TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP) and not returns_lifetimes:
        complaints.append(f"it is made for timestamps={str(needs.timestamps)!r}, and returns no lifetimes")
    return complaints


def _misspelt_methods(module: type[Module]) -> list[str]:
    """Return complaints about the methods that nothing calls and whose names are close to one that is called."""
    known_names = {*_CALLED, "upgrade_state"}
    for cls in module.__mro__:
        if cls.__module__.startswith("muntin.modules."):
            known_names.update(vars(cls))
    complaints: list[str] = []
    for name in dir(module):
        if name in known_names or name.startswith("_") or not callable(getattr(module, name)):
            continue
        for called_method in difflib.get_close_matches(name, _CALLED, n=1, cutoff=_SIMILAR):
            complaints.append(f"it defines {name}, which nothing calls; did you mean {called_method}?")
    return complaints


class PurityLaws(ModuleLaws):
    """Every module is a function of a set, or of a sequence if it reads the order."""

    def first_fault(self, broken: LawError) -> LawError:
        """Return the report that equal members give different results; `broken` if they give equal ones.

        A module that keeps values between calls breaks many laws. Only the report of `test_same_payloads_same_result`
        shows that fault.
        """
        # An error that names a method reports an exception, which that method raised, and compares no results.
        compares_results = broken.law in _COMPARE_RESULTS and not broken.method
        if compares_results:
            try:
                self.test_same_payloads_same_result()
            except LawError as first:
                return first
        return broken

    @law(
        "use nothing of their order: sort by a key that has no ties, keep all that tie, or say reads_order = True",
        does_not_apply=reads_order,
    )
    def test_order_does_not_matter(self, trial: ModuleTrial) -> None:
        """Any permutation of the members gives an equal result.

        Rows come in any order, and the engine keeps no order among them. Sort by a key without ties, keep all
        that tie, or say `reads_order = True`: the engine then gives the members in order, and this law does not
        apply.
        """
        members = trial.members()
        order = trial.order(len(members))
        trial.expect_same(
            ("as listed below", trial.subject.result(members)),
            (f"in the order {order}", trial.subject.result([members[place] for place in order])),
        )

    @law("keep nothing between calls on self, the class or a global; draw no random numbers, read no clock")
    def test_same_payloads_same_result(self, trial: ModuleTrial) -> None:
        """The same members give the same result at any time, to the last bit.

        No random numbers, no clock, nothing kept between calls outside of the state. Before each side, plain
        data that the module keeps on itself, on its class, in default arguments and in globals is reset to its
        value when the laws class was created, as in a new process. So a cache is reported if its key leaves out
        something that results depend on, and a correct cache is not.
        """
        members = trial.members("member")
        other_members = trial.members("other")
        with self.as_at_first():
            # Copies, as a module may keep the result and change it in a later call.
            first_result = trial.subject.copy(trial.subject.result(members))
            second_result = trial.subject.copy(trial.subject.result(members))
        trial.expect_same(("at first", first_result), ("again", second_result), tolerance=0)
        with self.as_at_first():
            trial.subject.result(other_members)
            later_result = trial.subject.result(members)
            trial.expect_same(("at first", first_result), ("after another window", later_result), tolerance=0)

    @law("copy what you change: sorted(payloads), not payloads.sort(); dict(payload), not payload.pop()")
    def test_payloads_are_read_only(self, trial: ModuleTrial) -> None:
        """Neither a payload nor the collection they come in is changed.

        Other windows share the payload: `sorted(payloads)`, not `payloads.sort()`.
        """
        inputs = trial.subject.inputs(trial.members())
        with trial.unchanged("given", "afterwards", inputs):
            trial.subject.call_all_methods(inputs)


def _sees_no_times(module: Any) -> str | None:
    """Return the reason why laws of lifetimes do not apply: the module gets payloads alone; None if they apply."""
    return None if module.is_time_sensitive else f"{named(module)} is not time-sensitive"


def _is_unrestricted(module: Any) -> str | None:
    """Return the reason why laws of output contracts do not apply: the module promises nothing; None if they apply."""
    if module.is_time_sensitive and module.contract is OutputContract.UNRESTRICTED:
        return f"{named(module)} declares the contract {module.contract}"
    return _sees_no_times(module)


def _reads_times(module: Any) -> str | None:
    """Return the reason why laws of unread times do not apply: the module reads times; None if they apply."""
    if module.is_time_sensitive and module.reads_times:
        return f"{named(module)} says that it reads times"
    return _sees_no_times(module)


class ClipLaws(ModuleLaws):
    """A time-sensitive module is correct under every clip that it accepts, and reads no times if it says so."""

    @law(
        "make it work, or name in accepted_clips only the policies under which it does",
        does_not_apply=_sees_no_times,
        is_for_some=True,
    )
    def test_accepted_clips_work(self, trial: ModuleTrial) -> None:
        """Under each clip in accepted_clips the module computes a result, also of events without an end.

        List in `accepted_clips` only those under which the module is correct.
        """
        window = trial.subject.window
        for policy in ClipPolicy:
            if policy in trial.tested.accepted_clips:
                trial.move_to(window, policy)
                trial.subject.result(trial.members())

    @law("do not look at lifetimes, or leave reads_times as it is", does_not_apply=_reads_times, is_for_some=True)
    def test_unread_times_do_not_matter(self, trial: ModuleTrial) -> None:
        """A module that declares reads_times = False gives the same result whatever the lifetimes of its members.

        The engine closes its windows without waiting for ends.
        """
        members = trial.members("member")
        lifetimes = [event.lifetime for event in trial.members("with times of")]
        with_other_times: list[Event[Any]] = []
        # The second draw may have fewer members than the first: its lifetimes come in turn.
        for event, lifetime in zip(members, cycle(lifetimes), strict=False):
            with_other_times.append(Event(lifetime.start, lifetime.end, event.payload))
        trial.expect_same(
            ("as drawn", trial.subject.result(members)), ("with other times", trial.subject.result(with_other_times))
        )


class LifetimeLaws(ModuleLaws):
    """An operator that writes times keeps its contract."""

    @law(
        "start no output before the window and, if time-bound, before the change that causes it; or declare less",
        does_not_apply=_is_unrestricted,
        is_for_some=True,
    )
    def test_outputs_obey_the_contract(self, trial: ModuleTrial) -> None:
        """No output starts before its window; if time-bound, a change alters no output before its sync time.

        Declare a weaker `contract` if that is impossible.
        """
        window = trial.subject.window
        members = trial.members("member")
        rows = _events(trial, members)
        early = [row for row in rows if row.start < window.start]
        trial.expect(not early, f"outputs that start before their window: {early}")
        if trial.tested.contract is not OutputContract.TIME_BOUND:
            return

        # One more member comes, or the first one gets another end.
        change = trial.members("change")[0]
        if trial.draw(st.booleans()):
            changed_members = [*members, change]
            sync_time = change.start
        else:
            first = members[0]
            new_end = max(change.end, first.start + 1)
            trial.stream.append(f"the change is a new end for the first member: {new_end}")
            changed_members = [Event(first.start, new_end, first.payload), *members[1:]]
            sync_time = min(first.end, new_end)

        # Before the sync time of the change, the output may not differ.
        output = _until(sync_time, rows)
        changed_output = _until(sync_time, _events(trial, changed_members))
        fault = f"output before {sync_time}, the change's sync time: {output}\nwith the change: {changed_output}"
        trial.expect(same_bag(output, changed_output, trial.tolerance), fault)


def _events(trial: ModuleTrial, members: list[Event[object]]) -> list[Event[Any]]:
    """Return the rows of an operator with their lifetimes; a bare row has that of the window."""
    window = trial.subject.window
    events: list[Event[Any]] = []
    for row in trial.subject.result(members):
        events.append(row if isinstance(row, Event) else Event(window.start, window.end, row))
    return events


def _until(time: int, rows: Iterable[Event[object]]) -> list[Event[object]]:
    """Cut rows to the part of the axis before a time; rows without a beginning are left out."""
    return [Event(row.start, min(row.end, time), row.payload) for row in rows if EARLIEST < row.start < time]


def _reason_against_inputs(*methods: str, shuffles: bool = True) -> Reason:
    """Make the function that says why a law of several inputs does not apply to a module.

    Args:
        methods: The optional methods that the law needs.
        shuffles: True if the law changes the order of events, so that it is not for modules that read the order.
    """

    def reason(module: Any) -> str | None:
        """Return the reason why the law does not apply to a module; None if it applies."""
        try:
            inputs = module.input_fields()
        except ModuleDefinitionError as error:  # the definition law reports it in full
            return str(error)
        if not inputs:
            return f"{named(module)} reads one input"
        for method in methods:
            if not hasattr(module, method):
                return f"{named(module)} has no {method}"
        return reads_order(module) if shuffles else None

    return reason


class SeveralInputsLaws(ModuleLaws):
    """The events of several inputs are one set, and any input may have no event in it.

    A laws class of a module that reads one input does not have these.
    """

    @law(
        "give a result, for example None, where an input has no event",
        does_not_apply=_reason_against_inputs(shuffles=False),
        is_for_some=True,
    )
    def test_a_silent_input_is_handled(self, trial: ModuleTrial) -> None:
        """A window has a result if all of its events are of one input.

        Divide by the number of orders only if there are any.
        """
        by_input = _by_input(trial, trial.members())
        # The input of the first member; all other inputs are silent.
        name, events_of_input = next(iter(by_input.items()))
        try:
            trial.subject.result(events_of_input)
        except CallError as error:
            broken = trial.broken(f"with events of the input {name} alone, {error}")
            broken.method = error.method
            raise broken from error.__cause__

    @law(
        "tell inputs apart by the class of a payload, not by its place among others or by the call it comes in",
        does_not_apply=_reason_against_inputs(),
        is_for_some=True,
    )
    def test_inputs_interleave_in_any_way(self, trial: ModuleTrial) -> None:
        """The events of one input may come before those of another or among them, in one call or in several.

        For a module with `combine`, each input may also have a state of its own. A module that matches the events of
        one call, or neighbours of the list, breaks the law.
        """
        subject = trial.subject
        members = trial.members()
        parts = list(_by_input(trial, members).values())
        mixed = ("as listed below", subject.result(members))
        trial.expect_same(mixed, ("input after input", subject.result([*chain.from_iterable(parts)])))
        if subject.module.is_incremental:
            trial.expect_same(mixed, ("in a call for each input", subject.result_of(subject.state_of(*parts))))
        if hasattr(subject.module, "combine"):
            state = subject.create()
            for part in parts:
                state = subject.combine(state, subject.state_of(part))
            trial.expect_same(mixed, ("with a state for each input, combined", subject.result_of(state)))

    @law(
        "undo in remove_events all that the events of an input did to the state, also if no other input has any",
        does_not_apply=_reason_against_inputs("remove_events"),
        is_for_some=True,
    )
    def test_an_input_leaves_no_trace(self, trial: ModuleTrial) -> None:
        """The result without the events of an input is that of the other inputs alone.

        It is tried where there is `remove_events`.
        """
        subject = trial.subject
        members = trial.members()
        by_input = _by_input(trial, members)
        name = next(iter(by_input))  # the input of the first member
        removed = by_input.pop(name)
        remaining = list(chain.from_iterable(by_input.values()))
        if remaining:  # a module is not asked for the result of no members
            state = subject.remove(subject.state_of(members), removed)
            trial.expect_same((f"{name} removed", subject.result_of(state)), ("never added", subject.result(remaining)))


def _by_input(trial: ModuleTrial, members: Sequence[Event[Any]]) -> dict[str, list[Event[Any]]]:
    """Group members by the name of their input; the input of the first member comes first."""
    inputs = trial.tested.input_field().type
    assert isinstance(inputs, OneOf)
    by_input: dict[str, list[Event[Any]]] = {}
    for event in members:
        input_field = inputs.input_of(event.payload)
        if input_field is None:
            names = ", ".join(field.name for field in inputs.inputs)
            raise trial.broken(f"{event.payload!r} is of no input of the module: {names}", "give other payloads = ...")
        by_input.setdefault(input_field.name, []).append(event)
    return by_input
