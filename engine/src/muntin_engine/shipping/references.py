"""The references by name in a pickle, which must be importable where it is opened, found without opening it.

To open a pickle of classes that travel whole, in the process that made it, would replace their methods by copies.
"""

from __future__ import annotations

import pickletools
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

_STRINGS: Final = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_GETS: Final = frozenset({"BINGET", "LONG_BINGET", "GET"})
_PUTS: Final = frozenset({"BINPUT", "LONG_BINPUT", "PUT"})
_IMPORTER: Final = "subimport"
"""The function by which cloudpickle refers to a module as a whole."""


class Reference(NamedTuple):
    """Something that is imported.

    Attributes:
        module: The module's full name.
        name: What is taken from it, with dots; empty for the module as a whole.
    """

    module: str
    name: str = ""


_Value: TypeAlias = str | Reference | None


def references_of(data: bytes) -> frozenset[Reference]:
    """Return the imports of a pickle, without the standard library.

    Example:
        >>> import pickle
        >>> references_of(pickle.dumps([Reference, len, print]))
        frozenset({Reference(module='muntin_engine.shipping.references', name='Reference')})
    """
    return frozenset(
        reference
        for reference in _all_references(data)
        if reference.module.partition(".")[0] not in sys.stdlib_module_names
    )


def _all_references(data: bytes) -> Iterator[Reference]:
    """Follow the last values pushed and the memo, which is all that names a global."""
    memo: dict[int, _Value] = {}
    before: _Value = None
    last: _Value = None
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "MEMOIZE":
            memo[len(memo)] = last
        elif opcode.name in _PUTS:
            memo[int(str(argument))] = last
        elif opcode.name != "FRAME":
            before, last = last, _pushed(opcode.name, argument, memo, (before, last))
            if isinstance(last, Reference):
                yield last
            elif isinstance(last, str) and isinstance(before, Reference) and before.name == _IMPORTER:
                yield Reference(last)


def _pushed(opcode: str, argument: Any, memo: dict[int, _Value], top: tuple[_Value, _Value]) -> _Value:
    if opcode in _STRINGS:
        return str(argument)
    if opcode in _GETS:
        return memo.get(int(argument))
    if opcode == "GLOBAL":
        module, _, name = argument.partition(" ")
        return Reference(module, name)
    if opcode == "STACK_GLOBAL":
        return Reference(str(top[0]), str(top[1]))
    return None
