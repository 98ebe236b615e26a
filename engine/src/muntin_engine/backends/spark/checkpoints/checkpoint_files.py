"""Find damage to the files of a checkpoint: files that the next start needs, and that are changed, cut short or gone.

Spark says "Unexpected end-of-input" or "assertion failed" of such a file, and does not name it. The files are therefore
read once more after a query has failed, and by `check`. They are read as files of this machine: in a checkpoint
elsewhere no damage is found.

The layout is Spark's: the logs `offsets`, `commits` and `sources` are text with a version and then JSON, and the state
of a partition after a micro-batch is a snapshot (`7.zip`, with the files in `SSTs` that it lists) and the changelogs
since (`8.changelog`). Where Hadoop wrote a checksum beside a file (`.7.crc`), the file is compared with it.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from muntin_engine.backends.spark.failures.root_cause import RESTORE, root_cause
from muntin_engine.backends.spark.private_parts import java_configuration, jvm_of
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.errors import StateError
from muntin_engine.sinks.addresses import is_elsewhere, local_path

_MOST_NAMED: Final = 8
"""The number of damaged files that an error names."""

_VERSION: Final = re.compile(r"\0?v\d+")
_STATE_FILE: Final = re.compile(r"(\d+)(?:_[\w-]+)?\.(zip|changelog)")
_LZ4_MAGIC: Final = b"LZ4Block"
_LZ4_END: Final = _LZ4_MAGIC + b"\x15" + bytes(12)
"""The empty block that ends a changelog."""

_MOST_COVERED: Final = 2**20
"""The most bytes that share a checksum of Hadoop's; a larger number is damage."""

Decompress = Callable[[Path], None]
"""A function that reads a compressed file to its end, and raises an error of Py4J if the file is damaged."""


def damage_of(spark: SparkSession, checkpoint: str) -> StateError | None:
    """Return an error that names the damaged files of a checkpoint; None if there is no damage.

    None also if this process does not see the files: on Spark Connect, and if the checkpoint is on another file system.

    Args:
        spark: The session of the checkpoint's query.
        checkpoint: The path of the checkpoint.
    """
    if is_connect(spark) or is_elsewhere(checkpoint):
        return None
    try:
        damages = CheckpointFiles(local_path(checkpoint), _decompress_in_jvm(spark)).damages()
    except OSError as error:
        damages = [f"{error.filename} cannot be read: {error.strerror}"]
    if not damages:
        return None
    if len(damages) > _MOST_NAMED:
        damages = [*damages[:_MOST_NAMED], f"and {len(damages) - _MOST_NAMED} more"]
    lines = "\n  ".join(damages)
    return StateError(
        f"the checkpoint {checkpoint} is damaged\n  {lines}\n  expected: all its files as Spark wrote them\n  {RESTORE}"
    )


