"""What `muntin --help` imports: commands import what they need when they run."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

SLOW_IMPORTS: Final = frozenset(
    {
        *("pyspark", "muntin_engine", "pyarrow", "numpy", "pandas", "duckdb", "sqlglot", "rich"),
        *("http.server", "ssl", "webbrowser", "asyncio", "concurrent.futures", "packaging.requirements"),
    }
)
"""What only some commands need, and what would make all of them start later."""


def test_help_imports_no_engine_and_nothing_of_a_single_command() -> None:
    program = (
        "import sys; sys.argv = ['muntin', '--help']\n"
        "from muntin_cli.app import app\n"
        "try:\n    app()\n"
        "finally:\n    print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage: muntin" in done.stdout
    imported = set(done.stderr.split())
    assert imported & SLOW_IMPORTS == set()
