"""The columns of a changelog: results that may be retracted, whichever backend adds them up.

Every change is one or two terms of a sum: an insertion adds a row, a retraction subtracts a row, and a revision
subtracts the row with its old end and adds it with the new one. Rows whose sum is above zero are live, whatever the
order of the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from muntin.errors import QueryError

CHANGE: Final = "change"
EVENT_ID: Final = "event_id"
LIFETIME: Final = "lifetime"
NEW_END: Final = "new_end"
TIMING: Final = "timing"
WINDOW: Final = "window"

SIGN: Final = "__muntin_sign"
"""The column of a term with its sign: 1 if it adds a row, -1 if it subtracts one."""

END: Final = "__muntin_end"
"""The column of a term with the end of the lifetime of its row, where ends are revised; otherwise null."""

ROW: Final = "__muntin_row"
"""The column of a term with the values of its row, as a struct."""

KEYS: Final = "muntin.keys"
"""The place in the metadata of `event_id` that names the keys, which files of Parquet keep."""


@dataclass(frozen=True)
class ChangelogColumns:
    """The columns of a changelog.

    Attributes:
        keys: The names of its key columns.
        values: The names of the other columns of the table that the changelog adds up to.
        names: The names of all columns in order, with `change`.
        has_ends: True if changes may revise the ends of lifetimes, as the changelog has a column of new ends.
    """

    keys: Sequence[str]
    values: Sequence[str]
    names: Sequence[str]
    has_ends: bool

    @classmethod
    def of(
        cls, columns: Sequence[str], stored_keys: Sequence[str] | None, key: str | Sequence[str] | None
    ) -> ChangelogColumns:
        """Find the columns of a changelog.

        Args:
            columns: The names of the columns of the changelog.
            stored_keys: The key columns that the metadata of the changelog names; None if it names none.
            key: The key columns that the caller names; None to use those that the changelog names.

        Raises:
            QueryError: A column is missing, neither the caller nor the changelog names the keys, or the caller leaves
                out a key of the changelog.
        """
        keys = _key_columns(columns, stored_keys, key)
        has_ends = NEW_END in columns
        required_names = [CHANGE, EVENT_ID, *keys]
        if has_ends:
            required_names.append(LIFETIME)
        missing_names = [name for name in required_names if name not in columns]
        if missing_names:
            raise QueryError(
                f"a changelog has the columns {', '.join(required_names)}, and this one has no "
                f"{missing_names[0]!r}: it has {', '.join(columns)}\n"
                "  expected results that may be retracted, as with emit='speculative' or 'eager', and their key columns"
            )
        values = [name for name in columns if name not in (CHANGE, EVENT_ID, NEW_END, *keys)]
        names = [name for name in columns if name != NEW_END]  # a summed row has the new end in its lifetime
        return cls(keys, values, names, has_ends)

    @property
    def identifying(self) -> list[str]:
        """The columns that identify a row: the keys and the id."""
        return [*self.keys, EVENT_ID]


def _key_columns(
    columns: Sequence[str], stored_keys: Sequence[str] | None, key: str | Sequence[str] | None
) -> list[str]:
    """Return the names of the key columns of a changelog.

    Args:
        columns: The names of the columns of the changelog.
        stored_keys: The key columns that the metadata of the changelog names; None if it names none.
        key: The key columns that the caller names; None to use those that the changelog names.

    Raises:
        QueryError: Neither the caller nor the changelog names the keys, or the caller leaves out a key of the
            changelog.
    """
    if key is None:
        if stored_keys is None:
            raise QueryError(
                "this changelog does not say what its key columns are, and rows of several keys share their event_id\n"
                f"  its columns: {', '.join(columns)}\n"
                "  name the keys of its query, as in key='station' or key=['station', 'line']; if it has none, key=()"
            )
        return list(stored_keys)
    keys = [key] if isinstance(key, str) else list(key)
    if stored_keys is None:
        return keys
    for name in stored_keys:
        # A key whose column was dropped from the changelog cannot be named.
        if name in columns and name not in keys:
            raise QueryError(
                f"key={key!r} lacks {name!r}: rows of this changelog are told apart by {', '.join(stored_keys)}\n"
                "  leave key= out, and they are"
            )
    return keys


def lifetime_column(columns: Sequence[str]) -> str:
    """Return the name of the column with the lifetimes of rows.

    The caller compares lifetimes with the watermark: a row is final once the watermark has passed its lifetime.

    Args:
        columns: The names of the columns of the rows.

    Raises:
        QueryError: The rows have no such column.
    """
    for name in (LIFETIME, WINDOW):
        if name in columns:
            return name
    raise QueryError(
        f"rows are final by their lifetimes, and these have none: they have {', '.join(columns)}\n"
        "  expected the column 'lifetime', or 'window', as the results have it"
    )
