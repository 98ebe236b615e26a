"""A new virtual environment with all that the running one has, but nothing of Muntin.

A reader's pip downloads what Muntin needs. Here the packages of others are links to those of the running environment,
where pip finds them installed, so it takes no network and a second. Muntin itself pip installs, as for a reader.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Final

_OWN: Final = re.compile(r"(__editable__|_editable_impl_)?muntin([-_.].*)?")
"""Files of ours in an environment: distributions, packages, the command, and what editable installations leave."""


def create_environment(folder: Path) -> Path:
    """Make the environment and return the folder of its programs."""
    venv.create(folder)
    packages = Path(sysconfig.get_path("purelib"))
    programs = Path(sysconfig.get_path("scripts"))
    for entry in _foreign(packages):
        if entry.suffix != ".pth":
            _link(entry, folder / packages.relative_to(sys.prefix) / entry.name)
    for program in _foreign(programs):
        copy = folder / programs.relative_to(sys.prefix) / program.name
        if not copy.exists():
            _copy_program(program, copy, folder)
    return folder / programs.relative_to(sys.prefix)


def _foreign(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if not _OWN.fullmatch(entry.name) and entry.name != "__pycache__"]


def _link(entry: Path, link: Path) -> None:
    """Link to a file, or to each entry of a package: Spark makes a folder `work` inside its own.

    What is compiled of its sources is linked file by file, so that what Python compiles there stays there.
    """
    if not entry.is_dir():
        link.symlink_to(entry)
        return
    link.mkdir()
    for inner in entry.iterdir():
        if inner.name == "__pycache__":
            _link(inner, link / inner.name)
        else:
            (link / inner.name).symlink_to(inner)


def _copy_program(program: Path, copy: Path, environment: Path) -> None:
    """Copy a program; if it is a script, one that runs the Python of the new environment."""
    content = program.read_bytes()
    if content.startswith(b"#!"):
        content = content.replace(sys.prefix.encode(), str(environment).encode())
    copy.write_bytes(content)
    copy.chmod(0o755)
