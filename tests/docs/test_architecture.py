"""The page about the architecture is one picture and eleven sentences, and names rooms and files that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs/contributing/architecture.md").read_text(encoding="utf-8")
SOURCES: Final = (ROOT / "engine/src/muntin_engine", ROOT / "sdk/src/muntin")


def paths() -> set[str]:
    """Return all folders and files of the engine and the SDK, without their endings."""
    known_paths = {"muntin"}
    for source in SOURCES:
        for path in source.rglob("*"):
            if path.is_dir() or path.suffix == ".py":
                known_paths.add(path.relative_to(source).with_suffix("").as_posix())
    return known_paths


def test_every_room_and_file_that_the_page_names_is_there() -> None:
    names = set(re.findall(r"`([a-z_/]+)`", PAGE))
    assert len(names) > 50
    known_paths = paths()
    for name in names:
        assert any(f"/{path}".endswith(f"/{name}") for path in known_paths), name


def test_every_room_of_the_engine_is_named() -> None:
    rooms = {folder.name for folder in SOURCES[0].iterdir() if (folder / "__init__.py").exists()}
    assert len(rooms) > 15
    for room in rooms:
        assert f"`{room}" in PAGE, room


def test_the_page_is_one_picture_and_eleven_sentences() -> None:
    assert PAGE.count("```mermaid") == 1
    sentences = re.findall(r"^([0-9]+)\. .*\.$", PAGE, re.MULTILINE)
    assert sentences == [str(number) for number in range(1, 12)]