class CheckpointFiles:
    """The files of one checkpoint; descriptions name them by their paths in its folder."""

    def __init__(self, folder: Path, decompress: Decompress) -> None:
        """Take the folder of a checkpoint; `damages` reads its files.

        Args:
            folder: The folder of the checkpoint, on this machine.
            decompress: Reads a changelog to its end, to find damage in it.
        """
        self._folder = folder
        self._decompress = decompress

    def damages(self) -> list[str]:
        """Return a description of each damaged file, which begins with the name of the file.

        The list is empty if a query commits a micro-batch during the checks: then files come and go.

        Raises:
            OSError: A file cannot be read.
        """
        commits = self._numbered("commits")
        damage_by_file: dict[str, str] = {}
        for damage in self._damages():
            file = damage.partition(" ")[0]
            damage_by_file.setdefault(file, damage)  # a file may be found by several checks: the first is the clearest
        # A file that was missing for a moment need not be a damage.
        if self._numbered("commits") != commits:
            return []
        return list(damage_by_file.values())

    def _damages(self) -> Iterator[str]:
        """Yield a description of each damage; a file may have several."""
        offsets = self._numbered("offsets")
        commits = self._numbered("commits")
        last_commit = max(commits, default=-1)
        if not offsets and not commits:
            return  # no micro-batch was begun

        yield from self._metadata_damage()
        yield from self._offsets_damage(offsets, commits)
        if commits:
            yield from self._text_damage(commits[last_commit])
        yield from self._sources_damage(offsets)
        if commits:
            for operator in self._subfolders(self._folder / "state"):
                # Spark numbers versions of the state from 1: after micro-batch 0 the state has version 1.
                yield from self._operator_damage(operator, version=last_commit + 1)
        yield from self._lost_state()

    def _metadata_damage(self) -> Iterator[str]:
        """Yield the damage to the file with the id of the query."""
        file = self._folder / "metadata"
        if not file.exists():
            yield "metadata is gone"
            return
        try:
            has_id = "id" in json.loads(file.read_bytes())
        except (ValueError, TypeError):
            has_id = False
        if not has_id:
            yield "metadata is not the id of a query as JSON"
        elif has_wrong_checksum(file):
            yield self._changed(file)

    def _offsets_damage(self, offsets: Mapping[int, Path], commits: Mapping[int, Path]) -> Iterator[str]:
        """Yield the damage to the two newest files in `offsets`, both of which Spark reads at a start.

        Args:
            offsets: The files in `offsets`, by micro-batch.
            commits: The files in `commits`, by micro-batch.
        """
        newest = max([*offsets, *commits])
        for number in (newest - 1, newest):
            if number in offsets:
                yield from self._text_damage(offsets[number])
            elif number in commits:  # if there is no commit either, there was no such micro-batch or Spark removed both
                yield f"offsets/{number} is gone: it says what micro-batch {number} read"

    def _sources_damage(self, offsets: Mapping[int, Path]) -> Iterator[str]:
        """Yield the damage to the logs of sources.

        A source of files has a list for each micro-batch, with the files that it read. Now and then Spark writes a
        compacted list instead, such as `9.compact`, which has the files of all lists before it as well. Spark reads the
        lists since the newest compacted one.
        """
        for source in self._subfolders(self._folder / "sources"):
            lists: dict[int, Path] = {}
            newest_compacted = 0
            for file in self._files(source):
                name, _, ending = file.name.partition(".")
                if name.isdigit() and ending in ("", "compact"):
                    lists[int(name)] = file
                if ending == "compact":
                    newest_compacted = max(newest_compacted, int(name))

            for number in sorted(lists):
                if number >= newest_compacted:
                    yield from self._text_damage(lists[number])
            for number in range(newest_compacted, self._last_list(offsets, int(source.name)) + 1):
                if number not in lists:
                    yield f"{self._name(source)}/{number} is gone: it says which files were read"

    def _last_list(self, offsets: Mapping[int, Path], source_number: int) -> int:
        """Return the number of the newest list of a source of files, as the newest file in `offsets` has it.

        That file has a line for each time that the query reads a source. A query may read one source twice, as a join
        of a stream with itself does. Then there are more lines than sources, and it is not known which line is of which
        source: the least number is returned, as each source has the lists up to that one.

        Args:
            offsets: The files in `offsets`, by micro-batch.
            source_number: The number of the source, which is the name of its folder.

        Returns:
            -1 for a source of another kind, and if the file cannot be read.
        """
        try:
            # The first line is a version, the second one has metadata of Spark.
            _, _, *lines = offsets[max(offsets)].read_text(encoding="utf-8").splitlines()
            if len(lines) > len(self._subfolders(self._folder / "sources")):
                return min(int(json.loads(line)["logOffset"]) for line in lines)
            return int(json.loads(lines[source_number])["logOffset"])
        except (ValueError, KeyError, TypeError, IndexError, OSError):
            return -1

    def _operator_damage(self, operator: Path, version: int) -> Iterator[str]:
        """Yield the damage to the state of a stateful operator.

        Args:
            operator: The folder of the operator.
            version: The version of the state that Spark loads next, one more than the last committed micro-batch.
        """
        # A description of the state holds from the micro-batch of its number on. The newest one counts, without those
        # of micro-batches that were not committed.
        descriptions: dict[int, Path] = {}
        for file in self._files(operator / "_metadata", deep=True):
            number = int(file.name) if file.name.isdigit() else 0  # Spark's older operators have one without a number
            if number < version:
                descriptions[number] = file
        if not descriptions:
            yield f"{self._name(operator)}/_metadata/v2/0 is gone: it says what the state consists of"
            return
        newest = descriptions[max(descriptions)]
        damages = list(self._text_damage(newest))
        if damages:
            yield from damages
            return  # a damaged description does not say which files there must be
        _, _, text = newest.read_text(encoding="utf-8").partition("\n")  # the first line is a version
        try:
            stores = json.loads(text)["stateStoreInfo"]
        except (ValueError, KeyError, TypeError):
            yield f"{self._name(newest)} is cut short or changed: it does not say what the state consists of"
            return
        for store in stores:
            yield from self._schema_damage(operator, newest, store)
            yield from self._partitions_damage(operator, store, version)

    def _schema_damage(self, operator: Path, description: Path, store: Mapping[str, Any]) -> Iterator[str]:
        """Yield the damage to the files with the schema of a state store.

        Args:
            operator: The folder of the operator.
            description: The file that describes the state of the operator.
            store: The description of the state store.
        """
        for path in store.get("stateSchemaFilePaths", ()):
            # The path is absolute. If the checkpoint was moved, the file is still at the same path within it.
            named_file = Path(path)
            file = operator / "_stateSchema" / named_file.parent.name / named_file.name
            if not file.exists():
                yield f"{self._name(file)} is gone: it is the schema of the state"
                continue
            if not is_elsewhere(path) and not local_path(path).exists():
                reason = f"it names the file {path}, which is not there"
                yield f"{self._name(description)} is changed, or the checkpoint was moved: {reason}"
            data = file.read_bytes()
            if not data:
                yield f"{self._name(file)} is empty"
            elif data.count(b"{") != data.count(b"}"):  # a cut-off end of JSON lacks braces
                yield f"{self._name(file)} is cut short or changed: its JSON is not whole"
            elif has_wrong_checksum(file):
                yield self._changed(file)

    def _partitions_damage(self, operator: Path, store: Mapping[str, Any], version: int) -> Iterator[str]:
        """Yield the damage to the partitions of a state store.

        Args:
            operator: The folder of the operator.
            store: The description of the state store. One that is not the default store has a folder in each partition.
            version: The version of the state that Spark loads next.
        """
        for partition in range(store["numPartitions"]):
            folder = operator / str(partition)
            if store["storeName"] != "default":
                folder = folder / store["storeName"]
            if not folder.is_dir():
                yield f"{self._name(folder)} is gone: it is the state of a partition"
                continue
            yield from self._store_damage(folder, version)

    def _store_damage(self, folder: Path, version: int) -> Iterator[str]:
        """Yield the damage to one partition of a state store.

        Spark loads the newest snapshot up to a version, and then each changelog after it, up to the version. Older
        files stay for a while and are not read.

        Args:
            folder: The folder of the partition.
            version: The version of the state that Spark loads next.
        """
        snapshots: dict[int, Path] = {}
        changelogs: dict[int, Path] = {}
        for file in self._files(folder):
            match = _STATE_FILE.fullmatch(file.name)
            if match is None:
                continue
            version_of_file = int(match[1])
            if match[2] == "zip":
                snapshots[version_of_file] = file
            else:
                changelogs[version_of_file] = file

        newest_snapshot = max((number for number in snapshots if number <= version), default=0)
        if newest_snapshot:
            yield from self._snapshot_damage(snapshots[newest_snapshot])
        elif self._files(folder / "SSTs"):  # files that belong to a snapshot: there was one
            yield f"{self._name(folder)}/*.zip is gone: a snapshot, which says what the files in SSTs are of"
            return  # it is not known which changelogs came after the snapshot
        for number in range(newest_snapshot + 1, version + 1):
            if number in changelogs:
                yield from self._changelog_damage(changelogs[number])
            else:
                yield f"{self._name(folder)}/{number}.changelog is gone: it is the state of a partition"

    def _snapshot_damage(self, file: Path) -> Iterator[str]:
        """Yield the damage to a snapshot, and to the files of RocksDB that it lists."""
        try:
            with zipfile.ZipFile(file) as snapshot:
                damaged_member = snapshot.testzip()
                _, text = snapshot.read("metadata").split(b"\n", 1)  # the first line is a version
                listing = json.loads(text)
        except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError) as error:
            reason = "is empty" if not file.stat().st_size else f"is cut short or changed: {error}"
            yield f"{self._name(file)} {reason}"
            return
        if damaged_member is not None or has_wrong_checksum(file):
            yield self._changed(file)
        for listed in listing.get("sstFiles", ()):
            listed_file = file.parent / "SSTs" / listed["dfsSstFileName"]
            if not listed_file.exists():
                yield f"{self._name(listed_file)} is gone: it is the state of a partition"
                continue
            size = listed_file.stat().st_size
            if size != listed["sizeBytes"]:
                yield f"{self._name(listed_file)} has {size:,} bytes, and had {listed['sizeBytes']:,}"
            elif has_wrong_checksum(listed_file):
                yield self._changed(listed_file)

    def _changelog_damage(self, file: Path) -> Iterator[str]:
        """Yield the damage to a changelog, which has the changes of a micro-batch to the state of a partition."""
        data = file.read_bytes()
        if not data:
            yield f"{self._name(file)} is empty"
            return
        if not data.startswith(_LZ4_MAGIC):
            # The session compresses with another codec than Spark's default, of which only the checksum is compared.
            if has_wrong_checksum(file):
                yield self._changed(file)
            return
        if not data.endswith(_LZ4_END):
            yield f"{self._name(file)} is cut short"
            return
        # Bytes in the middle may have changed as well. Decompressing compares each block with its checksum.
        try:
            self._decompress(file)
        except Py4JError as error:
            yield f"{self._name(file)} is changed: {root_cause(error).splitlines()[0]}"
            return
        if has_wrong_checksum(file):
            yield self._changed(file)

    def _text_damage(self, file: Path) -> Iterator[str]:
        """Yield the damage to a file of Spark's logs: a line with a version, then lines of JSON, or `-` for nothing."""
        data = file.read_bytes()
        if not data:
            yield f"{self._name(file)} is empty"
            return
        try:
            first, *lines = data.decode().splitlines()
        except UnicodeDecodeError:
            yield f"{self._name(file)} is changed: it is not text in UTF-8"
            return
        if _VERSION.fullmatch(first) is None:
            yield f"{self._name(file)} is changed: it begins with {first[:20]!r} in the place of a version"
            return
        for number, line in enumerate(lines, start=2):
            try:
                if line not in ("", "-"):
                    json.loads(line)
            except ValueError:
                yield f"{self._name(file)} is cut short or changed: its line {number} is not JSON"
                return
        if has_wrong_checksum(file):
            yield self._changed(file)

    def _lost_state(self) -> Iterator[str]:
        """Yield the files of the state that are gone while their checksums are still there.

        Spark removes a file together with its checksum.
        """
        for checksum in sorted((self._folder / "state").rglob(".*.crc")):
            file = checksum.with_name(checksum.name[1:].removesuffix(".crc"))
            if not file.exists() and not file.name.endswith(".tmp"):
                yield f"{self._name(file)} is gone, and its checksum {checksum.name} is there"

    def _changed(self, file: Path) -> str:
        """Describe a file with other bytes than Spark wrote."""
        return f"{self._name(file)} is changed: it does not have the checksum that Spark wrote beside it"

    def _numbered(self, name: str) -> dict[int, Path]:
        """Return the files of a log, such as `commits`, by the numbers that are their names."""
        return {int(file.name): file for file in self._files(self._folder / name) if file.name.isdigit()}

    def _files(self, folder: Path, *, deep: bool = False) -> list[Path]:
        """Return the files in a folder, without checksums and half-written files.

        Args:
            folder: The folder.
            deep: True for the files in all folders below it too.
        """
        if not folder.is_dir():
            return []
        paths = folder.rglob("*") if deep else folder.iterdir()
        return sorted(path for path in paths if path.is_file() and not path.name.startswith("."))

    def _subfolders(self, folder: Path) -> list[Path]:
        """Return the folders in a folder whose names are numbers."""
        if not folder.is_dir():
            return []
        return sorted(path for path in folder.iterdir() if path.is_dir() and path.name.isdigit())

    def _name(self, file: Path) -> str:
        """Return the path of a file in the checkpoint, as descriptions name it."""
        return file.relative_to(self._folder).as_posix()


