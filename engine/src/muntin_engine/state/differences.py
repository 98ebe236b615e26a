"""The identity of a query, the properties that its state depends on; and in words, where two of them differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from muntin import Axis
from muntin.axis import DecimalLength, spell_ticks
from muntin.catalog.named_windows import from_dict
from muntin.errors import WindowError
from muntin_engine.errors import Difference

QueryIdentity: TypeAlias = Mapping[str, Any]
"""By name, each as plain data of a kind of its own: keys, windows, modules and so on."""


ARRAYS: Final = "arrays"
"""The name of the parts that a query on arrays is made of."""

CODE_HASH: Final = "code-"
"""The start of the hash of its code, which a module without a version has for one."""

_NOTHING: Final = "none"
_DECIMALS: Final = re.compile(r"decimals of (\d+) places")
"""The words of `Plan.identity` for times that are decimals."""


def differences_between(stored: QueryIdentity, wanted: QueryIdentity) -> tuple[Difference, ...]:
    """Return the differences between the identity in a checkpoint and that of a query.

    Args:
        stored: The identity in the checkpoint, as plain data.
        wanted: The query's.

    Example:
        >>> differences_between({"clip": "none", "buckets": 16}, {"clip": "full", "buckets": 16})
        (Difference(subject='clip', checkpoint='none', query='full'),)
    """
    found: list[Difference] = []
    for name in {**stored, **wanted}:
        old, new = stored.get(name), wanted.get(name)
        if old == new or name == ARRAYS or (name in _FOLLOWING and _follows(name, stored, wanted)):
            continue
        if name == "modules" and old and new:
            found += _modules(stored, wanted)
        elif name in _TYPED and (changed := _types_changed(old, new)):
            found += changed
        elif name in _BY_NAME and old is not None and new is not None:
            found += _by_name(_BY_NAME[name], old, new)
        elif name == "several" and _names(old) == _names(new):
            found += _several(stored, wanted)
        else:
            found.append(Difference(_SUBJECTS.get(name, name), _spell(name, stored), _spell(name, wanted)))

    # The parts on arrays follow from all else. Where they alone differ, another version of Muntin chose them.
    if not found and stored.get(ARRAYS) != wanted.get(ARRAYS):
        found.append(Difference(_SUBJECTS[ARRAYS], _spell(ARRAYS, stored), _spell(ARRAYS, wanted)))
    return tuple(found)


def _types_changed(stored: Any, wanted: Any) -> list[Difference]:
    """Return the columns whose types differ; none if the columns differ in more than that."""
    if not stored or not wanted or [name for name, _ in stored] != [name for name, _ in wanted]:
        return []
    return [
        Difference(f"{TYPE_OF_COLUMN}{name}", old, new)
        for (name, old), (_, new) in zip(stored, wanted, strict=True)
        if old != new
    ]


def _by_name(subject: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Difference]:
    """Return the differences of functions, or of the code of modules and functions, by their names."""
    return [
        Difference(subject, f"{name} {old}", f"{name} {wanted[name][0]}")
        for name, (old, *_) in stored.items()
        if name in wanted and old != wanted[name][0]
    ]


def _several(stored: QueryIdentity, wanted: QueryIdentity) -> list[Difference]:
    """Return the differences of each of several inputs, with the name of the input in their subjects."""
    return [
        replace(difference, subject=f"{difference.subject} of {name}")
        for (name, old), (_, new) in zip(stored["several"], wanted["several"], strict=True)
        for difference in differences_between({**old, "times": wanted["times"]}, {**new, "times": wanted["times"]})
    ]


def _follows(name: str, stored: QueryIdentity, wanted: QueryIdentity) -> bool:
    """Return True if a difference follows from one that is reported anyway."""
    return not (stored.get(name) and wanted.get(name)) or stored.get("modules") != wanted.get("modules")


def _modules(stored: QueryIdentity, wanted: QueryIdentity) -> list[Difference]:
    """Return the differences of modules. Those that both queries have are left out, whatever their places.

    Of the others, two of one name are one that changed, as are then two in the same place; the rest were added or
    removed. If there are none, the order differs.
    """

    def keyed(identity: QueryIdentity) -> list[tuple[str, bool]]:
        return [(spell_module(one, identity), "counted" in one[4:]) for one in identity["modules"]]

    old, new = keyed(stored), keyed(wanted)
    before, after = dict(zip(old, stored["modules"], strict=True)), dict(zip(new, wanted["modules"], strict=True))
    gone, came = [*(Counter(old) - Counter(new)).elements()], [*(Counter(new) - Counter(old)).elements()]
    found: list[Difference] = []
    for has_name in (True, False):
        for one in [*gone]:
            same = (other for other in came if not has_name or before[one][0] == after[other][0])
            if (other := next(same, None)) is not None:
                gone.remove(one)
                came.remove(other)
                texts = (
                    spell_module(before[one], stored, after[other]),
                    spell_module(after[other], wanted, before[one]),
                )
                found.append(Difference("module", *texts))
    found += [Difference("aggregate", text, None) for text, _ in gone]
    found += [Difference("aggregate", None, text) for text, _ in came]
    if not found and old != new:
        found.append(Difference("order of modules", *(", ".join(text for text, _ in some) for some in (old, new))))
    return found


def spell_module(module: Sequence[Any], identity: QueryIdentity, other: Sequence[Any] | None = None) -> str:
    """Return a module with its version, parameters and columns, and whether it reads nulls if the other does not.

    Of one that reads several inputs, the sources of each are said as well.
    """
    name, version, parameters, places, *rest = module
    streams: Mapping[str, Any] = next((part for part in rest if isinstance(part, Mapping)), {})
    given = ", ".join(f"{parameter}={value}" for parameter, value in parameters.items())
    several = [given["inputs"] for _, given in identity.get("several", ())]
    inputs = several or [identity.get("inputs", ())]

    def column(written: Any) -> str:
        side, place = (0, written) if isinstance(written, int) else written
        is_known = side < len(inputs) and place < len(inputs[side])
        return str(inputs[side][place][0]) if is_known else f"input {place}"

    of = f" of {', '.join(map(column, places))}" if places else ""
    if streams:
        told = [(part, map(column, own), sources) for part, (sources, own) in streams.items()]
        of = "".join(f", {' '.join([part, *own])} of {' and '.join(sources)}" for part, own, sources in told)
    nulls, skips_nulls = "", "counted" in rest
    if other is not None and skips_nulls != ("counted" in other[4:]):
        nulls = ", which does not read nulls" if skips_nulls else ", which reads nulls"
    return f"{name} {version}" + of + (f" with {given}" if given else "") + nulls


def _spell(name: str, identity: QueryIdentity) -> str:
    value = identity.get(name)
    if name not in _SPELLED:
        return repr(value)
    return _SPELLED[name](value, identity) if value or value == 0 else _NOTHING


def _window(value: Any, identity: QueryIdentity) -> str:
    try:
        window = from_dict(value)
    except WindowError:  # its plugin is gone, or has other fields now
        return ", ".join(f"{name} {part}" for name, part in value.items())
    places = places_of(identity)
    if places is not None:
        window = window.with_lengths(lambda length: DecimalLength.of(length, places))
    is_number = places is not None or identity.get("times") == "ticks"
    spelled = window.spell(Axis.TICKS if is_number else Axis.TIME)
    return f"{spelled}, version {value['version']}" if "." in window.name else spelled


def _windows(value: Any, identity: QueryIdentity) -> str:
    return ", ".join(f"{name} = {_window(window, identity)}" for name, window in value.items())


def _columns(value: Any, identity: QueryIdentity) -> str:
    del identity
    return ", ".join(f"{name} {kind}" for name, kind in value)


def _progress(value: Any, identity: QueryIdentity) -> str:
    del identity
    kind, starts = value["kind"], value.get("starts", 0)
    kept = f" that keeps {starts} starts" if starts else ""
    named = (
        f"{_POLICIES[kind]} of {starts - 1} rows" if kind == "BoundedDisorder" else f"{_POLICIES.get(kind, kind)}{kept}"
    )
    return named + (", by key" if value.get("by_key") else "")


def _emit(value: Any, identity: QueryIdentity) -> str:
    del identity
    if isinstance(value, str):
        return value
    return f"early({_described(value['early'])}, refinement={_described(value['refinement'])})"


def _described(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_described, value))
    if not isinstance(value, Mapping):
        return repr(value)
    kind = "trigger" if "trigger" in value else "refinement"
    given = ", ".join(f"{name}={_described(part)}" for name, part in value.items() if name not in (kind, "version"))
    return f"{value.get(kind)} {value.get('version')}" + (f"({given})" if given else "")


def _changed(value: Any, identity: QueryIdentity) -> str:
    def spell(call: str, given: Any = None) -> str:
        if isinstance(given, Mapping):
            return f"{call}({_window(given, identity)})"
        if isinstance(given, str):
            return f"{call}({given})"
        return call if given is None else f"{call}({_length(given, identity)})"

    return ", ".join(spell(*change) for change in value)


def _late(value: object, identity: QueryIdentity) -> str:
    allowed = str(value).removeprefix("correct(").removesuffix(")")
    return f"correct({_length(int(allowed), identity) if allowed.isdigit() else allowed})"


def _length(value: Any, identity: QueryIdentity) -> str:
    """Return a length on the axis, in words where that is time."""
    places = places_of(identity)
    if places is not None:
        return str(DecimalLength.of(value, places))
    return str(value) if identity.get("times") == "ticks" else spell_ticks(value)


def places_of(identity: QueryIdentity) -> int | None:
    """Return the decimal places of times, if they are decimals."""
    found = _DECIMALS.fullmatch(str(identity.get("times")))
    return None if found is None else int(found[1])


def _components(value: Any, identity: QueryIdentity) -> str:
    names = [name for name, *_ in identity.get("modules", ())]
    kept = zip_longest(names, value, fillvalue=())
    return "; ".join(f"{name} keeps {', '.join(map(_component, parts)) or 'nothing'}" for name, parts in kept)


def _component(part: Sequence[Any]) -> str:
    name, merge, dtype, shape = part
    return f"{name} ({merge} of {dtype}{list(shape) if shape else ''})"


def _names(value: Any, identity: QueryIdentity | None = None) -> str:
    """Return the names of several inputs."""
    del identity
    return ", ".join(name for name, _ in value or ())


def _texts(value: object, identity: QueryIdentity) -> str:
    del identity
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_SPELLED: Final[Mapping[str, Callable[[Any, QueryIdentity], str]]] = {
    "keys": _columns,
    "inputs": _columns,
    "window": _window,
    "windows": _windows,
    "progress": _progress,
    "emit": _emit,
    "late": _late,
    "components": _components,
    "several": _names,
    "forget_keys_after": _length,
    "changed": _changed,
    **dict.fromkeys(
        ("id", "where", "times", "lifetimes", "clip", "timestamps", "sources", "results", "evaluator"), _texts
    ),
}

_BY_NAME: Final = {"functions": "function", "code": "code"}
"""Parts that are compared name by name, each with the subject of a difference."""

_FOLLOWING: Final = ("results", "components")
"""Parts that only some queries have, and parts that depend on their modules or their evaluator."""

TYPE_OF_COLUMN: Final = "type of the column "
"""The subject of a difference of types, before the name of the column."""

_TYPED: Final = ("inputs", "keys")
"""What has columns with their types, in order."""

_SUBJECTS: Final = {
    ARRAYS: "parts of the evaluation on arrays",
    "forget_keys_after": "silence after which keys are forgotten",
    "inputs": "columns that modules read",
    "id": "type of the id",
    "where": "conditions of where",
    "times": "type of times",
    "lifetimes": "lifetimes of events",
    "rules": "rules of united streams",
    "changed": "changes of the lifetimes of events",
    "windows": "named windows",
    "several": "inputs",
    "late": "late rows",
    "results": "types of the results that may be retracted",
    "components": "components of partial states",
    "modules": "module",
}

_POLICIES: Final = {
    "Punctuated": "punctuation",
    "BoundedDelay": "bounded delay",
    "BoundedDisorder": "bounded disorder",
}
"""The names of progress policies where queries write them."""
