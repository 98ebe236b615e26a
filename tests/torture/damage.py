"""A state that was damaged between two batches."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin import EmitPolicy
from muntin.errors import MuntinError
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import CheckedCells
from muntin_engine.state.codec import Codec
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import Run
from tests.differential.modules import SHAPES
from tests.torture.kind import Figures


class CheckedRun(Run):
    """A run whose cells have checksums, as those on Spark do."""

    def _start(self) -> Bucket:
        return Bucket(self.query, CheckedCells(self.cells), Codec(), self.identity)

    def _check_held(self, result: BatchResult) -> None:
        """What lies in the cells is longer by their checksums than what the bucket says."""

    def _check_forgotten(self) -> None:
        assert list(self.cells.cells) == ["metadata"]


def flipped(seed: int, folder: Path) -> Figures:
    """Damage a cell of the state halfway, and go on: the engine raises an error of its own, or is right."""
    random = Random(seed)
    shape = random.choice([shape for shape in SHAPES if shape != "operator that looks back"])
    clip, timestamps = random.choice(list(policies(shape)))
    case = Case(random.choice(list(WINDOWS)), shape, clip, timestamps, random.choice(list(EmitPolicy)))
    running = CheckedRun(case)
    batches = list(case.another_stream(random.randrange(10**9)).batches())
    place = random.randrange(len(batches))
    for batch in batches[:place]:
        running.take(batch)
    cells = running.cells.cells
    if not cells:
        return {"streams without state": 1}
    name = random.choice(sorted(cells))
    cells[name], how = damaged_bytes(cells[name], random)
    try:
        for batch in batches[place:]:
            running.take(batch)
            is_right = not running.is_determined or running.table() == running.expected()
            assert is_right, f"{how} in {name!r} changed the output of {case}"
    except MuntinError as error:
        said = str(error)
    else:
        said = ""
    assert len(said) < 10_000, f"the message is {len(said):,} characters long"
    return {"streams": 1, how: 1, "refused" if said else "no difference": 1}


def damaged_bytes(data: bytes, random: Random) -> tuple[bytes, str]:
    """Return bytes with a fault, and which."""
    at = random.randrange(len(data))
    kind = random.randrange(5)
    if kind == 0:
        return data[:at], "cut"
    if kind == 1:
        return b"", "emptied"
    if kind == 2:
        return data + random.randbytes(random.randint(1, 9)), "prolonged"
    if kind == 3:
        return random.randbytes(len(data)), "overwritten"
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :], "flipped bits"
