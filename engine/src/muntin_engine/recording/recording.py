"""A recording of a query: its input rows, micro-batch by micro-batch, as plain data in a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from shutil import copytree
from typing import Any, TypeAlias

from muntin import Module
from muntin.errors.safe_text import safe_repr
from muntin.modules.call import ModuleCall
from muntin_engine.errors import RecordingError
from muntin_engine.packages.code_version import with_version
from muntin_engine.plan import Plan
from muntin_engine.plan.plan_as_data import NamedCode
from muntin_engine.recording.described_query import check_evaluator, evaluators_of, plan_of, task_of
from muntin_engine.recording.passed_results import (
    PassedResult,
    emitted_results,
    find_passed_rows,
    passed_results,
    with_origins,
)
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.recording_folder import (
    folders_before,
    read_batches,
    read_runs,
    read_unfinished,
    write_recording,
)
from muntin_engine.recording.replay import Replay
from muntin_engine.recording.replayed import Replayed
from muntin_engine.recording.row_differences import exact_row_differences
from muntin_engine.recording.shrinking import Condition, shrink_batches
from muntin_engine.recording.story import Story, without_earlier
from muntin_engine.sinks.recordings.recording_files import BEFORE
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import NTH, PASSED_ON, STOPPED
from muntin_engine.wire.task_payload import TaskPayload

ModuleLike: TypeAlias = type[Module] | Module | ModuleCall
"""A module in the place of another one: its class, its call, or the module itself."""


class Recording:
    """A recording of a query that `write(record=...)` made, which can be replayed without Spark.

    Attributes:
        path: The folder of the recording.
        runs: The starts of the query, in order.
        batches: The micro-batches that were committed, in order.
        unfinished: The micro-batch after these that was not committed, as far as its rows came: one in which a module
            raised an exception, say. None if there is none.
        stopped: The reason why it goes no further, in words; empty if nothing stopped it.
        before: The recordings of the queries whose results the query reads, each after those that it reads itself.

    Cost: rows are read on first use, and stay in memory.

    Example:
        >>> Recording("recordings/rides").replay().results  # doctest: +SKIP
        [{'station': 'north', 'window': {'start': 0, 'end': 10}, 'km': 3.0}]
    """

    def __init__(self, path: str | PathLike[str], modules: Sequence[Any] = ()) -> None:
        """Open a recording.

        Args:
            path: The folder of the recording.
            modules: Modules of the query that no installed plugin offers and that were not imported: their classes, or
                modules themselves where a parameter is no plain data; plain functions as in the query, as
                `module(np.ptp, returns=float)`; functions, and classes of windows, triggers and progress policies, too.

        Raises:
            RecordingError: There is no recording, or one that this version cannot read.
        """
        self.path = Path(fspath(path))
        self._known = NamedCode.of(modules)
        self.before = tuple(Recording(folder, modules) for folder in folders_before(self.path))
        self.runs = tuple(read_runs(self.path))
        self.batches = tuple(read_batches(self.path))
        self.unfinished = read_unfinished(self.path, self.batches, self.runs[-1].number)
        stopped = self.path / STOPPED
        self.stopped: str = json.loads(stopped.read_text())["reason"] if stopped.exists() else ""

    @cached_property
    def plan(self) -> Plan:
        """The plan of the query, as it was first started.

        Raises:
            RecordingError: A module of it is not here.
        """
        return plan_of(self.runs[0].data, self._known)

    @cached_property
    def evaluators(self) -> tuple[str, ...]:
        """The evaluators that can replay it, the cheapest first; where it begins with a state, that of the state."""
        if self._begins_with_state:
            return (self.plan.choice.evaluator,)
        return tuple(evaluators_of(self.runs[0].data, self._known))

    @property
    def _begins_with_state(self) -> bool:
        return any(run.cells_file is not None for run in self.runs)

    @property
    def differences(self) -> tuple[str, ...]:
        """The versions here that are not those that were recorded, in words: of Muntin, and of modules."""
        from importlib.metadata import version

        installed = version("muntin-engine")
        recorded = {run.data["muntin"] for run in self.runs} - {installed}
        of_muntin = [f"muntin-engine was {name}, and is {installed} here" for name in sorted(recorded)]
        for run in self.runs:
            plan_of(run.data, self._known)  # it looks the modules up, which notes their versions
        return (*of_muntin, *dict.fromkeys(self._known.differences))

    def task(self, run: int = 0, evaluator: str | None = None) -> TaskPayload:
        """Return the query of a run, as a new process has it."""
        return task_of(self.runs[run].data, self._known, evaluator)

    def with_batches(self, batches: Iterable[RecordedBatch]) -> Recording:
        """Replace the micro-batches, in memory; nothing is written."""
        return self._with(batches=tuple(batches), unfinished=None)

    def with_modules(self, modules: Mapping[str, ModuleLike]) -> Recording:
        """Replace modules of the query: what is replayed and explained is then the query with the other modules.

        They get the same columns, in the types in which they came to the recorded modules, and the same parameters.
        The query is planned anew, so another evaluator may run it.

        Args:
            modules: By the name of a module of the query, the one in its place: a class, the call of one, or a module
                where a parameter is no plain data. Its own name and version may be any.

        Raises:
            RecordingError: The query has no module of a name, or returns rows where the other module returns a value.

        Example:
            >>> recording.with_modules({"trading.spread": NewSpread}).replay().results  # doctest: +SKIP
        """
        replacements: dict[str, type[Module] | Module] = {}
        for name, module in modules.items():
            check_name(name, self.module_names, self.before)
            replacements[name] = _replacement(module)
        for run in self.runs:
            for data in run.data["plan"]["modules"]:
                if data["name"] in replacements:
                    _check_kind(data, replacements[data["name"]])
        recording = self._with(_known=replace(self._known, replacements=replacements, differences=[]))
        # Cached properties that were copied are those of the recorded modules.
        for cached_name in ("plan", "evaluators"):
            vars(recording).pop(cached_name, None)
        return recording

    @property
    def module_names(self) -> tuple[str, ...]:
        """The names of the modules that the query runs."""
        names = [data["name"] for run in self.runs for data in run.data["plan"]["modules"]]
        return tuple(dict.fromkeys(names))

    def _with(self, **attributes: Any) -> Recording:
        """Return the recording with other attributes, without reading its folder again."""
        recording = object.__new__(Recording)
        vars(recording).update({**vars(self), **attributes})
        return recording

    def replay(self, evaluator: str | None = None, *, restarts: bool = True) -> Replayed:
        """Run the query again, in this process and without Spark.

        A query of other queries' results is run from the results that were passed on to it, as expressions of Spark SQL
        lie between the two; `before` has the recordings of the others, and each replays by itself.

        A micro-batch that was not committed is run last: it raises what it raised, and has no results.

        Args:
            evaluator: How windows are computed, as for `window`; None for the way in which the query ran.
            restarts: True to restart where the query did: a new process has the state and new modules alone.

        Returns:
            The output. `results` are the results that are there in the end, as dicts; `changes` all rows of the
            results, as sinks got them; `late_rows`, `rejected_rows` and `evicted_rows` the other outputs; `batches` has
            the same for each micro-batch, with its `metrics`. `check(results=..., changes=..., ...)` raises an
            `AssertionError` unless outputs have the expected rows, in any order and as far as these name columns.

        Raises:
            RecordingError: A module is not here, or the evaluator cannot run the query, or not from its first state.
            ModuleFailedError: A module raised an exception, with its key and window.

        Cost: that of the query, in one thread.
        """
        self._check_evaluator(evaluator)

        # Each start of the query is one here: only what a new process has goes on.
        run = self.batches[0].run if self.batches else 0
        replay = Replay(self.task(run, evaluator))
        runs_with_state = [recorded_run for recorded_run in self.runs if recorded_run.cells_file is not None]
        replayed_batches = []
        for batch in self.batches:
            if batch.run != run and restarts:
                replay.restart(self.task(batch.run, evaluator))
            run = batch.run
            # A start with a state of its own: rows came in between that are not in the recording.
            while runs_with_state and runs_with_state[0].first_batch <= batch.number:
                replay.load_state(runs_with_state.pop(0).cells())
            if batch.is_end:
                replayed_batches.append(replay.close(batch.number, run))
            else:
                replayed_batches.append(replay.process(batch.number, batch.parts, run))

        last = self.unfinished
        if last is not None:
            if last.run != run and restarts:
                replay.restart(self.task(last.run, evaluator))
            replay.process(last.number, last.parts, last.run)  # for its exception: it was not committed
        return Replayed(replay.task, replayed_batches)

    def _check_evaluator(self, evaluator: str | None) -> None:
        """Raise unless an evaluator can replay the recording.

        Args:
            evaluator: The name of the evaluator; None for the one that ran the query.

        Raises:
            RecordingError: The evaluator cannot run the query, or cannot go on with the state that the recording has.
        """
        if evaluator is None or evaluator in self.evaluators:
            return
        check_evaluator(self.runs[0].data, self._known, evaluator)  # it says why, if the query itself is the reason
        recorded = self.plan.choice.evaluator
        if self._begins_with_state:
            reason = f"begins with a state of the {recorded} evaluator"
        else:
            reason = f"is of the {recorded} evaluator"
        raise RecordingError(
            f"the recording {reason}, so {evaluator} cannot go on\n"
            "  leave evaluator= out; or record the query from its first micro-batch on"
        )

    def story(self, keys: Sequence[Any] | None = None) -> Story:
        """Explain the fate of each row, and which rows made and changed each result.

        The query is evaluated key by key for it, whatever evaluator ran it. So a result may differ in the last digits
        of a float.

        Args:
            keys: The keys that are explained, each a value, or a tuple of one per key column. None for all.

        Returns:
            The story as data: its `rows`, its `changes` and its `batches`.

        Raises:
            RecordingError: A module is not here.
            ModuleFailedError: A module raised an exception, with its key and window.

        Cost: that of the general evaluator, which computes each result from all rows that are in it.
        """
        recording = self
        if keys is not None:
            recording = self.with_batches(batch.of_keys(keys) for batch in self.batches)
        stories: list[Story] = []
        for earlier in self.before:
            stories.append(earlier._own_story(self.before[: len(stories)], stories))
        return replace(recording._own_story(self.before, stories), before=tuple(stories))

    def _own_story(self, before: Sequence[Recording], stories: Sequence[Story]) -> Story:
        """Return the story of this query alone, whose rows name the results of earlier stories that they are.

        Args:
            before: The recordings of the queries before.
            stories: The stories of the queries before.
        """
        from muntin_engine.recording.explaining import explain_batches

        results_by_batch = ((batch, self._results_read(before, batch)) for batch in self.batches)
        story = explain_batches(self.plan, self.task(), self.batches)
        story = with_origins(story, [recording.plan for recording in before], stories, results_by_batch)
        if self.runs[0].cells_file is None or not self.batches:
            return story

        # The recording began later than the query: results of windows that had rows before would be explained wrongly.
        note = f"rows from before micro-batch {self.batches[0].number} are not in the recording, nor results of them"
        changes = without_earlier(story.changes, self.runs[0].newest())
        return replace(story, notes=(note,), changes=changes)

    def _results_read(self, before: Sequence[Recording], batch: RecordedBatch) -> list[PassedResult | None]:
        """Return for each row of a micro-batch the result of an earlier query that it is; None if it is no result."""
        folders = [recording.path for recording in before]
        results: list[PassedResult | None] = []
        for part in batch.parts:
            nth = part.rows.column(NTH).to_pylist()
            passed = find_passed_rows(folders, self.runs[0].reads, batch, part)
            if passed is None:
                results += [None] * len(nth)
            else:
                results += passed_results(passed, before[passed.place].plan, nth)
        return results

    def shrink(self, holds: Callable[[Replayed], bool] | None = None, *, differs: str | None = None) -> Recording:
        """Return the smallest recording for which a condition still holds: the fewest keys, micro-batches and rows.

        Rows that go leave the progress as it was recorded, so no watermark moves. Of the queries before, the rows are
        left that give the results which are still read.

        Args:
            holds: The condition on a replay, such as `lambda replayed: any(row["km"] > 100 for row in
                replayed.results)`. None: the replay raises an exception, of the class that the whole recording raises.
            differs: The name of an evaluator, instead of a condition: the results differ from those of this evaluator.

        Raises:
            RecordingError: The condition does not hold of the whole recording; or both `holds` and `differs` are given.

        Cost: up to 1,000 replays, most of them of few rows.

        Example:
            >>> small = recording.shrink(lambda replayed: len(replayed.late_rows) > 0)  # doctest: +SKIP
            >>> small.save("recordings/a-late-row")  # doctest: +SKIP
        """
        if holds is not None and differs is not None:
            raise RecordingError(
                f"shrink() takes a condition or an evaluator, and got both: {safe_repr(holds)}, differs={differs!r}\n"
                "  give one of them; to have both hold, compare in the condition, which is given each replay"
            )
        condition = self._condition(holds, differs)
        batches = self.batches
        is_about_failures = holds is None and differs is None
        if is_about_failures and self.unfinished is not None:
            batches = (*batches, self.unfinished)
        if not condition(batches):
            raise RecordingError("what is to hold of a part of the recording does not hold of the whole")
        small = self.with_batches(shrink_batches(batches, condition))
        # A query before is shrunk after those that read its results.
        for place in reversed(range(len(self.before))):
            small = small._with_shrunk_before(place)
        return small

    def _condition(self, holds: Callable[[Replayed], bool] | None, differs: str | None) -> Condition:
        """Return the condition on micro-batches that the arguments of `shrink` stand for."""
        if differs is not None:
            return lambda batches: _differs(self.with_batches(batches), differs)
        if holds is not None:
            return lambda batches: holds(self.with_batches(batches).replay())
        exception = _raised_class(self)
        if exception is None:
            return lambda batches: False
        return lambda batches: _raised_class(self.with_batches(batches)) is exception

    def _with_shrunk_before(self, place: int) -> Recording:
        """Keep only the upstream rows that the remaining rows depend on.

        Args:
            place: The place of the query before.
        """
        upstream = self.before[place]
        results_read = self._results_read_of(place)

        # Counted, as equal results may be read several times.
        def emits_all(batches: Sequence[RecordedBatch]) -> bool:
            emitted: Counter[Hashable] = Counter()
            for batch in upstream.with_batches(batches).replay().batches:
                emitted.update((batch.number, freeze(row)) for row in batch.changes)
            return not results_read - emitted

        if not emits_all(upstream.batches):
            return self  # its modules emit other results here than those that were recorded: it stays whole
        before = list(self.before)
        before[place] = upstream.with_batches(shrink_batches(upstream.batches, emits_all))
        return self._with(before=tuple(before))

    def _results_read_of(self, place: int) -> Counter[Hashable]:
        """Count the results of a query before that other queries read, each with the number of its micro-batch."""
        folders = [recording.path for recording in self.before]
        results: Counter[Hashable] = Counter()
        for reader in (*self.before, self):
            if place not in reader.runs[0].reads:
                continue
            for batch in reader.batches:
                for part in batch.parts:
                    passed = find_passed_rows(folders, [place], batch, part)
                    if passed is not None:
                        rows = emitted_results(passed, part.rows.column(NTH).to_pylist())
                        results.update((batch.number, freeze(row)) for row in rows)
        return results

    def save(self, path: str | PathLike[str]) -> None:
        """Write the recording, or what is left of it after `shrink`, into a new folder.

        Raises:
            RecordingError: The folder is not empty.
        """
        folder = Path(fspath(path))
        write_recording(folder, self.runs, self.batches)
        for earlier in self.before:
            earlier_folder = folder / BEFORE / earlier.path.name
            write_recording(earlier_folder, earlier.runs, earlier.batches)
            copytree(earlier.path / PASSED_ON, earlier_folder / PASSED_ON)

    def check_evaluators(self) -> None:
        """Raise unless all evaluators that can run the query have the same results after each micro-batch.

        Raises:
            AssertionError: Two differ; it names the evaluators, the micro-batch and the rows.
        """
        first, *others = self.evaluators
        expected = list(self.replay(first).live())
        for other in others:
            results = self.replay(other).live()
            for place, (expected_rows, rows) in enumerate(zip(expected, results, strict=True)):
                differences = exact_row_differences(rows, expected_rows)
                if differences:
                    number = self.batches[place - 1].number
                    title = f"{other} differs from {first} after micro-batch {number}:"
                    raise AssertionError("\n".join([title, *differences]))


def check_name(name: str, module_names: Collection[str], before: Sequence[Recording] = ()) -> None:
    """Raise unless a module that is to be replaced is one of a query.

    Args:
        name: The name of the module.
        module_names: The names of the modules of the query.
        before: The recordings of the queries before.

    Raises:
        RecordingError: The query does not run it.
    """
    if name in module_names:
        return
    lines = [f"the query runs no module {name!r}"]
    if module_names:
        lines.append(f"  it runs {', '.join(module_names)}")
    else:
        lines.append("  it runs none, as a join or a filter of events does")
    for earlier in before:
        if name in earlier.module_names:
            lines.append(f"  a query before it runs it, which has a recording of its own: {earlier.path}")
    raise RecordingError("\n".join(lines))


def _replacement(module: ModuleLike) -> type[Module] | Module:
    """Return a module, or its class, in the place of another one.

    Raises:
        RecordingError: It is no module.
    """
    if isinstance(module, ModuleCall):
        return module.cls
    module_class = module if isinstance(module, type) else type(module)
    if not issubclass(module_class, Module):
        raise RecordingError(
            f"{safe_repr(module)} is no module\n"
            "  expected: the class of a module, or its call, such as module(f, returns=float) for a plain function f"
        )
    replacement: type[Module] | Module = with_version(module)
    return replacement


def _check_kind(data: Mapping[str, Any], module: type[Module] | Module) -> None:
    """Raise unless a module returns rows where the recorded one does, and values where it does.

    Args:
        data: The data of the recorded module.
        module: The other one.

    Raises:
        RecordingError: Only one of the two is an operator.
    """
    returned_rows = not data["output"]
    if module.is_operator is returned_rows:
        return
    expected = "rows, as an operator does" if returned_rows else "a value for each window, as an aggregate does"
    raise RecordingError(
        f"{module.name} {module.version} cannot take the place of {data['name']} {data['version']}\n"
        f"  expected: a module that returns {expected}"
    )


def _raised_class(recording: Recording) -> type[Exception] | None:
    """Return the class of the exception that a replay raises; None if it raises none."""
    try:
        recording.replay()
    except Exception as error:  # a module may raise anything
        return type(error)
    return None


def _differs(recording: Recording, evaluator: str) -> bool:
    """Return True if the final results of an evaluator differ from those of the evaluator that the query ran in."""
    return bool(exact_row_differences(recording.replay(evaluator).results, recording.replay().results))
