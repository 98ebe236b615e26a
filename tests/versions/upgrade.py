"""`python -m tests.versions.upgrade PYTHON ...`: have each Python in turn go on with the checkpoint of the one before.

The Pythons are those of environments that differ in Spark or in themselves. The rows have to be those of the last one
alone, over all of the input.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.versions.environments import told_by
from tests.versions.story import FILES

_STORY: Final = "tests.versions.story"


def main(pythons: list[str]) -> int:
    """Return 1 if one does not go on, or goes on to other rows."""
    assert 2 <= len(pythons) <= FILES, f"between 2 and {FILES} of them"
    with TemporaryDirectory() as folder:
        for number, python in enumerate(pythons, 1):
            files = FILES if number == len(pythons) else number
            told = told_by(python, _STORY, str(Path(folder, "together")), str(files))
            print(f"{python}: Spark {told['spark']}, {told['states']} rows of state, {told['changed'] or 'no change'}")
        alone = told_by(pythons[-1], _STORY, str(Path(folder, "alone")), str(FILES))
    is_same = told["rows"] == alone["rows"] and told["states"] == alone["states"]
    print("the rows are those of the last one alone" if is_same else "the rows differ from those of the last one alone")
    return not is_same


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
