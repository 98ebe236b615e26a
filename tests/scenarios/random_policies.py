"""Policies drawn for the modules of a query: those that such modules accept."""

from __future__ import annotations

from random import Random

from muntin import ClipPolicy, TimestampPolicy
from tests.modules.every_shape import OWN_TIMES
from tests.modules.merged_states import Modules


def random_clip(random: Random, modules: Modules) -> ClipPolicy:
    """Draw a clipping policy; modules that do not read times have nothing to clip."""
    if not any(module.is_time_sensitive for module in modules):
        return ClipPolicy.NONE
    return random.choice(list(ClipPolicy))


def random_timestamps(random: Random, shape: str) -> TimestampPolicy:
    """Draw a timestamping policy that suits the modules of a shape, a key of `ANY`."""
    policies = [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END]
    if shape in OWN_TIMES or shape == "operator that looks back":
        policies += [TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP]
    return random.choice(policies)
