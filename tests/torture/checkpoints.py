"""A checkpoint, or what its query writes to, with files that are damaged, gone, or in the place of others."""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final

from pyspark.errors import PySparkException

from muntin.errors import MuntinError
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import write_batches
from tests.journeys.scripts import tables
from tests.torture import story
from tests.torture.damage import damaged_bytes
from tests.torture.kills import differences, make_stream, sinks_of
from tests.torture.kind import Figures
from tests.torture.session import session

DAMAGES: Final = 15

SOURCES: Final = "checkpoint/sources/"
"""What Spark alone writes and reads, without a checksum: with another path in it, a file is read again."""

_NUMBERS: Final = re.compile("[0-9a-f]{8}-[0-9a-f-]{27}.*|[0-9]+")
"""What files of one kind differ by in their names: numbers, and random ids with what follows them."""

_LOGS: Final = tuple(f"checkpoint/{name}" for name in ("commits", "muntin", "offsets", "sources", "state"))
_PARTS: Final = ("checkpoint", *_LOGS, "results", "late", "rejected", "progress")


def damaged(seed: int, folder: Path) -> Figures:
    """Stop a query before its end, damage what it left, and go on: it is refused, or the sinks are right.

    A rejection names the checkpoint, a file of it or the state; it never is a process that died. Seeds that follow one
    another take the kinds of queries in turn.
    """
    random = Random(seed)
    spark = session()
    story_name = story.EVERY[seed % len(story.EVERY)]
    batches = tables(make_stream(seed, cuts=5))
    stream = folder / "stream"
    running = folder / "running"
    figures: Counter[str] = Counter()
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        # The query is stopped twice. The copy after the first stop has the older files that a damage may put back. The
        # damage is done to the copy after the second stop, so that few micro-batches remain to be run.
        copies: list[Path] = []
        for count in (max(1, len(batches) - 4), max(2, len(batches) - 2), len(batches)):
            write_batches(stream, batches[:count])
            story.run(spark, stream, running, story_name)
            copies.append(shutil.copytree(running, folder / f"copy {len(copies)}", symlinks=True))
        after_first_stop, after_second_stop, _ = copies
        expected = sinks_of(running)

        tried_damages: set[str] = set()
        while len(tried_damages) < DAMAGES:
            place = folder / f"damaged {len(tried_damages)}"
            shutil.copytree(after_second_stop, place, symlinks=True)
            kind, damage = _damage(place, after_first_stop, random)
            if damage not in tried_damages:
                tried_damages.add(damage)
                outcome = _go_on(stream, place, story_name, damage, expected)
                figures[kind] += 1
                figures[outcome] += 1
            shutil.rmtree(place)
    return {"queries": 1, f"of {story_name}": 1, "damages": DAMAGES, **figures}


def _go_on(stream: Path, place: Path, which: str, damage: str, expected: Mapping[str, Counter[str]]) -> str:
    """Start a query with what was damaged; return "refused", or "no difference" if its sinks are right.

    Raises:
        AssertionError: The sinks are wrong, or the refusal says nothing, or a process died.
    """
    try:
        story.run(session(), stream, place, which)
    except (MuntinError, PySparkException) as error:
        message = root_cause(error) if isinstance(error, PySparkException) else str(error)
        assert message.strip(), f"{damage}: refused without a word"
        assert "exited unexpectedly" not in message, f"{damage}: a process died\n{message}"
        print(f"{which}: {damage}: refused: {message.splitlines()[0][:200]}")
        return "refused"
    sinks = sinks_of(place)
    assert sinks == expected, f"{damage} ({which}) changed the output: {differences(sinks, expected)}"
    print(f"{which}: {damage}: no difference")
    return "no difference"


