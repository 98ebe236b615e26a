"""Modules that take from a worker what all of its code uses: they are named, and what they took is restored."""

from __future__ import annotations

import builtins
import os
import pickle
import re
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin import Aggregate, Axis, Window
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin_engine.errors import StateError
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks import output_blobs
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.workers.oversight import overseen
from muntin_engine.workers.traces import read_traces
from muntin_engine.workers.traces_folder import last_death, last_module
from tests.conftest import ROOT
from tests.engine.wire.payloads import TICKS, bucket_input, rows, task_of

SCHEMA = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])
PLACE = "\n  key: ('b',)\n  window: [20, 30)"


class Breaks(Aggregate[int, int]):
    """Calls a function, the deed, in a window that has a payload of 7."""

    name, version = "test.breaks", "1.2.3"

    def __init__(self, deed: Callable[[], object]) -> None:
        self.deed = deed

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 7 in payloads:
            self.deed()
        return 1


def run(deed: Callable[[], object], folder: str = "") -> None:
    """Evaluate a bucket whose module calls a function in the window [20, 30) of key `b`.

    Args:
        deed: The function.
        folder: The folder for the traces of workers; empty for none.
    """
    task = task_of(Breaks(deed), results=SCHEMA, is_static=True, worker=WorkerSettings(traces_folder=folder))
    batch = rows(start=[3, 13, 23], end=[4, 14, 24], k0=["a", "b", "b"], i0=[5, 6, 7])
    list(run_bucket(task, 0, MemoryCells(), bucket_input(task, batch)))


def replace(owner: Any, *names: str) -> Callable[[], None]:
    """Return a function that replaces attributes of a module of Python by None."""

    def deed() -> None:
        for name in names:
            setattr(owner, name, None)

    return deed


def remove_builtins(*names: str) -> Callable[[], None]:
    """Return a function that removes builtins."""

    def deed() -> None:
        for name in names:
            delattr(builtins, name)

    return deed


