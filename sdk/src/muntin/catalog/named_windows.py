"""Windows by the name of their kind: in a query, and in a checkpoint."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any, Final

from muntin.catalog.catalog import installed
from muntin.errors import MuntinError, ParameterError, UnknownModuleError, WindowError
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

_BUILT_IN_WINDOWS: Final[Mapping[str, type[WindowSpecification]]] = {
    **OWN_KINDS,
    **OWN_ROWS,
    Unwindowed.name: Unwindowed,
}
"""All windows that need no plugin, by the name of their kind."""

EXAMPLES: Final[Mapping[str, str]] = {
    "hopping": "window('hopping', size='10 minutes', hop='1 minute')",
    "snapshot": "window('snapshot')",
    "count": "window('count', count=10)",
    "session": "window('session', gap='30 minutes')",
    "calendar": "window('calendar', size=1, hop=1, unit='day', zone='Europe/Berlin'), or 'month'",
    "cumulate": "window('cumulate', size='1 day', step='1 hour')",
    "landmark": "window('landmark', step='1 hour')",
    "global": "window('global')",
    "trailing": "window('trailing', length='10 minutes')",
    "last": "window('last', evicts=10)",
    "batch": "window('batch', evicts=10)",
    "between": "window('between', opens=\"kind = 'login'\", closes=\"kind = 'logout'\")",
    "unwindowed": "window('unwindowed')",
}
"""An example of each of Muntin's own kinds, by name."""

_OTHER_WORDS: Final[Mapping[str, str]] = {
    "tumbling": "tumbling windows are hopping ones whose hop is their size: "
    "window('hopping', size='10 minutes', hop='10 minutes')",
    "sliding": f"windows that slide by a hop are {EXAMPLES['hopping']}, and those that end at each event "
    f"{EXAMPLES['trailing']}",
    "rows": f"windows of rows are {EXAMPLES['last']}, {EXAMPLES['batch']} and 'between'",
    "daily": f"days are {EXAMPLES['calendar']}",
    "global_windows": f"they are {EXAMPLES['global']}",
}
"""Advice on names of windows that are not kinds, but words of other systems or functions of Muntin."""


def window(name: str, **parameters: Any) -> WindowSpecification:
    """Return windows by the name of their kind: one of Muntin's own, or of an installed plugin.

    Args:
        name: `"<plugin>.<kind>"`, or one word for Muntin's own kinds, such as `"hopping"` or `"last"`.
        parameters: The fields of the kind, by name; a length may be text such as `"10 minutes"`, and policies of row
            windows are written as in `last`.

    Raises:
        WindowError: The name is no text.
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
        signature.bind(**parameters)  # an unknown parameter is an error before any length is read
        return cls.named_by(parameters)
    except (TypeError, ValueError) as error:
        if isinstance(error, MuntinError):
            raise  # the windows themselves refused a value, and say why
        reason = _wrong_parameters(signature, parameters) or str(error)
        if name in EXAMPLES:
            reason += f"\n  write for example {EXAMPLES[name]}"
        raise ParameterError(name, parameters, reason, _spell_parameters(signature)) from error


def _wrong_parameters(signature: inspect.Signature, parameters: Mapping[str, object]) -> str:
    """Name the parameters that are missing and those that are unknown; empty if there are neither."""
    missing: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.default is inspect.Parameter.empty and parameter.name not in parameters:
            missing.append(parameter.name)
    unknown = [name for name in parameters if name not in signature.parameters]
    reasons = []
    if missing:
        reasons.append(f"it lacks {' and '.join(missing)}")
    if unknown:
        reasons.append(f"it has no {' and no '.join(unknown)}")
    return ", and ".join(reasons)


def _spell_parameters(signature: inspect.Signature) -> str:
    """Return the parameters of a kind with their defaults, without types: a length may be an int or text."""
    untyped = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(inspect.Signature(untyped))


def kind_named(name: str) -> type[WindowSpecification]:
    """Return the class of windows by the name of their kind; raises as `window` does."""
    if not isinstance(name, str):
        raise WindowError(
            f"window() takes the name of a kind of windows, got {name!r:.80}\n"
            "  for example window('hopping', size='10 minutes', hop='5 minutes')"
        )
    if name in _BUILT_IN_WINDOWS:
        return _BUILT_IN_WINDOWS[name]
    if "." in name:  # only the kinds of plugins have a dot
        return installed().window_kind(name)

    # Windows may have another name in other systems, such as `daily`: for these words there is advice.
    closest_words = difflib.get_close_matches(name, [*_BUILT_IN_WINDOWS, *_OTHER_WORDS], n=1)
    closest_word = closest_words[0] if closest_words else ""
    suggestion = repr(closest_word) if closest_word in _BUILT_IN_WINDOWS else None
    kinds = sorted(_BUILT_IN_WINDOWS)
    advice = _OTHER_WORDS.get(closest_word, "Muntin's own kinds are one word; that of a plugin has two: 'shop.visits'")
    advice += f"\n  window kinds: {', '.join(kinds)}, and those of plugins"
    raise UnknownModuleError("window kind", name, suggestion, kinds, advice=advice, lists_installed=False)


def check_windows(windows: WindowSpecification) -> None:
    """Refuse windows whose class is not Muntin's and has no name and version of its own."""
    if type(windows) not in _BUILT_IN_WINDOWS.values():
        check_kind(type(windows))


def continues_windows(stored: Mapping[str, Any], windows: WindowSpecification) -> bool:
    """Return True if windows can continue from a checkpoint of equal windows, of this or another version of their kind.

    Args:
        stored: The windows of the checkpoint, as data of `to_dict`.
        windows: The windows of the query.

    Example:
        >>> windows = SnapshotWindows().to_dict()
        >>> [continues_windows({**windows, "version": version}, SnapshotWindows()) for version in ("1.0", "0.9")]
        [True, False]
    """
    # All but the version has to be equal: sizes, zones and the like.
    if {**stored, "version": windows.version} != windows.to_dict():
        return False
    return windows.continues_from(str(stored.get("version", "")))


def from_dict(data: Mapping[str, Any]) -> WindowSpecification:
    """Make windows of any kind from the data that their `to_dict` returned.

    Raises:
        WindowError: The data has no kind, an unknown one, or other fields than the kind.

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
