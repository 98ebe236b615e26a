"""A state that was damaged between two batches."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin.errors import MuntinError
from muntin_engine.state.cells import MemoryCells
from tests.scenarios.drawing import cutting
from tests.scenarios.expected_output import ExpectedOutput
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Run
from tests.torture.kind import Figures


def flipped(seed: int, folder: Path) -> Figures:
    """Damage a cell of the state halfway, and go on: the engine raises an error of its own, or is right."""
    del folder
    random = Random(seed)
    scenario = cutting(random)
    assert isinstance(scenario.query, Query)
    evaluator, plan = random.choice(list(scenario.query.evaluators.items()))
    run = Run(scenario.query, plan, scenario.mishaps)
    expected_output = ExpectedOutput(scenario.query)
    batches = [Arrival((batch,)) for batch in scenario.arriving[0].batches()]
    place = random.randrange(len(batches))
    for arrival in batches[:place]:
        run.process(arrival)
        expected_output.check(arrival, run)
    stored_cells: list[tuple[MemoryCells, str]] = []
    for bucket_cells in run.cells.values():
        stored_cells += [(bucket_cells, name) for name in sorted(bucket_cells.cells)]
    if not stored_cells:
        return {"streams without state": 1}
    cells, name = random.choice(stored_cells)
    cells.cells[name], how = damaged_bytes(cells.cells[name], random)
    try:
        for arrival in batches[place:]:
            run.process(arrival)
            expected_output.check(arrival, run)
    except MuntinError as error:
        message = str(error)
    except AssertionError as error:
        raise AssertionError(f"{how} in {name!r} changed the output of {scenario.query} by {evaluator}") from error
    else:
        message = ""
    assert len(message) < 10_000, f"the message is {len(message):,} characters long"
    return {"streams": 1, how: 1, "refused" if message else "no difference": 1}


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
