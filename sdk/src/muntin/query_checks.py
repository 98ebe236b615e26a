"""Checks of a query, shared by scripts, `muntin run` and the engine, so that none takes what another refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import index
from typing import Final, TypeVar

from muntin.axis import INFINITY, AnyAxis, Axis
from muntin.catalog.named_windows import check_windows
from muntin.errors import ModuleContractError, PolicyError, QueryError
from muntin.errors.messages import Alternatives, Argument, Call, ErrorMessage, StreamCall
from muntin.errors.safe_text import safe_repr
from muntin.events import Event
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.modules.stream_operator import IntervalOperator, StreamOperator
from muntin.policies import ClipPolicy, OutputContract, TimestampPolicy
from muntin.rows import RowWindows
from muntin.windows import WindowSpecification
from muntin.windows.extent import Window
from muntin.windows.specification import Unwindowed, WrittenWindows

LONGEST_WINDOW: Final = 2**60
"""The length of the longest window, in ticks."""

TIME_AS_POINT: Final = ErrorMessage("give their time as {points}", points=Call("events", ..., Argument("at", ...)))
"""The advice for events that come with an end of their own where points are needed."""

STARTS_AS_POINTS: Final = ErrorMessage("make points of them last: {points}", points=StreamCall(Call("to_points")))
"""The advice for events whose lifetimes a query has changed where points are needed."""

_NO_KEY: Final = object()

_ALIGNED: Final = Alternatives("timestamps", ("align", "point_at_end"), is_named=False)
"""The timestamps that suit a module without lifetimes of its own."""

_YEAR: Final = 366 * 24 * 60 * 60 * 10**6
"""A year in ticks of an axis of timestamps."""


def check_instance(module: object) -> None:
    """Refuse anything but an instance of a module class as the module of a `Computation`.

    Raises:
        QueryError: The module is a class, or something else.
    """
    if not isinstance(module, Module):
        # A class is most likely a module that was written without its parentheses; for the rest, an example.
        class_name = module.__name__ if isinstance(module, type) else "Spread"
        raise QueryError(
            f"a computation is made of an instance of a module class, got {safe_repr(module)}\n"
            f"  write Computation({class_name}()), with the parameters in the inner parentheses"
        )


def check_computations(computations: object, kind: type) -> None:
    """Refuse anything but a list of computations.

    Args:
        computations: The value that a user gave as the computations of a query.
        kind: The class of computations.

    Raises:
        QueryError: The computations are something else, such as a module.
    """
    is_right = isinstance(computations, Sequence) and all(isinstance(part, kind) for part in computations)
    if not is_right:
        raise QueryError(
            f"a query has a list of computations, got {safe_repr(computations)}\n"
            "  write WindowedQuery(tumbling(10), [Computation(Spread())])"
        )


@dataclass(frozen=True, slots=True)
class QueryShape:
    """The parts of a query that decide whether its modules can be right.

    Attributes:
        modules: One operator, or any number of aggregates; none of a join.
        window: The windows.
        clip: The clipping of lifetimes before time-sensitive modules see them.
        timestamps: The lifetime of the output.
        forget_keys_after: The time for which a key may be silent, in ticks; None if a key is never forgotten.
        is_time_bound: True if the contract of a module makes results time-bound, as `timestamps` may do too.
        lasting: The words by which messages name the events if they last longer than a tick; empty if they last one
            tick, or if that is not known.
        points_advice: The advice in messages on how to make points of events that last longer than a tick.
        written_window: The windows as a query writes them; None to spell their ticks.
        written_age: The time for which a key may be silent, as a query writes it; empty to spell its ticks.
    """

    modules: Sequence[Module]
    window: WindowSpecification
    clip: ClipPolicy = ClipPolicy.NONE
    timestamps: TimestampPolicy = TimestampPolicy.ALIGN
    forget_keys_after: int | None = None
    is_time_bound: bool = False
    lasting: str = ""
    points_advice: ErrorMessage = TIME_AS_POINT
    written_window: WrittenWindows | None = None
    written_age: str = ""

    def check(self) -> None:
        """Refuse a query whose windows, modules, policies and events do not belong together.

        Raises:
            QueryError: The window is not a specification of windows, or too long; events last longer than a tick and
                a module or window follows points; or a module is not alone, or of the wrong kind.
            PolicyError: A policy is not right for a module, or for the windows.
            ModuleDefinitionError: The class of the windows has no name and version of its own.
        """
        if not isinstance(self.window, WindowSpecification):
            raise QueryError(
                f"{self.window!r} is not a window specification; expected, for example, tumbling('10 minutes')"
            )
        # The windows come first: the checks of modules and policies ask them about themselves.
        check_windows(self.window)
        self.window.check_lengths(LONGEST_WINDOW, self.written_window)
        for module in self.modules:
            self._refuse_misfit_of_input(module)
            self._refuse_misfit_of_policies(module)
        if isinstance(self.window, RowWindows):
            self._refuse_misfit_of_row_windows()
        if self.forget_keys_after is not None:
            self._refuse_forgetting(self.forget_keys_after)
        if self.timestamps is TimestampPolicy.TIME_BOUND:
            self._refuse_time_bound()

    def _refuse_misfit_of_input(self, module: Module) -> None:
        """Refuse an operator that is not alone, and a module that does not suit the windows or the events.

        Raises:
            QueryError: An operator is not the only module, a module that needs windows is in a query without any, or a
                module that follows points gets events that last longer than a tick.
        """
        label = _label(module)
        # Aggregates of a query share one row per window; an operator returns any number of rows, which nothing shares.
        if module.is_operator and len(self.modules) > 1:
            raise QueryError(
                f"{label} is an operator, which returns rows, and shares a query with {len(self.modules) - 1} more\n"
                "  give each operator a query of its own"
            )
        if isinstance(self.window, Unwindowed) and not isinstance(module, StreamOperator):
            kind = "operator" if module.is_operator else "aggregate"
            raise QueryError(
                "{module} is an {kind} over windows, and the query has none\n  cut the axis first: .window({windows})",
                module=label,
                kind=kind,
                windows=Call("tumbling", "10 minutes"),
            )
        # A `StreamOperator` is called once per event, when the watermark passes its start, and is never told its end.
        if isinstance(self.window, Unwindowed) and self.lasting and not isinstance(module, IntervalOperator):
            raise QueryError(
                "{module} follows events at points in time, and these are {lasting}, whose end may yet be revised "
                "when the watermark passes their start\n"
                "  {points_advice}; results of a query are points with {timestamps}; an IntervalOperator "
                "is told of starts and ends",
                module=label,
                lasting=self.lasting,
                points_advice=self.points_advice,
                timestamps=Argument("timestamps", "point_at_end"),
            )

    def _refuse_misfit_of_policies(self, module: Module) -> None:
        """Refuse a module that is not made for the clip or the timestamps of the query.

        Raises:
            PolicyError: The module does not accept the clip, or it returns no lifetimes for the timestamps to keep.
        """
        label = _label(module)
        if self.clip not in module.accepted_clips:
            accepted_clips = tuple(sorted(map(str, module.accepted_clips)))
            raise PolicyError(
                "{module} does not accept {argument}\n  it accepts {accepted}",
                module=label,
                argument="clip",
                value=str(self.clip),
                accepted=Alternatives("clip", accepted_clips, between=", ", is_named=False),
            )
        if self.timestamps.is_set_by_module and not (module.is_time_sensitive and module.is_operator):
            raise PolicyError(
                "{module} returns no lifetimes, so {argument} has nothing to keep\n  use {right}",
                module=label,
                argument="timestamps",
                value=str(self.timestamps),
                right=_ALIGNED,
            )

    def _refuse_misfit_of_row_windows(self) -> None:
        """Refuse, in a query over windows of rows, events that last longer than a tick and policies about lifetimes.

        Raises:
            QueryError: The events last longer than a tick.
            PolicyError: The timestamps keep or cut lifetimes, or a clip is given, for which there is nothing to clip.
        """
        if self.lasting:
            raise QueryError(
                "{windows} follows rows at points in time, and these are {lasting}\n  {points_advice}",
                windows=self._written_window,
                lasting=self.lasting,
                points_advice=self.points_advice,
            )
        if self.timestamps not in (TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END):
            raise PolicyError(
                "{argument} is not for {windows}: a row window may be computed again long after what its module "
                "returns\n  use {right}",
                argument="timestamps",
                value=str(self.timestamps),
                windows=self._written_window,
                right=_ALIGNED,
            )
        # The clip that a module is made for is allowed all the same: it is the default, and changes nothing here.
        default_clips = [default_clip(module, module.needs) for module in self.modules]
        if self.clip is not ClipPolicy.NONE and self.clip not in default_clips:
            raise PolicyError(
                "{argument} has nothing to clip: the rows of {windows} are points inside it\n  leave it out",
                argument="clip",
                value=str(self.clip),
                windows=self._written_window,
            )

    def _refuse_forgetting(self, age: int) -> None:
        """Refuse to forget silent keys if the age is not above zero, or if the query cannot forget keys.

        A query over windows of rows cannot, nor one with time-bound results.

        Args:
            age: The time for which a key may be silent, in ticks.

        Raises:
            PolicyError: The age is not above zero, the windows are windows of rows, or results are time-bound.
        """
        written_age = self.written_age or Axis.TICKS.spell_length(age)
        if age <= 0:
            raise PolicyError(
                "{argument} would forget a key while it has events\n  expected: a length above zero",
                argument="forget_keys_after",
                value=written_age,
            )
        if isinstance(self.window, RowWindows):
            raise PolicyError(
                "{argument} is for windows that cut the axis, and {windows} follows rows\n"
                "  have its partitions evicted: {windows}.partition('<expression>', age=...)",
                argument="forget_keys_after",
                value=written_age,
                windows=self._written_window,
            )
        # That a key is silent is known only when the time has passed; a time-bound result would have to know it from
        # the beginning of the silence.
        if self.is_time_bound or self.timestamps is TimestampPolicy.TIME_BOUND:
            raise PolicyError(
                "{argument} cuts windows where a key has been silent for long enough, which is not known any earlier, "
                "so results cannot be time-bound\n  use {align}",
                argument="forget_keys_after",
                value=written_age,
                align=Argument("timestamps", "align"),
            )

    def _refuse_time_bound(self) -> None:
        """Refuse time-bound results of windows whose members or ends are not known in time.

        Raises:
            PolicyError: The windows do not say when their members are known, or their ends move and a module sees them.
        """
        if not self.window.can_be_time_bound:
            raise PolicyError(
                "{argument} needs to know when what a window holds becomes known, and {windows} does not say\n"
                "  use {align}, or another window",
                argument="timestamps",
                value="time_bound",
                windows=self._written_window,
                align=Argument("timestamps", "align"),
            )
        time_sensitive_modules = [module for module in self.modules if module.is_time_sensitive]
        if time_sensitive_modules and self.window.ends_move:
            raise PolicyError(
                "{module} sees its window, and where a window of {windows} ends is not known while it lasts, so "
                "{argument} has no result to start with\n  use {align}, or another window",
                module=_label(time_sensitive_modules[0]),
                argument="timestamps",
                value="time_bound",
                windows=self._written_window,
                align=Argument("timestamps", "align"),
            )

    @property
    def _written_window(self) -> WrittenWindows:
        """The windows for messages: as the query writes them, or with lengths in ticks if that is not known."""
        return self.written_window or WrittenWindows(self.window)


def undeclared_result(module: str, misfit: str, where: str = "") -> ModuleContractError:
    """Return the error of a result that is not of the type that its module declares.

    Args:
        module: The name and version of the module.
        misfit: The difference between the value and the declared type, in words.
        where: Whole lines of the message that name the key and window; empty if there are none.
    """
    return ModuleContractError(
        f"{module} returned a value that is not what it declares: {misfit}\n{where}"
        "  return what the class declares in its brackets, or declare what it returns"
    )


def check_start(module: Module, row: Event[object], window: Window, key: object = _NO_KEY) -> None:
    """Refuse a row that keeps its own lifetime and starts before its window, unless its module is unrestricted.

    Args:
        module: The module that returned the row.
        row: The row, with the lifetime that the module has set.
        window: The window.
        key: The key, for messages.

    Raises:
        ModuleContractError: The row starts before its window.
    """
    if row.start < window.start and module.contract is not OutputContract.UNRESTRICTED:
        raise ModuleContractError(
            f"{_label(module)} returned an event that starts at {row.start}, "
            f"before its window [{window.start}, {window.end})\n{_key_line(key)}"
            "  expected: no output before the window, since earlier output may already be final\n"
            "  use timestamps='clip', or let the module start its output inside the window"
        )


def check_cause(module: Module, start: int, cause: int, key: object = _NO_KEY) -> None:
    """Refuse a row of a stream operator that starts before the event or the wake-up that caused it.

    Args:
        module: The operator.
        start: The start of the row.
        cause: The time of the event or the wake-up.
        key: The key, for messages.

    Raises:
        ModuleContractError: The row starts before its cause.
    """
    if start < cause:
        raise ModuleContractError(
            f"{_label(module)} returned an event that starts at {start}, before its cause at {cause}\n"
            f"{_key_line(key)}"
            "  expected: no output before the event or the wake-up it comes from, as earlier output may be final"
        )


def time_asked_for(
    module: Module, answer: object, time: int, key: object = _NO_KEY, axis: AnyAxis = Axis.TICKS
) -> int | None:
    """Return the time at which a stream operator asks to be woken; None if it does not.

    The time may lie in the past.

    Args:
        module: The operator.
        answer: The value that its `next_time` returned.
        time: The time up to which the operator has been called.
        key: The key, for messages.
        axis: The axis of the query.

    Raises:
        ModuleContractError: The answer is not a time. A small number on an axis of timestamps is refused as a length:
            as a time it would lie in 1970, years before the call.
    """
    if answer is None:
        return None

    wake_up = _whole_number(answer)
    is_length = isinstance(answer, timedelta)
    if wake_up is not None and axis is Axis.TIME:
        # As a time it lies in 1970: only an operator that was itself called in the early 1970s can mean that.
        is_length = 0 <= wake_up < _YEAR and time >= 2 * _YEAR
    if is_length:
        raise ModuleContractError(
            f"{_label(module)} returned {safe_repr(answer)} from next_time at {axis.spell(time)}, which is a length\n"
            f"{_key_line(key)}"
            "  expected: a time; keep the time of the event in the state, and return state['last'] + self.length, "
            "where self.length is ticks('10 minutes'), or None for no wake-up"
        )
    if wake_up is None:
        raise ModuleContractError(
            f"{_label(module)} returned {safe_repr(answer)} from next_time\n{_key_line(key)}"
            "  expected: a time in ticks, which is a whole number, or None for no wake-up"
        )
    # A wake-up at infinity never comes.
    return wake_up if wake_up < INFINITY else None


def _whole_number(answer: object) -> int | None:
    """Return an integer of Python or NumPy as an int; None for anything else, also for a bool."""
    if isinstance(answer, bool):
        return None
    try:
        return index(answer)  # type: ignore[arg-type]  # index() raises TypeError for what is no whole number
    except TypeError:
        return None


def _label(module: Module) -> str:
    """Return the name and version of a module, for messages."""
    return f"{module.name} {module.version}"


def _key_line(key: object) -> str:
    """Return the line of a message that names the key; empty if there is none."""
    return "" if key is _NO_KEY else f"  key: {safe_repr(key)}\n"


PolicyT = TypeVar("PolicyT", ClipPolicy, TimestampPolicy)


def check_needs(modules: Sequence[Module], window: WindowSpecification, axis: Axis = Axis.TICKS) -> None:
    """Refuse windows that do not meet the needs of a module.

    Raises:
        PolicyError: The windows fall short of the needs. The message names others that meet them.
    """
    for module in modules:
        shortcoming = module.needs.lacks(window, axis)
        if shortcoming:
            raise PolicyError("{module} {shortcoming}", module=_label(module), shortcoming=shortcoming)


def default_clip(module: Module | type[Module], needs: Needs) -> ClipPolicy | None:
    """Return the clip that a module is made for, which holds if a query names none; None if it has no preference.

    Args:
        module: The module, or its class.
        needs: The needs that the module declares.
    """
    if needs.clip is not None:
        return needs.clip
    if ClipPolicy.NONE in module.accepted_clips:
        return None  # it takes lifetimes as they are
    # The policies are in order of how much they change: the first accepted one changes the least.
    for policy in ClipPolicy:
        if policy in module.accepted_clips:
            return policy
    return None


def clip_of(modules: Sequence[Module]) -> ClipPolicy | None:
    """Return the clip that the modules of a query are made for; None where none of them has a preference."""
    clips: dict[str, ClipPolicy] = {}
    for module in modules:
        clip = default_clip(module, module.needs)
        if clip is not None:
            clips[module.name] = clip
    # Where preferences differ, the message offers the policies that all modules accept.
    accepted = list(ClipPolicy)
    for module in modules:
        accepted = [policy for policy in accepted if policy in module.accepted_clips]
    return _agreed("clip", clips, accepted)


def timestamps_of(modules: Sequence[Module]) -> TimestampPolicy | None:
    """Return the timestamps that the modules of a query are made for; None where none of them has a preference."""
    timestamps: dict[str, TimestampPolicy] = {}
    for module in modules:
        if module.needs.timestamps is not None:
            timestamps[module.name] = module.needs.timestamps
    return _agreed("timestamps", timestamps, list(TimestampPolicy))


def _agreed(name: str, preferred: Mapping[str, PolicyT], accepted: Sequence[PolicyT]) -> PolicyT | None:
    """Return the policy that all modules with a preference share; refuse a query whose modules differ.

    Args:
        name: The parameter of the policy.
        preferred: The policy that each module is made for, by the name of the module.
        accepted: The policies that all modules accept.
    """
    # Modules without a preference follow the others.
    policies = set(preferred.values())
    if len(policies) < 2:
        return next(iter(policies), None)  # the one policy, if a module has a preference

    preferences = ", ".join(f"{module} for {str(policy)!r}" for module, policy in preferred.items())
    to_do = ErrorMessage("no policy is right for all of them: give each a query of its own")
    if accepted:
        choices = [ErrorMessage("{policy}", policy=Argument(name, str(policy))) for policy in accepted]
        to_do = ErrorMessage("say which: {choices}", choices=ErrorMessage.joined(" or ", choices))
    raise PolicyError(
        "the modules are made for different {name}: {wanted}\n  {to_do}", name=name, wanted=preferences, to_do=to_do
    )
