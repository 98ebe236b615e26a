"""The code that a query runs: its modules and functions, with a hash of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from muntin_engine.state.differences import QueryIdentity

_HASH: Final = 0


@dataclass(frozen=True, slots=True)
class CodeInUse:
    """A module or a function of a query.

    Attributes:
        name: The name.
        version: The version.
        code: A hash of its code, as `shipping.code_version` makes it; empty if it has none.
        is_function: True if it is a function, which expressions of the query call.
        requires_same_code: True if the query may not go on from other code of the same version.
        continues_since: For a function, the oldest version whose checkpoints this one goes on with.
    """

    name: str
    version: str
    code: str
    is_function: bool = False
    requires_same_code: bool = False
    continues_since: str | None = None


def code_identity(used: Sequence[CodeInUse]) -> dict[str, dict[str, list[Any]]]:
    """Return the part of a query's identity that says what code it runs: versions of functions, and hashes of all."""
    return {
        "functions": {one.name: [one.version, one.continues_since] for one in used if one.is_function},
        "code": {one.name: [one.code, one.version, one.requires_same_code] for one in used if one.code},
    }


def as_it_began(identity: QueryIdentity, stored: QueryIdentity) -> QueryIdentity:
    """Return the identity of a query with the hashes that a checkpoint began with, as far as versions are the same."""
    began = {name: stored["code"][name][_HASH] for name, *_ in other_code(stored, identity)}
    code = {name: [began.get(name, own[_HASH]), *own[1:]] for name, own in identity["code"].items()}
    return {**identity, "code": code}


def other_code(stored: QueryIdentity, wanted: QueryIdentity) -> list[tuple[str, str, str, str]]:
    """Return the modules and functions of the same version with other code: name, version, the hash then and now."""
    known = stored.get("code", {})
    return [
        (name, version, known[name][_HASH], code)
        for name, (code, version, _) in wanted["code"].items()
        if name in known and known[name][1] == version and known[name][_HASH] != code
    ]


def describe_other_code(name: str, version: str, old: str, new: str) -> str:
    """Say what it means that code changed and its version did not."""
    return (
        f"{name} {version} goes on with what other code of the same version wrote: {old} then, {new} now\n"
        "  if results mean the same, say so by a new version with continues_since\n"
        "  if they mean something else, give it a new version, and the query a new checkpoint"
    )
