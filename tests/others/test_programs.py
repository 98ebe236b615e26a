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
"""Of systems that need a broker, the code that runs a program without one."""


def program_of(system: str) -> tuple[str, Block]:
    """Return the program for a system with its input before it, and the block of the page that says what it prints."""
    page_blocks = blocks(DOCS / PAGE)
    reason = f"no-run make test-others runs it where {system} is installed"
    (place,) = [place for place, block in enumerate(page_blocks) if block.options == reason]
    deliveries = [block.text for block in page_blocks[:place] if block.text.startswith("deliveries")]
    output = next(block for block in page_blocks[place:] if block.is_output)
    return "\n\n".join([*deliveries, page_blocks[place].text]), output


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_page_has_the_program_with_its_input_and_its_rows(system: str) -> None:
    program, output = program_of(system)
    assert program.startswith("deliveries = [")
    assert f"import {system}" in program or f"from {system} import" in program
    assert len(output.lines) == 8


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_program_for_another_system_prints_the_rows_of_ours(system: str, tmp_path: Path) -> None:
    if find_spec(system) is None:
        pytest.skip(f"{system} is not installed")
    program, output = program_of(system)
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    command = [sys.executable, str(file)]
    if system in WITHOUT_A_BROKER:
        command = [sys.executable, "-c", WITHOUT_A_BROKER[system].format(file=str(file))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(output.lines)
