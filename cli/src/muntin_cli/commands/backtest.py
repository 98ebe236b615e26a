"""`muntin backtest`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_json
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from muntin_cli.recordings import ModuleOptions

EXAMPLE: Final = """\b
Examples:
  muntin backtest recordings/trades --module trading.spread=./new_spread
  muntin backtest hours.sql --input rides --module rides.pace=pace.py --fail-if "abs(new - old) > 0.01"

It prints what both versions cost, how many results differ, and the largest differences.
"""
"""The end of the help."""


@reports_errors
def backtest(  # noqa: PLR0913, PLR0917  # each is an option
    source: Annotated[
        Path, typer.Argument(help="The folder of a recording; or a file with a query in SQL, which needs --input.")
    ],
    module: Annotated[
        list[Path],
        typer.Option(
            "--module",
            metavar="NAME=PATH|FILE",
            help="A module's name and the path of its new version: a file, or the folder of a package. "
            "Without a name: a file that defines modules of the query, as they are.",
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="[NAME=]PATH", help="A table of the query in SQL, as for muntin query."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="A folder that keeps the rows of the query in SQL, for replay and look.")
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option(help="A key whose rows are run, with commas between its columns.")
    ] = None,
    fail_if: Annotated[
        str,
        typer.Option(
            metavar="CONDITION",
            help="End with code 1 if a difference meets this: SQL over old, new, key, window, kind and difference.",
        ),
    ] = "",
    rows: Annotated[int, typer.Option(min=0, help="The number of differences that are shown.")] = 20,
    output: Annotated[
        Path | None, typer.Option(help="A .parquet, .csv or .json file, or a folder, for all differences.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="A folder for a page of each version, with the rows of the keys shown.")
    ] = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Compare two versions of a module over the same rows.

    The rows are those of a recording, or of tables that a query in SQL reads. Both versions run in this process.
    """
    from muntin_cli.backtests import BacktestReport, write_pages
    from muntin_cli.query_results import check_free, write_rows
    from muntin_cli.recordings import ModuleOptions, opened

    _check_installed()
    from muntin_engine.recording.backtest.backtest import backtest as run_backtest

    options = ModuleOptions.of(module)
    if not options.paths:
        raise UsageError("no new version is named\n  expected: --module NAME=PATH, as in trading.spread=./new_spread")
    if output is not None:
        check_free(output)

    # Record a query in SQL first, if there is one; then run both versions over the recording.
    replacements = options.replacements()
    with (
        _recording_folder(source, inputs or [], record, options) as folder,
        WaitingLine("running the old and the new version") as progress,
    ):
        recording = opened(folder, options.files, key or [])
        result = run_backtest(recording, replacements, fail_if=fail_if)
        report = BacktestReport(result, rows, fail_if)
        if page is not None and report.shown_keys:
            progress.say("following each row to its results")
            write_pages(page, recording, recording.with_modules(replacements), report.shown_keys)
    # Differences are written whole; what is shown is cut.
    if output is not None:
        write_rows(result.differences, output)
    if as_json:
        show_json(report.as_data())
    else:
        report.show()
        if output is not None:
            show(f"wrote {counted(result.differences.num_rows, 'difference')} to {output}")
        if page is not None and report.shown_keys:
            show(f"wrote {page / 'old.html'} and {page / 'new.html'}")
        elif report.shown_keys:
            # Without --record the rows of a query in SQL are gone by now.
            kept_rows = record if source.is_file() else source
            show(_way_to_rows(kept_rows, module))
    return ExitCode.FINDINGS if result.failing.num_rows else ExitCode.OK


def _check_installed() -> None:
    """Refuse to go on without the engine and DuckDB, which compares results.

    Raises:
        EnvironmentLacksError: One of them is not installed.
    """
    from importlib.util import find_spec

    for package in ("muntin_engine", "duckdb"):
        if find_spec(package) is None:
            raise EnvironmentLacksError(
                f"muntin backtest needs {package}, which is not installed\n"
                "  install it: pip install 'muntin-engine[local]'"
            )


@contextmanager
def _recording_folder(
    source: Path, inputs: Sequence[str], record: Path | None, options: ModuleOptions
) -> Iterator[Path]:
    """Return the folder of a recording: the source itself, or one that a query in SQL is recorded in.

    Raises:
        UsageError: Options do not belong to the source.
    """
    if not source.is_file():
        if inputs or record is not None:
            option = "--input" if inputs else "--record"
            raise UsageError(f"{option} belongs to a query in SQL, and {source} is no file\n  leave it out")
        yield source
        return
    if not inputs:
        raise UsageError(f"{source} is a query, and has no tables\n  name them: --input rides")
    if record is not None:
        _record(source, inputs, record, options)
        yield record
        return
    with TemporaryDirectory(prefix="muntin-backtest-") as folder:
        _record(source, inputs, Path(folder) / source.stem, options)
        yield Path(folder) / source.stem


def _record(file: Path, inputs: Sequence[str], folder: Path, options: ModuleOptions) -> None:
    """Record a query in SQL over tables of files, whatever their size.

    Raises:
        UsageError: The query cannot be read, or a table does not exist.
        QueryError: The text is no query over windows, or one that only Spark runs.
        ModuleFailedError: A module raised an exception.
    """
    from muntin_cli.query_inputs import sql_in, tables_of
    from muntin_cli.recordings import modules_in
    from muntin_engine.api.sql_query import errors_in_sql, sql
    from muntin_engine.recording.backtest.backtest import record_old_version

    text = sql_in(file)
    paths = {table.name: str(table.path) for table in tables_of(inputs)}
    with errors_in_sql(text):
        query = sql(text, modules=modules_in(options.files), **paths)
        record_old_version(query, folder, options.paths)


def _way_to_rows(recording: Path | None, modules: Sequence[Path]) -> str:
    """Return the advice on how to see the rows behind a result.

    Args:
        recording: The folder with the recorded rows; None if they are not kept.
        modules: The values of `--module`.
    """
    if recording is None:
        return "the rows of these results: add --page FOLDER, or --record FOLDER for muntin look"
    from shlex import join

    options: list[str] = []
    for module in modules:
        options += ["--module", str(module)]
    command = join(["muntin", "look", str(recording), "--key", "KEY", *options])
    return f"the rows of a result: {command}\n  without NAME=PATH it shows the old version"
