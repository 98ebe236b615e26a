"""A module on a stream script."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from muntin import ClipPolicy, Module, TimestampPolicy
from muntin.errors import MuntinError
from muntin.policies import parse_policy
from muntin.query_checks import clip_of, timestamps_of
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowSpecification
from muntin_cli.errors import UsageError
from muntin_cli.output import let_through
from muntin_cli.parameters import parse_parameters
from muntin_cli.windows import make_windows, usages

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """The definitions in a Python file: a stream, and optionally a query and modules.

    Attributes:
        script: Stream, under the name `script`.
        query: Query, under the name `query`; None if there is none.
        modules: Module classes that the file defines or imports, by the modules' names.
    """

    script: Script
    query: WindowedQuery | None
    modules: Mapping[str, type[Module]]


def defined_in(file: Path) -> dict[str, Any]:
    """Run a file of Python and return its definitions by name.

    As under `python`, it may import files beside it, then and later, and what it prints is printed.

    Raises:
        UsageError: The file cannot be read or run.
    """
    sys.path.insert(0, str(file.resolve().parent))
    try:
        with let_through():
            return runpy.run_path(str(file))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}\n  expected: a file of Python") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"{file} cannot be run: {type(error).__name__}: {error}") from error


def read_script(file: Path) -> ScriptFile:
    """Run a file of Python and return its stream, query and modules.

    Raises:
        UsageError: The file cannot be read or run, or defines no stream.
    """
    definitions = defined_in(file)
    script = _definition(file, definitions, "script", Script)
    if script is None:
        raise UsageError(
            f"{file} defines no stream\n"
            "  expected, for example:\n    from muntin.testing import Script\n"
            '    script = Script().point("a", 1, 2.5).point("b", 7, 4.0).close()'
        )
    modules: dict[str, type[Module]] = {}
    for value in definitions.values():
        if isinstance(value, type) and issubclass(value, Module) and hasattr(value, "name"):
            modules[value.name] = value
    return ScriptFile(script, _definition(file, definitions, "query", WindowedQuery), modules)


def parse_window(text: str) -> WindowSpecification:
    """Return windows from text such as `tumbling 10`, `last 10 triggers=2` or `retail.visits 5`.

    Lengths are ticks, or durations.

    Raises:
        UsageError: The text names no windows.

    Example:
        >>> print(parse_window("hopping 10 5"), parse_window("last 10 triggers=2"))
        hopping(10, 5) last(10).trigger(2)
    """
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    if not words:
        raise _no_window(text, "")
    # As in a shell: first the name, then values by position, and values by name.
    values: list[int | str] = []
    named_values: list[str] = []
    for word in words[1:]:
        if "=" in word:
            named_values.append(word)
        else:
            values.append(int(word) if word.isdigit() else word)
    try:
        return make_windows(words[0], *values, **parse_parameters(named_values))
    except (TypeError, MuntinError) as error:
        first_line = str(error).partition("\n")[0]
        raise _no_window(text, f": {first_line}") from error


def _no_window(text: str, reason: str) -> UsageError:
    """Return the error for a text that names no windows."""
    return UsageError(
        f"{text!r} names no window{reason}\n"
        f"  expected: {', '.join(map(repr, usages()))}, or a plugin's kind with its parameters\n"
        "  for example: --window 'hopping 10 5'"
    )


def query_of(module: Module, window: WindowSpecification, clip: str, timestamps: str) -> WindowedQuery:
    """Return a query of one module.

    Args:
        module: Module.
        window: Windows.
        clip: Name of a clip policy; empty for the module's default.
        timestamps: Name of a timestamp policy; empty for the module's default.

    Raises:
        QueryError: The module is not for such windows.
        PolicyError: No policy has the name, the module needs other windows, or is not right under the policies.
    """
    clip_policy = parse_policy(ClipPolicy, clip) if clip else clip_of([module])
    timestamp_policy = parse_policy(TimestampPolicy, timestamps) if timestamps else timestamps_of([module])
    return WindowedQuery(
        window,
        [Computation(module)],
        clip_policy or ClipPolicy.NONE,
        timestamp_policy or TimestampPolicy.ALIGN,
    )


def _definition(file: Path, definitions: Mapping[str, object], name: str, kind: type[T]) -> T | None:
    """Return a file's definition of a name; None if there is none.

    Raises:
        UsageError: The definition is of another type.
    """
    value = definitions.get(name)
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{file} defines {name} as {value!r}\n  expected: a muntin.testing.{kind.__name__}")
    return value
