"""What a type checker accepts of a module writer, and what it refuses.

A line of a file in `refused` that must be refused says so: `# E: [code] part of the message`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sdk.typing.checking import Complaint, check_types, expected_in

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
ACCEPTED = sorted((HERE / "accepted").glob("*.py"))
REFUSED = sorted((HERE / "refused").glob("*.py"))


@pytest.fixture(scope="module")
def complaints(mypy_cache: Path) -> dict[Path, dict[int, Complaint]]:
    """The complaints about all files, by file and line; the type checker runs once."""
    return check_types([*ACCEPTED, *REFUSED], mypy_cache)


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


@pytest.mark.parametrize("file", ACCEPTED, ids=name_of)
def test_a_file_without_mistakes_is_accepted(file: Path, complaints: dict[Path, dict[int, Complaint]]) -> None:
    assert complaints.get(file, {}) == {}


@pytest.mark.parametrize("file", REFUSED, ids=name_of)
def test_each_mistake_is_refused_where_it_is_made(file: Path, complaints: dict[Path, dict[int, Complaint]]) -> None:
    expected = expected_in(file)
    file_complaints = complaints[file]
    assert sorted(file_complaints) == sorted(expected)
    for line, (code, text) in expected.items():
        assert file_complaints[line].says(code, text), f"line {line}: {file_complaints[line]}"


def test_there_are_many_lines_to_accept_and_many_to_refuse() -> None:
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in ACCEPTED) > 150
    assert sum(len(expected_in(file)) for file in REFUSED) >= 35
