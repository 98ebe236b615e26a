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
    functions = {}
    hashes = {}
    for code in used:
        if code.is_function:
            functions[code.name] = [code.version, code.continues_since]
        if code.code:
            hashes[code.name] = [code.code, code.version, code.requires_same_code]
    return {"functions": functions, "code": hashes}


def as_it_began(identity: QueryIdentity, stored: QueryIdentity) -> QueryIdentity:
    """Return the identity of a query with the hashes of a checkpoint in place of its own, where versions are equal."""
    code = dict(identity["code"])
    for name, *_ in other_code(stored, identity):
        code[name] = [stored["code"][name][_HASH], *code[name][1:]]
    return {**identity, "code": code}


def other_code(stored: QueryIdentity, wanted: QueryIdentity) -> list[tuple[str, str, str, str]]:
    """Return the modules and functions whose code changed under an unchanged version.

    Each has its name, its version, and the hashes of its code in the checkpoint and now.
    """
    stored_code = stored.get("code", {})
    changed = []
    for name, (code, version, _) in wanted["code"].items():
        if name not in stored_code:
            continue
        stored_hash, stored_version, _ = stored_code[name]
        if stored_version == version and stored_hash != code:
            changed.append((name, version, stored_hash, code))
    return changed


def describe_other_code(name: str, version: str, old: str, new: str) -> str:
    """Describe changed code of an unchanged version, and what to do about it."""
    return (
        f"{name} {version} goes on with what other code of the same version wrote: {old} then, {new} now\n"
        "  if results mean the same, say so by a new version with continues_since\n"
        "  if they mean something else, give it a new version, and the query a new checkpoint"
    )
