"""Options of an adapter besides the foreign code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Required

from typing_extensions import TypedDict

from muntin.errors import ModuleDefinitionError


class FunctionOptions(TypedDict, total=False):
    """Options of all adapters.

    Attributes:
        name: `"<plugin>.<module>"`, the name of the module.
        version: The module's version: that of the foreign code, for example.
        input: The type of one payload; by default what the foreign code's annotations say.
        result: The type of the result; by default what they say.
        continues_since: The oldest version whose checkpoints this one goes on with, as `Module.continues_since`.
        reads_order: True if the result depends on the order of the payloads, as `Module.reads_order`.
    """

    name: Required[str]
    version: Required[str]
    input: Any
    result: Any
    continues_since: str
    reads_order: bool


class AdapterOptions(FunctionOptions, total=False):
    """Options of the adapters of code that accumulates.

    Attributes:
        state: The type of an accumulator that is made of dataclasses or named tuples, so that these may be stored.
        serialize: Turns an accumulator into plain data, for example bytes. With `deserialize`.
        deserialize: Turns them back into an accumulator.
        without: Capabilities not to take over: `"remove_events"`, `"combine"` or `"deduct"`, where the foreign code has
            the method and its law does not hold.
        upgrade_state: Takes what the checkpoint of an older version holds of an accumulator, as plain data, and that
            version, and returns what is stored of it today.
    """

    state: Any
    serialize: Callable[[Any], Any]
    deserialize: Callable[[Any], Any]
    without: Collection[str]
    upgrade_state: Callable[[Any, str], Any]


_KNOWN: Final = {
    *("name", "version", "input", "result", "continues_since", "reads_order"),
    *("state", "serialize", "deserialize", "without", "upgrade_state"),
}
_CAPABILITIES: Final = ("remove_events", "combine", "deduct")


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that an adapter cannot work with.

    Raises:
        TypeError: One is missing, or unknown.
        ModuleDefinitionError: They do not fit together.
    """
    missing, unknown = [name for name in ("name", "version") if name not in options], sorted(set(options) - _KNOWN)
    if missing or unknown:
        raise TypeError(f"an adapter needs {' and '.join(missing)}" if missing else f"no adapter takes {unknown[0]}=")
    if ("serialize" in options) != ("deserialize" in options):
        raise ModuleDefinitionError(f"{options['name']}: serialize and deserialize undo each other; give both")
    strange = sorted(set(options.get("without", ())) - set(_CAPABILITIES))
    if strange:
        raise ModuleDefinitionError(
            f"{options['name']}: {strange[0]!r} is not a capability\n  expected: one of {', '.join(_CAPABILITIES)}"
        )
