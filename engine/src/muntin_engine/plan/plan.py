"""The plan of a query: names, specifications and schemas in one frozen description. `planner` checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muntin import Axis, ClipPolicy, EarlyEmission, EmitPolicy, OutputContract, TimestampPolicy
from muntin.modules.columnar_aggregate import Form
from muntin.rows import RowWindows
from muntin.schemas import Field, Struct
from muntin.windows import WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.modules.abilities import waits_for_ends
from muntin_engine.plan.axis_words import AxisWords
from muntin_engine.plan.chosen_evaluator import OPEN, ArrayPlan, Choice, Explanation
from muntin_engine.plan.code_in_use import CodeInUse
from muntin_engine.plan.columns import NamedColumn
from muntin_engine.plan.inputs import Input
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan
from muntin_engine.plan.module_plan import ModulePlan


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
        expressions: The columns that the trigger of early results reads: by their expressions, their places in the
            payload of the input.
        named_windows: Where there are several specifications, all of them by name; `window` is the first.
        requested_evaluator: The name of the evaluator that was asked for; None to have the cheapest one that is right.
        unit: The unit of integer times, if they have one.
        decimal_places: The decimal places of the times, if these are decimals; a tick is one in the last place.
        keeps_late_rows: True if late rows are wanted themselves, and not only counted.
        from_modules: The policies that the query does not name, and that its modules are made for.
        written_emit: The emission, as it is written in the query, with lengths of time in words.
        forget_keys_after: For how long a key may be silent before it is forgotten, in ticks; None if it never is.
        join: The join of the inputs; None if they are not joined. With one input, the events are the results (see
            `passes_events`).
        code: The modules and functions that it runs, with hashes of their code, where it runs on Spark.
        choice: The evaluator that the planner chose.
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
    requested_evaluator: str | None = None
    unit: str | None = None
    decimal_places: int | None = None
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
        """The emission of early results, if the query emits results by a trigger; None if by a policy alone."""
        return self.emit if isinstance(self.emit, EarlyEmission) else None

    @property
    def is_operator(self) -> bool:
        """True if the query's one module returns rows."""
        return bool(self.modules) and self.modules[0].module.is_operator

    @property
    def is_windowed(self) -> bool:
        """True if the query has windows. Without windows each event counts by itself, and results have lifetimes."""
        return not isinstance(self.window, Unwindowed)

    @property
    def rows(self) -> RowWindows | None:
        """The windows, if they follow rows in their order."""
        return self.window if isinstance(self.window, RowWindows) else None

    @property
    def says_when_complete(self) -> bool:
        """True if every input can close windows; an input that cannot would hold the others back for ever."""
        return all(input.says_when_complete for input in self.inputs)

    @property
    def passes_events(self) -> bool:
        """True if the events themselves are the results: the query has neither a module nor a second input.

        Such a query is planned as an anti join with an input that never has an event. An anti join returns the parts of
        events that no event of the other input covers, so it returns these whole; and revisions, retractions and late
        rows mean what they mean in a join.
        """
        return self.join is not None and len(self.inputs) == 1

    @property
    def joins_inputs(self) -> bool:
        """True if the events of two inputs are joined."""
        return self.join is not None and len(self.inputs) > 1

    @property
    def joined_columns(self) -> tuple[JoinedColumn, ...]:
        """The columns of the events that a join returns; or those of the events that are the results."""
        assert self.join is not None, "other queries return the results of modules"
        return self.join.columns

    @property
    def event_ends_move(self) -> bool:
        """True if the end of an event may change after it came."""
        return any(input.event_ends_move for input in self.inputs)

    @property
    def waits_for_ends(self) -> bool:
        """True if a window's result depends on ends that lie after it and may still move."""
        modules = [module.module for module in self.modules]
        return waits_for_ends(modules, self.clip, self.timestamps, event_ends_move=self.event_ends_move)

    @property
    def emission(self) -> EmitPolicy | EarlyEmission:
        """The emission that evaluators follow: `SPECULATIVE` where late rows may correct results that were final."""
        if self.emit is EmitPolicy.FINAL and any(input.late.corrects for input in self.inputs):
            return EmitPolicy.SPECULATIVE
        return self.emit

    @property
    def contract(self) -> OutputContract:
        """The guarantee about the lifetimes of the output.

        Where the module sets the lifetimes, this is the contract of the module, with two exceptions: if the output is
        cut to its window, it is window-based whatever the module guarantees, and if it waits for the end of its window,
        it cannot be time-bound.
        """
        if self.timestamps is TimestampPolicy.TIME_BOUND:
            return OutputContract.TIME_BOUND
        if not self.modules:
            return OutputContract.WINDOW_BASED

        contract = self.modules[0].module.contract
        is_eager = self.emit is EmitPolicy.EAGER
        if contract is OutputContract.TIME_BOUND and self.timestamps.is_set_by_module and is_eager:
            return OutputContract.TIME_BOUND
        if contract is OutputContract.UNRESTRICTED and self.timestamps is TimestampPolicy.UNCHANGED:
            return OutputContract.UNRESTRICTED
        return OutputContract.WINDOW_BASED

    @property
    def windows(self) -> tuple[WindowSpecification, ...]:
        """All specifications of the query."""
        return tuple(self.named_windows.values()) or (self.window,)

    @property
    def words(self) -> AxisWords:
        """Spells what lies on the axis, in messages."""
        return AxisWords(self.axis, self.unit, self.decimal_places)

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
        """The columnar forms of the modules, if the state holds their components; none if it holds something else."""
        if not self.choice.holds_components:
            return ()
        return tuple(module.form for module in self.modules if module.form is not None)

    # The columns of the results, after those of the keys.

    @property
    def engine_columns(self) -> tuple[str, ...]:
        """The names of the result columns that are neither keys nor a module's, in order."""
        retracts = self.emission.may_retract
        names = []

        # Events, joins and stream operators.
        if not self.is_windowed:
            names.append("lifetime")
            if retracts:
                names += ["change", "event_id"]
            if retracts and self.join is not None:
                names.append("new_end")  # the ends of joined events may be revised
            return tuple(names)

        # Windows over time, and row windows.
        if self.named_windows:
            names.append("window_name")
        if self.rows is not None and self.rows.partition_by is not None:
            names.append("partition")
        names.append("window")
        if self.timestamps is not TimestampPolicy.ALIGN:  # aligned, the lifetime is the window itself
            names.append("lifetime")
        if retracts:
            names += ["change", "event_id"]
        if self.contract is OutputContract.TIME_BOUND:
            names.append("new_end")
        if self.early is not None:
            names += ["timing", "firing"]
        if self.rows is not None and self.rows.is_marked:
            names.append("ends_window")
        return tuple(names)

    @property
    def extent_column(self) -> str:
        """The name of the result column with the window of a result; without windows, with its lifetime."""
        return "window" if self.is_windowed else "lifetime"

    @property
    def lifetime_column(self) -> str:
        """The name of the result column with the lifetime of a result: its window, where it has no other lifetime."""
        lives_in_window = "window" in self.engine_columns and "lifetime" not in self.engine_columns
        return "window" if lives_in_window else "lifetime"

    @property
    def outputs(self) -> tuple[Field, ...]:
        """The result columns besides keys and those of the engine.

        These are a column per aggregate, the fields of an operator's row, or the columns of a join.
        """
        if self.join is not None:
            return tuple(column.field for column in self.join.columns)
        if not self.is_operator:
            return tuple(Field(module.output, module.result.type, is_nullable=True) for module in self.modules)
        return _columns_of(self.modules[0].result)

    @property
    def evicted(self) -> tuple[Field, ...]:
        """The columns of the second output, which is made when rows leave their row window; none if there is none."""
        row = self.modules[0].evicted if self.modules else None
        return () if row is None else _columns_of(row)

    @property
    def engine_columns_of_evicted(self) -> tuple[str, ...]:
        """The names of the columns of the second output that are neither keys nor the module's, in order."""
        return ("partition", "window") if "partition" in self.engine_columns else ("window",)

    def for_workers(self) -> Plan:
        """Return the plan to send to workers, without the parts that only the driver reads.

        These are the explanation, the parameters of modules, and forms that the evaluator does not use; the last two
        need not be picklable.
        """
        modules = []
        for module in self.modules:
            form = module.form if self.choice.uses_forms else None
            modules.append(replace(module, parameters={}, form=form))
        return replace(self, modules=tuple(modules), choice=replace(self.choice, explanation=None))


def _columns_of(row: Field) -> tuple[Field, ...]:
    """Return the columns of an operator's rows: the fields of a row, or one column for values that are no records."""
    if isinstance(row.type, Struct):
        return row.type.fields
    return (Field("value", row.type, is_nullable=True),)
