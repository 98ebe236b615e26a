"""A shell that keeps its folder and its variables from one command to the next, as a reader's terminal does."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Final

_END: Final = "<the command has ended>"


class Shell:
    """A running shell; its commands print their errors where they print everything else."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, command: str) -> str:
        """Run a command and return what it prints.

        Raises:
            AssertionError: The command fails; the message has all that it printed.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{{ {command}\n}} < /dev/null\necho '{_END}'\n")
        self._process.stdin.flush()
        printed = "".join(self._lines())
        assert self._process.poll() is None, f"{command}\n  ended with {self._process.poll()}\n{printed}"
        return printed

    def _lines(self) -> Iterator[str]:
        for line in self._process.stdout or ():
            if line.rstrip("\n") == _END:
                return
            yield line
        self._process.wait()


@contextmanager
def open_shell(folder: Path, environment: Mapping[str, str], patience: float) -> Iterator[Shell]:
    """Start a shell that ends with the first command that fails.

    Args:
        folder: Where it starts.
        environment: All the variables that it has.
        patience: Seconds after which it is killed, with all that it started.
    """
    with subprocess.Popen(
        ["bash", "-e", "-o", "pipefail"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        killer = Timer(patience, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        try:
            yield Shell(process)
        finally:
            killer.cancel()
