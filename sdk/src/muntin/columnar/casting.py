"""Cast the array that a module writer's function returned to the declared type and shape."""

from __future__ import annotations

import numpy as np

from muntin.columnar.arrays import Array
from muntin.components import Component
from muntin.errors import ModuleContractError


def as_component(component: Component, returned: object, count: int, whence: str) -> Array:
    """Cast the result of a function to an array of n values of a component.

    A type may become a wider one, or a narrower one of the same kind, as in NumPy's `same_kind`; Python objects become
    anything.

    Args:
        component: The component that the values are of.
        returned: The value that the function returned.
        count: The expected number of values.
        whence: Which values they are, for errors.

    Raises:
        ModuleContractError: They have another shape or type, or some are masked.
    """
    if np.ma.is_masked(returned):
        raise ModuleContractError(
            f"{whence} has masked entries\n  expected: a value for each payload, such as payloads.filled(0)"
        )
    array, shape = np.asarray(returned), (count, *component.shape)
    if array.shape != shape:
        raise ModuleContractError(f"{whence} has the shape {array.shape}\n  expected: {shape}")
    if array.size and array.dtype != object and not np.can_cast(array.dtype, component.dtype, "same_kind"):
        raise ModuleContractError(f"{whence} is of type {array.dtype}\n  expected: {component.dtype}, or cast to it")
    return array.astype(component.dtype, copy=False)
