"""The identity of a query, the properties that its state depends on; and the differences of two, in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import Axis
from muntin.axis import DecimalLength, spell_ticks
from muntin.catalog.named_windows import from_dict
from muntin.errors import WindowError
from muntin_engine.errors import Difference

QueryIdentity: TypeAlias = Mapping[str, Any]
"""Keys, windows, modules and so on, by name: each as plain data of a kind of its own."""


ARRAYS: Final = "arrays"
"""The name of the parts that a query on arrays is made of."""

CODE_HASH: Final = "code-"
"""The start of a hash of code, which stands in the place of a version that a module does not have."""

_NOTHING: Final = "none"
_DECIMALS: Final = re.compile(r"decimals of (\d+) places")
"""The words of `Plan.identity` for times that are decimals."""


class ModuleIdentity(NamedTuple):
    """A module in the identity of a query.

    Attributes:
        name: The name of the module.
        version: The version of the module, or the hash of its code.
        parameters: The parameters by name.
        places: The places of the columns that it reads; with that of the input, where there are several.
        extras: `"counted"` if it does not read nulls; the columns and sources of its parts, if it reads several inputs.
    """

    name: str
    version: str
    parameters: Mapping[str, Any]
    places: Sequence[Any]
    extras: Sequence[Any]

    @classmethod
    def of(cls, data: Sequence[Any]) -> ModuleIdentity:
        """Read a module as the identity has it."""
        name, version, parameters, places, *extras = data
        return cls(name, version, parameters, places, extras)

    @property
    def skips_nulls(self) -> bool:
        """True if its state counts the values that it reads: it does not read nulls."""
        return "counted" in self.extras

    @property
    def parts(self) -> Mapping[str, Any]:
        """The columns and sources of its parts by name, if it reads several inputs."""
        for extra in self.extras:
            if isinstance(extra, Mapping):
                return extra
        return {}


def differences_between(stored: QueryIdentity, present: QueryIdentity) -> tuple[Difference, ...]:
    """Return the differences between the identity in a checkpoint and that of a query.

    Args:
        stored: The identity in the checkpoint, as plain data.
        present: The identity of the query.

    Example:
        >>> differences_between({"clip": "none", "buckets": 16}, {"clip": "full", "buckets": 16})
        (Difference(subject='clip', checkpoint='none', query='full'),)
    """
    differences: list[Difference] = []
    for name in {**stored, **present}:
        if stored.get(name) == present.get(name) or name == ARRAYS:
            continue
        # Some parts change with modules. The difference of the modules is reported then, as it says more.
        if name in _DERIVED_PARTS and _is_reported_by_other_part(name, stored, present):
            continue
        differences += _differences_of_part(name, stored, present)

    # The parts on arrays follow from all else. Where they alone differ, another version of Muntin chose them.
    if not differences and stored.get(ARRAYS) != present.get(ARRAYS):
        differences.append(Difference(_SUBJECTS[ARRAYS], _spell_part(ARRAYS, stored), _spell_part(ARRAYS, present)))
    return tuple(differences)


def _differences_of_part(name: str, stored: QueryIdentity, present: QueryIdentity) -> list[Difference]:
    """Return the differences of a part that differs: in detail if both identities have it, otherwise as a whole."""
    stored_part = stored.get(name)
    part = present.get(name)
    if name == "modules" and stored_part and part:
        return _differences_of_modules(stored, present)
    if name in _TYPED_PARTS:
        differences = _differences_of_types(stored_part, part)
        if differences:
            return differences
    if name in _COMPARED_BY_NAME and stored_part is not None and part is not None:
        return _differences_by_name(_COMPARED_BY_NAME[name], stored_part, part)
    if name == "several" and _spell_input_names(stored_part) == _spell_input_names(part):
        return _differences_of_inputs(stored, present)
    return [Difference(_SUBJECTS.get(name, name), _spell_part(name, stored), _spell_part(name, present))]


def _differences_of_types(stored: Any, present: Any) -> list[Difference]:
    """Return the columns whose types differ; none if the columns differ in more than that."""
    if not stored or not present or [name for name, _ in stored] != [name for name, _ in present]:
        return []
    differences: list[Difference] = []
    for (name, stored_type), (_, column_type) in zip(stored, present, strict=True):
        if stored_type != column_type:
            differences.append(Difference(f"{TYPE_OF_COLUMN}{name}", stored_type, column_type))
    return differences


def _differences_by_name(subject: str, stored: Mapping[str, Any], present: Mapping[str, Any]) -> list[Difference]:
    """Return the differences of functions, or of the code of modules and functions, by their names."""
    differences: list[Difference] = []
    for name, (stored_version, *_) in stored.items():
        if name not in present:
            continue
        version = present[name][0]
        if stored_version != version:
            differences.append(Difference(subject, f"{name} {stored_version}", f"{name} {version}"))
    return differences


def _differences_of_inputs(stored: QueryIdentity, present: QueryIdentity) -> list[Difference]:
    """Return the differences of each of several inputs, with the name of the input in their subjects."""
    # Lengths are spelled by the kind of times, which the identity of an input does not have.
    times = {"times": present["times"]}
    differences: list[Difference] = []
    for (name, stored_input), (_, present_input) in zip(stored["several"], present["several"], strict=True):
        for difference in differences_between({**stored_input, **times}, {**present_input, **times}):
            differences.append(replace(difference, subject=f"{difference.subject} of {name}"))
    return differences


def _is_reported_by_other_part(name: str, stored: QueryIdentity, present: QueryIdentity) -> bool:
    """Return True if the difference of a derived part follows from another difference, which is reported anyway.

    That is so if only one of the two queries has the part, or if their modules differ.
    """
    both_have_it = bool(stored.get(name) and present.get(name))
    return not both_have_it or stored.get("modules") != present.get("modules")


def _differences_of_modules(stored: QueryIdentity, present: QueryIdentity) -> list[Difference]:
    """Return the differences of modules.

    Modules that both queries have are left out, whatever their places. A dropped module and a new one of the same name
    are one module that changed. Dropped and new modules that remain are paired in order, as modules that changed too.
    All others were added or removed. If there is no such difference, the order of modules differs.
    """
    # Each module is a pair: its words, and whether it skips nulls, which the words do not say.
    stored_modules = _comparable_modules(stored)
    modules = _comparable_modules(present)
    dropped_modules = list((Counter(stored_modules) - Counter(modules)).elements())
    new_modules = list((Counter(modules) - Counter(stored_modules)).elements())
    stored_data = dict(zip(stored_modules, stored["modules"], strict=True))
    present_data = dict(zip(modules, present["modules"], strict=True))

    # A dropped module and a new one are one that changed: first those of one name, then all others in order.
    differences: list[Difference] = []
    for must_have_same_name in (True, False):
        for dropped_module in list(dropped_modules):
            stored_module = stored_data[dropped_module]
            for new_module in new_modules:
                module = present_data[new_module]
                has_same_name = ModuleIdentity.of(stored_module).name == ModuleIdentity.of(module).name
                if must_have_same_name and not has_same_name:
                    continue
                dropped_modules.remove(dropped_module)
                new_modules.remove(new_module)
                stored_words = spell_module(stored_module, stored, module)
                words = spell_module(module, present, stored_module)
                differences.append(Difference("module", stored_words, words))
                break

    differences += [Difference("aggregate", checkpoint=words, query=None) for words, _ in dropped_modules]
    differences += [Difference("aggregate", checkpoint=None, query=words) for words, _ in new_modules]
    if not differences and stored_modules != modules:
        stored_order = ", ".join(words for words, _ in stored_modules)
        order = ", ".join(words for words, _ in modules)
        differences.append(Difference("order of modules", stored_order, order))
    return differences


def _comparable_modules(identity: QueryIdentity) -> list[tuple[str, bool]]:
    """Return each module in words, and True if it skips nulls, which the words do not say."""
    return [(spell_module(data, identity), ModuleIdentity.of(data).skips_nulls) for data in identity["modules"]]


def spell_module(module: Sequence[Any], identity: QueryIdentity, counterpart: Sequence[Any] | None = None) -> str:
    """Return a module with its version, parameters and columns, in words.

    If the module reads several inputs, the words name the sources of each as well.

    Args:
        module: The module as the identity has it.
        identity: The identity of its query.
        counterpart: The module in the other identity that it is compared with. If only one of the two reads nulls, the
            words say so.
    """
    spelled = ModuleIdentity.of(module)
    words = f"{spelled.name} {spelled.version}{_spell_columns(spelled, identity)}"
    if spelled.parameters:
        words += " with " + ", ".join(f"{name}={value}" for name, value in spelled.parameters.items())
    if counterpart is not None and spelled.skips_nulls != ModuleIdentity.of(counterpart).skips_nulls:
        words += ", which does not read nulls" if spelled.skips_nulls else ", which reads nulls"
    return words


def _spell_columns(module: ModuleIdentity, identity: QueryIdentity) -> str:
    """Return the columns that a module reads, in words; nothing if it reads none."""
    columns_by_input = [input_identity["inputs"] for _, input_identity in identity.get("several", ())]
    if not columns_by_input:
        columns_by_input = [identity.get("inputs", ())]  # the only input

    def column_name(place: Any) -> str:
        """Return the name of a column.

        Args:
            place: The place of the column; where there are several inputs, a pair of the places of input and column.
        """
        side, column = (0, place) if isinstance(place, int) else place
        # A place without a column is spelled as its number.
        is_known = side < len(columns_by_input) and column < len(columns_by_input[side])
        return str(columns_by_input[side][column][0]) if is_known else f"input {column}"

    # A module that reads several inputs has parts: each with the sources that it reads, and the places of the columns.
    if module.parts:
        words = ""
        for part, (sources, places) in module.parts.items():
            columns = " ".join([column_name(place) for place in places])
            part_words = f"{part} {columns}" if columns else part
            words += f", {part_words} of {' and '.join(sources)}"
        return words
    if module.places:
        return f" of {', '.join(column_name(place) for place in module.places)}"
    return ""


def _spell_part(name: str, identity: QueryIdentity) -> str:
    """Return a part of an identity in words."""
    value = identity.get(name)
    if name not in _SPELLING_OF:
        return repr(value)
    if not value and value != 0:  # the part is absent or empty; 0 may be a length
        return _NOTHING
    spell = _SPELLING_OF[name]
    return spell(value, identity)


def _spell_window(value: Any, identity: QueryIdentity) -> str:
    """Return windows in words; by their fields if their kind cannot be loaded."""
    try:
        window = from_dict(value)
    except WindowError:  # its plugin is gone, or has other fields now
        return ", ".join(f"{name} {part}" for name, part in value.items())
    # Lengths are stored in ticks; a query over decimal times writes them as decimals.
    decimal_places = decimal_places_of(identity)
    if decimal_places is not None:
        window = window.with_lengths(lambda length: DecimalLength.of(length, decimal_places))
    is_number = decimal_places is not None or identity.get("times") == "ticks"
    spelled = window.spell(Axis.TICKS if is_number else Axis.TIME)
    is_of_plugin = "." in window.name  # kinds of Muntin itself have no version of their own
    return f"{spelled}, version {value['version']}" if is_of_plugin else spelled


def _spell_windows(value: Any, identity: QueryIdentity) -> str:
    """Return named windows in words."""
    return ", ".join(f"{name} = {_spell_window(window, identity)}" for name, window in value.items())


def _spell_typed_columns(value: Any, identity: QueryIdentity) -> str:
    """Return columns with their types."""
    del identity
    return ", ".join(f"{name} {kind}" for name, kind in value)


def _spell_progress(value: Any, identity: QueryIdentity) -> str:
    """Return a progress policy in words."""
    del identity
    kind = value["kind"]
    starts = value.get("starts", 0)
    words: str = _POLICIES.get(kind, kind)
    if kind == "BoundedDisorder":
        words += f" of {starts - 1} rows"  # it keeps one start more than rows may be out of order
    elif starts:
        words += f" that keeps {starts} starts"
    if value.get("by_key"):
        words += ", by key"
    return words


def _spell_emit(value: Any, identity: QueryIdentity) -> str:
    """Return an emit policy as its call."""
    del identity
    if isinstance(value, str):
        return value
    return f"early({_spell_call(value['early'])}, refinement={_spell_call(value['refinement'])})"


def _spell_call(value: object) -> str:
    """Return a trigger or a refinement as its call, or a parameter of such a call as it is written there."""
    if isinstance(value, list):
        return ", ".join(map(_spell_call, value))
    if not isinstance(value, Mapping):
        return repr(value)
    kind = "trigger" if "trigger" in value else "refinement"
    words = f"{value.get(kind)} {value.get('version')}"
    parameters = []
    for name, part in value.items():
        if name not in (kind, "version"):
            parameters.append(f"{name}={_spell_call(part)}")
    return f"{words}({', '.join(parameters)})" if parameters else words


def _spell_lifetime_changes(value: Any, identity: QueryIdentity) -> str:
    """Return changes of lifetimes as their calls."""
    return ", ".join(_spell_lifetime_change(identity, *change) for change in value)


def _spell_lifetime_change(identity: QueryIdentity, call: str, argument: Any = None) -> str:
    """Return a change of lifetimes as its call.

    Args:
        identity: The identity of the query.
        call: The name of the call.
        argument: Windows as a mapping, the words for a column, a length in ticks; or None for a call without arguments.
    """
    if argument is None:
        return call
    if isinstance(argument, Mapping):
        return f"{call}({_spell_window(argument, identity)})"
    if isinstance(argument, str):
        return f"{call}({argument})"
    return f"{call}({_spell_length(argument, identity)})"


def _spell_late(value: object, identity: QueryIdentity) -> str:
    """Return a late policy that corrects results, with its allowed lateness in words."""
    allowed = str(value).removeprefix("correct(").removesuffix(")")
    if allowed.isdigit():
        allowed = _spell_length(int(allowed), identity)
    return f"correct({allowed})"


def _spell_length(value: Any, identity: QueryIdentity) -> str:
    """Return a length on the axis: in words where the axis is time, as a number otherwise."""
    places = decimal_places_of(identity)
    if places is not None:
        return str(DecimalLength.of(value, places))
    return str(value) if identity.get("times") == "ticks" else spell_ticks(value)


def decimal_places_of(identity: QueryIdentity) -> int | None:
    """Return the number of decimal places of times; None if times are no decimals."""
    match = _DECIMALS.fullmatch(str(identity.get("times")))
    return None if match is None else int(match[1])


def _spell_components(value: Any, identity: QueryIdentity) -> str:
    """Return the components that each module keeps."""
    names = [ModuleIdentity.of(data).name for data in identity.get("modules", ())]
    words: list[str] = []
    for name, components in zip_longest(names, value, fillvalue=()):
        words.append(f"{name} keeps {', '.join(map(_spell_component, components)) or 'nothing'}")
    return "; ".join(words)


def _spell_component(part: Sequence[Any]) -> str:
    """Return a component in words."""
    name, merge, dtype, shape = part
    return f"{name} ({merge} of {dtype}{list(shape) if shape else ''})"


def _spell_input_names(value: Any, identity: QueryIdentity | None = None) -> str:
    """Return the names of several inputs."""
    del identity
    return ", ".join(name for name, _ in value or ())


def _spell_texts(value: object, identity: QueryIdentity) -> str:
    """Return a text, or a list of texts, as it is."""
    del identity
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_SPELLING_OF: Final[Mapping[str, Callable[[Any, QueryIdentity], str]]] = {
    "keys": _spell_typed_columns,
    "inputs": _spell_typed_columns,
    "window": _spell_window,
    "windows": _spell_windows,
    "progress": _spell_progress,
    "emit": _spell_emit,
    "late": _spell_late,
    "components": _spell_components,
    "several": _spell_input_names,
    "forget_keys_after": _spell_length,
    "changed": _spell_lifetime_changes,
    **dict.fromkeys(
        ("id", "where", "times", "lifetimes", "clip", "timestamps", "sources", "results", "evaluator"), _spell_texts
    ),
}

_COMPARED_BY_NAME: Final = {"functions": "function", "code": "code"}
"""Parts that are compared name by name, each with the subject of a difference."""

_DERIVED_PARTS: Final = ("results", "components")
"""Parts that follow from the modules and the evaluator, and that some queries do not have."""

TYPE_OF_COLUMN: Final = "type of the column "
"""The subject of a difference of types, before the name of the column."""

_TYPED_PARTS: Final = ("inputs", "keys")
"""Parts that have columns with their types, in order."""

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
