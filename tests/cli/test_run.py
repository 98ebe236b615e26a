"""`muntin run`: a module on a stream, drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from muntin_cli.windows import usages
from tests.cli.plugins import TIDES
from tests.cli.running import Offer, Run

STREAM = """
from muntin.testing import Script
script = Script().insert("a", 1, 6, 2.0).point("b", 4, 1.0).batch().revise("a", 9).insert("c", 12, 17, 5.0).close()
"""

QUERY = """
from muntin import Aggregate, snapshot
from muntin.testing import Computation, WindowedQuery

class Largest(Aggregate[float, float]):
    name, version = "mine.largest", "1.0.0"
    def compute_result(self, payloads):
        return max(payloads)

query = WindowedQuery(snapshot(), [Computation(Largest())])
"""

AVERAGE = ("--module", "tides.average")
ABOVE = ("--module", "tides.above", "--with", "level=1.5", "--with", "way=strict")

KEYS = """
from muntin.testing import Script
script = Script().point("a", 1, 2.0, key="north").point("b", 4, 1.0, key="south").close()
"""


@pytest.fixture
def write(offer: Offer, tmp_path: Path) -> Callable[[str], Path]:
    """A function that writes a script to a file; the plugin of the tides is installed."""
    offer(tides=TIDES)

    def to_file(text: str) -> Path:
        file = tmp_path / "script.py"
        file.write_text(text, encoding="utf-8")
        return file

    return to_file


def test_a_file_may_define_the_module_and_the_query(write: Callable[[str], Path], muntin: Run) -> None:
    done = muntin("run", write(STREAM + QUERY))
    assert done.code == 0
    assert done.output.endswith(
        """
output  [--)                2.0
output     [)               2.0
output      [---)           2.0
output             [----)   5.0
"""
    )


def test_a_module_of_the_file_may_be_named_with_its_windows(write: Callable[[str], Path], muntin: Run) -> None:
    file = write(STREAM + QUERY)
    named = muntin("run", file, "--module", "mine.largest", "--window", "snapshot")
    assert named.output == muntin("run", file).output


def test_output_says_of_which_key_it_is(write: Callable[[str], Path], muntin: Run) -> None:
    done = muntin("run", write(KEYS), *AVERAGE)
    assert done.output.endswith("\noutput 'north'  [---------)   2.0\noutput 'south'  [---------)   1.0\n")


def test_parameters_and_policies_are_options(write: Callable[[str], Path], muntin: Run) -> None:
    done = muntin("run", write(STREAM), *ABOVE, "--clip", "full", "--timestamps", "point_at_end")
    assert done.code == 0
    assert done.output.endswith("output           [)             0.8\noutput                     [)   0.5\n")


def test_the_only_clip_that_a_module_accepts_need_not_be_named(write: Callable[[str], Path], muntin: Run) -> None:
    file = write(STREAM)
    unnamed = muntin("run", file, *ABOVE)
    named = muntin("run", file, *ABOVE, "--clip", "full", "--timestamps", "align")
    assert (unnamed.code, unnamed.output) == (0, named.output)


def test_a_stream_that_completes_no_window_is_shown_with_how_to_end_it(
    write: Callable[[str], Path], muntin: Run
) -> None:
    file = write("from muntin.testing import Script\nscript = Script().point('a', 1, 2.0)\n")
    done = muntin("run", file, *AVERAGE)
    assert done.code == 0
    assert "no window is complete: end the stream with .close()" in done.output


FAULTY = """
from muntin import Event, StreamOperator, Operator
from muntin.testing import Script

class Around(Operator[float, float]):
    name, version = "mine.around", "1.0.0"
    is_time_sensitive = True
    def compute_result(self, events, window):
        return [Event(window.start - 1, window.end, event.payload) for event in events]

class Echoes(StreamOperator[float, list[float], float]):
    name, version = "mine.echoes", "1.0.0"
    def create_state(self):
        return []
    def on_event(self, state, payload, time):
        return [payload]

class Spelt(Operator[float, float]):
    name, version = "mine.spelt", "1.0.0"
    is_time_sensitive = True
    def compute_result(self, events, window):
        return ["two"]

