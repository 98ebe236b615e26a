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
    arrivals = [Arrival((batch,)) for batch in scenario.arriving[0].batches()]
    damaged_before = random.randrange(len(arrivals))
    for arrival in arrivals[:damaged_before]:
        run.process(arrival)
        expected_output.check(arrival, run)

    stored_cells: list[tuple[MemoryCells, str]] = []
    for bucket_cells in run.cells.values():
        stored_cells += [(bucket_cells, name) for name in sorted(bucket_cells.cells)]
    if not stored_cells:
        return {"streams without state": 1}
    cells, name = random.choice(stored_cells)
    cells.cells[name], fault = damaged_bytes(cells.cells[name], random)

    try:
        for arrival in arrivals[damaged_before:]:
            run.process(arrival)
            expected_output.check(arrival, run)
    except MuntinError as error:
        message = str(error)
        assert len(message) < 10_000, f"the message is {len(message):,} characters long"
        outcome = "refused"
    except AssertionError as error:
        raise AssertionError(f"{fault} in {name!r} changed the output of {scenario.query} by {evaluator}") from error
    else:
        outcome = "no difference"
    return {"streams": 1, fault: 1, outcome: 1}


def damaged_bytes(data: bytes, random: Random) -> tuple[bytes, str]:
    """Return bytes with a fault, and the fault in a word or two."""
    place = random.randrange(len(data))
    kind = random.randrange(5)
    if kind == 0:
        return data[:place], "cut"
    if kind == 1:
        return b"", "emptied"
    if kind == 2:
        return data + random.randbytes(random.randint(1, 9)), "prolonged"
    if kind == 3:
        return random.randbytes(len(data)), "overwritten"
    flipped_byte = data[place] ^ (1 << random.randrange(8))
    return data[:place] + bytes([flipped_byte]) + data[place + 1 :], "flipped bits"
