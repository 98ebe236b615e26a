"""Options of an adapter besides the foreign code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Required

from typing_extensions import TypedDict

from muntin.errors import ModuleDefinitionError


class FunctionOptions(TypedDict, total=False):
    """Options of all adapters.

    Attributes:
        name: `"<plugin>.<module>"`, the name of the module. It has to be given, and so has the version.
        version: The module's version: that of the foreign code, for example. Another way to store its accumulators is
            another version too.
        input: The type of one payload; by default what the foreign code's annotations say. Several values are a tuple.
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

    Between micro-batches a state is plain data, and a checkpoint holds no code. An accumulator that is plain data stays
    as it is: numbers, text, tuples, lists, dicts. Of an object its attributes are stored, or the result of its
    `__getstate__`, and the same of objects inside it. It is read back into a new object, whose attributes say the
    classes; so an object must not have attributes that a new one does not have. For anything else give `serialize` and
    `deserialize`, which are called around every method. Pickle is used only if you ask for it, with
    `serialize=pickle.dumps, deserialize=pickle.loads`.

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
