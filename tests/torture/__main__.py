"""`python -m tests.torture`: random streams, kills, damage and bad company for as long as one likes."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torture.kind import Kind, load_kinds
from tests.torture.lane import run_trial
from tests.torture.running import Torture

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Torture the engine.

    Returns:
        0 if everything was as it must be, 1 if not, 2 if the options make no sense, 130 if it was interrupted.
    """
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long; trials that have begun are finished")
    parser.add_argument("--seed", type=int, help="where the randomness starts; with one kind and 0 minutes, that trial")
    parser.add_argument("--kind", action="append", default=[], help="run this kind alone; may be repeated")
    parser.add_argument("--kinds", default="tests.torture.kinds:KINDS", help="the list of kinds, as module:NAME")
    options = parser.parse_args(arguments)
    listed = load_kinds(options.kinds)
    unknown = set(options.kind) - {kind.name for kind in listed}
    if unknown:
        parser.error(f"no kind is named {', '.join(map(repr, sorted(unknown)))}\nthere are: {_names(listed)}")
    kinds = [kind for kind in listed if not options.kind or kind.name in options.kind]
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    if not options.minutes:
        return _once(kinds, seed)
    log = Path(tempfile.mkdtemp(prefix="torture-")) / "log"
    print(f"seed {seed}, {options.minutes:g} minutes, {len(kinds)} kinds; what trials print is in {log}", flush=True)
    return _run_for(Torture(options.kinds, kinds, seed, log, _print_with_time), kinds, options.minutes)


def _once(kinds: Sequence[Kind], seed: int) -> int:
    for kind in kinds:
        print(f"{kind.name}, seed {seed}: {dict(run_trial(kind, seed))}")
    return 0


def _run_for(torture: Torture, kinds: Sequence[Kind], minutes: float) -> int:
    """Run trials for some minutes, print the tally and the first faults, and return the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    was_interrupted = False
    try:
        torture.run(minutes * 60)
    except KeyboardInterrupt:
        was_interrupted = True
        print("\nstopped")
    print(f"\n{torture.tally.table(kinds)}")
    for fault in torture.tally.faults[:10]:
        print(f"\n{fault.kind}, seed {fault.seed}\n{fault.error.strip()}")
        print(f"again: make torture MINUTES=0 KIND={fault.kind} SEED={fault.seed}")
    if len(torture.tally.faults) > 10:
        print(f"\nand {len(torture.tally.faults) - 10} more faults")
    return _INTERRUPTED if was_interrupted else int(bool(torture.tally.faults))


def _print_with_time(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)


def _names(kinds: Sequence[Kind]) -> str:
    return ", ".join(kind.name for kind in kinds)


if __name__ == "__main__":
    sys.exit(main())
