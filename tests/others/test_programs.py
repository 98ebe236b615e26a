"""Programs for other systems print what the page that shows them says. `make test-others` runs them where they install.

The blocks that make and extend `deliveries` before it are its input, which ours on the same page reads too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, Block, blocks

PAGE = "how-to/from-bytewax-pathway-and-quix.md"
SYSTEMS = ("bytewax", "pathway", "quixstreams")
WITHOUT_A_BROKER = {"quixstreams": "from tests.others.quix_without_a_broker import run_program; run_program({file!r})"}


def program_of(system: str) -> tuple[str, Block]:
    """Return the input and the program of a system, and the block that says what it prints."""
    parts = blocks(DOCS / PAGE)
    reason = f"no-run make test-others runs it where {system} is installed"
    (place,) = [place for place, block in enumerate(parts) if block.options == reason]
    deliveries = [block.text for block in parts[:place] if block.text.startswith("deliveries")]
    printed = next(block for block in parts[place:] if block.is_output)
    return "\n\n".join([*deliveries, parts[place].text]), printed


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_page_has_the_program_with_its_input_and_its_rows(system: str) -> None:
    text, printed = program_of(system)
    assert text.startswith("deliveries = [")
    assert f"import {system}" in text or f"from {system} import" in text
    assert len(printed.lines) == 8


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_program_for_another_system_prints_the_rows_of_ours(system: str, tmp_path: Path) -> None:
    if find_spec(system) is None:
        pytest.skip(f"{system} is not installed")
    text, printed = program_of(system)
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    code = WITHOUT_A_BROKER.get(system)
    command = [sys.executable, *(("-c", code.format(file=str(file))) if code else (str(file),))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(printed.lines)
