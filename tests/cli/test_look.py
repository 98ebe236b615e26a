"""`muntin look`: the page of a recording, of all keys or of some, as a file or served."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_cli import recordings
from muntin_cli.commands import look as command
from muntin_stats.average import Average
from tests.cli.running import CommandRun
from tests.engine.recording.recorded import recorded
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario

Muntin = Callable[..., CommandRun]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Averages of two keys, over windows of ten ticks."""
    stream = Script().point(1, 1, 25, key="north").point(2, 7, 40, key="south").point(3, 12, 90, key="north").close()
    query = Query(tumbling(10), (Average(),))
    recorded(Scenario(query, stream), next(iter(query.evaluators)), tmp_path / "rides")
    return tmp_path / "rides"


def keys_in(page: str) -> list[str]:
    return re.findall(r'\["(\w+)"\]', page[page.index('"keys":') : page.index('"batches":')])


def test_a_page_is_written(muntin: Muntin, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = muntin("look", recording)
    assert (done.code, done.output) == (0, "wrote rides.html\n")
    assert keys_in((tmp_path / "rides.html").read_text(encoding="utf-8")) == ["north", "south"]


def test_a_page_of_one_key_has_no_other(muntin: Muntin, recording: Path, tmp_path: Path) -> None:
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
    muntin: Muntin, recording: Path, arguments: list[str], message: str
) -> None:
    done = muntin("look", recording, *arguments)
    assert done.code == 2
    assert message in done.errors


def test_a_folder_without_a_recording_is_named(muntin: Muntin, tmp_path: Path) -> None:
    done = muntin("look", tmp_path)
    assert done.code == 2
    assert f"{tmp_path} is not a recording" in done.errors


def test_without_the_engine_it_says_what_to_install(
    muntin: Muntin, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "find_spec", lambda name: None)
    done = muntin("look", recording)
    assert done.code == 3
    assert "pip install 'muntin-cli[engine]'" in done.errors


def test_a_page_is_served_and_follows_the_recording_until_it_is_interrupted(
    muntin: Muntin, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It grows by a copy of its last micro-batch, under the next number."""
    pages: list[str] = []
    batches: list[int] = []

    def visit(address: str) -> None:
        pages.append(urlopen(address).read().decode())
        batches.append(batches_in(address))
        last = max((recording / "batches").iterdir())
        name = f"{int(last.stem) + 1:0{len(last.stem)}}"
        shutil.copytree(recording / "rows" / last.stem, recording / "rows" / name)
        report = json.loads(last.read_text()) | {"batch": int(name)}
        last.with_stem(name).write_text(json.dumps(report))
        batches.append(batches_in(address))

    monkeypatch.setattr(command, "_open", visit)
    monkeypatch.setattr(command, "Event", Interrupted)
    done = muntin("look", recording, "--serve", "--open")
    assert done.code == 0
    assert re.match(r"rides is shown at http://127\.0\.0\.1:\d+/ until Ctrl-C", done.output)
    assert keys_in(pages[0]) == ["north", "south"]
    assert batches[1] == batches[0] + 1


def batches_in(address: str) -> int:
    with urlopen(f"{address}story") as story:
        return len(b64decode(json.load(story)["batches"]["run"]["codes"]))


class Interrupted:
    def wait(self, seconds: float) -> bool:
        raise KeyboardInterrupt


@pytest.mark.parametrize("key", ["north", "north,seven"])
def test_a_text_that_is_no_key_is_refused(muntin: Muntin, tmp_path: Path, key: str) -> None:
    stream = Script().point(1, 1, 25, key=("north", 7)).close()
    query = Query(tumbling(10), (Average(),), keys=2)
    recorded(Scenario(query, stream), next(iter(query.evaluators)), tmp_path / "rides")
    done = muntin("look", tmp_path / "rides", "--key", key)
    assert done.code == 2
    assert (
        f"{key!r} is no key of this query\n  expected: a value of key (string), a comma and one of key1 (bigint)"
        in done.errors
    )
