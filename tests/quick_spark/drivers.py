"""A server that forks the processes which Spark starts on the driver for a streaming query.

There is one for each stateful operator and for each source that is written in Python. The first kind declares state and
ends; nearly all of its time goes into importing PySpark. The tests' session starts hundreds of them, so Spark's Python
is a script there: it has this server fork such a process, and runs Python itself for everything else. Programs with a
session of their own start Python as Spark does.
"""

from __future__ import annotations

import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_SCRIPT: Final = f"""\
#!/bin/sh
case "$1 $2" in
    "-m pyspark.sql.streaming."*)
        exec '{sys.executable}' -I -S '{Path(__file__).with_name("ask_for_driver.py")}' '%s' "$2" ;;
esac
exec '{sys.executable}' "$@"
"""


@contextmanager
def quick_drivers(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Have a session's processes on the driver forked from a server that lives as long as the context."""
    address = folder / "drivers"
    python = folder / "python"
    python.write_text(_SCRIPT % address, encoding="utf-8")
    python.chmod(0o755)
    command = [sys.executable, "-m", "tests.quick_spark.drivers", str(address)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        spark.sparkContext.pythonExec = str(python)
        yield
        server.stdin.close()


def serve(address: str) -> None:
    """Fork a process for each connection, until standard input ends."""
    import pyspark.sql.streaming.python_streaming_source_runner
    import pyspark.sql.streaming.transform_with_state_driver_worker  # noqa: F401

    import muntin_engine.backends.spark.operators.bucket_processor  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            readable, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in readable:
                return  # it is never written to: it has ended
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _work(connection)
            connection.close()


def _work(connection: socket.socket) -> None:
    """Be the process that Spark asked for, as `ask_for_driver.py` describes it, and end.

    It describes its standard output and error, as descriptors, and then the module to run and the environment.
    """
    try:
        _, outputs, _, _ = socket.recv_fds(connection, 1, 2)
        for number, descriptor in enumerate(outputs, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)

        parts = b"".join(iter(lambda: connection.recv(1 << 16), b"")).split(b"\0")
        module, *variables = parts
        os.environb.clear()
        os.environb.update(dict(variable.split(b"=", 1) for variable in variables))

        del sys.modules[module.decode()]  # it runs as a program; what it imports is there
        runpy.run_module(module.decode(), run_name="__main__")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
