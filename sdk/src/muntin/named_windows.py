"""Windows by the name of their kind: in a query, and in a checkpoint."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from muntin.catalog import installed
from muntin.errors import MuntinError, ParameterError, WindowError
from muntin.rows.last_rows import LastRows
from muntin.rows.row_batches import RowBatches, RowsBetween
from muntin.rows.row_windows import RowWindows
from muntin.windows.calendar import CalendarWindows
from muntin.windows.count import CountWindows
from muntin.windows.growing import CumulateWindows, GlobalWindows, LandmarkWindows
from muntin.windows.hopping import HoppingWindows
from muntin.windows.kind import WindowKind
from muntin.windows.session import SessionWindows
from muntin.windows.snapshot import SnapshotWindows
from muntin.windows.specification import Unwindowed, WindowSpecification, check_kind
from muntin.windows.trailing import TrailingWindows

OWN_KINDS: Final[Mapping[str, type[WindowKind]]] = {
    kind.name: kind
    for kind in (
        *(HoppingWindows, SnapshotWindows, CountWindows, SessionWindows, CalendarWindows),
        *(CumulateWindows, LandmarkWindows, GlobalWindows, TrailingWindows),
    )
}
"""Muntin's own kinds by name."""

OWN_ROWS: Final[Mapping[str, type[RowWindows]]] = {cls.name: cls for cls in (LastRows, RowBatches, RowsBetween)}
"""Muntin's own row windows by name."""

_OWN: Final[Mapping[str, type[WindowSpecification]]] = {**OWN_KINDS, **OWN_ROWS, Unwindowed.name: Unwindowed}


def window(name: str, **parameters: Any) -> WindowSpecification:
    """Return windows by the name of their kind: one of Muntin's own, or of an installed plugin.

    Args:
        name: `"<plugin>.<kind>"`, or one word for Muntin's own kinds, such as `"hopping"` or `"last"`.
        parameters: The fields of the kind, by name; those that are lengths may be text such as `"10 minutes"`, and
            policies of row windows are written as in `last`.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: Its plugin cannot be imported.
        ParameterError: The kind does not take these parameters.
        DurationError: A length cannot be read.

    Example:
        >>> window("hopping", size="1 minute", hop=10_000_000)
        HoppingWindows(size=60000000, hop=10000000, offset=0, reach=0)
        >>> print(window("last", evicts=10, triggers=2, partitions="sensor"))
        last(10).trigger(2).partition('sensor')
    """
    cls = kind_named(name)
    signature = inspect.signature(cls)
    try:
        signature.bind(**parameters)
        return cls.named_by(parameters)
    except (TypeError, ValueError) as error:
        if isinstance(error, MuntinError):
            raise
        raise ParameterError(name, parameters, str(error), str(signature)) from error


def kind_named(name: str) -> type[WindowSpecification]:
    """Return the class of windows by the name of their kind; raises as `window` does."""
    return _OWN[name] if name in _OWN else installed().window_kind(name)


def check_windows(windows: WindowSpecification) -> None:
    """Refuse windows whose class is not Muntin's and has no name and version of its own."""
    if type(windows) not in _OWN.values():
        check_kind(type(windows))


def continues_windows(stored: Mapping[str, Any], wanted: WindowSpecification) -> bool:
    """Return True if windows can continue from a checkpoint of the same windows, of another version of their kind.

    Example:
        >>> windows = SnapshotWindows().to_dict()
        >>> [continues_windows({**windows, "version": version}, SnapshotWindows()) for version in ("1.0", "0.9")]
        [True, False]
    """
    if {**stored, "version": wanted.version} != wanted.to_dict():
        return False
    return wanted.continues_from(str(stored.get("version", "")))


def from_dict(data: Mapping[str, Any]) -> WindowSpecification:
    """Return windows of any family, of which `to_dict` made data.

    Example:
        >>> from_dict({"kind": "count", "version": "1.0", "count": 3, "by": "end"})
        CountWindows(count=3, by='end', every=1)
    """
    try:
        return kind_named(data["kind"]).from_dict(data)
    except (KeyError, MuntinError) as error:
        kinds = ", ".join([*OWN_KINDS, *OWN_ROWS])
        raise WindowError(
            f"{dict(data)!r} is not a window specification; kinds are {kinds}, and those of installed plugins"
        ) from error
