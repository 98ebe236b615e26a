"""`python -m benchmarks`: Muntin beside other ways to compute the same windows."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from benchmarks.options import Options, read_options
from benchmarks.outcome import exit_status, show_end, write_files
from benchmarks.report import WorkReport
from benchmarks.runner import Runner
from benchmarks.session import end_session, start_session
from benchmarks.systems import all_systems
from benchmarks.terminal import make_console

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks.

    Returns:
        0 if all went well; 1 if a system failed or gave wrong numbers, or, if asked to be strict, missed its bar; 130
        if it was interrupted.
    """
    options = read_options(arguments)
    logging.getLogger().addHandler(logging.NullHandler())  # what Py4J would print is raised here as well
    signal.signal(signal.SIGTERM, _interrupt)
    console = make_console()
    reports: list[WorkReport] = []
    started = time.monotonic()
    try:
        _run(options, console, reports)
    except KeyboardInterrupt:
        console.print("\nstopped; works that were complete are shown")
        return _INTERRUPTED
    finally:
        end_session()
        show_end(console, reports, options)
        console.print(f"\n{time.monotonic() - started:.0f} s in all")
    return exit_status(reports, options)


def _run(options: Options, console: Console, reports: list[WorkReport]) -> None:
    """Run the works that were asked for, and write down what is known after each."""
    when = datetime.now(UTC)
    systems = all_systems(options.environments)
    if any(systems[name].needs_spark for _, names in options.works for name in names):
        start_session(options.folder / "spark.log")
        signal.signal(signal.SIGINT, _interrupt)  # instead of PySpark's, which calls the JVM amidst another call
    runner = Runner(options, systems, console.print)
    for work, names in options.works:
        reports.append(runner.run(work, names))
        write_files(reports, options, when)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
