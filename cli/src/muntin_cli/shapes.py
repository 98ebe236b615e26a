"""The kind and the capabilities of a module, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from muntin import ColumnarAggregate, Function, Module, OutputContract, RowOperator, StreamOperator
from muntin.rows import RowWindows
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.offered import Offered

_CAPABILITIES: Mapping[str, str] = {
    "remove": "remove_events",
    "combine": "combine",
    "deduct": "deduct",
    "columns": "columnar_form",
}


def shape_of(offered: Offered) -> str:
    """Return the shape of a module, function, trigger or kind of windows, with the number of its inputs if several.

    A module that reads the order of events is an ordered one.

    Example:
        >>> from muntin import IncrementalOperator
        >>> class Gaps(IncrementalOperator[float, list[int], int]):
        ...     name, version = "shop.gaps", "1.0.0"
        ...     is_time_sensitive = True
        >>> shape_of(Gaps)
        'time-sensitive incremental operator'
    """
    shape = _shape_of_one_input(offered)
    if isinstance(offered, type) and issubclass(offered, Module) and offered.input_fields():
        return f"{shape} of {len(offered.input_fields())} inputs"
    return shape


def _shape_of_one_input(offered: Offered) -> str:
    """Return the shape of an offer, whatever the number of its inputs."""
    if isinstance(offered, Function):
        return "vectorised function" if offered.is_vectorized else "function"
    if issubclass(offered, Trigger):
        return "trigger"
    if issubclass(offered, WindowSpecification):
        return "row windows" if issubclass(offered, RowWindows) else "window kind"
    # The names of these bases say enough; the words below tell the modules of the other ones apart.
    if issubclass(offered, ColumnarAggregate):
        return "columnar aggregate"
    if issubclass(offered, RowOperator):
        return "row operator"
    if issubclass(offered, StreamOperator):
        return "stream operator"
    words: list[str] = []
    if offered.is_time_sensitive:
        words.append("time-sensitive")
    if offered.reads_order:
        words.append("ordered")
    if offered.is_incremental:
        words.append("incremental")
    words.append("operator" if offered.is_operator else "aggregate")
    return " ".join(words)


def capabilities_of(module: Module) -> list[str]:
    """Return the capabilities of an incremental module beyond its base class: remove, combine, deduct, columns."""
    if not module.is_incremental:
        return []
    return [name for name, method in _CAPABILITIES.items() if hasattr(module, method)]


def contract_of(cls: type[Module]) -> OutputContract | None:
    """Return an operator's contract on the lifetimes that it sets; None for a module that sets none."""
    return cls.contract if cls.is_time_sensitive and cls.is_operator else None
