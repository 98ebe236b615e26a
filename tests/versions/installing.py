"""Environments of their own for tests, in build/versions, made by pip."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from release.distributions import Distribution, distributions
from tests.versions.environments import Environment
from tests.versions.lowest import constraints
from tests.versions.record import ROOT

_DEVELOPER: Final = ROOT / "requirements-dev.txt"
_CONNECT: Final = "connect"
"""The extra whose requirements `pyspark-client` brings, and that a server needs."""


def environment_python(name: str, environment: Environment, python: Path) -> Path:
    """Return the Python of an environment, made or brought up to date first if its requirements changed.

    Args:
        name: The name of the environment.
        environment: What is installed into it.
        python: A Python of its version.
    """
    folder = ROOT / "build" / "versions" / name
    texts = [(each.folder / "pyproject.toml").read_text(encoding="utf-8") for each in _ours()]
    wanted = "\n".join([repr(environment), *texts, _DEVELOPER.read_text(encoding="utf-8")])
    stamp = folder / "made"
    installed = folder / "bin" / "python"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return installed
    print(f"{name}: installing into {folder.relative_to(ROOT)}", flush=True)
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    if environment.is_client:
        _install_client(installed, environment)
    elif environment.is_lowest:
        _install_lowest(installed, environment, folder / "constraints.txt")
    else:
        _install_all(installed, environment)
    stamp.write_text(wanted, encoding="utf-8")
    return installed


def _install_all(python: Path, environment: Environment) -> None:
    """Install our distributions with what they and the tests require."""
    extras = ["--editable=./engine[jre,connect]", f"--requirement={_DEVELOPER.name}"]
    _pip(python, [*_editable(_ours()), *extras, *environment.packages])
    _pip(python, ["--no-deps", "--editable=./bundle"])  # with what it requires it would bring pandas 2


def _install_lowest(python: Path, environment: Environment, constraints_file: Path) -> None:
    """Install our distributions with all of their extras, as old as these may be, and nothing that tests alone need."""
    constraints_file.write_text(constraints(), encoding="utf-8")
    with_extras: list[str] = []
    for distribution in _ours():
        extras = ",".join(filter(None, distribution.extras))
        if extras:
            with_extras.append(f"--editable={distribution.folder}[{extras}]")
    # pip looks for ours in an index unless each of them is named without its extras, too.
    ours = [*_editable(_ours()), *with_extras]
    _pip(python, [f"--constraint={constraints_file}", *ours, *environment.packages])
    _pip(python, ["--no-deps", "--editable=./bundle"])


def _install_client(python: Path, environment: Environment) -> None:
    """Install a client of Spark Connect, and our distributions without PySpark, as pages say."""
    engine = distributions()["muntin-engine"]
    brought = {each.name for each in engine.extras[_CONNECT]}
    needed: list[Requirement] = []
    for distribution in _ours():
        needed += [each for each in distribution.extras[""] if not each.name.startswith("muntin")]
    others = [str(each) for each in needed if each.name != "pyspark" and each.name not in brought]
    sql = [str(each) for each in engine.extras["sql"]]
    _pip(python, [*others, *sql, *environment.packages])
    _pip(python, ["--no-deps", *_editable(_ours())])


def _ours() -> list[Distribution]:
    return [each for each in distributions().values() if each.name != "muntin"]


def _editable(ours: Sequence[Distribution]) -> list[str]:
    return [f"--editable={each.folder}" for each in ours]


def _pip(python: Path, arguments: Sequence[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], cwd=ROOT, check=True)
