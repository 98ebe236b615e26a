"""`muntin query`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from muntin.errors import QueryError
from muntin_cli.commands.replay import Files
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, let_through, show
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_cli.query_inputs import InputTable
    from muntin_engine.api.query import Query


EXAMPLE: Final = """\b
Examples:
  muntin query hours.sql --input rides
  muntin query hours.sql --input rides=data/2024 --output hours.csv

\b
with this hours.sql:
  SELECT station, window_start, AVG(km) AS km, COUNT(*) AS rides
  FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
  GROUP BY station, window_start, window_end

It prints the first rows of the result, or how many it wrote.
"""
"""The end of the help."""

_ON_SPARK: Final = "run the query on Spark"
"""The advice of an error about a query that only Spark runs."""


@reports_errors
def query(  # noqa: PLR0913, PLR0917  # each is an option
    file: Annotated[Path, typer.Argument(help="A file with a query in SQL.")],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            metavar="[NAME=]PATH",
            help="A table: a Parquet, JSON or CSV file, a folder of such files, or a pattern such as 'r=data/*.csv'.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="A .parquet, .csv or .json file, or a folder, to write to; by default the terminal."),
    ] = None,
    on_spark: Annotated[bool, typer.Option("--spark", help="Run on Spark, which needs Java.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="With --spark: go on with the files that come, until Ctrl-C.")
    ] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="With --spark and --follow: where the query goes on from.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how the query is evaluated, and do not run it.")
    ] = False,
    record: Annotated[Path | None, typer.Option(help="A folder that records the run, for replay and look.")] = None,
    module: Files = None,
) -> ExitCode:
    """Answer a query in SQL from files, in this process or on Spark.

    Each input is a table of its name. Without --follow the present files are all there are: every window is complete.
    """
    from muntin_cli.query_inputs import sql_in, tables_of
    from muntin_cli.query_results import check_free

    text = sql_in(file)
    if not on_spark:
        for option, value in (("--follow", follow), ("--checkpoint", checkpoint)):
            if value:
                raise UsageError(f"{option} needs a stream, which runs on Spark\n  add --spark")
    elif checkpoint is not None and not follow and record is None:
        raise UsageError("--checkpoint needs a stream, and the present files are a table\n  add --follow")
    tables = tables_of(inputs)
    if output is not None and not follow:
        check_free(output)
    modules = module or []
    if not on_spark:
        return _answer_here(text, tables, output, modules, record=record, explain=explain)
    return _answer_on_spark(
        text, tables, output, modules, follow=follow, checkpoint=checkpoint, record=record, explain=explain
    )


# ----------------------------------------------------------------------------------------------------- in this process


def _answer_here(
    text: str,
    tables: Sequence[InputTable],
    output: Path | None,
    module_files: Sequence[Path],
    *,
    record: Path | None,
    explain: bool,
) -> ExitCode:
    """Answer a query in this process."""
    from muntin_cli.query_results import show_rows, write_rows
    from muntin_cli.recordings import modules_in

    try:
        from muntin_engine.api.sql_query import errors_in_sql, is_streaming_sql, sql
    except ImportError as error:
        raise EnvironmentLacksError("muntin query needs the engine\n  install it: pip install muntin") from error
    paths = {table.name: str(table.path) for table in tables}

    # A query that only Spark runs is refused with the option that runs it there.
    try:
        with errors_in_sql(text):
            if not is_streaming_sql(text):
                rows = _plain_rows(text, paths, is_recorded=record is not None, explain=explain)
            else:
                window_query = sql(text, modules=modules_in(module_files), **paths)
                if explain:
                    show(window_query.plan_text())
                    return ExitCode.OK
                rows = window_query.results()
                if record is not None:
                    window_query.record(record)
    except QueryError as error:
        message = str(error)
        if _ON_SPARK not in message:
            raise
        raise UsageError(message.replace(_ON_SPARK, "run it on Spark: --spark")) from error

    if output is None:
        show_rows(rows)
    else:
        show(f"wrote {counted(write_rows(rows, output), 'row')} to {output}")
    return ExitCode.OK


def _plain_rows(text: str, paths: dict[str, str], *, is_recorded: bool, explain: bool) -> pa.Table:
    """Return the rows of a query without windows.

    Args:
        text: The text of the query.
        paths: The path of each table by its name.
        is_recorded: True if the user asks for a recording.
        explain: True if the user asks for the plan.

    Raises:
        UsageError: The user asks for a recording or a plan, which only queries over windows have.
    """
    from muntin_engine.api.sql_query import plain_sql

    query = plain_sql(text, paths)
    _check_options_without_windows(is_recorded=is_recorded, explain=explain)
    return query.table()


def _check_options_without_windows(*, is_recorded: bool, explain: bool) -> None:
    """Refuse what only queries over windows have.

    Args:
        is_recorded: True if the user asks for a recording.
        explain: True if the user asks for the plan.

    Raises:
        UsageError: The user asks for one of them.
    """
    if is_recorded:
        raise UsageError("a query without windows has no story\n  leave --record out")
    if explain:
        raise UsageError("a query without windows has no plan of Muntin's\n  leave --explain out")


# ------------------------------------------------------------------------------------------------------------ on Spark


def _answer_on_spark(
    text: str,
    tables: Sequence[InputTable],
    output: Path | None,
    module_files: Sequence[Path],
    *,
    follow: bool,
    checkpoint: Path | None,
    record: Path | None,
    explain: bool,
) -> ExitCode:
    """Answer a query on Spark."""
    try:
        from muntin_engine import spark_session, sql
        from muntin_engine.api.sql_query import spark_errors_in_sql
    except ImportError as error:
        raise EnvironmentLacksError("--spark needs Spark\n  install it: pip install 'muntin[spark]'") from error
    from muntin_cli.query_on_spark import progress_of, show_first_rows, views_of, write_all_rows
    from muntin_cli.recordings import modules_in

    # A recording is of a stream, too, over the present files.
    is_streaming = follow or record is not None
    with WaitingLine("starting Spark"):
        spark = spark_session("muntin query")
    names = [table.name for table in tables]
    with spark_errors_in_sql(text, names), views_of(spark, tables, is_streaming=is_streaming):
        if _is_plain(spark, text):
            _check_options_without_windows(is_recorded=record is not None, explain=explain)
            return _answer_plain(spark.sql(text), output, is_streaming=is_streaming)
        window_query = sql(spark, text, modules=modules_in(module_files))
        if explain:
            show(window_query.plan_text())
            return ExitCode.OK
        if is_streaming:
            return _write_stream(window_query, output, checkpoint, record, follow=follow)
        with progress_of(spark, counted(sum(table.files for table in tables), "file")):
            rows = window_query.results()
            if output is None:
                show_first_rows(rows)
                return ExitCode.OK
            number = write_all_rows(rows, output)
        show(f"wrote {counted(number, 'row')} to {output}")
        return ExitCode.OK


def _is_plain(spark: SparkSession, text: str) -> bool:
    """Return True for a query without windows, which Spark answers alone.

    Raises:
        QueryError: Neither Spark nor Muntin can parse the text.
    """
    from muntin_engine.api.sql_query import is_streaming_sql

    try:
        return not is_streaming_sql(text)
    except QueryError:
        # Spark's grammar has more than that of the library that looks for windows: such a text has none.
        with suppress(Exception):
            spark.sql(f"EXPLAIN {text}").collect()
            return True
        raise


def _write_stream(
    window_query: Query, output: Path | None, checkpoint: Path | None, record: Path | None, *, follow: bool
) -> ExitCode:
    """Run a query as a stream: over present files, and with `follow` over later ones, too."""
    from muntin_cli.query_on_spark import follow as run
    from muntin_cli.query_on_spark import show_first_rows

    if checkpoint is None and output is not None:
        checkpoint = Path(f"{output}.checkpoint")
    if checkpoint is None:
        raise UsageError("a query that goes on needs a place\n  write --output results, or --checkpoint FOLDER as well")

    def print_rows(batch: DataFrame, number: int) -> None:
        with let_through():
            show_first_rows(batch)

    def start() -> StreamingQuery:
        """Start the query."""
        return window_query.write(
            results=print_rows if output is None else output,
            checkpoint=checkpoint,
            available_now=not follow,
            # Where no files follow, the end of the present ones completes every window.
            on_end="leave" if follow else "close",
            record=record,
        )

    row_count = run(start)
    place = "" if output is None else f"; results are in {output}"
    show(f"read {counted(row_count, 'row')}{place}")
    return ExitCode.OK


def _answer_plain(rows: DataFrame, output: Path | None, *, is_streaming: bool) -> ExitCode:
    """Show or write the result of a query without windows."""
    from muntin_cli.query_on_spark import show_first_rows, write_all_rows

    if is_streaming:
        raise UsageError("a query without windows is answered from the files that are there: leave --follow out")
    if output is None:
        show_first_rows(rows)
    else:
        show(f"wrote {counted(write_all_rows(rows, output), 'row')} to {output}")
    return ExitCode.OK