def has_wrong_checksum(file: Path) -> bool:
    """Return True if Hadoop has written a checksum beside a file, and the file's bytes have another one."""
    checksum_file = file.with_name(f".{file.name}.crc")
    if not checksum_file.exists():
        return False
    # Hadoop's format: "crc\0", the number of bytes that share a checksum, then a checksum of four bytes for each part.
    stored = checksum_file.read_bytes()
    part_size = int.from_bytes(stored[4:8])
    if not stored.startswith(b"crc\0") or not 0 < part_size <= _MOST_COVERED:
        return True
    checksums = bytearray()
    with file.open("rb") as content:
        while part := content.read(part_size):
            checksums += zlib.crc32(part).to_bytes(4)
    return bytes(checksums) != stored[8:]


def _decompress_in_jvm(spark: SparkSession) -> Decompress:
    """Return a function that reads a changelog to its end, with the codec by which Spark has compressed it."""
    jvm = jvm_of(spark)
    configuration = java_configuration(spark)

    def decompress(file: Path) -> None:
        """Read a changelog to its end in the JVM, which raises an error if a block has a wrong checksum."""
        source = jvm.java.io.FileInputStream(str(file))
        try:
            codec = jvm.org.apache.spark.io.LZ4CompressionCodec(configuration)
            codec.compressedInputStream(source).transferTo(jvm.java.io.OutputStream.nullOutputStream())
        finally:
            source.close()

    return decompress
