"""Options of an adapter besides the foreign code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Required

from typing_extensions import TypedDict

from muntin.errors import ModuleDefinitionError


class FunctionOptions(TypedDict, total=False):
    """Options of all adapters.

    Attributes:
        name: Name of the module, `"<plugin>.<module>"`. Required.
        version: Version of the module: that of the foreign code, for example. Another way to store its accumulators is
            another version too. Required.
        input: Type of a payload; by default that of the foreign code's annotations. Several values are a tuple.
        result: Type of the result; by default that of the foreign code's annotations.
        continues_since: Oldest version whose checkpoints this version continues, as `Module.continues_since`.
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
    `__getstate__`; objects inside it are stored in the same way. It is read back into a new object, whose attributes
    tell the classes; so an object must not have attributes that a new one lacks. For anything else give `serialize` and
    `deserialize`, which are called around every method. Pickle is used only if you ask for it, with
    `serialize=pickle.dumps, deserialize=pickle.loads`.

    Attributes:
        state: Type of an accumulator with dataclasses or named tuples in it, so that these may be stored.
        serialize: Function from an accumulator to plain data, for example bytes. With `deserialize`.
        deserialize: Function from the plain data to an accumulator.
        without: Capabilities to leave out: `"remove_events"`, `"combine"` or `"deduct"`, where the foreign code has the
            method and breaks its law.
        upgrade_state: Function from the stored form of an accumulator in an older version, as plain data, and that
            version, to the present stored form.
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
        TypeError: An option is missing, or unknown.
        ModuleDefinitionError: The options do not fit together.
    """
    missing_options = [name for name in ("name", "version") if name not in options]
    if missing_options:
        raise TypeError(f"an adapter needs {' and '.join(missing_options)}")
    unknown = sorted(set(options) - _KNOWN)
    if unknown:
        raise TypeError(f"no adapter takes {unknown[0]}=")
    if ("serialize" in options) != ("deserialize" in options):
        raise ModuleDefinitionError(f"{options['name']}: serialize and deserialize undo each other; give both")
    unknown_capabilities = sorted(set(options.get("without", ())) - set(_CAPABILITIES))
    if unknown_capabilities:
        raise ModuleDefinitionError(
            f"{options['name']}: {unknown_capabilities[0]!r} is not a capability\n"
            f"  expected: one of {', '.join(_CAPABILITIES)}"
        )
