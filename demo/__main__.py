"""`python -m demo`: a month, or a year, of flights through three questions, on Spark or in this process."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from demo.in_process import answer_in_process
from demo.run import Choice, Run
from muntin.errors import MuntinError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 if all answers were written, 1 on an error, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument(
        "--engine",
        choices=("spark", "local"),
        default="spark",
        help="the flights as a stream in Spark, or as files in this process",
    )
    parser.add_argument("--months", default="1", help="a month of 2013 or a range of months, such as 1 or 1-12")
    parser.add_argument("--days", type=int, help="only so many days from the first departure on")
    parser.add_argument("--span", help="delivery time per file; 2 days if there is one month, a week if there are more")
    parser.add_argument(
        "--emit",
        choices=("final", "speculative"),
        default="final",
        help="results once, or early and corrected, which only a stream has",
    )
    parser.add_argument("--folder", type=Path, default=Path("build/demo"), help="where the answers are put")
    parser.add_argument(
        "--record", type=Path, help="a folder for recordings of the three streaming queries, for muntin look"
    )
    options = parser.parse_args(arguments)
    console = Console()
    started = time.monotonic()
    try:
        first, last = _months(options.months)
        span = options.span or (Choice.span if first == last else "7 days")
        choice = Choice(first, last, options.days, span, options.emit)
        if options.engine == "local":
            if options.record is not None:
                raise ValueError("--record keeps the micro-batches of a stream: add --engine spark, or leave it out")
            answer_in_process(choice, options.folder, console)
        else:
            from demo.on_spark import answer_on_spark  # PySpark need not be installed for the other

            answer_on_spark(Run(options.folder, choice, options.record), options.folder, console)
    except KeyboardInterrupt:
        going_on = "; the same command goes on from here" if options.engine == "spark" else ""
        console.print(f"stopped{going_on}")
        return 130
    except (MuntinError, OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    console.print(f"{time.monotonic() - started:.0f} s in all")
    return 0


def _months(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


if __name__ == "__main__":
    sys.exit(main())
