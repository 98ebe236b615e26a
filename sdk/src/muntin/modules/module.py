"""The root of all window modules: a name, a version, and the types a class declares."""

from __future__ import annotations

from typing import Any, ClassVar

from muntin.errors import ModuleDefinitionError
from muntin.modules.generics import type_arguments
from muntin.modules.names import check_name
from muntin.policies import ClipPolicy, OutputContract
from muntin.schemas import Field, describe


class Module:
    """What all base classes share. Subclass one of them, never this.

    A concrete module sets two class attributes, `name` and `version`, of which a class that is given to a query
    itself, and that no plugin offers, may leave the version out. Its constructor's parameters are the parameters a
    query writer may give (SI-29). The constructor should raise `ValueError` on a value it cannot work with: the query
    is then refused where it is built.

    Attributes:
        name: `"<plugin>.<module>"`, the name a query uses.
        version: The module's own version; it is stored with a query's state.
        accepted_clips: The clipping policies under which the module is right (SI-42). All, unless it says so.
        is_time_sensitive: True for the base classes that see events and the window.
        is_operator: True for the four that return rows, false for the four that return one value.
        is_incremental: True for the four that keep a state.
        reads_times: Whether the result depends on the lifetimes of the events (SI-57). A time-sensitive module
            that only *writes* times may say False; its windows then close as early as a time-insensitive one's.
        contract: What it promises about the lifetimes it returns (SI-47, SI-48).
    """

    name: ClassVar[str]
    version: ClassVar[str]
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset(ClipPolicy)
    is_time_sensitive: ClassVar[bool] = False
    is_operator: ClassVar[bool] = False
    is_incremental: ClassVar[bool] = False
    reads_times: ClassVar[bool] = False
    contract: ClassVar[OutputContract] = OutputContract.WINDOW_BASED

    @classmethod
    def input_field(cls) -> Field:
        """Return the type of one payload, from the class's generics."""
        return describe(cls._types()["input"], "input")

    @classmethod
    def result_field(cls) -> Field:
        """Return the type of a result, or of a row for an operator, from the class's generics."""
        return describe(cls._types()["result"], "result")

    @classmethod
    def state_type(cls) -> Any:
        """Return the annotation of the state, or None for a module that keeps none."""
        return cls._types().get("state")

    @classmethod
    def check_definition(cls) -> None:
        """Raise unless the class can be used in a query.

        Raises:
            ModuleDefinitionError: The name or version is missing or malformed, or a type cannot be derived.
        """
        name = check_name(getattr(cls, "name", None), cls.__qualname__)
        if not isinstance(getattr(cls, "version", None), str) or not cls.version:
            raise ModuleDefinitionError(f"{name} has no version\n  set the class attribute: version = '1.0.0'")
        if cls.__abstractmethods__:  # type: ignore[attr-defined]  # set by ABCMeta on every base class below
            missing = ", ".join(sorted(cls.__abstractmethods__))  # type: ignore[attr-defined]
            raise ModuleDefinitionError(f"{name} does not define {missing}")
        cls.input_field()
        cls.result_field()

    @classmethod
    def _types(cls) -> dict[str, Any]:
        return type_arguments(cls, Module)
