"""Start the JVM of a local session quietly, and end it for good.

PySpark starts a JVM on first use, lets it write to the terminal and keeps it when a session stops. A local session has
a log instead, and starts a new JVM after a stop.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyspark
from pyspark import SparkConf

from muntin_engine.backends.spark.private_parts import forget_jvm, gateway
from muntin_engine.backends.spark.session.classic import Py4JError, SparkContext
from muntin_engine.backends.spark.session.spark_home import spark_home

LOOPBACK: Final = "127.0.0.1"
_PATIENCE: Final = 30.0
"""Seconds that a JVM may take to end before it is killed."""

_QUOTED_BYTES: Final = 8192
_QUOTED_LINES: Final = 20
"""An error quotes at most this much of the end of a log."""


def start_context(settings: Mapping[str, str], java_home: Path, log: Path) -> SparkContext:
    """Start a JVM and a Spark context in it.

    The JVM's standard error is added to the log file, and so is what Python workers write there. The JVM writes its
    standard output, such as the rows of Spark's console sink, to the standard output of this process.

    Args:
        settings: The settings of Spark.
        java_home: The `JAVA_HOME` of the JVM.
        log: The log file.

    Raises:
        PySparkRuntimeError: The JVM ended before it answered.
        Py4JJavaError: The JVM runs, and Spark did not start in it.
    """
    from pyspark.java_gateway import launch_gateway  # not importable where PySpark is a client of Spark Connect alone

    log.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf().setAll(list(settings.items()))
    with _environment(java_home), log.open("ab") as file:
        new_gateway = launch_gateway(conf, {"stderr": file})  # type: ignore[no-untyped-call]
        return SparkContext(conf=conf, gateway=new_gateway)


def end_jvm() -> None:
    """End the JVM that this process started, if any, and make PySpark forget it; stop its session first."""
    connection = gateway()
    process = getattr(connection, "proc", None)
    if connection is None or process is None:
        return
    with suppress(Py4JError, OSError):
        connection.shutdown()
    _end_process(process)
    forget_jvm()


def jvm_is_dead() -> bool:
    """Return True if the JVM that this process started has ended."""
    process = getattr(gateway(), "proc", None)
    return process is not None and process.poll() is not None


def log_tail(log: Path) -> str:
    """Return the last lines of a log; empty if there is no log."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(log.stat().st_size - _QUOTED_BYTES, 0))
        lines = file.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_QUOTED_LINES:])
    return ""


@contextmanager
def _environment(java_home: Path) -> Iterator[None]:
    """Set the environment variables that Spark reads when it starts, for a block; restore their values after it."""
    variables = {"JAVA_HOME": str(java_home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
    home = spark_home(Path(pyspark.__file__).parent)
    if home is not None:
        variables["SPARK_HOME"] = str(home)
    previous_values = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in previous_values.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Close the standard input of a JVM, which makes it end, and wait; kill it if that takes too long."""
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
