"""The windows and the policies that the modules of a query need together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from muntin.axis import Axis
from muntin.errors import PolicyError
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.windows import WindowSpecification

PolicyT = TypeVar("PolicyT", ClipPolicy, TimestampPolicy)


def check_needs(modules: Sequence[Module], window: WindowSpecification, axis: Axis = Axis.TICKS) -> None:
    """Refuse windows in which a module cannot find what it looks for."""
    for module in modules:
        if lacking := module.needs.lacks(window, axis):
            raise PolicyError(f"{module.name} {module.version} {lacking}")


def clip_wanted(module: Module | type[Module], needs: Needs) -> ClipPolicy | None:
    """Return the clip that a query gets which names none; None if the module does not mind."""
    if needs.clip is not None or ClipPolicy.NONE in module.accepted_clips:
        return needs.clip
    return next((policy for policy in ClipPolicy if policy in module.accepted_clips), None)


def clip_of(modules: Sequence[Module]) -> ClipPolicy | None:
    """Return the clip that the modules of a query are made for; None where none of them minds."""
    wanted = {module.name: clip for module in modules if (clip := clip_wanted(module, module.needs)) is not None}
    accepted = [policy for policy in ClipPolicy if all(policy in module.accepted_clips for module in modules)]
    return _agreed("clip", wanted, accepted)


def timestamps_of(modules: Sequence[Module]) -> TimestampPolicy | None:
    """Return the timestamps that the modules of a query are made for; None where none of them minds."""
    wanted = {module.name: stamps for module in modules if (stamps := module.needs.timestamps) is not None}
    return _agreed("timestamps", wanted, list(TimestampPolicy))


def _agreed(name: str, wanted: Mapping[str, PolicyT], accepted: Sequence[PolicyT]) -> PolicyT | None:
    found = set(wanted.values())
    if len(found) < 2:
        return next(iter(found), None)
    told = ", ".join(f"{module} for {str(policy)!r}" for module, policy in wanted.items())
    choices = " or ".join(f"{name}={str(policy)!r}" for policy in accepted)
    to_do = f"say which: {choices}" if choices else "no policy is right for all of them: give each a query of its own"
    raise PolicyError(f"the modules are made for different {name}: {told}\n  {to_do}")
