"""A query that is evaluated key by key, and names for each result the rows that made it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from muntin import INFINITY, JoinKind
from muntin.windows import WindowKind
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.evaluators.keyed.keyed_run import BatchResult
from muntin_engine.evaluators.keyed.output_tables import result_tables
from muntin_engine.plan import Plan
from muntin_engine.plan.chosen_evaluator import Choice
from muntin_engine.plan.plan_words import spell_grouping
from muntin_engine.plan.planner import choose
from muntin_engine.recording.replay import recorded_exchange
from muntin_engine.recording.story import Fate, StoryChange, StoryRow
from muntin_engine.recording.story_rows import StoryRows
from muntin_engine.recording.traced_task import NUMBER, Notes, Number, traced
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.frozen_values import freeze
from muntin_engine.state.store_cache import StoreCache
from muntin_engine.tasks.bucket_rows import read_bucket_rows
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.tasks.row_problems import PROBLEMS
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Rejection, Timing
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import BucketArrivals, collect
from muntin_engine.wire.task_payload import TaskPayload


def queries_of(task: TaskPayload) -> list[ExplainedQuery]:
    """Return a query to explain for each specification of windows of a task; most tasks have one."""
    if not task.plan.named_windows:
        return [ExplainedQuery(task, task)]
    return [ExplainedQuery(_over_windows(task, name), task, name) for name in task.plan.named_windows]


def _over_windows(task: TaskPayload, name: str) -> TaskPayload:
    """Return the task of a query over only one of its named specifications of windows."""
    plan = replace(task.plan, window=task.plan.named_windows[name], named_windows={})
    results = task.results.remove(task.results.get_field_index("window_name"))
    return replace(task, plan=plan, results=results)


class _Causes(NamedTuple):
    """The rows that made a result.

    Attributes:
        members: The numbers of the rows that are in the result, and of the rows that changed the events of these.
        bounds: The numbers of the other rows that set where the window of the result begins or ends.
    """

    members: Sequence[int]
    bounds: Sequence[int]


class _ExplainedBatch(NamedTuple):
    """A micro-batch whose results are explained.

    Attributes:
        number: The number of the micro-batch.
        first_row: The number of the first row of the micro-batch.
        rows: All rows so far.
        advancing: The number of the row that moved the watermark furthest; empty if no row did.
    """

    number: int
    first_row: int
    rows: StoryRows
    advancing: Sequence[int]


class ExplainedQuery:
    """Evaluates a query over one specification of windows, and names the rows that made its results.

    Attributes:
        task: The query, whose modules note the rows that they read; see `traced`.
        changes_by_number: The rows of the last micro-batch as the query sees them.
    """

    def __init__(self, task: TaskPayload, whole_task: TaskPayload, window_name: str = "") -> None:
        """Open a query without state.

        Args:
            task: The query over one specification of windows.
            whole_task: The query over all its specifications of windows, by which the watermark moves.
            window_name: The name of the specification; empty if the query has only one, without a name.
        """
        self._notes = Notes()
        self._window_name = window_name
        traced_task = traced(task, self._notes)
        evaluator, plan = _key_by_key(traced_task.plan)
        self.task = replace(traced_task, plan=plan)
        self._bucket = KeyedBucket(
            evaluator.run_class(plan),
            evaluator.query_of_task(self.task),
            MemoryCells(),
            codec=Codec.of(self.task.modules, {Number}),
            identity=self.task.identity,
            trackers=[input_task.tracker for input_task in whole_task.inputs],
            cache=StoreCache(),
            name=window_name,
        )
        # Windows such as sessions begin and end where events do: other events than the members may set their bounds.
        has_windows = plan.is_windowed and isinstance(plan.window, WindowKind)
        self._is_cut_by_events = has_windows and plan.window.ends_move
        # In the payloads of each input, the number of the row is the last value, after those that modules read.
        self._places_of_numbers = [len(plan_input.columns.payload) - 1 for plan_input in plan.inputs]
        self.changes_by_number: Mapping[int, InputChange] = {}
        self._payloads: dict[int, tuple[Any, ...]] = {}
        self._live: dict[tuple[Hashable, int], StoryChange] = {}

    def process(self, parts: Sequence[RecordedPart], first_row: int, rows: StoryRows, *, is_end: bool) -> BatchResult:
        """Evaluate a micro-batch, and set the fates of the rows that did not count.

        Args:
            parts: The rows of each map task of the micro-batch, with their numbers.
            first_row: The number of the first row of the micro-batch.
            rows: All rows so far.
            is_end: True if the stream ends with this micro-batch.
        """
        # Run the map tasks, which send all rows to one bucket.
        task = self.task
        self._notes.begin_batch()
        exchanged_rows: list[dict[str, Any]] = []
        for part in parts:
            for batch in recorded_exchange(task, part):
                exchanged_rows += batch.to_pylist()
        arrivals = collect(exchanged_rows, len(task.inputs))
        self._set_fates_of_bad_rows(arrivals, rows)

        # Hide the numbers of rows from the evaluator, which would otherwise tell equal rows apart by them.
        bucket_rows = read_bucket_rows(task, arrivals.rows)
        changes: list[tuple[Key, list[InputChange]]] = []
        changes_by_number: dict[int, InputChange] = {}
        for key, key_changes in bucket_rows.changes:
            changes_with_hidden_numbers = [self._with_hidden_number(change) for change in key_changes]
            changes.append((key, changes_with_hidden_numbers))
            for change in changes_with_hidden_numbers:
                number = self._number_of(change)
                if number is not None:
                    changes_by_number[number] = change
        self.changes_by_number = changes_by_number
        if task.plan.join is not None:  # to find the causes of results, the join's condition on payloads is asked again
            self._payloads |= {number: change.payload for number, change in changes_by_number.items()}
        rows.filter_ignored(first_row, changes_by_number)

        # Evaluate, and look up the rejected rows by their numbers. A row whose payload was not sent carries no number.
        for report, key_watermarks in zip(arrivals.reports, bucket_rows.key_watermarks, strict=True):
            report.key_watermarks = key_watermarks
            if is_end:
                report.progress = report.progress._replace(watermark=INFINITY)
        result = self._bucket.process(changes, arrivals.reports, arrivals.signals)
        for key, rejection in result.rejections:
            number = self._number_of(rejection.change)
            if number is None:
                number = rows.number_of(key, rejection.change)
            rows.set_fate(number, _fate_of(rejection), rejection.message)
        return result

    def explain(
        self, result: BatchResult, batch_number: int, first_row: int, first_change: int, rows: StoryRows
    ) -> Iterator[StoryChange]:
        """Yield the changes of the results in a micro-batch, each with the rows that made it.

        Args:
            result: The output of the micro-batch.
            batch_number: The number of the micro-batch.
            first_row: The number of the first row of the micro-batch.
            first_change: The number of the first change; the others are numbered on from there.
            rows: All rows so far; their fates and events have to be known.
        """
        explained_batch = _ExplainedBatch(
            number=batch_number,
            first_row=first_row,
            rows=rows,
            advancing=_row_that_advances(rows.all[first_row:]),
        )
        changes: list[tuple[Key, OutputChange]] = []
        for key, key_changes in result.output:
            for change in key_changes:
                changes.append((key, change))
        values_by_change = self._values(result, changes)
        for number, ((key, change), values) in enumerate(zip(changes, values_by_change, strict=True), first_change):
            yield self._explained(key, change, values, number, explained_batch)

    def _values(self, result: BatchResult, changes: Sequence[tuple[Key, OutputChange]]) -> list[dict[str, Any]]:
        """Return the values of each change by the names of result columns."""
        names = [part.name for part in self.task.plan.outputs]
        if self.task.plan.join is not None:  # row numbers are among its values, and no table can hold them
            return [dict(zip(names, change.value, strict=True)) for _, change in changes]
        values: list[dict[str, Any]] = []
        for table in result_tables(self.task, result.output):
            values += table.select(names).to_pylist()
        return values

    def _number_of(self, change: InputChange) -> int | None:
        """Return the number that a row carries in its payload; None if it carries none."""
        number: Number | None = change.payload[self._places_of_numbers[change.side]]
        return None if number is None else number.value

    def _with_hidden_number(self, change: InputChange) -> InputChange:
        """Return a row with its number as a `Number`, by which rows are not told apart: all of these are equal."""
        place = self._places_of_numbers[change.side]
        payload = list(change.payload)
        payload[place] = None if payload[place] is None else Number(payload[place])
        return change._replace(payload=tuple(payload))

    def _set_fates_of_bad_rows(self, arrivals: BucketArrivals, rows: StoryRows) -> None:
        """Set the fates of the rows that the map task marked as bad, which no evaluator gets to see."""
        for input_task, blobs in zip(self.task.inputs, arrivals.rows, strict=True):
            number_name = f"i{self._places_of_numbers[input_task.side]}"
            for blob in blobs:
                table = from_blob(blob)
                bad_rows = table.filter(table.column("problem").is_valid())
                numbers = bad_rows.column(number_name).to_pylist()
                problems = bad_rows.column("problem").to_pylist()
                for number, problem in zip(numbers, problems, strict=True):
                    if number is not None:  # `StoryRows` has set the fates of rows that do not carry their numbers
                        rows.set_fate(number, Fate.REJECTED, PROBLEMS[problem].message)

    def _explained(
        self, key: Key, change: OutputChange, values: Mapping[str, Any], number: int, batch: _ExplainedBatch
    ) -> StoryChange:
        """Return a change of the output with its causes.

        Args:
            key: The key of the result.
            change: The change.
            values: The values of the result by column.
            number: The number of the change.
            batch: The micro-batch.
        """
        plan = self.task.plan
        result_id = (freeze(key), change.id)  # ids are counted for each key
        previous = None if change.kind is OutputKind.INSERT else self._live.pop(result_id)

        # When a result of a join gets another end, other rows may be the cause. All other changes of a result have the
        # same causes as its insertion.
        is_join_revision = plan.join is not None and change.kind is OutputKind.REVISE
        if previous is None or is_join_revision:
            causes = self._causes(key, change, values, batch.rows)
        else:
            causes = _Causes(previous.members, previous.bounds)

        # The trigger is the causes that came in this micro-batch; if none of them did, the row that moved the
        # watermark.
        trigger = batch.rows.since(batch.first_row, {*causes.members, *causes.bounds})
        explained = StoryChange(
            number=number,
            batch=batch.number,
            key=key,
            change=str(change.kind),
            result=number if previous is None else previous.result,
            window=(change.window.start, change.window.end) if plan.is_windowed else None,
            window_name=self._window_name,
            start=change.start,
            end=change.end,
            new_end=change.new_end,
            values={column: value for column, value in values.items() if not column.startswith(NUMBER)},
            is_early=change.timing is Timing.EARLY,
            firing=change.firing,
            members=causes.members,
            bounds=causes.bounds,
            trigger=trigger or batch.advancing,
        )
        if change.kind is not OutputKind.RETRACT:
            self._live[result_id] = explained  # later changes of the result take their causes from this one
        return explained

    def _causes(self, key: Key, change: OutputChange, values: Mapping[str, Any], rows: StoryRows) -> _Causes:
        """Return the causes of a result: the rows that it was made of and those that bound it, with their changes.

        Args:
            key: The key of the result.
            change: The insertion of the result, or a revision by a join.
            values: The values of the result by column; in a join these include the numbers of rows.
            rows: All rows so far.
        """
        plan = self.task.plan
        members = set(self._members(key, change, values))
        bounds: Iterable[int] = ()
        if plan.join is None and self._is_cut_by_events:
            bounds = rows.events.cutting_events(key, members, change.window.start, change.window.end)
        elif plan.joins_inputs and len(members) == 1:
            (left,) = members  # a single member is a left event without a right one: a pair has two
            bounds = self._bounds_of_unmatched(key, left, change, rows)
        return _Causes(rows.with_changes(members), rows.with_changes(bounds))

    def _members(self, key: Key, change: OutputChange, values: Mapping[str, Any]) -> Collection[int]:
        """Return the numbers of the rows that a result was made of; the arguments are those of `_causes`."""
        plan = self.task.plan
        numbers: set[int] = set()
        if plan.join is not None:
            # Each side of a join has its row's number in a column of its own; a side without a row has null.
            for column, value in values.items():
                if column.startswith(NUMBER) and value is not None:
                    numbers.add(value.value)  # out of a `Number`
        elif plan.is_operator:
            numbers.update(self._notes.numbers(place=0, key=key, window=change.window, result=change.value))
        else:  # aggregates: the result has a value of each
            for place, value in enumerate(change.value):
                numbers.update(self._notes.numbers(place=place, key=key, window=change.window, result=value))
        return numbers

    def _bounds_of_unmatched(self, key: Key, left: int, change: OutputChange, rows: StoryRows) -> list[int]:
        """Return the right rows without which a part of a left event would have another extent.

        Args:
            key: The key.
            left: The row of the left event.
            change: The result: a part of the left event during which no right event matches.
            rows: All rows so far.
        """
        join = self.task.plan.join
        assert join is not None
        end = change.end if change.new_end is None else change.new_end
        if join.kind is JoinKind.SEMI:  # here right events match, though their rows are not in the result
            candidates = rows.events.overlapping_events(key, change.start, end)
        else:
            is_clipped = join.kind is JoinKind.CLIP
            candidates = rows.events.bounding_events(key, left, change.start, end, is_clipped=is_clipped)

        right_name = self.task.plan.inputs[1].name
        bounds: list[int] = []
        for candidate in candidates:
            if rows.all[candidate].input != right_name:
                continue
            if join.on is None or join.on(self._payloads[left], self._payloads[candidate]):
                bounds.append(candidate)
        return bounds


def _key_by_key(plan: Plan) -> tuple[KeyedEvaluator, Plan]:
    """Choose the most general evaluator that can run a plan key by key in plain Python.

    Returns:
        The evaluator, and the plan with the choice of it.
    """
    for declaration in reversed(DECLARATIONS):  # the cheapest evaluator is the first, the most general one the last
        evaluator = KEEPS_STATE.get(declaration.name)
        if isinstance(evaluator, KeyedEvaluator):
            choice = choose(plan, declaration)
            if isinstance(choice, Choice):
                return evaluator, replace(plan, choice=choice)
    raise AssertionError(f"no evaluator runs {spell_grouping(plan)} key by key")


def _fate_of(rejection: Rejection) -> Fate:
    """Return the fate of a row that an evaluator rejected."""
    if rejection.is_late:
        return Fate.LATE
    if rejection.is_shed:
        return Fate.SHED
    return Fate.REJECTED


def _row_that_advances(rows: Sequence[StoryRow]) -> list[int]:
    """Return the number of the row that moved the watermark furthest, in a list; an empty list if none did.

    It is the row that closes the stream; otherwise the latest punctuation; otherwise the newest event.
    """
    counted_rows: list[StoryRow] = []
    punctuation_rows: list[StoryRow] = []
    closing_rows: list[StoryRow] = []
    for row in rows:
        if row.fate is not Fate.COUNTED or (row.start is None and row.change != "close"):
            continue
        counted_rows.append(row)
        if row.change not in ("insert", "revise", "retract"):
            punctuation_rows.append(row)
        if row.change == "close":
            closing_rows.append(row)

    candidates = closing_rows or punctuation_rows or counted_rows
    if not candidates:
        return []
    # A row that closes the stream may have no start: then any of these rows will do.
    return [max(candidates, key=lambda row: row.start or 0).number]
