"""`python -m tests.versions.remote SERVER CLIENT`: query a Spark Connect server of one Python from a client of another.

The Pythons are those of environments. Where their minor versions are equal the client gets its rows; where they differ
the query is refused, with both versions.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from platform import python_version_tuple
from tempfile import TemporaryDirectory
from typing import Any, Final

from muntin import tumbling
from muntin.errors import MuntinError
from muntin_engine import events, module
from tests.versions.environments import told_by

THIS: Final = "tests.versions.remote"
_ROWS: Final = [["a", 2], ["b", 1], ["a", 1]]


def main(server: str, client: str) -> int:
    """Return 1 if the client gets other rows, or is not told what is wrong."""
    with TemporaryDirectory() as folder:
        told = told_by(server, THIS, "serve", folder, free_port(), client, THIS, "ask")
    there, here, answer = told["server"], told["client"], told["answer"]
    is_right = answer == _ROWS if there == here else f"in worker has different version: {there}" in answer
    print(f"a client of Python {here} on a server of Python {there}: {answer}")
    return not is_right


def free_port() -> str:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def serve(folder: str, port: str, client: str, module: str, *arguments: str) -> dict[str, Any]:
    """Start a server, have a client ask it, and stop it.

    Args:
        folder: Where the log of Spark is written.
        port: The server's port.
        client: The Python of the client.
        module: What the client runs.
        arguments: Its arguments, before the address of the server.
    """
    from muntin_engine import local_session, stop_session

    conf = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }
    spark = local_session("remote", log=Path(folder, "spark.log"), conf=conf)
    told = told_by(client, module, *arguments, f"sc://127.0.0.1:{port}")
    stop_session(spark)
    return {"server": _minor(), **told}


def ask(address: str) -> dict[str, Any]:
    """Ask a server, and tell its rows or why it has none."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(address).getOrCreate()
    rides = spark.createDataFrame([("a", 1), ("a", 5), ("b", 5), ("a", 25)], "station string, at long")
    counted = events(rides, key="station", at="at", watermark=0).window(tumbling(10)).aggregate(n=module("stats.count"))
    try:
        rows = counted.results().orderBy("window.start", "station").select("station", "n").collect()
        answer: Any = [list(row) for row in rows]
    except MuntinError as error:
        answer = f"{type(error).__name__}: {error}"
    spark.stop()
    return {"client": _minor(), "answer": answer}


def _minor() -> str:
    return ".".join(python_version_tuple()[:2])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder, port, client, module_name, *arguments]:
            print(f"\n{json.dumps(serve(folder, port, client, module_name, *arguments))}")
        case ["ask", address]:
            print(f"\n{json.dumps(ask(address))}")
        case [server, client]:
            sys.exit(main(server, client))
