"""`muntin look`: the page of a recording, of all keys or of some, as a file or served."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from pathlib import Path
from urllib.request import urlopen

import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_cli import recordings
from muntin_cli.commands import look as command
from muntin_stats.average import Average
from tests.cli.running import Run
from tests.engine.recording.recorded import recorded
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Averages of two keys, over windows of ten ticks."""
    stream = Script().point(1, 1, 25, key="north").point(2, 7, 40, key="south").point(3, 12, 90, key="north").close()
    query = Query(tumbling(10), (Average(),))
    recorded(Scenario(query, stream), next(iter(query.evaluators)), tmp_path / "rides")
    return tmp_path / "rides"


def keys_in(page: str) -> list[str]:
    """Return the keys of the story that a page shows."""
    return re.findall(r'\["(\w+)"\]', page[page.index('"keys":') : page.index('"batches":')])


def test_a_page_of_all_keys_is_written_under_the_name_of_the_recording(
    muntin: Run, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = muntin("look", recording)
    assert (done.code, done.output) == (0, "wrote rides.html\n")
    assert keys_in((tmp_path / "rides.html").read_text(encoding="utf-8")) == ["north", "south"]


def test_a_page_of_one_key_has_no_other(muntin: Run, recording: Path, tmp_path: Path) -> None:
    page = tmp_path / "north.html"
    assert muntin("look", recording, "--key", "north", "--out", page).code == 0
    assert keys_in(page.read_text(encoding="utf-8")) == ["north"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--key", "west"], "has no row of the key 'west'"),
        (["--key", "north", "--module", "nowhere.py"], "nowhere.py cannot be read"),
        (["--out", "nowhere/page.html"], "nowhere/page.html cannot be written: No such file or directory"),
        (["--serve", "--out", "page.html"], "--serve writes no file, and --out names page.html"),
    ],
)
def test_an_impossible_request_is_refused_with_the_reason(
    muntin: Run, recording: Path, arguments: list[str], message: str
) -> None:
    done = muntin("look", recording, *arguments)
    assert done.code == 2
    assert message in done.errors


def test_a_folder_without_a_recording_is_named(muntin: Run, tmp_path: Path) -> None:
    done = muntin("look", tmp_path)
    assert done.code == 2
    assert f"{tmp_path} is not a recording" in done.errors


def test_without_the_engine_it_says_what_to_install(
    muntin: Run, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "find_spec", lambda name: None)
    done = muntin("look", recording)
    assert done.code == 3
    assert "pip install 'muntin-cli[engine]'" in done.errors


def test_a_page_is_served_and_follows_the_recording_until_it_is_interrupted(
    muntin: Run, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser asks for the page, and for its story before and after the recording has a micro-batch more."""
    pages: list[str] = []
    batch_counts: list[int] = []

    def visit(address: str) -> None:
        pages.append(urlopen(address).read().decode())
        batch_counts.append(batches_in(address))
        repeat_last_batch(recording)
        batch_counts.append(batches_in(address))

    monkeypatch.setattr(command, "_open", visit)
    monkeypatch.setattr(command, "Event", InterruptedEvent)
    done = muntin("look", recording, "--serve", "--open")
    assert done.code == 0
    assert re.match(r"rides is shown at http://127\.0\.0\.1:\d+/ until Ctrl-C", done.output)
    assert keys_in(pages[0]) == ["north", "south"]
    count, later_count = batch_counts
    assert later_count == count + 1


def repeat_last_batch(recording: Path) -> None:
    """Add a copy of the last micro-batch to a recording, under the next number."""
    last_report = max((recording / "batches").iterdir())
    last_name = last_report.stem
    number = int(last_name) + 1
    name = f"{number:0{len(last_name)}}"
    shutil.copytree(recording / "rows" / last_name, recording / "rows" / name)
    report = json.loads(last_report.read_text()) | {"batch": number}
    last_report.with_stem(name).write_text(json.dumps(report))


def batches_in(address: str) -> int:
    """Return the number of micro-batches of the story that is served, which has a byte for the run of each."""
    with urlopen(f"{address}story") as story:
        return len(b64decode(json.load(story)["batches"]["run"]["codes"]))


class InterruptedEvent:
    """An event of threads for which nobody waits to the end: Ctrl-C comes at once."""

    def wait(self, seconds: float) -> bool:
        raise KeyboardInterrupt


@pytest.mark.parametrize("key", ["north", "north,seven"])
def test_a_text_that_is_no_key_of_two_columns_is_refused(muntin: Run, tmp_path: Path, key: str) -> None:
    stream = Script().point(1, 1, 25, key=("north", 7)).close()
    query = Query(tumbling(10), (Average(),), keys=2)
    recorded(Scenario(query, stream), next(iter(query.evaluators)), tmp_path / "rides")
    done = muntin("look", tmp_path / "rides", "--key", key)
    assert done.code == 2
    expected = "a value of key (string), a comma and one of key1 (bigint)"
    assert f"{key!r} is no key of this query\n  expected: {expected}" in done.errors
