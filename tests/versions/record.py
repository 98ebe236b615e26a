"""What was run on which versions: a file that `make test-versions RECORD=1` writes, and the table of it on a page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
RUNS: Final = ROOT / "docs" / "tested-versions.json"
PAGE: Final = ROOT / "docs" / "compatibility.md"
COLUMNS: Final = ("pyspark", "python", "java", "pandas", "pyarrow", "numpy", "protobuf")
_HEAD: Final = f"| {' | '.join(f'`{name}`' if name in COLUMNS[3:] else name for name in COLUMNS)} | tests | when |"
_BEGIN: Final = _HEAD.replace("pyspark", "PySpark").replace("python", "Python").replace("java", "Java")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of tests in one environment.

    Attributes:
        environment: The name of the environment.
        part: `"quick"`, or `"spark"` for all tests that run a query in Spark.
        date: The day, as YYYY-MM-DD.
        versions: The versions that were there: of what is in `COLUMNS`, and of all that our distributions require where
            these are the lowest.
        passed: How many tests passed.
        skipped: How many were skipped, as that version lacks what they need.
        failed: How many failed.
    """

    environment: str
    part: str
    date: str
    versions: dict[str, str]
    passed: int
    skipped: int
    failed: int


def read_runs() -> list[Run]:
    """Return the newest run of each part in each environment."""
    return [Run(**said) for said in json.loads(RUNS.read_text(encoding="utf-8"))]


def keep(run: Run) -> None:
    """Put a run in the place of the older one of its part and environment, in the file and on the page."""
    before = read_runs() if RUNS.is_file() else []
    others = [other for other in before if (other.environment, other.part) != (run.environment, run.part)]
    runs = sorted([*others, run], key=lambda run: (run.environment, run.part))
    RUNS.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n", encoding="utf-8")
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = lines.index(_BEGIN)
    last = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    lines[first:last] = table(runs).splitlines()
    PAGE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def table(runs: Iterable[Run]) -> str:
    """Return the runs as the page has them."""
    rows = [_BEGIN, f"|---{'|---' * (len(COLUMNS) + 1)}|"]
    for run in runs:
        counts = {"passed": run.passed, "skipped": run.skipped, "failed": run.failed}
        told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        cells = [*(run.versions[name] for name in COLUMNS), f"{run.part}: {told}", run.date]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
