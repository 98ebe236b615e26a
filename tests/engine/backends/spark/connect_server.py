"""`python -m tests.engine.backends.spark.connect_server SERVER CLIENT`: query a Spark Connect server of another Python.

Both are paths of Pythons that have Muntin. Where their minor versions are equal the client gets its rows; where they
differ the query is refused, with both versions. `make test-versions VERSIONS=upgrade` runs it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from platform import python_version_tuple
from tempfile import TemporaryDirectory
from typing import Any, Final

from muntin import tumbling
from muntin.errors import MuntinError
from muntin_engine import events, module
from release.distributions import ROOT

_THIS: Final = "tests.engine.backends.spark.connect_server"
_ROWS: Final = [["a", 2], ["b", 1], ["a", 1]]
"""Key and count of the windows that `ask` queries: two keys from 0 on, and one from 20 on."""


def main(server: str, client: str) -> int:
    """Return 1 if the client gets other rows, or an error without both versions."""
    with TemporaryDirectory() as folder:
        answers = answers_over_connect(server, folder, client, _THIS, "ask")
    server_version = answers["server"]
    client_version = answers["client"]
    answer = answers["answer"]
    if server_version == client_version:
        is_right = answer == _ROWS
    else:
        is_right = f"in worker has different version: {server_version}" in answer
    print(f"a client of Python {client_version} on a server of Python {server_version}: {answer}")
    return not is_right


def answers_over_connect(server: str, folder: str, client: str, module: str, *arguments: str) -> dict[str, Any]:
    """Run a module with one Python, as a client of a server that another Python runs, and return its answers.

    Args:
        server: The Python of the server.
        folder: Where the log of Spark is written.
        client: The Python of the client.
        module: What the client runs; it gets the address of the server as its last argument.
        arguments: The arguments of the module before that.
    """
    return printed_json(server, _THIS, "serve", folder, client, module, *arguments)


def printed_json(python: str, module: str, *arguments: str) -> dict[str, Any]:
    """Return the JSON that a module of the tests prints last when another Python runs it, with a Spark of its own."""
    environment = dict(os.environ)
    environment.pop("SPARK_HOME", None)
    environment.pop("PYSPARK_PYTHON", None)
    command = [python, "-m", module, *arguments]
    program = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    answers: dict[str, Any] = json.loads(program.stdout.splitlines()[-1])
    return answers


def serve(folder: str, client: str, module: str, *arguments: str) -> dict[str, Any]:
    """Start a server here, have a client ask it, stop it, and return the answers with the version of this Python."""
    from muntin_engine import local_session, stop_session

    port = _free_port()
    conf = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }
    spark = local_session("connect server", log=Path(folder, "spark.log"), conf=conf)
    answers = printed_json(client, module, *arguments, f"sc://127.0.0.1:{port}")
    stop_session(spark)
    return {"server": _minor_version(), **answers}


def ask(address: str) -> dict[str, Any]:
    """Query a server, and return the rows or why there are none, with the version of this Python."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(address).getOrCreate()
    rides = spark.createDataFrame([("a", 1), ("a", 5), ("b", 5), ("a", 25)], "station string, at long")
    windows = events(rides, key="station", at="at", watermark=0).window(tumbling(10))
    counts = windows.aggregate(n=module("stats.count")).results()
    try:
        rows = counts.orderBy("window.start", "station").select("station", "n").collect()
        answer: Any = [list(row) for row in rows]
    except MuntinError as error:
        answer = f"{type(error).__name__}: {error}"
    spark.stop()
    return {"client": _minor_version(), "answer": answer}


def _free_port() -> str:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        return str(bound_socket.getsockname()[1])


def _minor_version() -> str:
    return ".".join(python_version_tuple()[:2])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder, client, module_name, *arguments]:
            print(f"\n{json.dumps(serve(folder, client, module_name, *arguments))}")
        case ["ask", address]:
            print(f"\n{json.dumps(ask(address))}")
        case [server, client]:
            sys.exit(main(server, client))
