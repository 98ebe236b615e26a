"""The process of a lane: runs trials until its time is up, and says so line by line."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from tests.torture.kind import Kind, load_kinds


def run_lane(kinds: Sequence[Kind], seed: int, seconds: float, reports: TextIO) -> None:
    """Run trials until the time is up, each of the kind that is furthest behind its share.

    Every kind has one trial at least.

    Args:
        kinds: Kinds of trials that take turns.
        seed: Seed of the first trial; each next one has the next.
        seconds: Duration. A trial that has begun is finished.
        reports: Stream of reports: a line of JSON when a trial begins, and when it ends or fails.
    """
    spent = {kind.name: 0.0 for kind in kinds}
    until = time.monotonic() + seconds
    while time.monotonic() < until or not all(spent.values()):
        kind = min(kinds, key=lambda kind: spent[kind.name] / kind.share)
        began = time.monotonic()
        _report(reports, kind=kind.name, seed=seed, event="begins")
        try:
            ended: dict[str, Any] = {"event": "ended", "figures": dict(run_trial(kind, seed))}
        except Exception as error:
            ended = {"event": "failed", "error": "".join(traceback.format_exception(error))}
        _report(reports, kind=kind.name, seed=seed, seconds=time.monotonic() - began, **ended)
        spent[kind.name] += time.monotonic() - began
        seed += 1


def run_trial(kind: Kind, seed: int) -> Mapping[str, int]:
    """Run one trial in a folder that is removed after it; what it prints goes to standard error."""
    with TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder, redirect_stdout(sys.stderr):
        return kind.load()(seed, Path(folder))


def _report(reports: TextIO, **report: Any) -> None:
    reports.write(json.dumps(report) + "\n")
    reports.flush()


def main(arguments: Sequence[str]) -> None:
    """Run a lane as a process: the place of the list of kinds, the names of those to run, a seed, seconds."""
    place, names, seed, seconds = arguments
    kind_names = names.split(",")
    kinds = [kind for kind in load_kinds(place) if kind.name in kind_names]
    reports = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what processes of a trial print goes to standard error too
    run_lane(kinds, int(seed), float(seconds), reports)


if __name__ == "__main__":
    main(sys.argv[1:])
