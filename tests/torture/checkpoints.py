"""A checkpoint, or what its query writes to, with files that are damaged, gone, or in the place of others."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from pyspark.errors import StreamingQueryException

from muntin import MuntinError
from muntin_engine.spark.failures import root_cause
from tests.spark.running import setting, write_batches
from tests.spark.scripts import tables
from tests.torture import story
from tests.torture.damage import damaged_bytes
from tests.torture.kills import differences, make_stream, sinks_of
from tests.torture.kind import Figures
from tests.torture.session import session

DAMAGES: Final = 12

SPARKS_LOGS: Final = {"sources", "offsets", "commits"}
"""The folders of a checkpoint that Spark alone writes and reads: what was read, and up to where."""

SINKS: Final = ("results", "late", "rejected", "progress")


def damaged(seed: int, folder: Path) -> Figures:
    """Stop a query halfway, damage what it left, and go on: it is refused, or the sinks are right.

    A rejection names the checkpoint, a file of it or the state; it never is a process that died.
    """
    random, spark = Random(seed), session()
    which = random.choice(story.EVERY)
    batches = tables(make_stream(seed))
    stream, whole = folder / "stream", folder / "whole"
    third, half = len(batches) // 3, len(batches) // 2
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        copies = []  # what the query left at two times
        for count in (third, half):
            write_batches(stream, batches[:count])
            story.run(spark, stream, folder / "running", which)
            copies.append(shutil.copytree(folder / "running", folder / f"copy {count}", symlinks=True))
        write_batches(stream, batches)
        story.run(spark, stream, whole, which)
        wanted = sinks_of(whole)
        figures: Counter[str] = Counter()
        for _ in range(DAMAGES):
            place = folder / "half again"
            shutil.copytree(copies[-1], place, symlinks=True)
            told = _damage(place, copies[0], random)
            figures[told.partition(":")[0]] += 1
            try:
                story.run(spark, stream, place, which)
            except (MuntinError, StreamingQueryException) as error:
                said = root_cause(error) if isinstance(error, StreamingQueryException) else str(error)
                assert said.strip(), f"{told}: refused without a word"
                assert "exited unexpectedly" not in said, f"{told}: a process died\n{said}"
                figures["refused"] += 1
            else:
                found = sinks_of(place)
                assert found == wanted, f"{told} ({which}) changed the output: {differences(found, wanted)}"
                figures["no difference"] += 1
            shutil.rmtree(place)
    return {"queries": 1, f"of {which}": 1, "damages": DAMAGES, **figures}


def _damage(place: Path, older: Path, random: Random) -> str:
    """Damage what a query left; return what was done."""
    kind = random.choice(("a file", "a file", "a file of a sink", "an older file", "two files", "an older part"))
    if kind == "a file":
        return f"{kind}: {_damage_file(place, _files(place / 'checkpoint'), random)}"
    if kind == "a file of a sink":
        own = [file for sink in SINKS for file in _files(place / sink) if file.suffix == ".json"]
        return f"{kind}: {_damage_file(place, own, random)}"
    if kind == "an older file":  # of the same name, as it was before
        changed = [file for file in _files(place) if _differs(file, older / file.relative_to(place))]
        file = random.choice([file for file in changed if file.suffix != ".parquet"])
        _put(older / file.relative_to(place), file)
        return f"{kind}: {file.relative_to(place)}"
    if kind == "two files":  # of the state, swapped: of partitions, or of micro-batches
        logs = [file for file in _files(place / "checkpoint" / "state") if file.suffix in (".changelog", ".zip")]
        one, other = random.sample([file for file in logs if file.suffix == random.choice(logs).suffix] or logs, 2)
        _swap(one, other)
        return f"{kind}: {one.relative_to(place)} and {other.relative_to(place)}"
    parts = [
        "checkpoint",
        "checkpoint/state",
        "checkpoint/offsets",
        *(sink for sink in SINKS if (place / sink).is_dir()),
    ]
    part = random.choice([*parts, "two partitions"])
    if part == "two partitions":
        state = place / "checkpoint" / "state" / "0"
        state.joinpath("0").rename(state / "away")
        state.joinpath("1").rename(state / "0")
        state.joinpath("away").rename(state / "1")
        return f"{kind}: {part}"
    shutil.rmtree(place / part)
    shutil.copytree(older / part, place / part, symlinks=True)
    return f"{kind}: {part}"


def _files(folder: Path) -> list[Path]:
    """Return the files in a folder, without those that Hadoop keeps beside them."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".crc"))


def _damage_file(place: Path, files: Sequence[Path], random: Random) -> str:
    file = random.choice(files)
    name, parts = str(file.relative_to(place)), file.relative_to(place).parts
    if random.random() < 0.2:
        file.unlink()
        return f"{name} removed"
    data, how = damaged_bytes(file.read_bytes() or b"\0", random)
    if how == "flipped bits" and parts[:1] == ("checkpoint",) and parts[1] in SPARKS_LOGS:
        data, how = data[:-1], "cut"  # Spark verifies no checksum of them: a path that is another one is read
    file.write_bytes(data)
    if random.random() < 0.7:
        _beside(file).unlink(missing_ok=True)  # or Hadoop's checksum finds it before we do
    return f"{name} {how}"


def _beside(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def _differs(file: Path, before: Path) -> bool:
    return before.is_file() and before.read_bytes() != file.read_bytes()


def _put(source: Path, target: Path) -> None:
    """Put a file in the place of another, with its checksum of Hadoop's if it has one."""
    for one, other in ((source, target), (_beside(source), _beside(target))):
        other.unlink(missing_ok=True)
        if one.exists():
            shutil.copy(one, other)


def _swap(one: Path, other: Path) -> None:
    away = one.with_name("away")
    for first, second in ((one, other), (_beside(one), _beside(other))):
        if first.exists() and second.exists():
            first.rename(away)
            second.rename(first)
            away.rename(second)
