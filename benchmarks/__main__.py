"""`python -m benchmarks`: Muntin beside other ways to compute the same windows."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.case import FULL_ROWS, Case
from benchmarks.cases import CASES
from benchmarks.results import show_results, write_results
from benchmarks.runner import CaseResults, Runner
from benchmarks.session import end_session, start_session
from benchmarks.systems.system import System

_INTERRUPTED: Final = 130
_WIDTH: Final = 200
"""Columns where the output goes to a file; a narrow table is unreadable."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks.

    Returns:
        0 if all went well; 1 if a system failed or gave wrong answers, or, if asked to be strict, missed its floor; 130
        if it was interrupted.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    chosen = choose(CASES, options.only, options.systems, is_quick=options.quick)
    if not chosen:
        parser.error("nothing is left to run\n  --only, --systems and --quick leave no case with a system")

    logging.getLogger().addHandler(logging.NullHandler())  # what Py4J would print is raised here as well
    signal.signal(signal.SIGTERM, _interrupt)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    results: list[CaseResults] = []
    started = time.monotonic()
    try:
        _run_cases(options, chosen, console, results)
    except KeyboardInterrupt:
        console.print("\nstopped; cases that were complete are shown")
        return _INTERRUPTED
    finally:
        end_session()
        if results:
            show_results(console, results)
            console.print(f"in {options.folder / 'results.json'}; {time.monotonic() - started:.0f} s in all")
    return exit_status(results, is_strict=options.strict)


def choose(
    cases: Sequence[Case], only: Sequence[str] | None, systems: Sequence[str] | None, *, is_quick: bool
) -> list[tuple[Case, list[System]]]:
    """Return the cases to run with the systems that take part; a case that was named runs whole, quick or not."""
    chosen = []
    for case in cases:
        if case.name not in only if only else case.is_long:
            continue
        taking_part = case.quick if is_quick and not only else case.systems
        chosen_systems = [system for system in taking_part if not systems or system.name in systems]
        if chosen_systems:
            chosen.append((case, chosen_systems))
    return chosen


def exit_status(results: Sequence[CaseResults], *, is_strict: bool) -> int:
    """Return 1 if something went wrong, or if a floor was missed and that counts; 0 otherwise."""
    has_failed = any(case.failures for case in results)
    has_missed = False
    for case in results:
        has_missed = has_missed or any(verdict.is_met is False for verdict in case.verdicts)
    return int(has_failed or (is_strict and has_missed))


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; cases and systems are chosen by name."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="Muntin beside other ways to compute windows.")
    names = [case.name for case in CASES]
    systems: set[str] = set()
    for case in CASES:
        systems.update(system.name for system in case.systems)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and keys, the main pairs, once")
    parser.add_argument("--only", action="append", choices=names, metavar="CASE", help="this case; may be repeated")
    parser.add_argument(
        "--systems", action="append", choices=sorted(systems), metavar="SYSTEM", help="this system; may be repeated"
    )
    parser.add_argument("--rows", type=_positive, help="rows per file, 1,000,000 by default; keys in proportion")
    parser.add_argument("--repeats", type=_positive, help="how often each system runs, unless a run is long")
    parser.add_argument("--limit", type=_positive, default=300, help="seconds after which a run is stopped")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="where everything is put")
    parser.add_argument("--strict", action="store_true", help="fail if a floor is missed")
    return parser


def _positive(text: str) -> int:
    """Return the number above zero that a text of the command line stands for."""
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number above zero, got {text}")
    return number


def _run_cases(
    options: argparse.Namespace,
    chosen: Sequence[tuple[Case, list[System]]],
    console: Console,
    results: list[CaseResults],
) -> None:
    """Run cases, and write the results so far after each."""
    when = datetime.now(UTC)
    chosen_systems = chain.from_iterable(systems for _, systems in chosen)
    if any(system.needs_spark for system in chosen_systems):
        start_session(options.folder / "spark.log")
        signal.signal(signal.SIGINT, _interrupt)  # instead of PySpark's, which calls the JVM amidst another call
    runner = Runner(
        folder=options.folder / "data",
        rows=options.rows or (FULL_ROWS // 10 if options.quick else FULL_ROWS),
        repeats=options.repeats or (1 if options.quick else 2),
        limit=options.limit,
        say=lambda line: console.print(line, markup=False),
    )
    for case, systems in chosen:
        results.append(runner.run(case, systems))
        write_results(options.folder / "results.json", results, when)


def _interrupt(*_: object) -> None:
    """End a run as Ctrl-C does; a handler of signals."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
