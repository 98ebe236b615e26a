"""What travels to the workers."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muntin import Aggregate, IncrementalAggregate
from muntin_engine.backends.spark.delivery.packed_task import open_task, pack_task
from muntin_engine.errors import ModuleNotOnWorkerError, ShippingError
from muntin_engine.packages.needed_packages import Reference, references_of
from muntin_engine.packages.packing import pack
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import task_of
from tests.installed import install
from tests.modules.members import Members


class Holding(Members):
    """A module with an attribute of any value, which is pickled with it."""

    name, version = "show.holding", "3.0.0"

    def __init__(self, held: Any) -> None:
        self.held = held


def module_of(task: TaskPayload) -> Any:
    """Return the only module of a task."""
    (binding,) = task.query.bindings
    return binding.module


def test_a_task_comes_back_with_its_schema_its_payload_and_its_module() -> None:
    task = task_of(Holding([1]))
    opened = open_task(pack_task(task))
    assert opened.results == task.results
    assert opened.query.bindings[0].select((5,)) == 5
    assert module_of(opened).held == [1]


def test_equal_bytes_are_opened_once() -> None:
    data = pack_task(task_of())
    copied_data = bytes(bytearray(data))
    assert open_task(copied_data) is open_task(data)


def test_a_class_that_no_package_has_is_pickled_with_its_code() -> None:
    class Local(Aggregate[int, int]):
        name, version = "show.local", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> int:
            return len(payloads)

    opened = open_task(pack_task(task_of(Local())))
    assert module_of(opened).compute_result([1, 2]) == 2


def test_a_module_that_cannot_be_pickled_is_named() -> None:
    with pytest.raises(ShippingError, match=r"lock(.|\n)*modules: show\.holding 3\.0\.0") as caught:
        pack_task(task_of(Holding(threading.Lock())))
    assert [module.name for module in caught.value.modules] == ["show.holding"]
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_module_that_takes_more_bytes_than_a_task_may_is_refused() -> None:
    with pytest.raises(ShippingError, match=r"take 2,\d{3},\d{3} bytes, more than 900,000"):
        pack_task(task_of(Holding(bytes(2_000_000))))


FAR = "from tests.modules.members import Members\nclass Far(Members):\n    name, version = 'far.far', '1.0.0'\n"
"""The code of a package with a module `Far`."""


@pytest.mark.parametrize(
    ("file_on_worker", "message"),
    [
        pytest.param(None, "muntin_far_away", id="no file"),
        pytest.param("# empty", "muntin_far_away", id="file without the module"),
        pytest.param(
            FAR.replace("1.0.0", "1.10.0"),
            r"it has far\.far 1\.10\.0, and the query runs far\.far 1\.0\.0",
            id="another version",
        ),
    ],
)
def test_a_worker_without_the_modules_package_or_with_another_version_says_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_on_worker: str | None, message: str
) -> None:
    # The driver has the package.
    install(tmp_path, "muntin-far-away", {"muntin_far_away.py": FAR})
    monkeypatch.syspath_prepend(tmp_path)
    data = pack_task(task_of(importlib.import_module("muntin_far_away").Far()))

    # The worker has not: it is this process with another file, or none.
    del sys.modules["muntin_far_away"]
    file = tmp_path / "muntin_far_away.py"
    file.unlink()
    if file_on_worker is not None:
        file.write_text(file_on_worker)
    importlib.invalidate_caches()

    with pytest.raises(ModuleNotOnWorkerError, match=rf"{message}(.|\n)*install the module's package"):
        open_task(data)
    sys.modules.pop("muntin_far_away", None)


def test_files_beside_the_script_are_pickled_with_their_code_and_leave_no_trace_on_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "muntin_beside.py").write_text(
        "from tests.modules.members import Members\n"
        "import muntin_further\n"
        "class Near(Members):\n"
        "    name, version = 'near.near', '1.0.0'\n"
        "    def compute_result(self, payloads):\n"
        "        return [muntin_further.NUMBER]\n"
    )
    (tmp_path / "muntin_further.py").write_text("NUMBER = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    data = pack_task(task_of(importlib.import_module("muntin_beside").Near()))
    del sys.modules["muntin_beside"], sys.modules["muntin_further"]
    monkeypatch.undo()  # the worker does not have the folder

    module = module_of(open_task(data))
    assert module.compute_result([]) == [7]
    assert not {"muntin_beside", "muntin_further"} & set(sys.modules)


def test_annotations_that_are_text_can_be_read_in_code_that_was_pickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "muntin_texts.py").write_text(
        "from __future__ import annotations\n"
        "from collections.abc import Sequence\n"
        "from dataclasses import dataclass, field\n"
        "from typing import get_type_hints\n"
        "from muntin import IncrementalAggregate\n"
        "@dataclass\n"
        "class Part:\n"
        "    number: int\n"
        "    after: Part | None = None\n"
        "@dataclass\n"
        "class Parts:\n"
        "    parts: list[Part] = field(default_factory=list)\n"
        "class Texts(IncrementalAggregate[int, Parts, int]):\n"
        "    name, version = 'texts.texts', '1.0.0'\n"
        "    def create_state(self) -> Parts:\n"
        "        return Parts()\n"
        "    def add_events(self, state: Parts, payloads: Sequence[int]) -> Parts:\n"
        "        return Parts([*state.parts, *map(Part, payloads)])\n"
        "    def compute_result(self, state: Parts) -> int:\n"
        "        return len(state.parts)\n"
        "    def types(self) -> dict[str, object]:\n"
        "        return get_type_hints(self.add_events)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    data = pack_task(task_of(importlib.import_module("muntin_texts").Texts()))
    del sys.modules["muntin_texts"]
    monkeypatch.undo()  # the worker does not have the folder

    task = open_task(data)
    module = module_of(task)
    state = module.add_events(module.create_state(), [4, 5])
    assert task.codec.unpack(task.codec.pack([state])) == [state]
    assert module.types()["payloads"] == Sequence[int]


def test_code_of_no_package_that_cannot_be_pickled_is_imported_where_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "muntin_locked.py").write_text(
        "import threading\n"
        "from tests.modules.members import Members\n"
        "LOCK = threading.Lock()\n"
        "class Locked(Members):\n"
        "    name, version = 'locked.locked', '1.0.0'\n"
        "    def compute_result(self, payloads):\n"
        "        with LOCK:\n"
        "            return []\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    locked = importlib.import_module("muntin_locked")
    data = pack_task(task_of(locked.Locked()))
    assert Reference("muntin_locked", "Locked") in references_of(data)
    assert type(module_of(open_task(data))) is locked.Locked
    del sys.modules["muntin_locked"]


def test_an_archive_is_found_in_the_folder_of_a_session_though_the_path_names_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark writes files of a session into a folder of their own, which the path of a stream's worker leaves out."""
    install(tmp_path / "driver", "muntin-far-zipped", {"muntin_far_zipped.py": FAR})
    with monkeypatch.context() as driver:
        driver.syspath_prepend(tmp_path / "driver")
        data = pack_task(task_of(importlib.import_module("muntin_far_zipped").Far()))
        archive = pack("muntin-far-zipped")
    del sys.modules["muntin_far_zipped"]
    session_folder = tmp_path / "files" / "of-a-session"
    session_folder.mkdir(parents=True)
    archive.write(session_folder)
    monkeypatch.syspath_prepend(tmp_path / "files" / archive.file_name)

    assert module_of(open_task(data)).name == "far.far"
    del sys.modules["muntin_far_zipped"]


def test_an_error_in_code_of_the_module_is_not_mistaken_for_a_missing_package() -> None:
    data = pack_task(task_of(Holding(FailsWhenOpened())))
    with pytest.raises(ZeroDivisionError):
        open_task(data)


class FailsWhenOpened:
    """An object that can be pickled, and raises a ZeroDivisionError where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _divide, (1, 0)


def _divide(dividend: int, divisor: int) -> float:
    return dividend / divisor


@dataclass
class Sum:
    total: int = 0


class Summing(IncrementalAggregate[int, Sum, int]):
    name, version = "show.summing", "1.0.0"

    def create_state(self) -> Sum:
        return Sum()

    def add_events(self, state: Sum, payloads: Sequence[int]) -> Sum:
        return Sum(state.total + sum(payloads))

    def compute_result(self, state: Sum) -> int:
        return state.total


def test_a_state_that_is_a_record_of_the_module_comes_back_as_this_record() -> None:
    codec = task_of(Summing()).codec
    state = [Sum(3)]
    assert codec.unpack(codec.pack(state)) == state
