"""Copies of checkpoints that a query can be started with, also when the original is gone.

Of all files in a checkpoint one kind holds the path of the checkpoint: the metadata of its stateful operators name the
files with the schemas of their states by absolute paths. A copy has these paths written anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import Final, NamedTuple

from muntin.errors import QueryError
from muntin_engine.errors import StateError
from muntin_engine.sinks.stored_folder import ListedFile, StoredFolder

RECORDS: Final = "muntin"
"""The folder in a checkpoint with Muntin's own records, beside Spark's files."""

COPYING: Final = "copying"
"""The folder in `muntin` that marks a copy that is not whole yet."""

COMMAND: Final = "muntin checkpoint copy"

_OPERATOR_METADATA: Final = re.compile(r"state/\d+/_metadata/v2/\d+")
_SCHEMA_FILE: Final = re.compile(r"(?P<root>.*)/(?P<inside>state/\d+/_stateSchema/.*)")
_COMMIT: Final = re.compile(r"commits/(\d+)")
_RECORD: Final = re.compile(r"muntin/(\d+)/part-[^/]*")
_CHECKSUM: Final = re.compile(r"(?P<folder>.*/)?\.(?P<name>[^/]+)\.crc")
_S3: Final = re.compile(r"s3[an]?://")


class SchemaFile(NamedTuple):
    """A file with the schema of a state, as the metadata of a stateful operator name it.

    Attributes:
        path: The absolute path, with a scheme.
        root: The beginning of the path, up to the folder of the checkpoint.
        inside: The rest of the path, which is relative to the checkpoint.
    """

    path: str
    root: str
    inside: str


@dataclass(frozen=True, slots=True)
class CheckpointCopy:
    """A copy of a checkpoint.

    Attributes:
        path: The path or address of the copy.
        files: The number of its files.
        size: The bytes in them.
        last_batch: The last micro-batch that was committed; -1 if there is none.
        destinations: The folders, tables and topics that the query has written to, as far as the checkpoint has them.
            A query that is started with the copy may go on with these or with others.
    """

    path: str
    files: int
    size: int
    last_batch: int
    destinations: tuple[str, ...]


def copy_checkpoint(
    source: str | PathLike[str],
    target: str | PathLike[str],
    folders: Mapping[str | PathLike[str], str | PathLike[str]] | None = None,
) -> CheckpointCopy:
    """Copy a checkpoint so that a query can be started with the copy, whatever becomes of the original.

    Spark's metadata hold absolute paths, so that no query starts with a checkpoint that was merely moved; in the copy,
    these paths are those of the copy. All of Spark's files are copied, and Muntin's records: the identity of the query,
    what it writes to, and whether its stream is closed. Nothing in the original is changed. Each file of the copy is
    read again and compared.

    Stop the query before, and copy the folders that it writes to at the same time, with `folders`.

    Args:
        source: The checkpoint, also one that was moved: a path of this machine, or an address such as
            `s3://bucket/checkpoint`, as sinks take them.
        target: A place where there is nothing yet. On S3 the scheme is the one that Spark will be given: `s3a://...`.
        folders: Folders that the query writes to, each with the path of its copy. The copied checkpoint then says that
            its query has written to these copies.

    Returns:
        The copy, with the number and the size of its files.

    Raises:
        QueryError: The source is not a checkpoint, the target is not empty, or one lies in the other.
        StateError: The source is itself a copy that was cut short, a file is damaged, or its query runs: files changed
            in the meantime. The copy is deleted again.

    Example:
        >>> copy_checkpoint("/data/checkpoint", "/copies/monday")  # doctest: +SKIP
        CheckpointCopy(path='/copies/monday', files=48, size=193204, last_batch=17, destinations=('/data/results',))
    """
    # All that can be refused is refused before anything is written.
    origin = StoredFolder(source)
    copy = StoredFolder(target)
    _check_source_and_target(origin, copy)
    output_folders: list[tuple[StoredFolder, StoredFolder]] = []
    for output_path, copy_path in (folders or {}).items():
        output = StoredFolder(output_path)
        output_copy = StoredFolder(copy_path)
        output_folders.append((output, output_copy))
        _check_source_and_target(output, output_copy)
        if not output.list_files():
            raise QueryError(f"{output} has no files\n  expected a folder that the query writes to")
    files = origin.list_files()
    _check_is_checkpoint(origin, files)

    new_destinations = {output.spelled: output_copy.spelled for output, output_copy in output_folders}
    rewriter = _Rewriter(origin, copy, new_destinations)
    last_commit = _last_commit(files)

    begun_folders: list[StoredFolder] = []  # to delete if anything fails
    try:
        begun_folders.append(copy)
        # As long as this file exists, no query starts with the copy.
        copy.write(f"{RECORDS}/{COPYING}/begun", iter([b"this copy of a checkpoint is not whole\n"]))
        for output, output_copy in output_folders:
            begun_folders.append(output_copy)
            _copy_files(output, output_copy, output.list_files(), _unchanged)
        sizes = _copy_files(origin, copy, files, rewriter.content)
        _check_schema_files(copy, sizes.keys())
        destinations = rewriter.destinations(sizes.keys(), last_commit)
        for folder in begun_folders:
            folder.sync()
        copy.delete(f"{RECORDS}/{COPYING}")  # only when everything else is on the disk
    except BaseException:  # Ctrl-C leaves no half copy either
        for folder in begun_folders:
            with suppress(OSError):
                folder.delete()
        raise

    return CheckpointCopy(
        str(copy), files=len(sizes), size=sum(sizes.values()), last_batch=last_commit, destinations=destinations
    )


def schema_files_in(metadata: str, name: str) -> list[SchemaFile]:
    """Return the files of schemas that the metadata of a stateful operator name.

    Args:
        metadata: The content of a file in `state/*/_metadata/v2`.
        name: The path of the file, for the error.

    Raises:
        StateError: The file is damaged.
    """
    files: list[SchemaFile] = []
    try:
        for line in metadata.splitlines():
            if not line.startswith("{"):
                continue  # the version of the format
            for store in json.loads(line)["stateStoreInfo"]:
                for path in store.get("stateSchemaFilePaths", []):
                    match = _SCHEMA_FILE.fullmatch(path)
                    if match is not None:  # a path of another form does not tell where the checkpoint is
                        files.append(SchemaFile(path, root=match["root"], inside=match["inside"]))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise _damaged_metadata_error(name, error) from error
    return files


def _damaged_metadata_error(name: str, reason: object) -> StateError:
    """Return the error for damaged metadata of a stateful operator.

    Args:
        name: The path of the file with the metadata.
        reason: The exception or the text that says what is wrong with the file.
    """
    return StateError(
        f"the file {name} is damaged: {reason}\n"
        "  expected: the metadata of a stateful operator, as Spark wrote them\n"
        "  put back a copy of the checkpoint, or start with a new one to compute all results again"
    )


class _Rewriter:
    """Rewrites the files of a checkpoint that name the checkpoint itself, or folders that are copied with it."""

    def __init__(self, origin: StoredFolder, copy: StoredFolder, new_destinations: Mapping[str, str]) -> None:
        """Prepare to rewrite the files of a checkpoint.

        Args:
            origin: The checkpoint.
            copy: Its copy.
            new_destinations: The path of the copy of each folder of output that is copied with the checkpoint.
        """
        self._origin = origin
        self._copy = copy
        self._new_destinations = new_destinations

    def content(self, name: str) -> bytes | None:
        """Return the content that a file of the checkpoint has in the copy; None if it has the same."""
        if _OPERATOR_METADATA.fullmatch(name):
            return self._metadata(name)
        if self._new_destinations and _RECORD.fullmatch(name):
            return self._record(name)
        return None

    def destinations(self, names: Iterable[str], last_commit: int) -> tuple[str, ...]:
        """Return the destinations that the query has written to, from the newest committed record in the copy.

        Args:
            names: The names of the files in the copy.
            last_commit: The last micro-batch that was committed. A record with a higher number was written with a
                micro-batch that was not committed, and does not count.

        Returns:
            The destinations; none if there is no such record, or if it is damaged.
        """
        committed_records: dict[int, str] = {}
        for name in names:
            record_file = _RECORD.fullmatch(name)
            if record_file is not None and int(record_file[1]) <= last_commit:
                committed_records[int(record_file[1])] = name
        if not committed_records:
            return ()
        record = self._copy.read(committed_records[max(committed_records)])
        try:
            return tuple(json.loads(record)["destinations"])
        except (ValueError, KeyError, TypeError):
            return ()  # the record is damaged: a query that starts with the copy says so

    def _record(self, name: str) -> bytes:
        """Return a record of the query in which folders that are copied have the paths of their copies."""
        content = self._origin.read(name)
        try:
            record = json.loads(content)
            destinations: list[str] = []
            for destination in record["destinations"]:
                destinations.append(self._new_destinations.get(destination, destination))
            record["destinations"] = sorted(destinations)
        except (ValueError, KeyError, TypeError):
            return content  # the record is damaged: a query that starts with the copy says so
        return json.dumps(record).encode()

    def _metadata(self, name: str) -> bytes:
        """Return the metadata of an operator with the paths that its schemas have in the copy.

        Raises:
            StateError: The file is damaged.
        """
        try:
            lines = self._origin.read(name).decode().splitlines()
            new_lines = [self._with_new_paths(line) for line in lines]
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise _damaged_metadata_error(f"{self._origin}/{name}", error) from error
        return "\n".join(new_lines).encode()

    def _with_new_paths(self, line: str) -> str:
        """Return a line of the metadata of an operator with the paths that its schemas have in the copy."""
        if not line.startswith("{"):
            return line  # the version of the format
        metadata = json.loads(line)
        for store in metadata["stateStoreInfo"]:
            paths = store.get("stateSchemaFilePaths", [])
            store["stateSchemaFilePaths"] = [self._new_path(path) for path in paths]
        return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))

    def _new_path(self, path: str) -> str:
        """Return the path that a file with a schema has in the copy; a path of another form stays as it is."""
        file = _SCHEMA_FILE.fullmatch(path)
        if file is None:
            return path
        root = self._copy.for_spark
        scheme = _S3.match(file["root"])
        if scheme is not None:  # `s3:`, `s3a:` and `s3n:` are alike, and Spark has a connector for only one of them
            root = _S3.sub(scheme[0], root)
        return f"{root}/{file['inside']}"


def _unchanged(name: str) -> bytes | None:
    """Say of any file that its copy has the same content: the counterpart of `_Rewriter.content` for output."""
    return None


def _check_source_and_target(source: StoredFolder, target: StoredFolder) -> None:
    """Raise unless a folder can be copied to another one.

    Raises:
        QueryError: One folder lies in the other, or the target has files.
    """
    if source.contains(target) or target.contains(source):
        raise QueryError(f"{source} and {target} lie in each other\n  expected: a place of its own for the copy")
    if target.list_files():
        raise QueryError(
            f"{target} is not empty\n"
            "  expected: a place where there is nothing yet; files of two copies must not be mixed\n"
            "  delete it, or name another one"
        )


def _check_is_checkpoint(folder: StoredFolder, files: Mapping[str, ListedFile]) -> None:
    """Raise unless a folder is a checkpoint that can be copied.

    Args:
        folder: The folder.
        files: The files in it.

    Raises:
        QueryError: The folder is no checkpoint.
        StateError: The folder is itself a copy of a checkpoint, whose copying was cut short.
    """
    if "metadata" not in files:
        state = "is not there"
        if files:
            top_names = {name.partition("/")[0] for name in files}
            state = f"has {', '.join(sorted(top_names)[:5])}"
        raise QueryError(
            f"{folder} is no checkpoint: it {state}, and no file 'metadata'\n"
            "  expected: the checkpoint of a query, as in query.write(checkpoint=...) or checkpointLocation"
        )
    if any(name.startswith(f"{RECORDS}/{COPYING}/") for name in files):
        raise cut_short_copy_error(str(folder))


def cut_short_copy_error(checkpoint: str) -> StateError:
    """Return the error for a checkpoint that is a copy in which files are missing."""
    return StateError(
        f"the checkpoint {checkpoint} is a copy that was cut short: files are missing in it\n"
        f"  expected: a copy that ended without an error\n"
        f"  delete it, and copy the original again: {COMMAND} FROM TO"
    )


def moved_checkpoint_error(checkpoint: str, name: str, file: SchemaFile) -> StateError:
    """Return the error for a checkpoint that was moved.

    Args:
        checkpoint: The path of the checkpoint.
        name: The file in the checkpoint in which a former path stands, such as `state/0/_metadata/v2/0`.
        file: The former path, with its parts; no file is there now.
    """
    return StateError(
        f"the checkpoint {checkpoint} was moved here, or copied: {name} in it names {file.path}, which is not there\n"
        f"  expected: a checkpoint where its query began, in {file.root}, or a copy that {COMMAND} made\n"
        f"  start the query with such a copy of this one: {COMMAND} {checkpoint} TO, or copy_checkpoint(...)"
    )


def _copy_files(
    source: StoredFolder,
    target: StoredFolder,
    files: Mapping[str, ListedFile],
    new_content: Callable[[str], bytes | None],
) -> dict[str, int]:
    """Copy files, and read each copy again to compare it with what was written.

    Checksums that Hadoop keeps beside the files of a local disk are left out where they would be stale, and where the
    copy is not on a local disk.

    Args:
        source: The folder to copy.
        target: The folder of the copy.
        files: The files of the source, by name.
        new_content: Returns the new content of a file by its name; None if it is copied as it is.

    Returns:
        The sizes of the copied files in bytes, by name. A file with new content has another size than its original.

    Raises:
        StateError: Files of the source changed meanwhile, or a copy is not what was written.
    """
    checksums: dict[str, int] = {}
    sizes: dict[str, int] = {}
    try:
        for name in files:
            if _is_left_out(name, target, new_content):
                continue
            content = new_content(name)
            chunks = source.read_chunks(name) if content is None else iter([content])
            checksums[name] = target.write(name, chunks)
            sizes[name] = files[name].size if content is None else len(content)
        is_unchanged = source.list_files() == files  # compares the sizes and the times of changes too
    except FileNotFoundError:  # Spark removes old files while its query runs
        is_unchanged = False
    if not is_unchanged:
        raise StateError(
            f"{source} changed while it was copied: its query runs\n"
            "  expected: the checkpoint and the folders of a query that is stopped\n"
            "  stop it, and copy again; the copy was deleted"
        )
    for name, checksum in checksums.items():
        if target.checksum(name) != checksum:
            raise StateError(
                f"the copy {target}/{name} is not what was written to it\n"
                "  expected: a disk or a store that keeps what it is given\n"
                "  copy again, or to another place; the copy was deleted"
            )
    return sizes


def _is_left_out(name: str, target: StoredFolder, new_content: Callable[[str], bytes | None]) -> bool:
    """Return True for a checksum of Hadoop's that the copy does without.

    Hadoop reads a checksum such as `.7.crc` only on a local disk, and one of a file with new content would be wrong.

    Args:
        name: The name of the file that may be a checksum.
        target: The folder of the copy.
        new_content: Returns the new content of a file by its name; None if it is copied as it is.
    """
    checksum = _CHECKSUM.fullmatch(name)
    if checksum is None:
        return False
    if target.is_elsewhere:
        return True
    name_of_file = f"{checksum['folder'] or ''}{checksum['name']}"
    return new_content(name_of_file) is not None


def _check_schema_files(copy: StoredFolder, names: Collection[str]) -> None:
    """Raise unless a copy has each file that the metadata of its operators name, under the path that they give.

    Args:
        copy: The copy.
        names: The names of its files.

    Raises:
        StateError: A file is missing.
    """
    for name in filter(_OPERATOR_METADATA.fullmatch, names):
        for file in schema_files_in(copy.read(name).decode(), f"{copy}/{name}"):
            if file.inside not in names or not is_same_place(file.root, copy.for_spark):
                raise StateError(
                    f"the checkpoint lacks the file {file.inside}, which {name} names\n"
                    "  expected: all files of a checkpoint, as Spark wrote them\n"
                    "  put back a copy of the checkpoint from another time; this copy was deleted"
                )


def is_same_place(address: str, other_address: str) -> bool:
    """Return True if two addresses differ at most in the scheme for S3: `s3:`, `s3a:` or `s3n:`."""
    return _S3.sub("s3://", address) == _S3.sub("s3://", other_address)


def _last_commit(files: Mapping[str, ListedFile]) -> int:
    """Return the last micro-batch that a checkpoint has committed; -1 if there is none."""
    last_commit = -1
    for name in files:
        match = _COMMIT.fullmatch(name)
        if match is not None:
            last_commit = max(last_commit, int(match[1]))
    return last_commit
