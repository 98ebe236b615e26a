"""What a module needs of the query that names it: windows in which it finds something, and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from muntin.axis import Axis
from muntin.errors import PolicyError
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.windows import WindowKind

if TYPE_CHECKING:
    from muntin.modules.module import Module

PolicyT = TypeVar("PolicyT", ClipPolicy, TimestampPolicy)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a module needs of a query, as its `needs` says.

    A query whose windows are not enough is refused where it is built. The two policies are what a query gets that names
    none; one that names another has that one, as long as the module accepts it.

    Attributes:
        windows: The kinds of windows in which the module finds something; any, unless it says which.
        reach: For how many ticks after its end an event must be a member still, in at least one of the windows of what
            comes then. Overlapping windows hold some of that themselves; the rest is the `reach` of the windows.
        clip: The clip that the module is made for; None for the one among its `accepted_clips` that changes the least.
        timestamps: The timestamps that it is made for; None for `align`.

    Example:
        >>> from muntin.windows import HoppingWindows
        >>> Needs(windows=(HoppingWindows,), reach=11).reach
        11
    """

    windows: tuple[type[WindowKind], ...] = (WindowKind,)
    reach: int = 0
    clip: ClipPolicy | None = None
    timestamps: TimestampPolicy | None = None

    def __str__(self) -> str:
        told = [] if WindowKind in self.windows else [self._kinds()]
        told += [f"a reach that keeps events as members for {self.reach} ticks after their end"] * bool(self.reach)
        return ", with ".join(told)

    def lacks(self, window: WindowKind, axis: Axis = Axis.TICKS) -> str:
        """Return what a kind of windows lacks, and what to write instead; empty if nothing.

        Args:
            window: The windows.
            axis: What ticks measure, for the words.
        """
        if not isinstance(window, self.windows):
            instead = self.windows[0].suggest(self.reach, axis)
            return f"finds nothing in {window}: it needs {self._kinds()}\n  write, for example: {instead}"
        if window.holds_past >= self.reach:
            return ""
        return (
            f"needs events to stay members for {axis.spell_length(self.reach)} after their end, "
            f"and {window.spell(axis)} keeps them for {axis.spell_length(window.reach)}\n"
            f"  what lies further apart would not be found, and nothing would say so\n"
            f"  write: {window.with_reach(axis.round_up(self.reach)).spell(axis)}"
        )

    def together_with(self, other: Needs) -> Needs:
        """Return what is needed by two modules that are one to a query; a policy on which they differ is left to it."""
        clips, stamps = {self.clip, other.clip} - {None}, {self.timestamps, other.timestamps} - {None}
        both = [kind for kind in self.windows if issubclass(kind, other.windows)]
        both += [kind for kind in other.windows if kind not in both and issubclass(kind, self.windows)]
        return Needs(
            tuple(both),
            max(self.reach, other.reach),
            clips.pop() if len(clips) == 1 else None,
            stamps.pop() if len(stamps) == 1 else None,
        )

    def _kinds(self) -> str:
        return " or ".join(kind.title for kind in self.windows)


def check_needs(modules: Sequence[Module], window: WindowKind, axis: Axis = Axis.TICKS) -> None:
    """Refuse windows in which a module would not find what it is asked for.

    Raises:
        PolicyError: The windows are of the wrong kind, or their reach is too short.
    """
    for module in modules:
        if lacking := module.needs.lacks(window, axis):
            raise PolicyError(f"{module.name} {module.version} {lacking}")


def clip_wanted(module: Module | type[Module], needs: Needs) -> ClipPolicy | None:
    """Return the clip that a query gets which names none; None if the module does not mind."""
    if needs.clip is not None or ClipPolicy.NONE in module.accepted_clips:
        return needs.clip
    return next((policy for policy in ClipPolicy if policy in module.accepted_clips), None)


def clip_of(modules: Sequence[Module]) -> ClipPolicy | None:
    """Return the clip that the modules of a query are made for; None where none of them minds.

    Raises:
        PolicyError: They do not agree, so the query must say.
    """
    wanted = {module.name: clip for module in modules if (clip := clip_wanted(module, module.needs)) is not None}
    accepted = [policy for policy in ClipPolicy if all(policy in module.accepted_clips for module in modules)]
    return _agreed("clip", wanted, accepted)


def timestamps_of(modules: Sequence[Module]) -> TimestampPolicy | None:
    """Return the timestamps that the modules of a query are made for; None where none of them minds.

    Raises:
        PolicyError: They do not agree, so the query must say.
    """
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
