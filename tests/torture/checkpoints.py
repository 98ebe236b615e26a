"""A checkpoint with a damaged file."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from random import Random

from pyspark.errors import StreamingQueryException

from muntin import MuntinError
from muntin_engine.spark.failures import root_cause
from tests.spark.running import write_batches
from tests.spark.scripts import tables
from tests.torture import story
from tests.torture.damage import damaged_bytes
from tests.torture.kills import differences, make_stream, sinks_of
from tests.torture.kind import Figures
from tests.torture.session import session

DAMAGES = 3

SPARKS_LOGS = {"sources", "offsets", "commits"}
"""The folders of a checkpoint that Spark alone writes and reads: what was read, and up to where."""


def damaged(seed: int, folder: Path) -> Figures:
    """Stop a query halfway, damage a file of its checkpoint, and go on: it is refused, or the sinks are right.

    A rejection names the checkpoint, a file of it or the state; it never is a process that died.
    """
    random, spark = Random(seed), session()
    which = random.choice(story.STORIES)
    batches = tables(make_stream(seed))
    stream, half, whole = folder / "stream", folder / "half", folder / "whole"
    write_batches(stream, batches[: len(batches) // 2])
    story.run(spark, stream, half, which)
    write_batches(stream, batches)
    story.run(spark, stream, whole, which)
    wanted = sinks_of(whole)
    figures: Counter[str] = Counter()
    for _ in range(DAMAGES):
        copy = folder / "half again"
        shutil.copytree(half, copy, symlinks=True)
        told = _damage(copy / "checkpoint", random)
        try:
            story.run(spark, stream, copy, which)
        except (MuntinError, StreamingQueryException) as error:
            said = root_cause(error) if isinstance(error, StreamingQueryException) else str(error)
            assert said.strip(), f"{told}: refused without a word"
            assert "exited unexpectedly" not in said, f"{told}: a process died\n{said}"
            figures["refused"] += 1
        else:
            found = sinks_of(copy)
            assert found == wanted, f"{told} ({which}) changed the output: {differences(found, wanted)}"
            figures["no difference"] += 1
        shutil.rmtree(copy)
    return {"queries": 1, "files damaged": DAMAGES, **figures}


def _damage(checkpoint: Path, random: Random) -> str:
    """Damage a file; return what was done."""
    files = sorted(file for file in checkpoint.rglob("*") if file.is_file())
    file = random.choice(files)
    name = str(file.relative_to(checkpoint))
    if random.random() < 0.2:
        file.unlink()
        return f"{name} removed"
    data, how = damaged_bytes(file.read_bytes() or b"\0", random)
    if how == "flipped bits" and file.relative_to(checkpoint).parts[0] in SPARKS_LOGS:
        data, how = data[:-1], "cut"  # Spark verifies no checksum of them: a path that is another one is read
    file.write_bytes(data)
    if random.random() < 0.7:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # or Hadoop's checksum finds it before we do
    return f"{name} {how}"
