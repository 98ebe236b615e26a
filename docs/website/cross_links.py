"""Links from the classes that a docstring mentions to their own docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_CLASS: Final = re.compile(r"(?<![`\[])`(?P<name>(?:[a-z_]+\.)*[A-Z][A-Z]*[a-z]\w*)`(?!`)")


def targets_of(names: Iterable[str]) -> dict[str, str]:
    """Return where to find names, whole or just their last parts; a last part that two of them have stands for neither.

    Example:
        >>> targets_of(["muntin.Window", "muntin.fold", "muntin_engine.fold"])["Window"]
        'muntin.Window'
        >>> "fold" in targets_of(["muntin.fold", "muntin_engine.fold"])
        False
    """
    listed = list(names)
    shorts = [name.rpartition(".")[2] for name in listed]
    unique = {short: name for short, name in zip(shorts, listed, strict=True) if shorts.count(short) == 1}
    return unique | {name: name for name in listed}


def with_cross_links(docstring: str, targets: Mapping[str, str]) -> str:
    """Return a docstring in which classes in back-ticks lead to their own.

    Example:
        >>> with_cross_links("As `Window`, but `wider`.", targets_of(["muntin.Window"]))
        'As [`Window`][muntin.Window], but `wider`.'
    """

    def linked(mention: re.Match[str]) -> str:
        target = targets.get(mention["name"])
        return f"[{mention[0]}][{target}]" if target else mention[0]

    return _CLASS.sub(linked, docstring)
