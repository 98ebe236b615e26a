"""Make Spark accept a Java that lacks the incubator module named in Spark's start command.

The command always holds `--add-modules=jdk.incubator.vector`, and no setting removes it. Spark does without the module,
but a Java that lacks it refuses to start. Such a Java gets a wrapper that drops the argument; see decision 0002.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from muntin_engine.spark.session.java import Java

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
    """Return the `JAVA_HOME` for Spark: the Java's own home, or that of a wrapper around it.

    A wrapper is made once, in this user's cache; it is a shell script, so on Windows Java has to have the module.
    """
    return java.home if java.has_module(_MODULE) else wrap_java(java, cache_directory(environment))


def wrap_java(java: Java, cache: Path) -> Path:
    """Return the home of a Java that runs like this one and ignores the demand for the missing module.

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
    """Return an existing directory of this user's to keep files in; where there is no home, a new temporary one."""
    for root in _cache_roots(environment):
        directory = root / "muntin"
        if _is_writable(directory):
            return directory
    return Path(tempfile.mkdtemp(prefix="muntin-"))


def _cache_roots(environment: Mapping[str, str]) -> Iterator[Path]:
    if cache := environment.get("XDG_CACHE_HOME"):
        yield Path(cache)
    if home := environment.get("HOME"):
        yield Path(home, ".cache")


def _is_writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


def _write_executable(path: Path, script: str) -> None:
    """Write it beside its place and move it there, so that nobody ever runs half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        file.write(script)
    os.chmod(file.name, 0o700)
    os.replace(file.name, path)