script = Script().insert("a", 1, 5, 2.0).close()
"""
"""Modules that cannot run on their stream: results start too early, have another type, need other events."""

EXPECTED_WINDOWS = ", ".join(map(repr, usages())) + ", or a plugin's kind with its parameters"
REFUSED: list[tuple[str, tuple[str, ...], int, str]] = [
    # a script, options, the exit code and what is said
    ("x = 1\n", (), 2, "defines no stream"),
    ("script = 1\n", (), 2, "defines script as 1"),
    ("script = (\n", (), 2, "SyntaxError"),
    ("from muntin.testing import Script\nscript = Script().revise('a', 3)\n", (), 2, "no event 'a' is alive"),
    (STREAM, (), 2, "defines no query, and no module is named"),
    (STREAM, ("--module", "tides.averge"), 2, "did you mean 'tides.average'"),
    *(
        (STREAM, (*AVERAGE, f"--window={window}"), 2, EXPECTED_WINDOWS)
        for window in ("hoping 10 5", "hopping 10", "tumbling 0", "tumbling soon", " ")
    ),
    (STREAM, (*AVERAGE, "--svg", "/nowhere/stream.svg"), 2, "cannot be written: No such file or directory"),
    (STREAM, (*ABOVE, "--clip", "none"), 2, "tides.above 1.0.0 does not accept clip='none'\n  it accepts 'full'\n"),
    (
        FAULTY,
        ("--module", "mine.around", "--timestamps", "unchanged"),
        1,
        "returned an event that starts at -1, before",
    ),
    (FAULTY, ("--module", "mine.spelt"), 1, "that is not what it declares: it is 'two', expected float"),
    (FAULTY, ("--module", "mine.echoes"), 2, "follows events at points in time, and these are events with an end of"),
    (FAULTY, ("--module", "mine.echoes", "--window", "tumbling 10"), 2, "finds nothing in tumbling(10): it needs"),
]


@pytest.mark.parametrize(("text", "options", "code", "message"), REFUSED)
def test_what_cannot_be_run_is_refused_with_what_would_do(
    text: str, options: tuple[str, ...], code: int, message: str, write: Callable[[str], Path], muntin: Run
) -> None:
    done = muntin("run", write(text), *options)
    assert done.code == code
    assert message in done.errors


def test_a_missing_file_is_refused(tmp_path: Path, muntin: Run) -> None:
    assert "No such file" in muntin("run", tmp_path / "none.py").errors


def test_the_drawing_can_be_had_as_a_picture(write: Callable[[str], Path], muntin: Run, tmp_path: Path) -> None:
    picture = tmp_path / "stream.svg"
    done = muntin("run", write(STREAM), *AVERAGE, "--svg", picture)
    assert done.code == 0
    assert "output" in done.output
    assert ElementTree.parse(picture).getroot().get("role") == "img"


REMEMBERS = """
from muntin import IncrementalAggregate, tumbling
from muntin.testing import Computation, WindowedQuery

class Remembers(IncrementalAggregate[float, float, float]):
    name, version = "mine.remembers", "1.0.0"
    def __init__(self):
        self.total = 0.0
    def create_state(self):
        return 0.0
    def add_events(self, state, payloads):
        self.total += sum(payloads)
        return self.total
    def compute_result(self, state):
        return state

query = WindowedQuery(tumbling(10), [Computation(Remembers())])
"""
"""A module that keeps its total where a restart loses it: in itself, and not in the state."""

SILENCE = """
from muntin import StreamOperator
from muntin.testing import Script

class Silence(StreamOperator[int, list[int], str]):
    name, version = "mine.silence", "1.0.0"
    def create_state(self):
        return []
    def on_event(self, state, payload, time):
        state[:] = [time]
    def next_time(self, state):
        return state[0] + 5
    def on_time(self, state, time):
        return [f"silent since {state.pop()}"]
    def is_empty(self, state):
        return not state

script = Script().point("a", 1, 2).point("b", 4, 3).point("c", 14, 1).close()
"""


def test_an_operator_that_follows_a_stream_is_run_without_windows(write: Callable[[str], Path], muntin: Run) -> None:
    done = muntin("run", write(SILENCE), "--module", "mine.silence", "--crash-everywhere")
    assert done.code == 0, done.errors
    output = [line for line in done.output.splitlines() if line.startswith("output")]
    assert [line.partition(")")[2].strip() for line in output] == ["'silent since 4'", "'silent since 14'"]
    assert done.output.endswith("\nfinal results survived a restart after each of 4 steps (event_by_event)\n")


def test_a_module_that_does_not_survive_a_restart_is_a_finding_with_the_smallest_stream(
    write: Callable[[str], Path], muntin: Run
) -> None:
    done = muntin("run", write(STREAM + REMEMBERS), "--crash-everywhere")
    assert done.code == 1
    assert done.errors.startswith("muntin: mine.remembers 1.0.0 does not survive a ")
    assert "smallest stream:" in done.errors


def test_restarts_need_the_engine(write: Callable[[str], Path], muntin: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin_cli.restarting.find_spec", lambda name: None)
    done = muntin("run", write(STREAM), *AVERAGE, "--crash-everywhere")
    assert done.code == 3
    assert "pip install 'muntin-cli[engine]'" in done.errors


def test_a_script_imports_what_lies_beside_it_and_prints(write: Callable[[str], Path], muntin: Run) -> None:
    file = write(f"from beside_the_script import label\nprint(label)\n{STREAM}")
    file.with_name("beside_the_script.py").write_text("label = 'from beside'\n", encoding="utf-8")
    done = muntin("run", file, *AVERAGE, "--window", "hopping 10 5")
    assert done.code == 0, done.errors
    assert done.output.startswith("from beside\n")
