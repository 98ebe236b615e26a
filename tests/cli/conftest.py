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
    """An empty installation: the plugins of this repository are not seen, those that a test adds are."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for installation in installation_in(folder, monkeypatch):
        show_only(monkeypatch, "")
        yield installation
    installed.cache_clear()


@pytest.fixture
def muntin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CommandRun]:
    """Run the command with arguments, with tables of the usual width: test runners set `COLUMNS` for processes."""
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
    """Install plugins and let them be seen."""

    def install(**sources: str) -> Installation:
        for name, source in sources.items():
            installation.plugin(name, source=source)
        show_only(monkeypatch, ",".join(sources))
        return installation

    return install


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the plugins of these names be seen, and no others."""
    return lambda *names: show_only(monkeypatch, ",".join(names))


def show_only(monkeypatch: pytest.MonkeyPatch, names: str) -> None:
    monkeypatch.setenv("MUNTIN_PLUGINS", names)
    installed.cache_clear()
