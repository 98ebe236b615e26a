"""The questions over files in this process, without Spark and Java.

The files are those of the stream, read as one table: the rows that revise flights are there, and all windows are
complete. What only a stream has, early results and a run that goes on where it was cut short, is not.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.console import Console

from demo.answers import show_answers, table_of, write_answer
from demo.delivery import write_stream
from demo.questions import QUESTIONS
from demo.run import Choice


def answer_in_process(choice: Choice, folder: Path, console: Console) -> None:
    """Answer the questions, and show the answers.

    Args:
        choice: The flights.
        folder: Where the answers are put.
        console: Where the progress is shown.

    Raises:
        ValueError: The choice asks for what only a stream has.
    """
    if choice.emit != "final":
        raise ValueError(
            f"{choice.emit} results come early from a stream, and files are a table, whose windows are complete\n"
            "  leave --emit out, or run the demo on Spark: --engine spark"
        )
    with TemporaryDirectory(prefix="muntin-demo-") as work:
        stream = Path(work, "stream")
        console.print("writing the flights as files")
        files = write_stream(choice.flights(), stream, choice.span)
        console.print(f"asking {len(QUESTIONS)} questions of {len(files)} files")
        for name, ask in QUESTIONS.items():
            started = monotonic()
            results = ask(stream / "*.parquet").results()
            write_answer(table_of(name, results), name, folder)
            console.print(f"{name:<9} {monotonic() - started:5.1f} s")
    show_answers(folder, console)
