"""The options on the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.systems import SCRIPTS
from benchmarks.works import FULL_ROWS, WORKS, Work

ENVIRONMENTS: Final = "MUNTIN_BENCH_ENVIRONMENTS"
"""The environment variable that may name interpreters: `bytewax=path/to/python,beam=path/to/python`."""

_QUICK_ROWS: Final = FULL_ROWS // 10


@dataclass(frozen=True)
class Options:
    """The benchmarks to run.

    Attributes:
        works: The works, in order, with the systems that take part.
        rows: Rows per file.
        repeats: How often each system runs.
        limit: Seconds after which a run is stopped.
        folder: Where data, results and charts are put.
        environments: Interpreters by the name of the system that is installed there.
        is_quick: True for a quick run.
        is_strict: True if a missed bar is a failure.
    """

    works: tuple[tuple[Work, tuple[str, ...]], ...]
    rows: int
    repeats: int
    limit: float
    folder: Path
    environments: dict[str, str]
    is_quick: bool = False
    is_strict: bool = False

    @property
    def rows_are_few(self) -> bool:
        """True if there are fewer rows than the bars are meant for."""
        return self.rows < FULL_ROWS


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Return the options; on a wrong one the program ends and says why."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        environments = _environments([*os.environ.get(ENVIRONMENTS, "").split(","), *given.environment])
    except ValueError as error:
        parser.error(str(error))
    works = _chosen(given.only, given.systems, given.quick)
    if not works:
        parser.error("no work is left\n  --only, --systems and --quick leave nothing to run")
    return Options(
        works=works,
        rows=given.rows or (_QUICK_ROWS if given.quick else FULL_ROWS),
        repeats=given.repeats or (1 if given.quick else 2),
        limit=given.limit,
        folder=given.folder,
        environments=environments,
        is_quick=given.quick,
        is_strict=given.strict,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Muntin beside other ways to compute windows.")
    names = [work.name for work in WORKS]
    systems = sorted({system for work in WORKS for system in work.systems})
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and keys, the main pairs, once")
    parser.add_argument("--only", action="append", choices=names, help="this work; may be given several times")
    parser.add_argument("--systems", action="append", choices=systems, help="this system; may be given several times")
    parser.add_argument("--rows", type=_positive, help="rows per file, of which there are up to 5; keys in proportion")
    parser.add_argument(
        "--repeats", type=_positive, help="how often each system runs, unless a run is long; medians are shown"
    )
    parser.add_argument("--limit", type=_positive, default=300, help="seconds after which a run is stopped")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="where everything is put")
    parser.add_argument("--strict", action="store_true", help="fail if a bar is missed")
    parser.add_argument(
        "--environment",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help=f"the interpreter under which a system is installed; as is ${ENVIRONMENTS}, with commas in between",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number above zero, got {text}")
    return number


def _environments(texts: Iterable[str]) -> dict[str, str]:
    known = [script.name for script in SCRIPTS]
    found: dict[str, str] = {}
    for text in filter(None, texts):
        name, _, path = text.partition("=")
        if name not in known or not path:
            raise ValueError(f"{text!r} names no environment\n  expected NAME=PYTHON, with one of {', '.join(known)}")
        found[name] = path
    return found


def _chosen(
    only: Sequence[str] | None, systems: Sequence[str] | None, is_quick: bool
) -> tuple[tuple[Work, tuple[str, ...]], ...]:
    """Return the works with the systems that take part; a work that was named runs whole, quick or not."""
    chosen = []
    for work in WORKS:
        default = work.quick if is_quick and not only else work.systems
        taking_part = tuple(name for name in default if not systems or name in systems)
        if taking_part and (work.name in only if only else not work.is_long):
            chosen.append((work, taking_part))
    return tuple(chosen)
