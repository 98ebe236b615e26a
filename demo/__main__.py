"""`python -m demo`: a month, or a year, of flights through three questions in one pass."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from demo.progress_lines import ProgressLines
from demo.questions import BUCKETS, QUESTIONS
from demo.run import Choice, Run
from demo.tally import Tally
from muntin.errors import MuntinError
from muntin_engine import local_session, root_cause, stop_session


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 if all answers were written, 1 on an error, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--months", default="1", help="a month of 2013 or a range of months, such as 1 or 1-12")
    parser.add_argument("--days", type=int, help="only so many days from the first departure on")
    parser.add_argument(
        "--span", help="delivery time per micro-batch; 2 days if there is one month, a week if there are more"
    )
    parser.add_argument(
        "--emit", choices=("final", "speculative"), default="final", help="results once, or early and corrected"
    )
    parser.add_argument("--folder", type=Path, default=Path("build/demo"), help="where the answers are put")
    parser.add_argument("--record", type=Path, help="a folder for recordings of the three queries, for muntin look")
    chosen = parser.parse_args(arguments)
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # what it would print is raised here as well
    console = Console()
    try:
        first, last = _months(chosen.months)
        span = chosen.span or (Choice.span if first == last else "7 days")
        return _run(
            Run(chosen.folder, Choice(first, last, chosen.days, span, chosen.emit), chosen.record),
            chosen.folder,
            console,
        )
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here")
        return 130
    except (Py4JError, OSError):
        print("Spark's JVM has died; the same command goes on from here", file=sys.stderr)
        return 1
    except (MuntinError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _months(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _run(run: Run, folder: Path, console: Console) -> int:
    started = time.monotonic()
    console.print("going on with the run that was cut short" if run.resumes else "writing the flights as a stream")
    batches = run.prepare()
    spark = local_session("muntin demo", log=folder / "spark.log")
    try:
        tally = Tally()
        spark.streams.addListener(tally)
        query = run.start(spark)
        _follow(run, query, tally, batches, console)
        kept = _cells_of_keys(query)
        run.finish(spark)
    except PySparkException as error:
        raise RuntimeError(root_cause(error)) from None  # while there is a session to ask
    finally:
        stop_session(spark)
    _show(run, console, kept)
    console.print(f"{time.monotonic() - started:.0f} s in all")
    return 0


def _follow(run: Run, query: StreamingQuery, tally: Tally, batches: int, console: Console) -> None:
    """Show progress until the query has ended; raise its failure."""
    with _progress(QUESTIONS, batches, console) as show:
        is_running = True
        while is_running:
            is_running = not query.awaitTermination(1)  # raises if it failed
            if not is_running:
                tally.take(query.lastProgress)
            most = batches - 1 if is_running else batches  # the last is told with its counts, at the end
            for question in QUESTIONS:
                show(question, min(most, run.batches_done()), tally.line(question))


@contextmanager
def _progress(questions: Iterable[str], total: int, console: Console) -> Iterator[Callable[[str, int, str], None]]:
    """Yield a function that shows the progress of a question in batches: in place, or as lines without a terminal."""
    if not console.is_terminal:
        lines = ProgressLines(partial(print, flush=True))
        yield lambda name, done, line: lines.update(name, done, total, line)
        return
    columns = ("{task.description:<9}", BarColumn(12), MofNCompleteColumn(), TimeElapsedColumn(), "{task.fields[line]}")
    with Progress(*columns, console=console) as progress:
        tasks = {name: progress.add_task(name, total=total, line="") for name in questions}
        yield lambda name, done, line: progress.update(tasks[name], completed=done, line=line)


def _cells_of_keys(query: StreamingQuery) -> int:
    """Return the number of cells of state that hold keys; each bucket of a question has one more, its metadata."""
    progress = query.lastProgress
    return (
        0
        if progress is None
        else sum(operator.numRowsTotal for operator in progress.stateOperators) - BUCKETS * len(QUESTIONS)
    )


def _show(run: Run, console: Console, kept: int) -> None:
    for name, ask in QUESTIONS.items():
        answers = pq.read_table(run.answer_file(name))
        console.print(f"\n{(ask.__doc__ or '').splitlines()[0]}")
        table = Table(*answers.column_names)
        for row in answers.slice(answers.num_rows // 2, 5).to_pylist():
            table.add_row(*(_text(value) for value in row.values()))
        console.print(table)
        console.print(f"{answers.num_rows:,} rows in {run.answer_file(name)}")
    console.print(f"\n{kept} cells of keys are left in the state" if kept else "\nno key has state left")


def _text(value: object) -> str:
    return (
        f"{value:.2f}"
        if isinstance(value, float)
        else f"{value:%m-%d %H:%M}"
        if hasattr(value, "strftime")
        else str(value)
    )


if __name__ == "__main__":
    sys.exit(main())
