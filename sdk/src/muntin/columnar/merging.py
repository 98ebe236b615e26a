"""Components of many groups at once: added, cast and merged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import repeat

import numpy as np

from muntin.columnar.arrays import Array, PayloadArrays
from muntin.columnar.results import OnArrays
from muntin.errors import ModuleContractError
from muntin.schemas.components import Component, Merge


def as_component(component: Component, returned: object, count: int, label: str) -> Array:
    """Cast the result of a function to an array of n values of a component.

    A type may become a wider one, or a narrower one of the same kind, as in NumPy's `same_kind`; Python objects become
    anything.

    Args:
        component: The component that the values are of.
        returned: The value that the function returned.
        count: The expected number of values.
        label: The name of the values in errors.

    Raises:
        ModuleContractError: The values have another shape or type, or some are masked.
    """
    if np.ma.is_masked(returned):
        raise ModuleContractError(
            f"{label} has masked entries\n  expected: a value for each payload, such as payloads.filled(0)"
        )
    array = np.asarray(returned)
    shape = (count, *component.shape)
    if array.shape != shape:
        raise ModuleContractError(f"{label} has the shape {array.shape}\n  expected: {shape}")
    # An empty array has the type that NumPy chose for it, and an array of objects may hold numbers of any type.
    if array.size and array.dtype != object and not np.can_cast(array.dtype, component.dtype, "same_kind"):
        raise ModuleContractError(f"{label} is of type {array.dtype}\n  expected: {component.dtype}, or cast to it")
    return array.astype(component.dtype, copy=False)


def contributions(module: OnArrays, payloads: PayloadArrays, count: int) -> dict[str, Array]:
    """Call `lift` for n payloads and return their contributions, in the types of the components.

    Args:
        module: The module.
        payloads: Arrays, as `payload_arrays` makes them.
        count: The number of payloads.

    Returns:
        By the name of each component that is lifted, an array of n values. Where there is none, `lift` is not called.

    Raises:
        ModuleContractError: The contributions are not of the components that `components` declares.
    """
    parts = {name: part for name, part in module.components().items() if part.is_lifted}
    if not parts:
        return {}
    with np.errstate(all="ignore"):
        lifted: object = module.lift(payloads)
    if not isinstance(lifted, Mapping) or lifted.keys() != parts.keys():
        returned = sorted(map(str, lifted)) if isinstance(lifted, Mapping) else repr(lifted)
        raise ModuleContractError(f"lift returned {returned}\n  expected: an array for each of {sorted(parts)}")
    return {name: as_component(part, lifted[name], count, f"{name!r} from lift") for name, part in parts.items()}


def merger(component: Component) -> Callable[[Array, Array], Array]:
    """Return the function that merges two arrays of values element by element; a ufunc unless it is the writer's."""
    if component.function is not None:
        return component.function
    if component.merge is Merge.COLLECT:
        raise TypeError("collected values are put side by side, not merged")
    name = "add" if component.merge in (Merge.COUNT, Merge.MEAN) else component.merge
    ufunc: Callable[[Array, Array], Array] = getattr(np, name)
    return ufunc


def inverter(component: Component) -> Callable[[Array, Array], Array] | None:
    """Return the function that undoes a merge: from the merged values and the second ones it computes the first.

    There is none, and None is returned, for a merge that loses values.

    Example:
        >>> inverter(Component.sum("int64")), inverter(Component.sum("float64"))
        (<ufunc 'subtract'>, None)
    """
    if not component.has_inverse:
        return None
    return component.inverse or np.subtract


def merge(component: Component, first: Array, second: Array) -> Array:
    """Return the merged values of two arrays of n values each."""
    with np.errstate(all="ignore"):
        merged = merger(component)(first, second)
    return as_component(component, merged, len(first), "what the function of a component returned")


def identities(component: Component, count: int) -> Array:
    """Return an array of n identities.

    Example:
        >>> identities(Component.sum("int64", shape=(2,)), 1).tolist()
        [[0, 0]]
    """
    shape = (count, *component.shape)
    # NumPy refuses an integer as a time; the identities of minima and maxima are the ends of int64.
    if component.dtype.startswith(("datetime64", "timedelta64")) and isinstance(component.identity, int):
        return np.full(shape, component.identity, "int64").view(component.dtype)
    if component.dtype == "object" and not component.shape:
        return np.fromiter(repeat(component.identity, count), object, count)  # one by one: a list stays a list
    return np.full(shape, component.identity, component.dtype)


def fold_rows(component: Component, values: Array) -> Array:
    """Return the merge of n values, along the first axis: an array of one value, the identity if n is 0.

    Neighbours are merged in pairs, and the pairs in pairs, so a function of the writer's own is called about log2(n)
    times. Sums of floats are rounded at each step here; `muntin.columnar.exact` has sums that are not.

    Example:
        >>> import numpy as np
        >>> fold_rows(Component.max("int64"), np.array([3, 9, 4])).tolist()
        [9]
    """
    values = np.asarray(values, component.dtype)
    if not len(values):
        return identities(component, 1)
    while len(values) > 1:
        # Neighbours are merged pair by pair, so n values take log n calls of the function in place of n.
        even = len(values) // 2 * 2
        pairs = merge(component, values[0:even:2], values[1:even:2])
        values = np.concatenate([pairs, values[even:]])
    return values
