"""Lanes as processes beside each other: what they say is added up, and one that hangs or dies is a fault."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.torture.kind import Kind
from tests.torture.tally import Fault, Tally

ROOT: Final = Path(__file__).parents[2]
_NEXT_SEED: Final = 1_000_000_007
"""What a lane's seed grows by when its process starts again, so that no trial is run twice."""


class _Trial(NamedTuple):
    """A trial that has begun: its kind and its seed."""

    kind: Kind
    seed: int


@dataclass
class _LaneProcess:
    """A lane's process.

    Attributes:
        kinds: Kinds of trials that it runs.
        seed: Seed of its first trial.
        process: The process.
        trial: The trial that it runs now; None between two.
        began: When it began that.
    """

    kinds: Sequence[Kind]
    seed: int
    process: subprocess.Popen[str]
    trial: _Trial | None = None
    began: float = field(default_factory=time.monotonic)

    def is_hung(self) -> bool:
        """True if the trial takes longer than its kind may."""
        return self.trial is not None and time.monotonic() - self.began > self.trial.kind.seconds


class Torture:
    """A run of several kinds for some time.

    Attributes:
        tally: Figures so far.
    """

    def __init__(self, place: str, kinds: Sequence[Kind], seed: int, log: Path, report: Callable[[str], None]) -> None:
        """Prepare.

        Args:
            place: Place of the list of kinds, for the processes.
            kinds: Kinds of the list that are run.
            seed: Seed of the first trials.
            log: File for the output of trials.
            report: Function that reports a line.
        """
        self.tally = Tally()
        self._place = place
        self._kinds = {kind.name: kind for kind in kinds}
        self._seed = seed
        self._log = log
        self._report = report
        self._until = 0.0
        self._reports: queue.Queue[tuple[_LaneProcess, str | None]] = queue.Queue()
        self._lanes: list[_LaneProcess] = []
        self._threads: list[threading.Thread] = []

    def run(self, seconds: float) -> None:
        """Run all lanes side by side until the time is up and the last trials have ended."""
        self._until = time.monotonic() + seconds
        last_report = time.monotonic()
        by_lane: dict[str, list[Kind]] = {}
        for kind in self._kinds.values():
            by_lane.setdefault(kind.lane, []).append(kind)
        try:
            for place, kinds in enumerate(by_lane.values()):
                self._start(kinds, self._seed + place * 500_000_003)
            while self._lanes:
                self._listen()
                for lane in [lane for lane in self._lanes if lane.is_hung()]:
                    assert lane.trial is not None
                    self._end(lane, f"it hung for {lane.trial.kind.seconds} seconds")
                if time.monotonic() - last_report > 60:
                    last_report = time.monotonic()
                    minutes_left = max(0, self._until - last_report) / 60
                    trials = sum(self.tally.trials.values())
                    self._report(f"{minutes_left:.0f} minutes left, {trials:,} trials")
        finally:
            for lane in self._lanes:
                _kill(lane.process)
            for thread in self._threads:
                thread.join()

    def _start(self, kinds: Sequence[Kind], seed: int) -> None:
        """Start a process that runs trials of some kinds, and a thread that reads its reports."""
        names = ",".join(kind.name for kind in kinds)
        seconds = str(self._until - time.monotonic())
        command = [sys.executable, "-m", "tests.torture.lane", self._place, names, str(seed), seconds]
        with self._log.open("a", encoding="utf-8") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, start_new_session=True
            )
        lane = _LaneProcess(kinds, seed, process)
        self._lanes.append(lane)
        thread = threading.Thread(target=self._read_reports, args=(lane,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _read_reports(self, lane: _LaneProcess) -> None:
        """Queue the lines that a lane prints, and None when it ends."""
        assert lane.process.stdout is not None
        with lane.process.stdout as lines:
            for line in lines:
                self._reports.put((lane, line))
        self._reports.put((lane, None))

    def _listen(self) -> None:
        """Read the next report of a lane, if one comes within a second."""
        try:
            lane, line = self._reports.get(timeout=1)
        except queue.Empty:
            return
        if lane not in self._lanes:
            return
        if line is not None:
            self._record(lane, json.loads(line))
        elif lane.trial is not None or lane.process.wait() != 0:
            self._end(lane, f"its process ended with {lane.process.wait()}")
        else:
            self._lanes.remove(lane)

    def _record(self, lane: _LaneProcess, report: dict[str, Any]) -> None:
        """Record that a trial began, ended well, or failed."""
        name = report["kind"]
        seed = report["seed"]
        if report["event"] == "begins":
            lane.trial = _Trial(self._kinds[name], seed)
            lane.began = time.monotonic()
            return
        lane.trial = None
        self.tally.trials[name] += 1
        self.tally.seconds[name] = self.tally.seconds.get(name, 0.0) + report["seconds"]
        if report["event"] == "failed":
            self._fault(Fault(name, seed, report["error"]))
        else:
            self.tally.figures.setdefault(name, Counter()).update(report["figures"])

    def _end(self, lane: _LaneProcess, why: str) -> None:
        """Record the trial of a lane that hung or died as failed, and start the lane again."""
        _kill(lane.process)
        self._lanes.remove(lane)
        failed_trial = lane.trial or _Trial(lane.kinds[0], lane.seed)
        self.tally.trials[failed_trial.kind.name] += 1
        self._fault(Fault(failed_trial.kind.name, failed_trial.seed, why))
        untried = [kind for kind in lane.kinds if not self.tally.trials[kind.name]]
        remaining_kinds = lane.kinds if time.monotonic() < self._until else untried
        if remaining_kinds and lane.trial is not None:  # a process that dies before its first trial would do so again
            self._start(remaining_kinds, failed_trial.seed + _NEXT_SEED)

    def _fault(self, fault: Fault) -> None:
        """Record a fault, and report the last line of its error."""
        self.tally.faults.append(fault)
        self._report(f"{fault.kind}, seed {fault.seed}: {fault.error.strip().splitlines()[-1]}")


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