def _damage(place: Path, older: Path, random: Random) -> tuple[str, str]:
    """Damage what a query left; return the kind of damage, and what was done."""
    kind = random.choice(("a file", "a file", "a file", "an older file", "a file of its kind", "two files", "a part"))
    if kind == "a part":
        return kind, _damage_part(place, older, random)
    by_kind = _files_by_kind(place, older if kind == "an older file" else None)
    if kind in ("a file of its kind", "two files"):
        by_kind = {name: files for name, files in by_kind.items() if len(files) > 1 and not name.startswith(SOURCES)}
    files = by_kind[random.choice(sorted(by_kind))]
    file = files[-1] if random.random() < 0.5 else random.choice(files)
    name = str(file.relative_to(place))
    if kind == "a file":
        return kind, f"{name} {_damage_file(file, random, is_source=name.startswith(SOURCES))}"
    if kind == "an older file":
        _put(older / name, file)
        return kind, f"{name} as it was before"
    second_file = random.choice([candidate for candidate in files if candidate != file])
    second_name = second_file.relative_to(place)
    if kind == "two files":
        _swap(file, second_file)
        return kind, f"{name} and {second_name} swapped"
    _put(second_file, file)
    return kind, f"{second_name} in the place of {name}"


def _files_by_kind(place: Path, older: Path | None = None) -> dict[str, list[Path]]:
    """Return the files that a query left, the newest of each kind last, without those that Hadoop keeps beside them.

    Left out are the micro-batches in a `ParquetFolder`: no query reads them again, and users may remove old ones.

    Args:
        place: Folder of the query.
        older: Earlier copy of it; files that are the same there are left out.
    """
    files_by_kind: defaultdict[str, list[Path]] = defaultdict(list)
    for file in place.rglob("*"):
        name = str(file.relative_to(place))
        is_wanted = file.is_file() and file.suffix != ".crc" and not re.match(r"\w+/batch=", name)
        if is_wanted and (older is None or _differs(file, older / name)):
            files_by_kind[_NUMBERS.sub("*", name)].append(file)
    return {name: sorted(files, key=_in_order) for name, files in files_by_kind.items()}


def _in_order(file: Path) -> tuple[list[int], str]:
    """Return the sort key of files: the first number in the name, then the path."""
    first_number = [int(number) for number in re.findall(r"\d+", file.name)[:1]]
    return first_number, str(file)


def _damage_part(place: Path, older: Path, random: Random) -> str:
    """Put an older part of a checkpoint in the place of the newer, or a folder of it in the place of another."""
    part = random.choice([*(part for part in _PARTS if (place / part).is_dir()), "two partitions"])
    if part == "two partitions":
        state = place / "checkpoint" / "state" / "0"
        _swap(state / "0", state / "1")
        return "two partitions swapped"
    shutil.rmtree(place / part)
    shutil.copytree(older / part, place / part, symlinks=True)
    return f"{part} as it was before"


def _damage_file(file: Path, random: Random, *, is_source: bool) -> str:
    """Remove a file or damage its bytes, mostly without its checksum, and return what was done.

    Args:
        file: The file.
        random: Source of the choice.
        is_source: True if Spark reads paths in the file.
    """
    if random.random() < 0.2:
        file.unlink()
        return "removed"
    data, how = damaged_bytes(file.read_bytes() or b"\0", random)
    if how in ("flipped bits", "overwritten") and (is_source or file.suffix == ".parquet"):
        # a path that is another one is read, and a value in it that is another one
        data = data[:-1]
        how = "cut"
    file.write_bytes(data)
    if random.random() < 0.7:
        _beside(file).unlink(missing_ok=True)  # or Hadoop's checksum finds it before we do
        how += ", and its checksum"
    return how


def _beside(file: Path) -> Path:
    """Return the place of Hadoop's checksum of a file."""
    return file.with_name(f".{file.name}.crc")


def _differs(file: Path, earlier_file: Path) -> bool:
    """True if there is an earlier file, and it has other bytes."""
    return earlier_file.is_file() and earlier_file.read_bytes() != file.read_bytes()


def _put(source: Path, target: Path) -> None:
    """Put a file in the place of another, with its checksum of Hadoop's if it has one."""
    for from_file, to_file in ((source, target), (_beside(source), _beside(target))):
        to_file.unlink(missing_ok=True)
        if from_file.exists():
            shutil.copy(from_file, to_file)


def _swap(first: Path, second: Path) -> None:
    """Swap two files or folders, and the checksums of Hadoop's beside them."""
    away = first.with_name("away")
    for path, other_path in ((first, second), (_beside(first), _beside(second))):
        if path.exists() and other_path.exists():
            path.rename(away)
            other_path.rename(path)
            away.rename(other_path)
