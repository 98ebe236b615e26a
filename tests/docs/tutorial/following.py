"""Following a page as its reader would, in a terminal: `python -m tests.docs.tutorial.following` writes what it prints.

Everything comes from the page: each line of a `shell` block is run by one shell, each block with a `file` becomes that
file in the folder where the shell is, and a block of text marked `<!-- shows -->` is what the line above it prints. A
block that says `no-run` is passed over.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.cli.command_pages import FOLLOWED, Shown, write_shown
from tests.docs.pages import ROOT, Block, blocks
from tests.docs.tutorial.environment import create_environment
from tests.docs.tutorial.shell import open_shell
from tests.quick_spark import jvm as quick_jvm

TEN_MINUTES: Final = 600.0
"""What the page promises that its reader needs at the most, in seconds."""

_KEPT: Final = ("JAVA_HOME", "LANG", "LD_LIBRARY_PATH", "SPARK_HOME", "TMPDIR")

_SETTINGS: Final = (
    "-Dspark.python.daemon.module=muntin_engine.backends.spark.daemon"
    " -Dspark.python.sql.dataFrameDebugging.enabled=false -Dspark.ui.enabled=false"
)
"""Settings that save time and change no result: workers are forked, and nobody looks at Spark's pages or debugs.

Spark takes them from its JVM as it does from `spark-defaults.conf`. A folder for that file would come first on the
class path, and a JVM refuses an archive of classes that was made without it.
"""


def follow(page: Path, folder: Path) -> Iterator[Shown]:
    """Follow a page that starts in a clone of the repository, and yield what it shows with what was printed here.

    Args:
        page: The page.
        folder: An empty folder, outside of the repository: it gets the reader's home and virtual environment.
    """
    parts = blocks(page)
    with open_shell(ROOT, _readers_environment(folder), TEN_MINUTES) as shell:
        for block, below in zip(parts, [*parts[1:], None], strict=True):
            if block.file is not None:
                _write(Path(shell.run("pwd").rstrip("\n"), block.file), block)
            elif block.language == "shell" and not block.is_not_run:
                printed = [shell.run(line) for line in block.lines]
                if below is not None and below.comment == "shows":
                    yield Shown(below, block.lines[-1], 0, printed[-1])


def _write(file: Path, block: Block) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text, encoding="utf-8")


def _readers_environment(folder: Path) -> dict[str, str]:
    """Return the variables of somebody who has activated an environment and has no network."""
    (folder / "home").mkdir()
    ours = sysconfig.get_path("scripts")
    path = [entry for entry in os.environ["PATH"].split(os.pathsep) if entry != ours]
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        **quick_jvm.home(),
        "HOME": str(folder / "home"),
        "PATH": os.pathsep.join([str(create_environment(folder / "environment")), *path]),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the wrong way round: no build environment of its own
        "PIP_NO_INDEX": "1",
        "PYTEST_ADDOPTS": "-W error",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": f"{quick_jvm.OPTIONS} {_SETTINGS}",
    }


def main() -> None:
    """Write what the commands of the page print."""
    with TemporaryDirectory() as folder:
        write_shown(FOLLOWED, list(follow(FOLLOWED, Path(folder))))


if __name__ == "__main__":
    main()
