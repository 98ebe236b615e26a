"""Windows of events with ids: arrays against the general evaluator."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa

from muntin import EmitPolicy, TimestampPolicy, hopping, snapshot
from muntin_engine.state import log
from tests.differential.forms import FORMS, INVERTIBLE
from tests.differential.revised import RevisedCase, run
from tests.torture.kind import Figures


def revised(seed: int, folder: Path) -> Figures:
    """Run random rows through both: few events or hundreds of a hot key, rows that fit or mostly such as do not."""
    del folder
    random = Random(seed)
    size = random.choice((6, 6, 20, 60, 400))
    hop = random.choice((1, 2, 4, 8))
    windows = random.choice((snapshot(), snapshot(), hopping(random.randint(1, 40), hop, random.randint(-9, 9))))
    case = RevisedCase(
        seed,
        random.choice(list(INVERTIBLE if windows == snapshot() else FORMS)),
        random.choice((pa.int64(), pa.string())),
        random.choice((0.0, 0.05, 0.2, 0.6)),
        size,
        random.choice((30, size)),
        is_filtered=random.random() < 0.3,
        windows=windows,
        emit=EmitPolicy.FINAL if windows == snapshot() else random.choice((EmitPolicy.FINAL, EmitPolicy.SPECULATIVE)),
        timestamps=random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)),
    )
    dead, alike = random.choice(((-1, 2), (256, 2), (16384, 8)))
    with patch.multiple(log, MOST_DEAD=dead, MOST_ALIKE=alike):
        found = run(case)
    return {"streams": 1, "rejected": found.rejected, "results": found.put_out}
