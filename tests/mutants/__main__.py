"""`python -m tests.mutants`: do the tests notice small changes of meaning in the engine?

Draws changes over the engine's evaluators, state, exchange and progress, and runs tests on each in a process of its
own, which loads the changed module through an import hook: no file is touched. A mutant is killed if a test fails, or
if it runs much longer than the tests do. A survivor is a change that means nothing, such as a larger buffer, or a test
that is missing.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Final

import muntin_engine
from tests.mutants.mutating import changes_of, mutate

ROOT: Final = Path(muntin_engine.__file__).parent
WHERE: Final = ("evaluators", "state", "exchange", "progress")
NET: Final = ("tests/scenarios",)
"""The tests that hold the meaning."""

_OUTCOMES: Final = {0: "SURVIVED", 1: "killed"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mutants and tell of each whether it was killed; return 0, or 1 if the tests fail without any."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1, help="where the randomness starts")
    parser.add_argument("--under", action="append", default=[], help="a folder or file of the engine; may be repeated")
    parser.add_argument("--seconds", type=float, default=600, help="for how long a mutant may run")
    parser.add_argument("--processes", type=int, default=1, help="how many run at a time")
    parser.add_argument("tests", nargs="*", help="what pytest runs; by default the net")
    options = parser.parse_args(arguments)
    drawn, tests = draw(options.under or WHERE, options.count, options.seed), options.tests or NET
    unchanged = outcome(None, tests, options.seconds)
    print(f"{len(drawn)} mutants, seed {options.seed}; without any: {unchanged}", flush=True)
    if "SURVIVED" not in unchanged:
        return 1

    def run(mutant: tuple[Path, int]) -> str:
        return outcome(mutant, tests, options.seconds)

    killed = 0
    with ThreadPoolExecutor(options.processes) as pool:
        for (path, number), said in zip(drawn, pool.map(run, drawn), strict=True):
            killed += "SURVIVED" not in said
            told = mutate(ast.parse(path.read_text()), number)
            print(f"{said:16} {path.relative_to(ROOT)} #{number}  {told}", flush=True)
    print(f"{killed} of {len(drawn)} killed, {killed / len(drawn):.0%}")
    return 0


def draw(under: Sequence[str], count: int, seed: int) -> list[tuple[Path, int]]:
    """Return mutants, each as a file and the number of a change in it; each change is drawn as often as any other."""
    paths = sorted({path for name in under for path in [ROOT / name, *(ROOT / name).rglob("*.py")] if path.is_file()})
    every = [(path, number) for path in paths for number in range(len(list(changes_of(ast.parse(path.read_text())))))]
    return Random(seed).sample(every, min(count, len(every)))


def outcome(mutant: tuple[Path, int] | None, tests: Sequence[str], seconds: float) -> str:
    """Run tests on a mutant, or on none; return whether it was killed and how long that took."""
    path, number = mutant or (ROOT / "__init__.py", -1)
    module = ".".join([ROOT.name, *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    command, began = [sys.executable, "-m", "tests.mutants.mutant", module, str(number), *tests], time.monotonic()
    try:
        code = subprocess.run(command, capture_output=True, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        return "killed (time)"
    return f"{_OUTCOMES.get(code, 'killed (start)')} {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
