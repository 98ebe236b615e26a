"""A PostgreSQL server of its own, in a temporary folder, for as long as a test module runs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest

PASSWORD = "p%w:s@cret"
"""The password of the user `postgres` for connections over TCP."""


def folder_of_programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`, of the newest version that is installed."""
    initdb = shutil.which("initdb")
    if initdb:
        return Path(initdb).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@contextmanager
def running_server() -> Iterator[str]:
    """Run a server in a block, and yield the address of its database, over a Unix socket without a password.

    The server runs as the user `postgres` where the tests run as root, whom PostgreSQL refuses.
    """
    programs = folder_of_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed: Debian's package postgresql has one")
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(mkdtemp(prefix="muntin-postgresql-"))
    (folder / "password").write_text(PASSWORD)
    if user is not None:
        for path in (folder, folder / "password"):
            shutil.chown(path, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), *arguments]
        completed = subprocess.run(command, check=False, user=user, capture_output=True, text=True)
        assert completed.returncode == 0, completed.stdout + completed.stderr

    data = str(folder / "data")
    try:
        run(
            *("initdb", "--pgdata", data, "--username", "postgres", "--pwfile", str(folder / "password")),
            *("--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-sync", "--encoding", "UTF8"),
        )
        with socket.socket() as bound_socket:  # to learn of a port that is free
            bound_socket.bind(("127.0.0.1", 0))
            port = bound_socket.getsockname()[1]
        options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "start", "--wait", "--pgdata", data, "--log", str(folder / "log"), "--options", options)
        try:
            yield f"postgresql://postgres@/postgres?host={folder}&port={port}"
        finally:
            run("pg_ctl", "stop", "--wait", "--mode", "immediate", "--pgdata", data)
    finally:
        shutil.rmtree(folder)
