"""The code that a query runs: its modules and functions, with a hash of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from muntin_engine.state.differences import QueryIdentity


@dataclass(frozen=True, slots=True)
class CodeInUse:
    """A module or a function of a query.

    Attributes:
        name: The name.
        version: The version.
        code: A hash of its code, as `shipping.code_version` makes it; empty if its code cannot be hashed.
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
    """Return the part of a query's identity that says what code it runs.

    This part has two entries: `functions`, the versions of functions, and `code`, the hashes of functions and modules.
    The versions of modules are elsewhere in the identity, with their parameters.

    Args:
        used: The modules and functions that the query runs.
    """
    functions = {}
    hashes = {}
    for code in used:
        if code.is_function:
            functions[code.name] = [code.version, code.continues_since]
        if code.code:
            hashes[code.name] = [code.code, code.version, code.requires_same_code]
    return {"functions": functions, "code": hashes}


class ChangedCode(NamedTuple):
    """A module or a function whose code changed under an unchanged version.

    Attributes:
        name: The name.
        version: The version.
        stored: The hash of its code in the checkpoint.
        current: The hash of its code now.
    """

    name: str
    version: str
    stored: str
    current: str

    def describe(self) -> str:
        """Describe the change, and what to do about it."""
        return (
            f"{self.name} {self.version} goes on with what other code of the same version wrote: {self.stored} then, "
            f"{self.current} now\n"
            "  if results mean the same, say so by a new version with continues_since\n"
            "  if they mean something else, give it a new version, and the query a new checkpoint"
        )


def changed_code(stored: QueryIdentity, current: QueryIdentity) -> list[ChangedCode]:
    """Return the modules and functions whose code changed under an unchanged version.

    Args:
        stored: The identity of the query in the checkpoint.
        current: The identity of the query now.
    """
    # As `code_identity` writes it: for each name the hash, the version, and whether other code is refused.
    stored_code = stored.get("code", {})
    changes = []
    for name, (current_hash, version, _) in current["code"].items():
        if name not in stored_code:
            continue
        stored_hash, stored_version, _ = stored_code[name]
        if stored_version == version and stored_hash != current_hash:
            changes.append(ChangedCode(name, version, stored_hash, current_hash))
    return changes


def with_stored_hashes(identity: QueryIdentity, stored: QueryIdentity) -> QueryIdentity:
    """Return the identity to store: where code changed under an unchanged version, it keeps the hash of the checkpoint.

    Each restart then compares the code with that of the first run of its version, and warns of a change every time.

    Args:
        identity: The identity of the query now.
        stored: The identity of the query in the checkpoint.
    """
    code = dict(identity["code"])
    for change in changed_code(stored, identity):
        _current_hash, *version_and_rules = code[change.name]
        code[change.name] = [change.stored, *version_and_rules]
    return {**identity, "code": code}
