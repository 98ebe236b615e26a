"""`python -m tests.versions.upgrade PYTHON ...`: have each Python in turn go on with the checkpoint of the one before.

The Pythons are those of environments that differ in Spark or in themselves. The rows have to be those of the last one
alone, over all of the input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.versions.record import ROOT
from tests.versions.story import FILES


def main(pythons: list[str]) -> int:
    """Return 1 if one does not go on, or goes on to other rows."""
    assert 2 <= len(pythons) <= FILES, f"between 2 and {FILES} of them"
    with TemporaryDirectory() as folder:
        for number, python in enumerate(pythons, 1):
            files = FILES if number == len(pythons) else number
            told = _tell(python, Path(folder, "together"), files)
            print(f"{python}: Spark {told['spark']}, {told['states']} rows of state, {told['changed'] or 'no change'}")
        alone = _tell(pythons[-1], Path(folder, "alone"), FILES)
    is_same = told["rows"] == alone["rows"] and told["states"] == alone["states"]
    print("the rows are those of the last one alone" if is_same else "the rows differ from those of the last one alone")
    return not is_same


def _tell(python: str, folder: Path, files: int) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key != "SPARK_HOME"}
    command = [python, "-m", "tests.versions.story", str(folder), str(files)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
