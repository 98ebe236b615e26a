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
from muntin_engine.recording.missing_rows import MissingRows, missing_rows
from muntin_engine.recording.passed_results import (
    PassedResult,
    emitted_results,
    find_passed_rows,
    passed_results,
    with_origins,
)
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.recording_folder import (
    RecordedRun,
    read_batches,
    read_runs,
    read_unfinished,
    upstream_folders,
    write_recording,
)
from muntin_engine.recording.replay import Replay
from muntin_engine.recording.replayed import Replayed, ReplayedBatch
from muntin_engine.recording.row_differences import exact_row_differences
from muntin_engine.recording.shrinking import Condition, shrink_batches
from muntin_engine.recording.story import Story, without_incomplete
from muntin_engine.sinks.recordings.recording_files import UPSTREAM
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import NTH, PASSED_ON, STOPPED, is_key, no_key_message
from muntin_engine.wire.task_as_data import schema_from_data
from muntin_engine.wire.task_payload import TaskPayload

ModuleLike: TypeAlias = type[Module] | Module | ModuleCall
"""A module that replaces another one: its class, its call, or the module itself."""


class Recording:
    """A recording of a query that `write(record=...)` made, which can be replayed without Spark.

    Attributes:
        path: The folder of the recording.
        runs: The starts of the query, in order.
        batches: The micro-batches that were committed, in order.
        unfinished: A last micro-batch that was not committed, as far as its rows were recorded: one in which a module
            raised an exception, say. None if there is none.
        stopped: The reason why the recording ends before the query, in words; empty if nothing stopped it.
        upstream: The recordings of the upstream queries, whose results the query reads, directly or through others.
            Each comes after those that it reads itself.

    Cost: rows are read on first use, and stay in memory.

    Example:
        >>> Recording("recordings/rides").replay().results  # doctest: +SKIP
        [{'station': 'north', 'window': {'start': 0, 'end': 10}, 'km': 3.0}]
    """

    def __init__(self, path: str | PathLike[str], modules: Sequence[Any] = ()) -> None:
        """Open a recording.

        Args:
            path: The folder of the recording.
            modules: The modules of the query that no installed plugin offers and that were not imported. Give the class
                of a module, or the module itself if a parameter is no plain data; and a plain function as in the query,
                `module(np.ptp, returns=float)`. Other functions of the query, and classes of windows, triggers and
                progress policies, are given in the same way.

        Raises:
            RecordingError: There is no recording, or one that this version cannot read.
        """
        self.path = Path(fspath(path))
        self._code = NamedCode.of(modules)
        self.upstream = tuple(Recording(folder, modules) for folder in upstream_folders(self.path))
        self.runs = tuple(read_runs(self.path))
        self.batches = tuple(read_batches(self.path))
        self.unfinished = read_unfinished(self.path, self.batches, self.runs[-1].number)
        stopped_file = self.path / STOPPED
        self.stopped: str = (
            json.loads(stopped_file.read_text(encoding="utf-8"))["reason"] if stopped_file.exists() else ""
        )

    @cached_property
    def plan(self) -> Plan:
        """The plan of the query, as it was first started.

        Raises:
            RecordingError: A module of the query is not here.
        """
        return plan_of(self.runs[0].data, self._code)

    @cached_property
    def missing_rows(self) -> MissingRows | None:
        """The rows that have led to a state which the recording begins with; None if it begins with the query.

        After micro-batches that were not recorded, a recording begins again with the state that they left. Then the
        rows before that state count as missing, though some of them are in the recording.
        """
        if not self._runs_with_state:
            return None
        last_run = self._runs_with_state[-1]
        return missing_rows(last_run, self.task(last_run.number))

    @cached_property
    def evaluators(self) -> tuple[str, ...]:
        """The names of the evaluators that can replay the recording, the cheapest first.

        If it begins with a state, only the evaluator that wrote the state can.
        """
        if self._runs_with_state:
            return (self.plan.choice.evaluator,)
        return tuple(evaluators_of(self.runs[0].data, self._code))

    @property
    def _runs_with_state(self) -> list[RecordedRun]:
        """The starts of the query that began with a state by rows that are not in the recording, in order."""
        return [run for run in self.runs if run.cells_file is not None]

    @property
    def differences(self) -> tuple[str, ...]:
        """Sentences on Muntin and on modules whose installed version is not the one that was recorded."""
        from importlib.metadata import version

        installed_version = version("muntin-engine")
        recorded_versions = {run.data["muntin"] for run in self.runs} - {installed_version}
        of_muntin = [f"muntin-engine was {name}, and is {installed_version} here" for name in sorted(recorded_versions)]
        for run in self.runs:
            plan_of(run.data, self._code)  # looks modules up, and so notes differences of versions
        return (*of_muntin, *dict.fromkeys(self._code.differences))

    def task(self, run: int = 0, evaluator: str | None = None) -> TaskPayload:
        """Return the query as a new process gets it.

        Args:
            run: The number of the start of the query.
            evaluator: The name of the evaluator; None for the one that ran the query.

        Raises:
            RecordingError: A module is not here, or the evaluator cannot run the query.
        """
        return task_of(self.runs[run].data, self._code, evaluator)

    def with_batches(self, batches: Iterable[RecordedBatch]) -> Recording:
        """Replace the micro-batches, in memory; nothing is written."""
        return self._with(batches=tuple(batches), unfinished=None)

    def with_modules(self, modules: Mapping[str, ModuleLike]) -> Recording:
        """Return the recording with other modules in its query, which is then replayed and explained.

        A new module gets the same columns, in the types in which they came to the recorded module, and the same
        parameters. The query is planned anew, so another evaluator may run it.

        Args:
            modules: The new module by the name of the one that it replaces: a class, the call of one, or the module
                itself if a parameter is no plain data. It may have another name and version.

        Raises:
            RecordingError: The query has no module of a name, or returns rows where the other module returns a value.

        Example:
            >>> recording.with_modules({"trading.spread": NewSpread}).replay().results  # doctest: +SKIP
        """
        replacements: dict[str, type[Module] | Module] = {}
        for name, module in modules.items():
            check_name(name, self.module_names, self.upstream)
            replacements[name] = _replacement(module)
        for run in self.runs:
            for data in run.data["plan"]["modules"]:
                if data["name"] in replacements:
                    _check_kind(data, replacements[data["name"]])
        recording = self._with(_code=replace(self._code, replacements=replacements, differences=[]))
        # The copy has the cached properties of the recorded modules: let them be computed anew.
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

        If the query reads results of other queries, it runs over those that were recorded: expressions of Spark SQL may
        lie between the queries. The others are in `upstream`, and each can be replayed by itself.

        A micro-batch that was not committed is run last, for the exception that it raises; it has no results.

        Args:
            evaluator: How windows are computed, as for `window`; None for the way in which the query ran.
            restarts: True to restart where the query was restarted: only the state is kept then, and modules are new.

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

        # Where the query was started again, so is the replay: it goes on with only what a new process has.
        run = self.batches[0].run if self.batches else 0
        replay = Replay(self.task(run, evaluator))
        runs_with_state = self._runs_with_state  # a new list, from which a run is taken when its state is loaded
        replayed_batches: list[ReplayedBatch] = []
        for batch in self.batches:
            if batch.run != run and restarts:
                replay.restart(self.task(batch.run, evaluator))
            run = batch.run
            # If a start was recorded with a state, rows that are not in the recording led to this state: go on from it.
            while runs_with_state and runs_with_state[0].first_batch <= batch.number:
                replay.load_state(runs_with_state.pop(0).cells())
            if batch.is_end:
                replayed_batches.append(replay.close(batch.number, run))
            else:
                replayed_batches.append(replay.process(batch.number, batch.parts, run))

        unfinished = self.unfinished
        if unfinished is not None:
            if unfinished.run != run and restarts:
                replay.restart(self.task(unfinished.run, evaluator))
            # The micro-batch is run for the exception that it raises: it has no results.
            replay.process(unfinished.number, unfinished.parts, unfinished.run)
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
        check_evaluator(self.runs[0].data, self._code, evaluator)  # raises if it could never run this query
        recorded_evaluator = self.plan.choice.evaluator
        if self._runs_with_state:
            reason = f"begins with a state of the {recorded_evaluator} evaluator"
        else:
            reason = f"is of the {recorded_evaluator} evaluator"
        raise RecordingError(
            f"the recording {reason}, so {evaluator} cannot go on\n"
            "  leave evaluator= out; or record the query from its first micro-batch on"
        )

    def story(self, keys: Sequence[Any] | None = None) -> Story:
        """Explain the fate of each row, and which rows made and changed each result.

        The query is evaluated key by key, whatever evaluator ran it. So a result may differ in the last digits of a
        float.

        Args:
            keys: The keys to explain, each a value, or a tuple of one per key column; None for all keys.

        Returns:
            The story as data: its `rows`, its `changes` and its `batches`.

        Raises:
            RecordingError: A module is not here, or a key does not have a value for each key column, of its type.
            ModuleFailedError: A module raised an exception, with its key and window.

        Cost: that of the general evaluator, which computes each result from all rows that are in it.
        """
        recording = self
        if keys is not None:
            for key in keys:
                self._check_key(key)
            if self.plan.keys:  # without key columns all rows are of the one key
                recording = self.with_batches(batch.of_keys(keys) for batch in self.batches)
        # An upstream query reads only results of queries that come before it in the list.
        stories: list[Story] = []
        for place, recording_of_upstream in enumerate(self.upstream):
            stories.append(recording_of_upstream._story_after(self.upstream[:place], stories))
        return replace(recording._story_after(self.upstream, stories), upstream=tuple(stories))

    def _check_key(self, key: Any) -> None:
        """Raise unless a key has a value for each key column.

        Args:
            key: The key: a tuple of its values, or the only value. Without key columns it may also be None, as the
                differences of a backtest have it.

        Raises:
            RecordingError: The key has more values or fewer, or one that is not of the type of its column.
        """
        columns = self.plan.keys
        if key is None and not columns:
            return
        types = schema_from_data(self.runs[0].data["keys"]).types
        if not is_key(key if isinstance(key, tuple) else (key,), types):
            raise RecordingError(no_key_message(key, columns))

    def _story_after(self, upstream: Sequence[Recording], stories: Sequence[Story]) -> Story:
        """Return the story of this query alone; a row that is a result of an upstream query names it.

        Args:
            upstream: The recordings of the upstream queries.
            stories: The stories of the upstream queries.
        """
        from muntin_engine.recording.explaining import explain_batches

        results_by_batch = ((batch, self._results_read(upstream, batch)) for batch in self.batches)
        story = explain_batches(self.plan, self.task(), self.batches)
        story = with_origins(story, [recording.plan for recording in upstream], stories, results_by_batch)
        missing = self.missing_rows
        if missing is None or not self.batches:
            return story

        # A window that had rows before would be explained wrongly without them.
        note = f"rows from before micro-batch {missing.first_batch} are not in the recording, nor results of them"
        return replace(story, notes=(note,), changes=without_incomplete(story.changes, missing))

    def _results_read(self, upstream: Sequence[Recording], batch: RecordedBatch) -> list[PassedResult | None]:
        """Return for each row of a micro-batch the result of an upstream query that it is; None if it is none.

        Args:
            upstream: The recordings of the upstream queries.
            batch: The micro-batch.
        """
        folders = [recording.path for recording in upstream]
        results: list[PassedResult | None] = []
        for part in batch.parts:
            nth = part.rows.column(NTH).to_pylist()  # the places of the rows among all that the task read
            passed = find_passed_rows(folders, self.runs[0].reads, batch, part)
            if passed is None:
                results += [None] * len(nth)
            else:
                results += passed_results(passed, upstream[passed.query_place].plan, nth)
        return results

    def shrink(self, holds: Callable[[Replayed], bool] | None = None, *, differs: str | None = None) -> Recording:
        """Return the smallest recording for which a condition still holds: the fewest keys, micro-batches and rows.

        Without some of its rows a recording still has the progress of all of them, so no watermark moves. The
        recordings in `upstream` are shrunk, too: to the rows that lead to the results which are still read.

        Args:
            holds: The condition on a replay, such as `lambda replayed: any(row["km"] > 100 for row in
                replayed.results)`. If it is None, the condition is that the replay raises an exception of the same
                class as the replay of the whole recording.
            differs: The name of an evaluator, in the place of a condition. The condition is then that its results
                differ from those of the evaluator that ran the query.

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
        small_recording = self.with_batches(shrink_batches(batches, condition))
        # An upstream query is shrunk after all queries that read its results.
        for place in reversed(range(len(self.upstream))):
            small_recording = small_recording._with_shrunk_upstream(place)
        return small_recording

    def _condition(self, holds: Callable[[Replayed], bool] | None, differs: str | None) -> Condition:
        """Return the condition on micro-batches that the arguments of `shrink` describe."""
        if differs is not None:
            return lambda batches: _differs(self.with_batches(batches), differs)
        if holds is not None:
            return lambda batches: holds(self.with_batches(batches).replay())
        exception = _raised_class(self)
        if exception is None:
            return lambda batches: False  # so `shrink` refuses: already the whole recording raises nothing
        return lambda batches: _raised_class(self.with_batches(batches)) is exception

    def _with_shrunk_upstream(self, place: int) -> Recording:
        """Keep only the rows of an upstream query on which the remaining rows depend.

        Args:
            place: The place of the query in `upstream`.
        """
        upstream_recording = self.upstream[place]
        results_read = self._count_results_read(place)

        # Equal results may be read several times, so they are counted.
        def emits_all(batches: Sequence[RecordedBatch]) -> bool:
            """Say whether the upstream query still emits all results that are read."""
            emitted_results: Counter[Hashable] = Counter()
            for batch in upstream_recording.with_batches(batches).replay().batches:
                emitted_results.update((batch.number, freeze(row)) for row in batch.changes)
            missing_results = results_read - emitted_results  # a difference of counters has only positive counts
            return not missing_results

        if not emits_all(upstream_recording.batches):
            return self  # the modules that are here emit other results than the recorded ones: keep all rows
        upstream = list(self.upstream)
        upstream[place] = upstream_recording.with_batches(shrink_batches(upstream_recording.batches, emits_all))
        return self._with(upstream=tuple(upstream))

    def _count_results_read(self, place: int) -> Counter[Hashable]:
        """Count the results of an upstream query that other queries read, each with the number of its micro-batch.

        Args:
            place: The place of the upstream query in `upstream`.
        """
        folders = [recording.path for recording in self.upstream]
        results: Counter[Hashable] = Counter()
        for reader in (*self.upstream, self):
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
        """Write the recording into a new folder; after `shrink`, only the rows that are left.

        Raises:
            RecordingError: The folder is not empty.
        """
        folder = Path(fspath(path))
        write_recording(folder, self.runs, self.batches)
        for recording in self.upstream:
            upstream_folder = folder / UPSTREAM / recording.path.name
            write_recording(upstream_folder, recording.runs, recording.batches)
            # From these files a reader finds out which results of the upstream query another one read. There are none
            # if it passed on nothing, not even punctuation.
            if (recording.path / PASSED_ON).exists():
                copytree(recording.path / PASSED_ON, upstream_folder / PASSED_ON)

    def check_evaluators(self) -> None:
        """Raise unless all evaluators that can run the query have the same results after each micro-batch.

        Raises:
            AssertionError: The results of two evaluators differ. The message names these, the micro-batch and the rows.
        """
        cheapest, *other_evaluators = self.evaluators
        expected = list(self.replay(cheapest).live())
        for evaluator in other_evaluators:
            results = self.replay(evaluator).live()
            # There are results before the first micro-batch and after each one.
            for batches_before, (expected_rows, rows) in enumerate(zip(expected, results, strict=True)):
                differences = exact_row_differences(rows, expected_rows)
                if differences:
                    number = self.batches[batches_before - 1].number
                    title = f"{evaluator} differs from {cheapest} after micro-batch {number}:"
                    raise AssertionError("\n".join([title, *differences]))


def check_name(name: str, module_names: Collection[str], upstream: Sequence[Recording] = ()) -> None:
    """Raise unless a query runs the module that is to be replaced.

    Args:
        name: The name of the module.
        module_names: The names of the modules of the query.
        upstream: The recordings of the upstream queries, which may run the module.

    Raises:
        RecordingError: The query does not run the module.
    """
    if name in module_names:
        return
    lines = [f"the query runs no module {name!r}"]
    if module_names:
        lines.append(f"  it runs {', '.join(module_names)}")
    else:
        lines.append("  it runs none, as a join or a filter of events does")
    for recording in upstream:
        if name in recording.module_names:
            lines.append(f"  a query before it runs it, which has a recording of its own: {recording.path}")
    raise RecordingError("\n".join(lines))


def _replacement(module: ModuleLike) -> type[Module] | Module:
    """Return the class of a new module, or the module itself, in the form in which plans are given modules.

    Raises:
        RecordingError: The object is no module.
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
        data: The recorded module as data.
        module: The module that replaces it.

    Raises:
        RecordingError: Only one of the two is an operator.
    """
    returned_rows = not data["output"]  # an aggregate has a column of its own, and an operator has not
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
