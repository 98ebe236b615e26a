"""Several columnar aggregates of the same payloads as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from muntin.columnar.arrays import Array, PayloadArrays
from muntin.columnar.results import Ragged, python_values
from muntin.modules.columnar_aggregate import ColumnarAggregate, Form
from muntin.schemas import Field
from muntin.schemas.components import ColumnarState, Component

T = TypeVar("T")


class AllOfForm(ColumnarAggregate[Any, Any]):
    """Keeps the components of several forms, and computes records of their results.

    A component's name is that of its form and its name in the form, as in `mean.total`.

    Args:
        forms: Forms by name; each leaves nulls out.
        outdated: Function from a version of the whole `all_of` to the versions that it names for the forms, by the
            names of the forms; only those that differ from the present ones.

    Attributes:
        forms: Forms by name.
    """

    name, version = "muntin.all_of", "1"

    def __init__(
        self,
        forms: Mapping[str, Form],
        outdated: Callable[[str], Mapping[str, str]] = lambda version: {},
    ) -> None:
        self.forms = dict(forms)
        self._outdated = outdated
        if any(hasattr(form, "upgrade_state") for form in forms.values()):
            vars(self)["upgrade_state"] = self._upgrade_state  # the engine asks whether there is the method
        self._input_field = next(iter(self.forms.values())).input_field()

    def input_field(self) -> Field:  # type: ignore[override]  # each form of this class has its own
        """Return the input field that the forms share."""
        return self._input_field

    @property
    def empty_result(self) -> dict[str, object]:
        """The results where all payloads were left out."""
        return {name: form.empty_result for name, form in self.forms.items()}

    def components(self) -> Mapping[str, Component]:
        """Return the components of all forms."""
        components: dict[str, Component] = {}
        for name, form in self.forms.items():
            components |= _with_prefix(name, form.components())
        return components

    def lift(self, payloads: PayloadArrays) -> Mapping[str, Array]:
        """Lift payloads with every form."""
        arrays: dict[str, Array] = {}
        for name, form in self.forms.items():
            arrays |= _with_prefix(name, form.lift(payloads))
        return arrays

    def compute_results(self, components: Mapping[str, Array | Ragged]) -> Array:
        """Return records of the results."""
        columns: list[Any] = []
        for name, form in self.forms.items():
            form_components = {part: components[f"{name}.{part}"] for part in form.components()}
            columns.append(python_values(form.compute_results(form_components)))
        records = [dict(zip(self.forms, values, strict=True)) for values in zip(*columns, strict=True)]
        return np.fromiter(records, object, len(records))

    def _upgrade_state(self, state: ColumnarState, version: str) -> ColumnarState:
        """Upgrade the components of each form whose aggregate has another version now."""
        outdated = self._outdated(version)
        payloads = state["payloads"]
        components: dict[str, object] = {}
        for name, form in self.forms.items():
            form_components = _without_prefix(name, state["kept"])
            upgrade = getattr(form, "upgrade_state", None)
            if name in outdated and upgrade is not None:
                upgraded = upgrade({"payloads": payloads, "kept": form_components}, outdated[name])
                form_components = upgraded["kept"]
            components |= _with_prefix(name, form_components)
        return {"payloads": payloads, "kept": components}


def _with_prefix(form: str, components: Mapping[str, T]) -> dict[str, T]:
    return {f"{form}.{name}": value for name, value in components.items()}


def _without_prefix(form: str, components: Mapping[str, T]) -> dict[str, T]:
    """Return the components of one form, by their names in the form."""
    prefix = f"{form}."
    return {name.removeprefix(prefix): value for name, value in components.items() if name.startswith(prefix)}
