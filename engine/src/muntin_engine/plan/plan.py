"""The plan of a query: names, specifications and schemas in one frozen description. `planner` checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from muntin import Axis, ClipPolicy, EarlyEmission, EmitPolicy, Lateness, LatePolicy, OutputContract, TimestampPolicy
from muntin.axis import AnyAxis, DecimalAxis, spell_ticks
from muntin.messages import Call
from muntin.modules.columnar_aggregate import Form
from muntin.rows import RowWindows
from muntin.schemas import Field, Struct
from muntin.windows import WindowSpecification
from muntin.windows.regular import RegularWindows
from muntin.windows.specification import Unwindowed, WrittenWindows
from muntin_engine.modules.abilities import waits_for_ends
from muntin_engine.plan.choice import OPEN, ArrayPlan, Choice, Explanation
from muntin_engine.plan.code import CodeInUse
from muntin_engine.plan.columns import NamedColumn
from muntin_engine.plan.inputs import Input
from muntin_engine.plan.join_plan import JoinPlan
from muntin_engine.plan.lengths import in_microseconds, window_in_decimals, window_in_microseconds
from muntin_engine.plan.module_plan import ModulePlan

LATEST: Final = 2**62
"""Times lie between this and its negative, so that no window's boundary overflows 64 bits. In microseconds it is the
year 148,000."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole query.

    Attributes:
        inputs: The inputs; more than one only if an evaluator takes several.
        axis: The kind of ticks: microseconds, or anything else that grows.
        window: The windows.
        clip: The part of lifetimes that time-sensitive modules see.
        timestamps: The lifetime that the output gets.
        emit: The emission of results.
        modules: One operator, or any number of aggregates; none where an evaluator without windows needs none.
        buckets: The number of buckets over which keys are spread. Part of a checkpoint.
        expressions: The places among the inputs of what the trigger of early results reads, by expression.
        named_windows: Where there are several specifications, all of them by name; `window` is the first.
        wanted: The name of the evaluator that was asked for; None to have the cheapest one that is right.
        unit: The unit of integer times, if they have one.
        places: The decimal places of the times, if these are decimals; a tick is one in the last place.
        keeps_late_rows: True if late rows are wanted themselves, and not only counted.
        from_modules: The policies that the query does not name, and that its modules are made for.
        written_emit: The emission, as it is written in the query, with lengths of time in words.
        forget_keys_after: For how long a key may be silent before it is forgotten, in ticks; None if it never is.
        join: The join of the inputs; None if they are not joined. With one input, the events are the results (see
            `passes_events`).
        code: The modules and functions that it runs, with hashes of their code, where it runs on Spark.
        choice: The evaluator that the planner gave it.
    """

    inputs: tuple[Input, ...]
    axis: Axis
    window: WindowSpecification
    clip: ClipPolicy
    timestamps: TimestampPolicy
    emit: EmitPolicy | EarlyEmission
    modules: tuple[ModulePlan, ...]
    buckets: int = 16
    expressions: Mapping[str, int] = field(default_factory=dict)
    named_windows: Mapping[str, WindowSpecification] = field(default_factory=dict)
    wanted: str | None = None
    unit: str | None = None
    places: int | None = None
    keeps_late_rows: bool = False
    from_modules: frozenset[str] = frozenset()
    written_emit: str = field(default="", compare=False)
    forget_keys_after: int | None = None
    join: JoinPlan | None = None
    code: tuple[CodeInUse, ...] = field(default=(), compare=False)
    choice: Choice = field(default=OPEN, compare=False)

    @property
    def input(self) -> Input:
        """The input of a query that has only one."""
        (only,) = self.inputs
        return only

    @property
    def keys(self) -> tuple[NamedColumn, ...]:
        """The key columns of the results, which have the names that the first input gives them."""
        return self.inputs[0].columns.keys

    @property
    def early(self) -> EarlyEmission | None:
        """The emission of early results; None where there are none, or speculative ones."""
        return self.emit if isinstance(self.emit, EarlyEmission) else None

    @property
    def is_operator(self) -> bool:
        """True if the query's one module returns rows."""
        return bool(self.modules) and self.modules[0].module.is_operator

    @property
    def reads_order(self) -> bool:
        """True if a module reads the order of events, over windows of any kind."""
        return any(module.module.reads_order for module in self.modules)

    @property
    def module_labels(self) -> list[str]:
        """The labels of the modules in the query's metrics: their result columns, or the operator's name."""
        return [module.output or module.module.name for module in self.modules]

    @property
    def choosy_labels(self) -> list[str]:
        """The labels of the modules that do not accept every row."""
        return [label for label, module in zip(self.module_labels, self.modules, strict=True) if module.is_choosy]

    @property
    def sizes_of_states(self) -> str:
        """The bound of the states of the modules, in words."""
        growing = [module.label for module in self.modules if module.is_holistic]
        return (
            f"a state of {' or '.join(growing)} may grow with its values" if growing else "a state has a bounded size"
        )

    @property
    def is_windowed(self) -> bool:
        """True if the query has windows; otherwise each event counts by itself, and results have a lifetime alone."""
        return not isinstance(self.window, Unwindowed)

    @property
    def rows(self) -> RowWindows | None:
        """The windows, if they follow rows in their order."""
        return self.window if isinstance(self.window, RowWindows) else None

    @property
    def says_when_complete(self) -> bool:
        """True if every input can close windows; one that cannot would hold the others back for ever."""
        return all(given.says_when_complete for given in self.inputs)

    @property
    def passes_events(self) -> bool:
        """True if the events themselves are the results: an anti join without another input, so nothing covers them."""
        return self.join is not None and len(self.inputs) == 1

    @property
    def event_ends_move(self) -> bool:
        """True if the end of an event may change after it came."""
        return any(given.event_ends_move for given in self.inputs)

    @property
    def waits_for_ends(self) -> bool:
        """True if a window's result depends on ends that lie after it and may still move."""
        modules = [module.module for module in self.modules]
        return waits_for_ends(modules, self.clip, self.timestamps, event_ends_move=self.event_ends_move)

    @property
    def emission(self) -> EmitPolicy | EarlyEmission:
        """The emission of results, given that late rows may correct them."""
        is_corrected = self.emit is EmitPolicy.FINAL and any(given.late.corrects for given in self.inputs)
        return EmitPolicy.SPECULATIVE if is_corrected else self.emit

    @property
    def contract(self) -> OutputContract:
        """The guarantee about the lifetimes of the output: the module's contract, where it sets them.

        Cut to its window, output is window-based whatever the module's contract. Output that waits for the end of its
        window cannot be time-bound.
        """
        contract = self.modules[0].module.contract if self.modules else OutputContract.WINDOW_BASED
        is_kept = contract is OutputContract.TIME_BOUND and self.timestamps.is_set_by_module
        if self.timestamps is TimestampPolicy.TIME_BOUND or (is_kept and self.emit is EmitPolicy.EAGER):
            return OutputContract.TIME_BOUND
        is_free = contract is OutputContract.UNRESTRICTED and self.timestamps is TimestampPolicy.UNCHANGED
        return OutputContract.UNRESTRICTED if is_free else OutputContract.WINDOW_BASED

    @property
    def reach(self) -> int:
        """For how long after its end an event stays a member of windows."""
        return self.window.reach

    @property
    def windows(self) -> tuple[WindowSpecification, ...]:
        """All specifications of the query."""
        return tuple(self.named_windows.values()) or (self.window,)

    @property
    def spelled_window(self) -> str:
        """The specifications of the query as one writes them, with durations where the axis is time."""
        named = [f"{name}={self._describe_window(window)}" for name, window in self.named_windows.items()]
        return ", ".join(named) or self._describe_window(self.window)

    @property
    def written_windows(self) -> WrittenWindows:
        """The windows of the query in a message."""
        axis = self.axis if self.unit is None else Axis.TIME
        return WrittenWindows(self._in_words(self.window), axis, self.spelled_window)

    @property
    def written_emission(self) -> str | Call:
        """The emission of results in a message, as the value of `emit`."""
        return str(self.emit) if self.early is None else Call("early", ...)

    def written_lateness(self, late: Lateness) -> str | Call:
        """Return a policy for late rows in a message, as the value of `late_policy`."""
        return Call("correct", self.spell_length(late.allowed)) if late.corrects else str(late)

    @property
    def spelled_grouping(self) -> str:
        """The windows of the query and its key; without windows, its operators, or that it is a join or events."""
        if self.is_windowed:
            grouping = self.spelled_window
        elif self.modules:
            grouping = ", ".join(module.module.name for module in self.modules)
        else:
            grouping = "events" if self.passes_events else "join"
        return f"{grouping} by {', '.join(key.name for key in self.keys)}" if self.keys else grouping

    @property
    def words(self) -> AnyAxis:
        """A function that spells ticks in messages."""
        return self.axis if self.places is None else DecimalAxis(self.places)

    def spell_length(self, length: int) -> str:
        """Return a length in words: in time where the axis is time, or where its integers have a unit."""
        return self.words.spell_length(length) if self.unit is None else spell_ticks(in_microseconds(length, self.unit))

    def spell_late(self, late: Lateness) -> str:
        """Return a policy for late rows as one writes it."""
        return late.spell(lambda length: repr(self.spell_length(length))) if late.corrects else repr(str(late))

    def _describe_window(self, window: WindowSpecification) -> str:
        return self._in_words(window).describe(self.axis if self.unit is None else Axis.TIME)

    def spell_window(self, window: WindowSpecification) -> str:
        """Return windows as one writes them, with durations where the axis is time."""
        return self._in_words(window).spell(self.axis if self.unit is None else Axis.TIME)

    def _in_words(self, window: WindowSpecification) -> WindowSpecification:
        if self.places is not None:
            return window_in_decimals(window, self.places)
        return window if self.unit is None else window_in_microseconds(window, self.unit)

    @property
    def steps(self) -> tuple[RegularWindows, ...]:
        """The windows at whose ends alone output changes, so that progress need not be known any finer.

        A row is then late if a window that it belongs to, or one before it, is complete; not if it merely lies behind
        the watermark. Empty if output may change elsewhere, and with several inputs: their rows meet at any tick.
        """
        if len(self.inputs) > 1 or self.why_no_steps is not None:
            return ()
        return tuple(steps for window in self.windows if (steps := window.grid() or window.growing()) is not None)

    @property
    def why_no_steps(self) -> str | None:
        """The reason why windows may change or close elsewhere than at their ends; None if they do not."""
        return self.why_no_grid or self.why_no_lifting

    @property
    def why_no_grid(self) -> str | None:
        """The reason why windows are not regular ones, with the events that overlap them; None if they are."""
        for window in self.windows:
            if window.waits_for_events:
                return f"{self.spell_window(window)} is cut by each key's own events"
            if 0 < window.reach <= window.holds_past:
                return "events are members of windows that they do not overlap, by the window's reach"
            if window.grid() is None and (why_not := self._why_not_growing(window)) is not None:
                return f"{self.spell_window(window)} {why_not}"
        return None

    def _why_not_growing(self, window: WindowSpecification) -> str | None:
        """Return why windows are not made by carrying one running state; None if they are."""
        if window.growing() is None:
            return "is not a regular grid"
        if self.named_windows:
            return "carries a running state for each key, and other windows share slices"
        if any(given.columns.id is not None for given in self.inputs):
            return "is not a regular grid, and events have ids, so they may be revised"
        are_points = all(given.is_point for given in self.inputs)
        return None if are_points else "keeps a running state of points alone, and events last"

    @property
    def why_no_lifting(self) -> str | None:
        """The reason why rows may not be made partial states where they are, whatever the windows; None if they may."""
        if self.early is None and self.emit is not EmitPolicy.FINAL:
            return self.why_results_change
        return self.why_keys_differ or self.why_ends_move

    @property
    def why_results_change(self) -> str:
        """The reason why output is corrected, where results are not final."""
        return f"emit={str(self.emit)!r} emits results that may change"

    @property
    def why_ends_move(self) -> str | None:
        """The reason why events may end elsewhere than their rows say; None if they do not."""
        (given,) = self.inputs
        if given.columns.id is not None:
            return "events have ids, so they may be revised"
        return "samples last until the next one of their key" if given.has_samples else None

    @property
    def why_keys_differ(self) -> str | None:
        """The reason why windows of one key close at other times than those of another; None if they do not."""
        (given,) = self.inputs
        if self.forget_keys_after is not None:
            return "keys are forgotten, so where a window ends depends on all events of its key"
        if given.progress.by_key:
            return "keys may punctuate themselves, so each closes windows of its own"
        if given.late.policy in (LatePolicy.ADJUST, LatePolicy.CORRECT):
            return f"late_policy={self.spell_late(given.late)} takes late rows in"
        return None

    @property
    def arrays(self) -> ArrayPlan:
        """The parts of the query, which an evaluator on arrays runs."""
        assert self.choice.arrays is not None, f"{self.choice.evaluator} works on no arrays"
        return self.choice.arrays

    @property
    def explanation(self) -> Explanation:
        """The evaluation of the query in words, where the planner has chosen an evaluator."""
        assert self.choice.explanation is not None, "the planner has not seen the plan"
        return self.choice.explanation

    @property
    def forms(self) -> tuple[Form, ...]:
        """The columnar forms that the query computes with; none if its evaluator does not."""
        forms = (module.form for module in self.modules) if self.choice.uses_forms else ()
        return tuple(form for form in forms if form is not None)

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the result columns that are neither keys nor a module's."""
        name = ("window_name",) if self.named_windows else ()
        change = ("change", "event_id") if self.emission.may_retract else ()
        if not self.is_windowed:
            return ("lifetime", *change, *(("new_end",) if change and self.join is not None else ()))
        lifetime = () if self.timestamps is TimestampPolicy.ALIGN else ("lifetime",)
        new_end = ("new_end",) if self.contract is OutputContract.TIME_BOUND else ()
        early = ("timing", "firing") if self.early is not None else ()
        partition = ("partition",) if self.rows is not None and self.rows.partition_by is not None else ()
        mark = ("ends_window",) if self.rows is not None and self.rows.is_marked else ()
        return (*name, *partition, "window", *lifetime, *change, *new_end, *early, *mark)

    @property
    def lifetime_column(self) -> str:
        """The name of the result column that holds the lifetime of a result."""
        return "window" if "window" in self.added and "lifetime" not in self.added else "lifetime"

    @property
    def outputs(self) -> tuple[Field, ...]:
        """The result columns of the modules, one per aggregate or the fields of the operator's row; those of a join."""
        if self.join is not None:
            return tuple(column.field for column in self.join.columns)
        if not self.is_operator:
            return tuple(Field(module.output, module.result.type, is_nullable=True) for module in self.modules)
        return _columns_of(self.modules[0].result)

    @property
    def evicted(self) -> tuple[Field, ...]:
        """The columns of what rows that leave give; none if the query has no such output."""
        row = self.modules[0].evicted if self.modules else None
        return () if row is None else _columns_of(row)

    @property
    def added_to_evicted(self) -> tuple[str, ...]:
        """The names of the columns of that output that are neither keys nor the module's."""
        return ("partition", "window") if "partition" in self.added else ("window",)

    def for_workers(self) -> Plan:
        """Return the plan without what only the driver reads of its modules: that need not be picklable."""
        keeps_forms = self.choice.uses_forms
        modules = (replace(module, parameters={}, form=module.form if keeps_forms else None) for module in self.modules)
        return replace(self, modules=tuple(modules))


def _columns_of(row: Field) -> tuple[Field, ...]:
    """Return the columns of an operator's rows."""
    return row.type.fields if isinstance(row.type, Struct) else (Field("value", row.type, is_nullable=True),)
