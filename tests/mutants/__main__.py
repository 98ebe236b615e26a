"""`python -m tests.mutants`: does the net notice small changes of meaning in the engine?

Draws changes over the engine's evaluators, state, exchange and progress, and runs the scenarios that meet them: no file
is touched. A mutant is killed if a scenario fails, or if it runs much longer. A survivor is a change that means
nothing, such as a larger buffer, or a scenario that is missing; other tests may be given, which survivors meet then.
Of another package no scenario is known: its mutants meet the tests that are given.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Final

from tests.mutants import net
from tests.mutants.mutating import changes_of, mutate

ENGINE: Final = "muntin_engine"
WHERE: Final = ("evaluators", "state", "exchange", "progress")


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mutants, tell of each whether it was killed, and of each area how many; return 1 if the net fails as is."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1, help="where the randomness starts")
    parser.add_argument("--package", default=ENGINE, help="another package, whose mutants meet the tests given alone")
    parser.add_argument("--under", action="append", default=[], help="a folder or file of it; may be repeated")
    parser.add_argument("--seconds", type=float, default=300, help="for how long a mutant may run")
    parser.add_argument("tests", nargs="*", help="what pytest runs on the mutants that the net lets live")
    options = parser.parse_args(arguments)
    is_engine, root = options.package == ENGINE, Path(str(import_module(options.package).__file__)).parent
    under = options.under or (WHERE if is_engine else ["."])
    drawn, began = draw(root, under, options.count, options.seed), time.monotonic()
    known = net.survey(root) if is_engine else []
    print(
        f"{len(drawn)} mutants, seed {options.seed}; {len(known)} scenarios in {time.monotonic() - began:.0f} s",
        flush=True,
    )
    killed, all_drawn = Counter[str](), Counter[str]()
    for path, number in drawn:
        told, began = mutate(ast.parse(path.read_text()), number), time.monotonic()
        module = ".".join([root.name, *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__")
        said = net.outcome(known, path, number, options.seconds) if is_engine else "SURVIVED (no net)"
        if not isinstance(said, str):
            said = loaded_anew(module, number, [f"{one.family}:{one.seed}" for one in said], options.seconds)
        if "SURVIVED" in said and options.tests:
            said = f"{said}; others: {loaded_anew(module, number, options.tests, options.seconds)}"
        area = "/".join(path.relative_to(root).parts[:-1])
        all_drawn[area] += 1
        killed[area] += "killed" in said
        print(f"{said} {time.monotonic() - began:.0f} s: {path.relative_to(root)} #{number}  {told}", flush=True)
    for area, count in sorted(all_drawn.items()):
        print(f"{killed[area]:4} of {count:3} killed  {area}")
    print(f"{killed.total()} of {len(drawn)} killed, {killed.total() / len(drawn):.0%}")
    return 0


def draw(root: Path, under: Sequence[str], count: int, seed: int) -> list[tuple[Path, int]]:
    """Return mutants, each as a file and the number of a change in it; each change is drawn as often as any other."""
    paths = sorted({path for name in under for path in [root / name, *(root / name).rglob("*.py")] if path.is_file()})
    every = [(path, number) for path in paths for number in range(len(list(changes_of(ast.parse(path.read_text())))))]
    return Random(seed).sample(every, min(count, len(every)))


def loaded_anew(module: str, number: int, tests: Sequence[str], seconds: float) -> str:
    """Run tests on a mutant in a process of its own, which loads the mutant instead of the file."""
    if not tests:
        return "SURVIVED (not run)"
    command = [sys.executable, "-m", "tests.mutants.mutant", module, str(number), *tests]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "killed (time)"
    told = " ".join(done.stdout.split())[-60:]
    return f"SURVIVED ({len(tests)})" if done.returncode == 0 else f"killed {told or '(start)'}"


if __name__ == "__main__":
    sys.exit(main())
