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
    """Computes the results of another form, with a value in the place of nulls.

    Attributes:
        form: Form of the wrapped module.
        default: Value in the place of nulls.
    """

    name, version = "muntin.with_default", "1"

    def __init__(self, form: Form, default: object) -> None:
        self.form = form
        self.default = default
        if hasattr(form, "upgrade_state"):
            vars(self)["upgrade_state"] = form.upgrade_state  # the engine asks whether there is the method

    def input_field(self) -> Field:  # type: ignore[override]  # each form of this class has its own
        """Return the input field of the form."""
        return self.form.input_field()

    @property
    def skips_nulls(self) -> bool:  # type: ignore[override]  # each form of this class has its own
        """True if the form skips nulls."""
        return self.form.skips_nulls

    @property
    def empty_result(self) -> object:
        """The form's result where all payloads were left out, or the default if that is null."""
        return self.default if self.form.empty_result is None else self.form.empty_result

    def components(self) -> Mapping[str, Component]:
        """Return the components of the form."""
        return self.form.components()

    def lift(self, payloads: PayloadArrays) -> Mapping[str, Array]:
        """Lift payloads with the form."""
        return self.form.lift(payloads)

    def compute_results(self, components: Mapping[str, Array | Ragged]) -> Array:
        """Return the results, none of them null."""
        results: Array = self.form.compute_results(components)
        # Unmasked numbers hold no nulls; arrays of objects may hold None, and times NaT.
        if not np.ma.isMaskedArray(results) and results.dtype.kind in "bif":
            return results
        values = [self.default if value is None else value for value in python_values(results)]
        return np.fromiter(values, object, len(values))
