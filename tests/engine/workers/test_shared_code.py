"""Modules that take from a worker what all of its code uses: they are named, and what they took is restored."""

from __future__ import annotations

import builtins
import os
import pickle
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
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
    name, version = "test.breaks", "1.2.3"

    def __init__(self, breaks: Callable[[], object]) -> None:
        self.breaks = breaks

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 7 in payloads:
            self.breaks()
        return 1


def run(breaks: Callable[[], object], folder: str = "") -> None:
    """Evaluate a bucket whose window from 20 on of key `b` does that."""
    task = task_of(Breaks(breaks), results=SCHEMA, is_static=True, worker=WorkerSettings(traces_folder=folder))
    batch = rows(start=[3, 13, 23], end=[4, 14, 24], k0=["a", "b", "b"], i0=[5, 6, 7])
    list(run_bucket(task, 0, MemoryCells(), bucket_input(task, batch)))


def replaces(owner: Any, *names: str) -> Callable[[], None]:
    def breaks() -> None:
        for name in names:
            setattr(owner, name, None)

    return breaks


def removes(*names: str) -> Callable[[], None]:
    def breaks() -> None:
        for name in names:
            delattr(builtins, name)

    return breaks


TAKEN = {
    "builtins.len": replaces(builtins, "len"),
    "builtins.isinstance, builtins.super, builtins.range and 1 more": removes("range", "isinstance", "super", "zip"),
    "builtins.__import__": replaces(builtins, "__import__"),
    "struct.pack, struct.unpack": replaces(struct, "pack", "unpack"),
    "pickle.dumps": replaces(pickle, "dumps"),
    "sys.modules['struct']": lambda: sys.modules.pop("struct"),
}


@pytest.mark.parametrize("names", TAKEN)
def test_a_module_that_replaces_what_all_code_uses_is_named_and_the_rest_goes_on(names: str) -> None:
    before = (dict(vars(builtins)), struct.pack, pickle.dumps)
    modules = dict(sys.modules)
    with pytest.raises(ModuleContractError) as caught:
        run(TAKEN[names])
    assert (dict(vars(builtins)), struct.pack, pickle.dumps) == before
    assert {**sys.modules, **modules} == sys.modules
    first, *place, remedy = str(caught.value).splitlines()
    assert first.startswith("test.breaks 1.2.3 replaced or removed ")
    assert set(first.split("removed ")[1].partition(",")[0].split()) <= {*names.replace(",", "").split()} | {
        "1",
        "more",
    }
    assert place == ["  key: ('b',)", "  window: [20, 30)"]
    assert "leave the code of others as it is" in remedy
    run(lambda: None)


def test_a_new_name_among_the_builtins_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("first", "second"):
        run(lambda value=value: monkeypatch.setattr(builtins, "_", value, raising=False))  # type: ignore[misc]
        assert "_" in vars(builtins)


def test_an_error_in_code_of_others_has_a_note_on_the_module_that_ran_last(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(TypeError, match="not callable") as caught:
        run(lambda: patched.setattr(output_blobs.OutputBlob, "of_table", None))
    message = "".join(traceback.format_exception_only(caught.value))
    assert f"the module that ran last: test.breaks 1.2.3{PLACE}" in message


class OtherCells(MemoryCells):
    """Cells that are read back as others were written, as after a module has forked the worker."""

    def get(self, name: str) -> bytes | None:
        cell = super().get(name)
        return None if cell is None else cell[::-1]


def test_state_that_was_written_wrong_has_a_note_on_the_module_that_ran_last() -> None:
    task = task_of(Breaks(lambda: None), results=SCHEMA, has_changes=True)
    times = {"start": [3, 13, 23, None], "end": [4, 14, 24, None], "change": ["insert"] * 3 + ["close"]}
    batch = rows(**times, k0=["a", "b", "b", None], i0=[5, 6, 7, None])
    with pytest.raises(StateError, match="was written wrong: other bytes are read back") as caught:
        list(run_bucket(task, 0, OtherCells(), bucket_input(task, batch)))
    assert f"the module that ran last: test.breaks 1.2.3{PLACE}" in "".join(caught.value.__notes__)


def test_a_modules_own_error_has_no_note() -> None:
    with pytest.raises(ModuleFailedError) as caught:
        run(lambda: 1 / 0)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.nightly
def test_the_death_of_a_worker_names_its_last_module_whether_the_task_failed_or_ended(tmp_path: Path) -> None:
    """The process is gone a moment after its task; the failed one cannot send its error, as no pipe is left."""
    program = (
        "import os, sys\n"
        "from tests.engine.workers.test_shared_code import run\n"
        "try: run(lambda: 1 / 0 if sys.argv[2] == 'fails' else None, sys.argv[1])\n"
        "except Exception: os.closerange(0, 99)\n"
        "os._exit(1)\n"
    )
    for way in ("fails", "ends"):
        folder = tmp_path / way
        subprocess.run([sys.executable, "-c", program, str(folder), way], cwd=ROOT, check=False)
        (trace,) = read_traces(folder)
        assert trace.is_running == (way == "fails")  # a trace says "running" until a task ends without an error
        assert (
            last_death([folder]) == f"a worker (process {trace.pid}) died while or after test.breaks 1.2.3 ran{PLACE}"
        )


def test_a_worker_that_was_idle_for_long_died_of_nothing_that_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with overseen(WorkerSettings(traces_folder=str(tmp_path)), Axis.TICKS):
        CURRENT_CALL.set_window("m.odule 1.0", ("a",), Window(0, 10))
    os.rename(tmp_path / str(os.getpid()), tmp_path / "99999999")  # a process that there is not
    assert last_death([tmp_path]).startswith("a worker (process 99999999) died while or after m.odule 1.0 ran")
    (trace,) = read_traces(tmp_path)
    monkeypatch.setattr("muntin_engine.workers.traces_folder.time.time_ns", lambda: trace.ended + 60 * 10**9)
    assert last_death([tmp_path]) == ""
    assert last_module([tmp_path]) == "m.odule 1.0\n  key: ('a',)\n  window: [0, 10)"
