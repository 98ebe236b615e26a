"""Running a program of `benchmarks.systems.programs` by another interpreter, and ending all of its processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch

_HERE: Final = str(Path(__file__).parents[2])
_SHOWN: Final = 1000


class ProgramError(RuntimeError):
    """A program failed; the message is the end of its output."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs.

    Attributes:
        process: Process of the program.
        output: Output on both of its streams.
    """

    process: subprocess.Popen[str]
    output: IO[str]

    def result(self) -> dict[str, Any]:
        """Return the line of JSON that it printed, once it has ended.

        Raises:
            ProgramError: The program failed, or printed no such line.
        """
        self.output.seek(0)
        text = self.output.read()
        results = [line for line in text.splitlines() if line.startswith('{"seconds"')]
        if self.process.returncode or not results:
            raise ProgramError(f"it ended with status {self.process.returncode}\n{text[-_SHOWN:]}")
        result: dict[str, Any] = json.loads(results[-1])
        return result


def _path_with(folder: str) -> str:
    """Return the path of Python modules with one more folder at its start."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([folder, *filter(None, folders)])


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run of a program whose memory was watched.

    Attributes:
        report: What the program printed of itself; empty if it was ended at its limit.
        peak: The largest memory of all of its processes.
        limit: The seconds after which it was ended.
    """

    report: Mapping[str, Any]
    peak: Memory
    limit: float

    @property
    def run(self) -> Run:
        """The run by the clock that the program reads."""
        if not self.report:
            return Run(self.limit, (), self.peak, is_cut=True)
        seconds = self.report["seconds"]
        return Run(seconds, (Batch(self.report["rows"], seconds, self.report["output_rows"]),), self.peak)


def watched_run(python: str, module: str, arguments: Sequence[str], limit: float) -> WatchedRun:
    """Run a module to its end, or to a limit, and watch its memory.

    Raises:
        ProgramError: The program failed.
    """
    with running(python, module, arguments) as program:
        with MemoryWatch.over(program.process.pid, with_root=True) as watch:
            try:
                program.process.wait(limit)
            except subprocess.TimeoutExpired:
                return WatchedRun({}, watch.peak, limit)
        return WatchedRun(program.result(), watch.peak, limit)


@contextmanager
def running(python: str, module: str, arguments: Sequence[str]) -> Iterator[Program]:
    """Start a module; when the block ends, so do all processes it started."""
    with (
        tempfile.TemporaryFile("w+") as output,
        tempfile.TemporaryDirectory(prefix="muntin-bench-", ignore_cleanup_errors=True) as folder,
    ):
        process = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=_HERE,
            env=os.environ | {"PYTHONPATH": _path_with(_HERE), "TMPDIR": folder},  # it may have no time to clear up
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield Program(process, output)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
