"""`muntin query`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muntin_cli.commands.replay import Files
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, let_through, show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@reports_errors
def query(
    file: Annotated[Path, typer.Argument(help="A file with a query in SQL.")],
    inputs: Annotated[
        list[str],
        typer.Option("--input", metavar="[NAME=]PATH", help="A folder of Parquet, JSON or CSV files: a table."),
    ],
    output: Annotated[
        Path | None, typer.Option(help="The folder or file to write to; by default the terminal.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with the files that come, until Ctrl-C.")] = False,
    checkpoint: Annotated[Path | None, typer.Option(help="With --follow: where the query goes on from.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how the query is evaluated, and do not run it.")
    ] = False,
    record: Annotated[Path | None, typer.Option(help="A folder that records the run, for replay and look.")] = None,
    module: Files = None,
) -> ExitCode:
    """Answer a query in SQL from a folder of files.

    Without --follow the files that are there are all, and every window is complete.
    """
    from muntin_cli.querying import check_free, progress_of, show_rows, tables_of, write_rows
    from muntin_cli.querying import follow as run
    from muntin_cli.recordings import modules_in

    try:
        from muntin_engine import spark_session, sql
        from muntin_engine.api.sql import is_streaming_sql
    except ImportError as error:
        raise EnvironmentLacksError("muntin query needs Spark\n  install it: pip install muntin") from error
    text = _text(file)
    tables = tables_of(inputs)
    if output is not None and not follow:
        check_free(output)
    is_streaming = follow or record is not None
    spark = spark_session("muntin query")
    frames: dict[str, Any] = {one.name: one.streaming(spark) if is_streaming else one.static(spark) for one in tables}
    if not is_streaming_sql(text):
        return _plain(spark.sql(text, **frames), output, is_streaming)
    asked = sql(spark, text, modules=modules_in(module or []), **frames)
    if explain:
        show(asked.plan_text())
        return ExitCode.OK
    if not is_streaming:
        with progress_of(spark, f"{counted(sum(one.files for one in tables), 'file')}"):
            rows = asked.results()
            if output is None:
                show_rows(rows)
                return ExitCode.OK
            number = write_rows(rows, output)
        show(f"wrote {counted(number, 'row')} to {output}")
        return ExitCode.OK
    place = checkpoint or (Path(f"{output}.checkpoint") if output is not None else None)
    if place is None:
        raise UsageError("a query that goes on needs a place\n  write --output results, or --checkpoint FOLDER as well")

    def print_rows(batch: DataFrame, number: int) -> None:
        with let_through():
            show_rows(batch)

    written: dict[str, Any] = {"results": output if output is not None else print_rows, "checkpoint": place}
    written |= {"available_now": not follow, "on_end": "leave" if follow else "close", "record": record}
    read = run(lambda: asked.write(**written))
    show(f"read {counted(read, 'row')}" + ("" if output is None else f"; results are in {output}"))
    return ExitCode.OK


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}\n  name a file with a query in SQL") from error


def _plain(rows: DataFrame, output: Path | None, is_streaming: bool) -> ExitCode:
    """Answer what is Spark's SQL alone."""
    from muntin_cli.querying import show_rows, write_rows

    if is_streaming:
        raise UsageError("a query without windows is answered from the files that are there: leave --follow out")
    if output is None:
        show_rows(rows)
    else:
        show(f"wrote {counted(write_rows(rows, output), 'row')} to {output}")
    return ExitCode.OK
