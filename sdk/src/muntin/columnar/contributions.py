"""Lift payloads: the contribution of each to every component."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muntin.columnar.arrays import Array, PayloadArrays
from muntin.columnar.casting import as_component
from muntin.columnar.on_arrays import OnArrays
from muntin.errors import ModuleContractError


def contributions(module: OnArrays, payloads: PayloadArrays, count: int) -> dict[str, Array]:
    """Call `lift` for n payloads and return their contributions, in the types of the components.

    Args:
        module: The module.
        payloads: Arrays, as `payload_arrays` makes them.
        count: The number of payloads.

    Returns:
        By the name of each component that is lifted, an array of n values. Where there is none, `lift` is not called.

    Raises:
        ModuleContractError: It returned something else than `components` declares.
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
