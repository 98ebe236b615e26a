"""The call that runs two versions of a module over the same rows, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.api.query import Query
from muntin_engine.errors import RecordingError
from muntin_engine.recording.backtest.comparison import (
    ColumnDifferences,
    ComparedResults,
    all_differences,
    compare,
    rows_where,
)
from muntin_engine.recording.backtest.version_run import VersionRun
from muntin_engine.recording.recording import ModuleLike, Recording, check_name
from muntin_engine.sinks.recordings.recorder import Recorder
from muntin_engine.wire.task_payload import TaskPayload

_OLD: Final = "old"
_NEW: Final = "new"

_COLUMNS_OF_CHANGES: Final = ("change", "event_id", "new_end")
"""The columns of results that describe a change of a result; they do not say which result it is."""

_NO_LIMIT: Final = "1000 TB"
"""The size up to which a table is recorded: so large that no recording reaches it."""


class VersionOutcome(NamedTuple):
    """The results and the cost of one version.

    Attributes:
        modules: The name and the version of each module that was replaced; of the new version, of each replacement.
        evaluator: The name of the evaluator that ran the query.
        results: The number of results in the end, net of all changes.
        processor_seconds: The processor time of the query.
        state_bytes: The size of the largest state that a micro-batch has left.
    """

    modules: tuple[str, ...]
    evaluator: str
    results: int
    processor_seconds: float
    state_bytes: int


@dataclass(frozen=True)
class Backtest:
    """Two versions of modules, run over the same rows and compared.

    Attributes:
        old: The results and the cost of the old version.
        new: The results and the cost of the new version.
        compared: The columns that were compared, and by which columns results were matched, in words.
        rows: The number of rows that both have read.
        differing: The number of results that differ.
        columns: The differences of each column of the modules, with `rows`, `counts` and `distribution`.
        failing: The differences that meet the condition `fail_if`, as in `differences`; empty without one.
        notes: What a reader of the differences must know, in words: types that differ, rows that are not compared.
    """

    old: VersionOutcome
    new: VersionOutcome
    compared: str
    rows: int
    differing: int
    columns: tuple[ColumnDifferences, ...]
    failing: pa.Table
    notes: tuple[str, ...]

    @cached_property
    def differences(self) -> pa.Table:
        """All differences, the largest first; `column` has the name of the column of each."""
        return all_differences(self.columns)

    def __str__(self) -> str:
        """Return the comparison in a few lines."""
        old_modules = ", ".join(self.old.modules)
        new_modules = ", ".join(self.new.modules)
        verb = "differs" if self.differing == 1 else "differ"
        lines = [
            f"{old_modules} (old) and {new_modules} (new) over {self.rows} rows",
            f"{self.old.results} results (old) and {self.new.results} (new), of which {self.differing} {verb}",
            f"compared: {self.compared}",
        ]
        for column in self.columns:
            counts = ", ".join(f"{count} {kind}" for kind, count in column.counts.items())
            lines.append(f"{column.name}: {counts}")
        return "\n".join([*lines, *self.notes])


def backtest(
    source: Recording | Query[Any],
    modules: Mapping[str, ModuleLike],
    *,
    fail_if: str = "",
) -> Backtest:
    """Run a recorded query, or a query over tables in this process, with other versions of modules, and compare.

    The rows are read once, micro-batch by micro-batch, and each micro-batch is evaluated for both versions: over the
    same windows, under the same progress, with the restarts that the recording has. The planner chooses the evaluator
    of each version. Both get their columns in the types in which they came to the old version.

    The results that are there in the end are compared, net of revisions and retractions, before `select` and `where` of
    the query. They are matched by key and window, and only the columns of the replaced modules are compared.

    Args:
        source: The recording; or a query over tables in this process, which is recorded for this.
        modules: The new version of a module by the name of the old one: a class, the call of one, or the module itself
            if a parameter is no plain data. It may have another name.
        fail_if: A condition in DuckDB's SQL over a difference: over `old`, `new`, `key`, `window` and the other columns
            of `differences` but `column`. `failing` has the differences that meet it.

    Returns:
        The comparison. `differing` is the number of results that differ, and `differences` a table of them. `columns`
        has a summary of each column, `old` and `new` have the cost of each version.

    Raises:
        RecordingError: The query has no module of a name, or the new one cannot run in it.
        QueryError: The query is one on Spark; or the condition cannot be evaluated.
        ModuleFailedError: A module raised an exception; the message names its version.

    Cost: that of the query in one thread, once for each version; the results of both on disk, and the rows of one
    micro-batch and the differences in memory.

    Example:
        >>> result = backtest(Recording("recordings/rides"), {"trading.spread": NewSpread})  # doctest: +SKIP
        >>> result.differing, result.differences.slice(0, 10).to_pylist()  # doctest: +SKIP
    """
    if not modules:
        raise RecordingError(
            "no module is replaced\n  expected: its new version by its name: {'trading.spread': Spread}"
        )
    with TemporaryDirectory(prefix="muntin-backtest-") as temporary:
        folder = Path(temporary)
        if isinstance(source, Recording):
            recording = source
            # `with_modules` checks names too, but there an error would be called one of the new version.
            for name in modules:
                check_name(name, recording.module_names, recording.upstream)
        else:
            recording = record_old_version(source, folder / "recording", modules)
        with _errors_of_new_version():
            new_recording = recording.with_modules(modules)
            new_run = VersionRun(_NEW, new_recording, folder / "new.arrow")
        old_run = VersionRun(_OLD, recording, folder / "old.arrow")
        with closing(old_run), closing(new_run):
            columns = _ComparedColumns.of(recording, modules, old_run.task, new_run.task)
            if fail_if:
                _check_condition(fail_if, columns, old_run.task.results, new_run.task.results, folder)
            rows = _run_both(recording, old_run, new_run)
            old_results = old_run.results(recording.missing_rows)
            results = columns.of_results(old_results, new_run.results(recording.missing_rows))
            comparison = compare(results, folder)

        return Backtest(
            old=_outcome(columns, old_run, len(results.old)),
            new=_outcome(columns, new_run, len(results.new)),
            compared=columns.in_words,
            rows=rows,
            differing=comparison.differing,
            columns=comparison.columns,
            failing=all_differences([_failing(column, fail_if) for column in comparison.columns]),
            notes=tuple(
                _notes(
                    recording,
                    columns,
                    old_run.task,
                    new_run.task,
                    comparison.columns,
                )
            ),
        )


def _run_both(recording: Recording, old_run: VersionRun, new_run: VersionRun) -> int:
    """Evaluate each micro-batch for both versions, and return the number of all rows."""
    rows = 0
    for recorded_batch in recording.batches:
        # A micro-batch keeps its rows in memory once they are read. This copy goes with its rows when the next one is
        # made, where the recording would keep the rows of all micro-batches.
        batch = replace(recorded_batch)
        rows += batch.rows  # reads the rows, so that the time for it is counted for neither version
        old_run.process(batch)
        new_run.process(batch)
    return rows


def record_old_version(query: Query[Any], folder: Path, names: Iterable[str]) -> Recording:
    """Record a query over tables, whatever their size.

    Args:
        query: The query.
        folder: A folder for the recording.
        names: The names of the modules that are to be replaced.

    Raises:
        RecordingError: The query has no module of a name.
        QueryError: The query is one on Spark.
        ModuleFailedError: A module raised an exception.
    """
    for name in names:
        check_name(name, [module.module.name for module in query.plan.modules])
    try:
        query.record(Recorder(folder, most_bytes=_NO_LIMIT))
    except ModuleFailedError as error:
        error.name_place(f"the {_OLD} version")
        raise
    modules: list[Any] = [module.module for module in query.plan.modules]
    if query.plan.join is not None and query.plan.join.on is not None:
        modules.append(query.plan.join.on.function)
    return Recording(folder, modules)


@dataclass(frozen=True)
class _ComparedColumns:
    """The columns of the results of two versions, by what they are for.

    Attributes:
        modules: The places of the replaced modules among the modules of the query.
        keys: The names of the key columns.
        identifying: The names of the other columns that identify a result: the window, say.
        values: The names of the columns that are compared.
        uncompared: The names of the columns of an operator that only one version returns.
    """

    modules: tuple[int, ...]
    keys: tuple[str, ...]
    identifying: tuple[str, ...]
    values: tuple[str, ...]
    uncompared: tuple[str, ...]

    @classmethod
    def of(cls, recording: Recording, names: Iterable[str], old: TaskPayload, new: TaskPayload) -> _ComparedColumns:
        """Find out which columns of the results of two versions can be compared.

        Args:
            recording: The recording.
            names: The names of the modules that were replaced.
            old: The query with the old modules.
            new: The query with the new modules.

        Raises:
            RecordingError: The query does not run the modules any more, or the versions have no column in common.
        """
        # The columns of replaced aggregates are compared; an operator has no such column.
        replaced: list[int] = []
        outputs: list[str] = []
        for place, data in enumerate(recording.runs[-1].data["plan"]["modules"]):
            if data["name"] in names:
                replaced.append(place)
                outputs.append(data["output"])
        if not replaced:
            raise RecordingError(f"the query ran {', '.join(names)} before its last start, and does not any more")

        # Of an operator, the fields of its rows are compared that both versions return.
        uncompared: list[str] = []
        if old.plan.is_operator:
            old_outputs = [part.name for part in old.plan.outputs]
            new_outputs = [part.name for part in new.plan.outputs]
            outputs = [name for name in old_outputs if name in new_outputs]
            uncompared = sorted({*old_outputs, *new_outputs} - {*outputs})
            if not outputs:
                raise RecordingError(
                    f"the old version returns {', '.join(old_outputs)}, and the new one {', '.join(new_outputs)}, so "
                    "there is nothing to compare\n  expected: rows with a field of the same name"
                )

        identifying: list[str] = []
        for name in old.plan.engine_columns:
            if name in new.plan.engine_columns and name not in _COLUMNS_OF_CHANGES:
                identifying.append(name)
        return cls(
            modules=tuple(replaced),
            keys=tuple(key.name for key in old.plan.keys),
            identifying=tuple(identifying),
            values=tuple(outputs),
            uncompared=tuple(uncompared),
        )

    def of_results(self, old: pa.Table, new: pa.Table) -> ComparedResults:
        """Combine the results of both versions with the names of the columns by which they are compared."""
        return ComparedResults(old, new, self.keys, self.identifying, self.values)

    @property
    def in_words(self) -> str:
        """The columns that are compared, and those by which results are matched, in words."""
        return f"{', '.join(self.values)} by {', '.join((*self.keys, *self.identifying))}, as results are in the end"

    def module_labels(self, task: TaskPayload) -> tuple[str, ...]:
        """Return the names and versions of the replaced modules, or of their replacements.

        Args:
            task: The query of one of the two versions.
        """
        modules = [task.modules[place] for place in self.modules]
        return tuple(dict.fromkeys(f"{module.name} {module.version}" for module in modules))


@contextmanager
def _errors_of_new_version() -> Iterator[None]:
    """Say of an error in the block that it is about the new version.

    Raises:
        RecordingError: The block raised an error.
    """
    try:
        yield
    except RecordingError as error:
        raise RecordingError(f"the {_NEW} version cannot run in the recorded query: {error}") from error


def _check_condition(condition: str, columns: _ComparedColumns, old: pa.Schema, new: pa.Schema, folder: Path) -> None:
    """Refuse a condition that cannot be evaluated, before anything runs.

    Args:
        condition: The condition in DuckDB's SQL over a difference.
        columns: The columns that are compared.
        old: The schema of the results of the old version.
        new: The schema of the results of the new version.
        folder: A folder for temporary files.

    Raises:
        QueryError: The condition cannot be evaluated.
    """
    # A comparison of no results has the columns of all differences, without rows.
    empty_comparison = compare(columns.of_results(old.empty_table(), new.empty_table()), folder)
    for column in empty_comparison.columns:
        rows_where(column, condition)


def _failing(column: ColumnDifferences, condition: str) -> ColumnDifferences:
    """Return the differences of a column that meet a condition; none if there is no condition."""
    rows = rows_where(column, condition) if condition else column.rows.slice(0, 0)
    return replace(column, rows=rows)


def _outcome(columns: _ComparedColumns, run: VersionRun, results: int) -> VersionOutcome:
    """Return the cost of a version after its run, with the number of its results."""
    return VersionOutcome(
        modules=columns.module_labels(run.task),
        evaluator=run.task.plan.choice.evaluator,
        results=results,
        processor_seconds=run.processor_ns / 1e9,
        state_bytes=run.state_bytes,
    )


def _notes(
    recording: Recording,
    columns: _ComparedColumns,
    old: TaskPayload,
    new: TaskPayload,
    differences: Iterable[ColumnDifferences],
) -> Iterator[str]:
    """Yield the caveats that a reader of the differences must know, each as a sentence.

    Args:
        recording: The recording.
        columns: The columns that are compared.
        old: The query with the old modules.
        new: The query with the new modules.
        differences: The differences of each compared column.
    """
    if not any(batch.files or batch.selected for batch in recording.batches):
        yield "the recording has no rows"
    labels = columns.module_labels(old)
    if labels == columns.module_labels(new):
        yield f"both versions are called {', '.join(labels)}"
    for difference in recording.differences:
        yield f"not all versions are those that were recorded: {difference}"
    for name in ("clip", "timestamps"):
        old_policy = str(getattr(old.plan, name))
        new_policy = str(getattr(new.plan, name))
        if old_policy != new_policy:
            yield f"the old version runs with {name}={old_policy!r}, and the new one with {name}={new_policy!r}"
    for column in differences:
        if column.type_change:
            yield column.type_change
    for name in columns.uncompared:
        yield f"only one version returns {name}, which is not compared"
    if recording.missing_rows is not None:
        yield recording.missing_rows.in_words(old.plan.words.axis)
    windows_open = recording.batches[-1].metrics.get("windows_open", 0) if recording.batches else 0
    if windows_open and not recording.batches[-1].is_end:
        yield f"{windows_open} windows are open where the recording ends, and have no final results"
    if recording.unfinished is not None:
        yield "the micro-batch that was not committed at the end of the recording is not compared"
    if recording.stopped:
        yield f"the recording ends before the query: {recording.stopped}"
