"""Several columnar aggregates of the same payloads as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from muntin.columnar.arrays import Array, PayloadArrays
from muntin.columnar.results import Ragged, python_values
from muntin.modules.columnar_aggregate import ColumnarAggregate, Form
from muntin.schemas import Field
from muntin.schemas.components import ColumnarState, Component


class AllOfForm(ColumnarAggregate[Any, Any]):
    """Keeps the components of all, and gives records of their results.

    Attributes:
        forms: The aggregates, by name; each leaves nulls out.
    """

    name, version = "muntin.all_of", "1"

    def __init__(
        self,
        forms: Mapping[str, Form],
        outdated: Callable[[str], Mapping[str, str]] = lambda version: {},
    ) -> None:
        """Put forms together.

        Args:
            forms: The aggregates, by name.
            outdated: Returns, for a version of all, the versions of the aggregates that were other ones then.
        """
        self.forms = dict(forms)
        self._outdated = outdated
        if any(hasattr(form, "upgrade_state") for form in forms.values()):
            vars(self)["upgrade_state"] = self._upgrade_state  # only where one of them has one
        self._reads = next(iter(self.forms.values())).input_field()

    def input_field(self) -> Field:  # type: ignore[override]  # each form of this class has its own
        """Return the input field of the aggregates."""
        return self._reads

    @property
    def empty_result(self) -> dict[str, object]:
        """The results where all payloads were left out."""
        return {name: form.empty_result for name, form in self.forms.items()}

    def components(self) -> Mapping[str, Component]:
        """Return the components of all."""
        return {f"{name}.{own}": part for name, form in self.forms.items() for own, part in form.components().items()}

    def lift(self, payloads: PayloadArrays) -> Mapping[str, Array]:
        """Lift each payload with every aggregate."""
        return {f"{name}.{own}": part for name, form in self.forms.items() for own, part in form.lift(payloads).items()}

    def compute_results(self, components: Mapping[str, Array | Ragged]) -> Array:
        """Return records of the results."""
        columns = [
            python_values(form.compute_results({own: components[f"{name}.{own}"] for own in form.components()}))
            for name, form in self.forms.items()
        ]
        records = [dict(zip(self.forms, values, strict=True)) for values in zip(*columns, strict=True)]
        return np.fromiter(records, object, len(records))

    def _upgrade_state(self, state: ColumnarState, version: str) -> ColumnarState:
        outdated = self._outdated(version)
        kept: dict[str, object] = {}
        for name in self.forms:
            own = {
                part.partition(".")[2]: value for part, value in state["kept"].items() if part.startswith(f"{name}.")
            }
            upgrade = getattr(self.forms[name], "upgrade_state", None)
            if name in outdated and upgrade is not None:
                own = upgrade({"payloads": state["payloads"], "kept": own}, outdated[name])["kept"]
            kept |= {f"{name}.{part}": value for part, value in own.items()}
        return {"payloads": state["payloads"], "kept": kept}
