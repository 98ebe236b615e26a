"""Rows that break every rule of a stream, with the few rules that the engine keeps all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from random import Random

from muntin import EARLIEST, INFINITY, EmitPolicy, Event
from muntin.testing import reference
from muntin_engine.core.changes import InputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core.build import Members, query
from tests.differential.cases import WINDOWS
from tests.torture.kind import Figures

Row = tuple[Hashable, InputChange]
"""A key, and a row of it."""

Batch = tuple[list[Row], Progress]
"""Rows in some order, and how far the input is after them."""

NONE = Progress(EARLIEST, EARLIEST, EARLIEST)


def illegal(seed: int, folder: Path) -> Figures:
    """Run a stream twice, with the rows of each batch in another order and other restarts.

    Both runs put out the same and refuse the same. Every row is accepted or refused by the end. Where each accepted row
    says what it expects, what stands at the end is what the reference makes of the accepted rows.
    """
    random = Random(seed)
    window = WINDOWS[random.choice(list(WINDOWS))]
    asked = query(window, emit=random.choice(list(EmitPolicy)))
    reach = window.reach
    batches = _batches(random, reach, with_blind=random.random() < 0.5)
    first, second = (_Run(asked, batches, Random(random.random())) for _ in range(2))
    for place, (one, other) in enumerate(zip(first.steps, second.steps, strict=True)):
        assert one == other, f"batch {place} of {batches}\n{one}\n{other}"
    rows = [row for batch, _ in batches for row in batch]
    assert first.accepted + len(first.refused) == len(rows), f"{first.accepted} of {rows}, {first.refused}"
    left = Counter(map(repr, rows))
    left.subtract(map(repr, first.refused))
    assert min(left.values(), default=0) >= 0, f"refused what never came: {first.refused}"
    accepted = [row for row in rows if left[repr(row)] > 0 and not left.subtract([repr(row)])]
    if all(change.new_end is None or change.end is not None for _, change in accepted):
        wanted = _meant(asked, accepted, max(progress.horizon for _, progress in batches))
        assert first.standing() == wanted, f"{rows}\nrefused {first.refused}\n{first.standing()}\n{wanted}"
    return {"streams": 1, "rows": len(rows), "refused": len(first.refused), "batches": len(batches)}


class _Run:
    """A run of the engine over batches.

    Attributes:
        steps: What each batch put out and refused.
        accepted: How many rows took effect.
        refused: Those that did not.
    """

    def __init__(self, asked: EvaluatorQuery, batches: Sequence[Batch], random: Random) -> None:
        self.steps: list[tuple[Counter[str], Counter[str]]] = []
        self.accepted = 0
        self.refused: list[Row] = []
        self._rows: dict[tuple[Hashable, int], tuple[object, ...]] = {}
        cells = MemoryCells()
        bucket = Bucket(asked, cells, Codec(), {})
        for rows, progress in batches:
            if random.random() < 0.5:
                bucket = Bucket(asked, cells, Codec(), {})
            shuffled = [((key,), [change]) for key, change in random.sample(rows, len(rows))]
            result = bucket.process(shuffled, progress)
            self.accepted += result.accepted
            refused = [(key, rejection.change) for (key,), rejection in result.rejections]
            self.refused += refused
            output: Counter[str] = Counter()
            for (key,), changes in result.output:
                for change in changes:
                    output[repr((key, change._replace(id=0)))] += 1
                    line = (key, change.window, change.start, change.end, change.value)
                    if change.kind is OutputKind.INSERT:
                        assert (key, change.id) not in self._rows, f"{change} comes twice"
                        self._rows[key, change.id] = line
                    else:
                        assert self._rows.pop((key, change.id), None) == line, (
                            f"{change} takes back what does not stand"
                        )
            reasons = Counter(
                repr((key, rejection.reason, rejection.change)) for (key,), rejection in result.rejections
            )
            self.steps.append((output, reasons))

    def standing(self) -> Counter[tuple[object, ...]]:
        """Return what was put out and not taken back."""
        return Counter(self._rows.values())


def _batches(random: Random, reach: int, *, with_blind: bool) -> list[Batch]:
    """Return batches of few ids, starts and ends, so that rows meet; the last one closes the stream."""
    batches: list[Batch] = []
    progress = NONE
    for _ in range(random.randint(1, 6)):
        rows = [_row(random, with_blind) for _ in range(random.choice((0, 1, 2, 3, 6)))]
        ends = [
            tick + reach for _, change in rows for tick in (change.end, change.new_end) if tick not in (None, INFINITY)
        ]
        seen = max([progress.horizon, *ends, *(change.start + 1 for _, change in rows)])
        newest = max([progress.newest, *(change.start for _, change in rows if change.new_end is None)])
        watermark = max(progress.watermark, random.choice((EARLIEST, EARLIEST, random.randint(0, 14))))
        progress = Progress(watermark, max(seen, watermark), newest)
        batches.append((rows, progress))
    batches.append(([], Progress(INFINITY, progress.horizon, progress.newest)))
    return batches


def _row(random: Random, with_blind: bool) -> Row:
    key, id, start = random.choice("ab"), random.choice(("x", "y", None)), random.choice((0, 1, 4))
    ends = (start + 1, start + 3, 8, 12, INFINITY)
    payload = (start,)
    if random.random() < 0.4:
        return key, InputChange(id, start, random.choice((*ends, start)), payload)
    expected = None if with_blind and random.random() < 0.4 else random.choice(ends)
    return key, InputChange(id or "x", start, expected, (), random.choice((*ends, start, start, start - 1)))


def _meant(asked: EvaluatorQuery, accepted: Sequence[Row], horizon: int) -> Counter[tuple[object, ...]]:
    """Return what must stand once the stream is closed.

    The rows of an event are the steps of a walk from "not there" to an end, to another end, to "not there"; the walk
    ends where one step more came in than went out.
    """
    balance: dict[tuple[Hashable, Hashable, int], Counter[int]] = {}
    lives: list[tuple[Hashable, int, int]] = []
    for key, change in accepted:
        end = INFINITY if change.end is None else change.end
        if change.id is None:
            lives.append((key, change.start, end))
            continue
        ends = balance.setdefault((key, change.id, change.start), Counter())
        if change.new_end is not None:
            ends[end] -= 1
            end = change.new_end
        if end != change.start:
            ends[end] += 1
    for (key, _, start), ends in balance.items():
        lives += [(key, start, end) for end, count in ends.items() for _ in range(count)]
    plain = reference.WindowedQuery(asked.window, [reference.Computation(Members(), lambda payload: payload[0])])
    found: Counter[tuple[object, ...]] = Counter()
    for key in {key for key, *_ in lives}:
        events = [Event(start, end, (start,)) for other, start, end in lives if other == key]
        for row in reference.evaluate(plain, events, INFINITY, horizon):
            found[key, row.window, row.start, row.end, row.value] += 1
    return found
