"""A columnar aggregate with a value instead of null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from muntin.columnar.arrays import Array, PayloadArrays
from muntin.columnar.results import Ragged, python_values
from muntin.modules.columnar_aggregate import ColumnarAggregate, Form
from muntin.schemas import Field
from muntin.schemas.components import Component


class DefaultForm(ColumnarAggregate[Any, Any]):
    """Gives what another aggregate gives, and a value where that is null.

    Attributes:
        form: The aggregate.
        default: The value.
    """

    name, version = "muntin.with_default", "1"

    def __init__(self, form: Form, default: object) -> None:
        self.form = form
        self.default = default
        if hasattr(form, "upgrade_state"):
            vars(self)["upgrade_state"] = form.upgrade_state  # only where the aggregate has one

    def input_field(self) -> Field:  # type: ignore[override]  # each form of this class has its own
        """Return the input field of the aggregate."""
        return self.form.input_field()

    @property
    def skips_nulls(self) -> bool:  # type: ignore[override]  # each form of this class has its own
        """True if the aggregate skips nulls."""
        return self.form.skips_nulls

    @property
    def empty_result(self) -> object:
        """The aggregate's, or the value if that is null."""
        return self.default if self.form.empty_result is None else self.form.empty_result

    def components(self) -> Mapping[str, Component]:
        """Return the aggregate's."""
        return self.form.components()

    def lift(self, payloads: PayloadArrays) -> Mapping[str, Array]:
        """Lift each payload with the aggregate."""
        return self.form.lift(payloads)

    def compute_results(self, components: Mapping[str, Array | Ragged]) -> Array:
        """Return the results, none of them null."""
        results: Array = self.form.compute_results(components)
        if not np.ma.isMaskedArray(results) and results.dtype.kind in "bif":
            return results
        values = [self.default if value is None else value for value in python_values(results)]
        return np.fromiter(values, object, len(values))