@pytest.mark.parametrize(
    ("deed", "taken_names"),
    [
        (replace(builtins, "len"), "builtins.len"),
        (replace(builtins, "__import__"), "builtins.__import__"),
        (replace(struct, "pack", "unpack"), "struct.pack, struct.unpack"),
        (replace(pickle, "dumps"), "pickle.dumps"),
        (remove_builtins("zip"), "builtins.zip"),
        (lambda: sys.modules.pop("struct"), "sys.modules['struct']"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_module_that_takes_away_what_all_code_uses_is_named_and_what_it_took_is_restored(
    deed: Callable[[], object], taken_names: str
) -> None:
    previous_builtins = dict(vars(builtins))
    previous_functions = (struct.pack, struct.unpack, pickle.dumps)
    previous_modules = dict(sys.modules)

    with pytest.raises(ModuleContractError) as caught:
        run(deed)

    assert dict(vars(builtins)) == previous_builtins
    assert (struct.pack, struct.unpack, pickle.dumps) == previous_functions
    assert {**sys.modules, **previous_modules} == sys.modules
    first_line, *place, remedy = str(caught.value).splitlines()
    assert first_line == f"test.breaks 1.2.3 replaced or removed {taken_names}, which all code of the worker uses"
    assert place == ["  key: ('b',)", "  window: [20, 30)"]
    assert "leave the code of others as it is" in remedy
    run(lambda: None)  # the next task of the worker runs


def test_what_a_module_takes_is_restored_also_if_spark_needs_no_more_rows_of_its_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original_function = struct.pack

    def rows_of_task() -> Generator[int]:
        with overseen(WorkerSettings(), Axis.TICKS):
            monkeypatch.setattr(struct, "pack", None)
            yield 1
            yield 2

    task_rows = rows_of_task()
    assert next(task_rows) == 1
    task_rows.close()
    assert struct.pack is original_function


def test_of_more_than_three_names_that_a_module_takes_away_the_error_lists_three() -> None:
    previous_builtins = dict(vars(builtins))
    with pytest.raises(ModuleContractError) as caught:
        run(remove_builtins("range", "isinstance", "super", "zip"))
    assert dict(vars(builtins)) == previous_builtins
    assert re.search(r"removed builtins\.\w+, builtins\.\w+, builtins\.\w+ and 1 more, which", str(caught.value))


def test_a_new_name_among_the_builtins_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    run(lambda: monkeypatch.setattr(builtins, "_", "a translation", raising=False))
    assert "_" in vars(builtins)
    run(lambda: monkeypatch.setattr(builtins, "_", "another translation"))
    assert "_" in vars(builtins)


def test_an_error_in_code_of_others_has_a_note_on_the_module_that_ran_last(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(TypeError, match="not callable") as caught:
        run(lambda: patched.setattr(output_blobs.OutputBlob, "of_table", None))
    message = "".join(traceback.format_exception_only(caught.value))
    assert f"the module that ran last: test.breaks 1.2.3{PLACE}" in message


class ReversedCells(MemoryCells):
    """Cells that are read back with other bytes than were written, as after a module has forked the worker."""

    def get(self, name: str) -> bytes | None:
        cell = super().get(name)
        return None if cell is None else cell[::-1]


def test_the_error_of_a_state_that_was_written_wrong_has_a_note_on_the_module_that_ran_last() -> None:
    task = task_of(Breaks(lambda: None), results=SCHEMA, has_changes=True)
    times = {"start": [3, 13, 23, None], "end": [4, 14, 24, None], "change": ["insert"] * 3 + ["close"]}
    batch = rows(**times, k0=["a", "b", "b", None], i0=[5, 6, 7, None])
    with pytest.raises(StateError, match="was written wrong: other bytes are read back") as caught:
        list(run_bucket(task, 0, ReversedCells(), bucket_input(task, batch)))
    assert f"the module that ran last: test.breaks 1.2.3{PLACE}" in "".join(caught.value.__notes__)


def test_the_error_of_a_module_itself_has_no_note() -> None:
    with pytest.raises(ModuleFailedError) as caught:
        run(lambda: 1 / 0)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.nightly
def test_the_death_of_a_worker_names_its_last_module_whether_the_task_failed_or_ended(tmp_path: Path) -> None:
    """A worker is gone a moment after its task. One that failed cannot send its error, as no pipe is left."""
    program = (
        "import os, sys\n"
        "from tests.engine.workers.test_shared_code import run\n"
        "folder, outcome = sys.argv[1:]\n"
        "try: run(lambda: 1 / 0 if outcome == 'fails' else None, folder)\n"
        "except Exception: os.closerange(0, 99)\n"
        "os._exit(1)\n"
    )
    for outcome in ("fails", "ends"):
        folder = tmp_path / outcome
        subprocess.run([sys.executable, "-c", program, str(folder), outcome], cwd=ROOT, check=False)
        (trace,) = read_traces(folder)
        assert trace.is_running == (outcome == "fails")  # a trace says "running" until a task ends without an error
        death = f"a worker (process {trace.pid}) died while or after test.breaks 1.2.3 ran{PLACE}"
        assert last_death([folder]) == death


def test_the_death_of_a_worker_that_was_idle_for_long_is_not_blamed_on_the_module_that_ran_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with overseen(WorkerSettings(traces_folder=str(tmp_path)), Axis.TICKS):
        CURRENT_CALL.set_window("m.odule 1.0", ("a",), Window(0, 10))
    os.rename(tmp_path / str(os.getpid()), tmp_path / "99999999")  # a process that there is not
    assert last_death([tmp_path]).startswith("a worker (process 99999999) died while or after m.odule 1.0 ran")

    (trace,) = read_traces(tmp_path)
    a_minute_later = trace.ended + 60 * 10**9
    monkeypatch.setattr("muntin_engine.workers.traces_folder.time.time_ns", lambda: a_minute_later)
    assert last_death([tmp_path]) == ""
    assert last_module([tmp_path]) == "m.odule 1.0\n  key: ('a',)\n  window: [0, 10)"
