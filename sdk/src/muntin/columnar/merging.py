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

    The type of the result may be narrower than that of the component, or wider but of the same kind, as in NumPy's
    `same_kind`; Python objects may become any type.

    Args:
        component: The component that the values are of.
        returned: The value that the function returned.
        count: The expected number of values.
        label: The name of the values in errors.

    Raises:
        ModuleContractError: The values have another shape or type, or some are masked.
        TypeError: A Python object cannot become a value of the component.
        ValueError: As `TypeError`, for example of a text that is no number.
    """
    if np.ma.is_masked(returned):
        raise ModuleContractError(
            f"{label} has masked entries\n  expected: a value for each payload, such as payloads.filled(0)"
        )
    array = np.asarray(returned)
    shape = (count, *component.shape)
    if array.shape != shape:
        raise ModuleContractError(f"{label} has the shape {array.shape}\n  expected: {shape}")
    # The type of an empty array means nothing, and an array of objects may hold numbers of any type.
    if array.size and array.dtype != object and not np.can_cast(array.dtype, component.dtype, casting="same_kind"):
        raise ModuleContractError(f"{label} is of type {array.dtype}\n  expected: {component.dtype}, or cast to it")
    return array.astype(component.dtype, copy=False)


def contributions(module: OnArrays, payloads: PayloadArrays, count: int) -> dict[str, Array]:
    """Call `lift` for n payloads and return their contributions, in the types of the components.

    Args:
        module: The module.
        payloads: The payloads as arrays, as `payload_arrays` returns them.
        count: The number of payloads.

    Returns:
        An array of n values for each component that is lifted, by its name. If no component is lifted, `lift` is not
        called.

    Raises:
        ModuleContractError: The contributions are not of the components that `components` declares.
    """
    lifted_components = {name: component for name, component in module.components().items() if component.is_lifted}
    if not lifted_components:
        return {}
    with np.errstate(all="ignore"):  # where floats overflow or are divided by zero, the values say so
        lifted: object = module.lift(payloads)
    if not isinstance(lifted, Mapping) or lifted.keys() != lifted_components.keys():
        returned = sorted(map(str, lifted)) if isinstance(lifted, Mapping) else repr(lifted)
        expected = sorted(lifted_components)
        raise ModuleContractError(f"lift returned {returned}\n  expected: an array for each of {expected}")
    arrays: dict[str, Array] = {}
    for name, component in lifted_components.items():
        arrays[name] = as_component(component, lifted[name], count, f"{name!r} from lift")
    return arrays


def merger(component: Component) -> Callable[[Array, Array], Array]:
    """Return the function that merges two arrays of values element by element: a ufunc, or the writer's own."""
    if component.function is not None:
        return component.function
    if component.merge is Merge.COLLECT:
        raise TypeError("collected values are put side by side, not merged")
    # Counts, and the sums that means are made of, are added up. All other merges have the name of their ufunc.
    name = "add" if component.merge in (Merge.COUNT, Merge.MEAN) else component.merge
    ufunc: Callable[[Array, Array], Array] = getattr(np, name)
    return ufunc


def inverter(component: Component) -> Callable[[Array, Array], Array] | None:
    """Return the function that undoes a merge; None for a merge that cannot be undone exactly.

    From the merged values and the second values, it computes the first values.

    Example:
        >>> inverter(Component.sum("int64")), inverter(Component.sum("float64"))
        (<ufunc 'subtract'>, None)
    """
    if not component.has_inverse:
        return None
    return component.inverse or np.subtract  # without a function of the writer's own, only sums have an inverse


def merge(component: Component, first: Array, second: Array) -> Array:
    """Return the merged values of two arrays of n values each."""
    with np.errstate(all="ignore"):
        merged = merger(component)(first, second)
    return as_component(component, merged, len(first), "what the function of a component returned")


def identities(component: Component, count: int) -> Array:
    """Return an array of n identities of a component.

    Example:
        >>> identities(Component.sum("int64", shape=(2,)), 1).tolist()
        [[0, 0]]
    """
    shape = (count, *component.shape)
    # NumPy refuses an integer as a time; the identities of minima and maxima are the ends of int64.
    if component.dtype.startswith(("datetime64", "timedelta64")) and isinstance(component.identity, int):
        return np.full(shape, component.identity, "int64").view(component.dtype)
    if component.dtype == "object" and not component.shape:
        # Unlike `np.full`, which would make another axis of an identity that is a list, this assigns one by one.
        return np.fromiter(repeat(component.identity, count), object, count)
    return np.full(shape, component.identity, component.dtype)


def fold_rows(component: Component, values: Array) -> Array:
    """Merge n values along the first axis into an array of one value, which is the identity if n is 0.

    Neighbours are merged in pairs, and the pairs in pairs, so a function of the writer's own is called about log2(n)
    times. Sums of floats are rounded at each step here; those of `muntin.columnar.exact` are not.

    Example:
        >>> import numpy as np
        >>> fold_rows(Component.max("int64"), np.array([3, 9, 4])).tolist()
        [9]
    """
    values = np.asarray(values, component.dtype)
    if not len(values):
        return identities(component, count=1)
    while len(values) > 1:
        paired = len(values) // 2 * 2
        merged_pairs = merge(component, values[0:paired:2], values[1:paired:2])
        values = np.concatenate([merged_pairs, values[paired:]])  # with the last value, if their number is odd
    return values
