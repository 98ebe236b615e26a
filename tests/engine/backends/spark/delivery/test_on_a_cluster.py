"""A streaming query on a standalone cluster: a master and two workers on loopback, and `spark-submit`.

Seven JVMs take a minute of two cores or more, so `make nightly` runs it, and `make test` does not.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

pytestmark = pytest.mark.nightly

JOB = Path(__file__).with_name("standalone_job.py")
HOST = "127.0.0.1"
DEPLOY = "org.apache.spark.deploy"


def environment() -> dict[str, str]:
    """Return the environment of programs of Spark, on loopback and with this Python."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    return {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}


def spark_program(name: str) -> str:
    return str(Path(environment()["SPARK_HOME"], "bin", name))


@contextmanager
def daemon(log: Path, *arguments: str) -> Iterator[None]:
    """Run a master or a worker until the block ends."""
    with log.open("wb") as output:
        command = [spark_program("spark-class"), *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment())
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    with socket.socket() as bound_socket:
        bound_socket.bind((HOST, 0))
        port: int = bound_socket.getsockname()[1]
        return port


def test_a_query_runs_on_both_workers_of_a_standalone_cluster(tmp_path: Path) -> None:
    port = free_port()
    cluster = f"spark://{HOST}:{port}"
    with ExitStack() as running:
        master = (f"{DEPLOY}.master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0")
        running.enter_context(daemon(tmp_path / "master.log", *master))
        for number in (1, 2):
            place = ("--host", HOST, "--webui-port", "0", "--work-dir", str(tmp_path / f"worker {number}"))
            worker = (f"{DEPLOY}.worker.Worker", *place, "--cores", "1", "--memory", "1g", cluster)
            running.enter_context(daemon(tmp_path / f"worker{number}.log", *worker))

        # An executor has one core, and the job starts when it has both.
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.host": HOST,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.cores.max": "2",
        }
        settings_arguments: list[str] = []
        for name, value in settings.items():
            settings_arguments += ["--conf", f"{name}={value}"]

        folder = tmp_path / "job"
        folder.mkdir()
        job = subprocess.run(
            [spark_program("spark-submit"), "--master", cluster, *settings_arguments, str(JOB), str(folder)],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert job.returncode == 0, job.stderr[-3000:]
    output = json.loads(job.stdout.splitlines()[-1])
    assert output["executors"] == 2
    expected_rows: list[list[Any]] = []
    for start in (0, 20):
        # station, start, end, spread of km, rides
        expected_rows += [[f"s{station}", start, start + 20, 16.0, 5] for station in range(4)]
    assert output["rows"] == expected_rows
    assert "doesn't contain key" not in job.stderr
