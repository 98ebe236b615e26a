"""The command, run in this process, and an installation that holds what a test puts into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from muntin.catalog import installed
from muntin_cli import app
from tests.cli.running import CommandRun, Offer
from tests.sdk.installation import Installation, installation_in

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An empty installation, on the path of this process and of the programs that it starts.

    No plugin is seen at first, not even those of this repository: `offer` installs some and lets them be seen.
    """
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for installation in installation_in(folder, monkeypatch):
        show_only(monkeypatch, "")
        yield installation
    installed.cache_clear()


@pytest.fixture
def muntin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CommandRun]:
    """A function that runs the command with arguments, in this process.

    Its tables have the usual width, also where a runner of tests sets `COLUMNS` for its processes.
    """
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: object) -> CommandRun:
        installed.cache_clear()
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="muntin")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return CommandRun(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def offer(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """A function that installs plugins, each by its name and with its source, and lets them be seen, and no others."""

    def install(**sources: str) -> Installation:
        for name, source in sources.items():
            installation.plugin(name, source=source)
        show_only(monkeypatch, ",".join(sources))
        return installation

    return install


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that lets the plugins of some names be seen, and no others."""
    return lambda *names: show_only(monkeypatch, ",".join(names))


def show_only(monkeypatch: pytest.MonkeyPatch, names: str) -> None:
    """Let the plugins be seen whose names are given, with commas between them."""
    monkeypatch.setenv("MUNTIN_PLUGINS", names)
    installed.cache_clear()
