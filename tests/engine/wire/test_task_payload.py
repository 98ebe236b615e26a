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
from tests.engine.wire.payloads import task_of
from tests.installed import install
from tests.modules.members import Members


class Holding(Members):
    name, version = "show.holding", "3.0.0"

    def __init__(self, held: Any) -> None:
        self.held = held


def test_a_job_comes_back_as_it_was_and_is_opened_once() -> None:
    task = task_of(Holding([1]))
    data = pack_task(task)
    opened = open_task(data)
    assert opened.results == task.results
    assert opened.query.bindings[0].select((5,)) == 5
    assert opened.query.bindings[0].module.held == [1]  # type: ignore[attr-defined]
    assert open_task(bytes(bytearray(data))) is opened


def test_a_class_that_no_package_has_travels_itself() -> None:
    class Local(Aggregate[int, int]):
        name, version = "show.local", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> int:
            return len(payloads)

    module: Any = open_task(pack_task(task_of(Local()))).query.bindings[0].module
    assert module.compute_result([1, 2]) == 2


def test_a_module_that_cannot_be_pickled_is_named() -> None:
    with pytest.raises(ShippingError, match=r"lock(.|\n)*modules: show\.holding 3\.0\.0") as caught:
        pack_task(task_of(Holding(threading.Lock())))
    assert [module.name for module in caught.value.modules] == ["show.holding"]
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_module_that_holds_too_much_is_refused_before_spark_is() -> None:
    with pytest.raises(ShippingError, match=r"take 2,\d{3},\d{3} bytes, more than 900,000"):
        pack_task(task_of(Holding(bytes(2_000_000))))


FAR = "from tests.modules.members import Members\nclass Far(Members):\n    name, version = 'far.far', '1.0.0'\n"


@pytest.mark.parametrize(
    ("file_text", "message"),
    [
        (None, "muntin_far_away"),
        ("# empty", "muntin_far_away"),
        (FAR.replace("1.0.0", "1.10.0"), r"it has far\.far 1\.10\.0, and the query runs far\.far 1\.0\.0"),
    ],
)
def test_a_module_whose_package_is_elsewhere_or_another_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_text: str | None, message: str
) -> None:
    install(tmp_path, "muntin-far-away", {"muntin_far_away.py": FAR})
    file = tmp_path / "muntin_far_away.py"
    monkeypatch.syspath_prepend(tmp_path)
    data = pack_task(task_of(importlib.import_module("muntin_far_away").Far()))
    del sys.modules["muntin_far_away"]
    file.unlink()
    if file_text is not None:
        file.write_text(file_text)
    importlib.invalidate_caches()
    with pytest.raises(ModuleNotOnWorkerError, match=rf"{message}(.|\n)*install the module's package"):
        open_task(data)
    sys.modules.pop("muntin_far_away", None)


def test_code_of_no_package_travels_itself_and_is_gone_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.undo()

    module: Any = open_task(data).query.bindings[0].module
    assert module.compute_result([]) == [7]
    assert not {"muntin_beside", "muntin_further"} & set(sys.modules)


def test_types_that_are_written_as_text_are_known_where_code_travels_itself(
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
    monkeypatch.undo()

    task = open_task(data)
    module: Any = task.query.bindings[0].module
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
    assert type(open_task(data).query.bindings[0].module) is locked.Locked
    del sys.modules["muntin_locked"]


def test_an_archive_that_lies_where_a_streams_worker_does_not_look_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from tests.modules.members import Members\nclass Far(Members):\n    name, version = 'far.far', '1.0.0'\n"
    install(tmp_path / "here", "muntin-far-zipped", {"muntin_far_zipped.py": source})
    with monkeypatch.context() as patched:
        patched.syspath_prepend(tmp_path / "here")
        data = pack_task(task_of(importlib.import_module("muntin_far_zipped").Far()))
        archive = pack("muntin-far-zipped")
    del sys.modules["muntin_far_zipped"]
    (tmp_path / "files" / "of-a-session").mkdir(parents=True)
    archive.write(tmp_path / "files" / "of-a-session")
    monkeypatch.syspath_prepend(tmp_path / "files" / archive.file_name)

    assert open_task(data).query.bindings[0].module.name == "far.far"
    del sys.modules["muntin_far_zipped"]


def test_an_error_of_the_modules_own_is_not_mistaken_for_a_missing_package() -> None:
    with pytest.raises(ZeroDivisionError):
        open_task(pack_task(task_of(Holding(Thorny()))))


class Thorny:
    """Fails where it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _divide, (1, 0)


def _divide(one: int, other: int) -> float:
    return one / other


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


def test_the_codec_knows_the_records_of_the_modules_states() -> None:
    codec = task_of(Summing()).codec
    assert codec.unpack(codec.pack([Sum(3)])) == [Sum(3)]
