"""A recording of a query: what came, micro-batch by micro-batch, as plain data in a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from shutil import copytree
from typing import Any

from muntin.errors.safe_text import safe_repr
from muntin_engine.errors import RecordingError
from muntin_engine.plan import Plan
from muntin_engine.plan.plan_as_data import NamedCode
from muntin_engine.recording.comparing import unlike_exactly
from muntin_engine.recording.described_query import evaluators_of, plan_of
from muntin_engine.recording.layout import (
    folders_before,
    read_batches,
    read_runs,
    read_unfinished,
    write_recording,
)
from muntin_engine.recording.passing import passed_on, results_of, rows_passed_on, with_origins
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.replay import Replay
from muntin_engine.recording.replayed import Replayed
from muntin_engine.recording.shrinking import Shows, smallest
from muntin_engine.recording.story import Story, without_earlier
from muntin_engine.sinks.recordings.files import BEFORE
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import NTH, PASSED_ON, STOPPED
from muntin_engine.wire.task_as_data import task_from_data
from muntin_engine.wire.task_payload import TaskPayload


class Recording:
    """A recording of a query that `write(record=...)` made, which can be replayed without Spark.

    Attributes:
        path: Its folder.
        runs: The starts of the query, in order.
        batches: Its micro-batches, in order; each that was committed is there once.
        unfinished: The micro-batch after these that was not committed, as far as its rows came: one in which a module
            raised an exception, say. None if there is none.
        stopped: Why it goes no further, in words; empty if nothing stopped it.
        before: The recordings of the queries whose results the query reads, each after those that it reads itself.

    Cost: rows are read when they are wanted, and kept from then on.

    Example:
        >>> Recording("recordings/rides").replay().results  # doctest: +SKIP
        [{'station': 'north', 'window': {'start': 0, 'end': 10}, 'km': 3.0}]
    """

    def __init__(self, path: str | PathLike[str], modules: Sequence[Any] = ()) -> None:
        """Open a recording.

        Args:
            path: Its folder.
            modules: Modules of the query that no installed plugin offers and that were not imported: their classes, or
                modules themselves where a parameter is no plain data; functions, and classes of windows, triggers and
                progress policies, too.

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
        if any(run.cells_file is not None for run in self.runs):
            return (self.plan.choice.evaluator,)
        return tuple(evaluators_of(self.runs[0].data, self._known))

    @property
    def differences(self) -> tuple[str, ...]:
        """What is not of the version here that was recorded, in words: Muntin, and modules."""
        from importlib.metadata import version

        here = version("muntin-engine")
        of_muntin = {run.data["muntin"] for run in self.runs} - {here}
        for run in self.runs:
            plan_of(run.data, self._known)  # which finds the modules
        told = [f"muntin-engine was {there}, and is {here} here" for there in sorted(of_muntin)]
        return (*told, *dict.fromkeys(self._known.differences))

    def task(self, run: int = 0, evaluator: str | None = None) -> TaskPayload:
        """Return the query of a run, as a new process has it."""
        data = self.runs[run].data
        return task_from_data(data, plan_of(data, self._known, evaluator))

    def with_batches(self, batches: Iterable[RecordedBatch]) -> Recording:
        """Return the same query with other micro-batches; nothing is written."""
        found = object.__new__(Recording)
        vars(found).update({**vars(self), "batches": tuple(batches), "unfinished": None})
        return found

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
        if evaluator is not None and evaluator not in self.evaluators:
            plan_of(self.runs[0].data, self._known, evaluator)  # which says why it cannot run the query
            only = self.plan.choice.evaluator
            has_state = any(run.cells_file is not None for run in self.runs)
            why = f"begins with a state of the {only} evaluator" if has_state else f"is of the {only} evaluator"
            raise RecordingError(
                f"the recording {why}, so {evaluator} cannot go on\n"
                "  leave evaluator= out; or record the query from its first micro-batch on"
            )
        run = self.batches[0].run if self.batches else 0
        replay, taken = Replay(self.task(run, evaluator)), []
        states = [one for one in self.runs if one.cells_file is not None]
        for batch in self.batches:
            if batch.run != run and restarts:
                replay.restart(self.task(batch.run, evaluator))
            run = batch.run
            while states and states[0].first_batch <= batch.number:
                replay.start_from(states.pop(0).cells())
            took = replay.close(batch.number, run) if batch.is_end else replay.take(batch.number, batch.parts, run)
            taken.append(took)
        if (last := self.unfinished) is not None:
            if last.run != run and restarts:
                replay.restart(self.task(last.run, evaluator))
            replay.take(last.number, last.parts, last.run)  # what it raises counts, and no result of it
        return Replayed(replay.task, taken)

    def story(self, keys: Sequence[Any] | None = None) -> Story:
        """Return what became of each row, and what made and changed each result.

        It is told by evaluating the query key by key, whatever evaluator ran it. So a result may differ in the last
        digits of a float.

        Args:
            keys: The keys that it is told of, each a value, or a tuple of one per key column. None for all.

        Returns:
            The story as data: its `rows`, its `changes` and its `batches`.

        Raises:
            RecordingError: A module is not here.
            ModuleFailedError: A module raised an exception, with its key and window.

        Cost: that of the general evaluator, which computes each result from all rows that are in it.
        """
        kept = self if keys is None else self.with_batches(batch.of_keys(keys) for batch in self.batches)
        told: list[Story] = []
        for one in self.before:
            told.append(one._told(self.before[: len(told)], told))
        return replace(kept._told(self.before, told), before=tuple(told))

    def _told(self, before: Sequence[Recording], stories: Sequence[Story]) -> Story:
        """Return the story of its own query, whose rows say which results they are of the stories before."""
        from muntin_engine.recording.telling import tell

        story = with_origins(
            tell(self.plan, self.task(), self.batches),
            [one.plan for one in before],
            stories,
            ((batch, self._results_read(before, batch)) for batch in self.batches),
        )
        if self.runs[0].cells_file is None or not self.batches:
            return story
        since = self.runs[0].newest()
        note = f"rows from before micro-batch {self.batches[0].number} are not in the recording, nor results of them"
        return replace(story, notes=(note,), changes=without_earlier(story.changes, since))

    def _results_read(self, before: Sequence[Recording], batch: RecordedBatch) -> list[Any]:
        """Return the result that each row of a micro-batch is; None of one that is none."""
        found: list[Any] = []
        for part in batch.parts:
            passed = passed_on([one.path for one in before], self.runs[0].reads, batch, part)
            nth = part.rows.column(NTH).to_pylist()
            found += [None] * len(nth) if passed is None else results_of(passed, before[passed.place].plan, nth)
        return found

    def shrink(self, holds: Callable[[Replayed], bool] | None = None, *, differs: str | None = None) -> Recording:
        """Return the smallest part of the recording on which something still holds: keys, micro-batches and rows.

        Rows that go leave the progress as it was recorded, so no watermark moves. Of the queries before, the rows are
        left that give the results which are still read.

        Args:
            holds: What holds of a replay, such as `lambda replayed: any(row["km"] > 100 for row in replayed.results)`.
                None: the replay raises an exception, of the class that the whole recording raises.
            differs: Instead of a condition: the results differ from those of this evaluator.

        Raises:
            RecordingError: It does not hold of the whole recording; or both `holds` and `differs` are given.

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
        shows, last = self._shows(holds, differs), self.unfinished
        raises = holds is None and differs is None
        whole = (*self.batches, last) if raises and last is not None else self.batches
        if not shows(whole):
            raise RecordingError("what is to hold of a part of the recording does not hold of the whole")
        small = self.with_batches(smallest(whole, shows))
        for place in reversed(range(len(self.before))):
            small = small._with_least_before(place)
        return small

    def _with_least_before(self, place: int) -> Recording:
        """Return it with the rows of a query before that give the results which are still read."""
        one, wanted = self.before[place], Counter[Any]()
        for reading in (*self.before, self):
            for batch in reading.batches if place in reading.runs[0].reads else ():
                for part in batch.parts:
                    passed = passed_on([each.path for each in self.before], [place], batch, part)
                    rows = [] if passed is None else rows_passed_on(passed, part.rows.column(NTH).to_pylist())
                    wanted.update((batch.number, freeze(row)) for row in rows)

        def gives(some: Sequence[RecordedBatch]) -> bool:
            replayed = one.with_batches(some).replay()
            return not wanted - Counter((each.number, freeze(row)) for each in replayed.batches for row in each.changes)

        if not gives(one.batches):  # its modules give others here: what it was given stays whole
            return self
        found = self.with_batches(self.batches)
        vars(found)["before"] = tuple(
            each if each is not one else one.with_batches(smallest(one.batches, gives)) for each in self.before
        )
        return found

    def _shows(self, holds: Callable[[Replayed], bool] | None, differs: str | None) -> Shows:
        if differs is not None:
            return lambda some: _differs(self.with_batches(some), differs)
        if holds is not None:
            return lambda some: holds(self.with_batches(some).replay())
        wanted = _raised(self)
        return lambda some: wanted is not None and _raised(self.with_batches(some)) is wanted

    def save(self, path: str | PathLike[str]) -> None:
        """Write it into a new folder: what is left of it, where it was shrunk.

        Raises:
            RecordingError: The folder has something in it.
        """
        folder = Path(fspath(path))
        write_recording(folder, self.runs, self.batches)
        for one in self.before:
            write_recording(folder / BEFORE / one.path.name, one.runs, one.batches)
            copytree(one.path / PASSED_ON, folder / BEFORE / one.path.name / PASSED_ON)

    def check_evaluators(self) -> None:
        """Raise unless all evaluators that can run the query have the same results after each micro-batch.

        Raises:
            AssertionError: Two differ; it names the evaluators, the micro-batch and the rows.
        """
        one, *others = self.evaluators
        expected = list(self.replay(one).live())
        for other in others:
            for place, (wanted, found) in enumerate(zip(expected, self.replay(other).live(), strict=True)):
                if told := unlike_exactly(found, wanted):
                    number = self.batches[place - 1].number
                    raise AssertionError("\n".join([f"{other} differs from {one} after micro-batch {number}:", *told]))


def _raised(recording: Recording) -> type[Exception] | None:
    """Return the class of the exception that a replay raises; None if it raises none."""
    try:
        recording.replay()
    except Exception as error:  # a module may raise anything
        return type(error)
    return None


def _differs(recording: Recording, evaluator: str) -> bool:
    """Return True if an evaluator has other results in the end than the one that the query ran in."""
    return bool(unlike_exactly(recording.replay(evaluator).results, recording.replay().results))
