"""Every error Muntin raises on purpose, grouped by who must act.

Each error states the fact with the offending value, what was expected and what to do, carries its data as
attributes, and derives from the built-in exception a caller would already be catching.

* `QueryError`: the query writer changes the query.
* `ModuleError`: the module writer changes the module.
* `PluginError`: whoever installs plugins changes the installation.
* `StreamError`: whoever feeds the stream changes the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from muntin.safe_text import safe_message, safe_repr

__all__ = [
    "DuplicateNameError",
    "DurationError",
    "MalformedPackageError",
    "ModuleContractError",
    "ModuleDefinitionError",
    "ModuleError",
    "ModuleFailedError",
    "MuntinError",
    "ParameterError",
    "PluginError",
    "PluginLoadError",
    "PolicyError",
    "QueryError",
    "StreamError",
    "TypeMismatchError",
    "UnknownModuleError",
    "WindowError",
]


class MuntinError(Exception):
    """The root of all errors that Muntin raises on purpose."""


class QueryError(MuntinError):
    """The query cannot be built as written; the query writer must act."""


class DurationError(QueryError, ValueError):
    """A length of time that cannot be read."""

    def __init__(self, value: object, reason: str, instead: str | None = None) -> None:
        self.value = value
        expected = "ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'"
        more = "" if instead is None else f"\n  {instead}"
        super().__init__(f"{value!r} is not a duration: {reason}\n  expected: {expected}{more}")


class WindowError(QueryError, ValueError):
    """A window specification that makes no windows."""


class PolicyError(QueryError, ValueError):
    """A clipping, timestamping or emission policy that does not fit the window or the module."""


class ParameterError(QueryError, TypeError):
    """A module was given parameters that its constructor does not accept."""

    def __init__(self, module: str, parameters: Mapping[str, object], reason: str, signature: str) -> None:
        self.module = module
        self.parameters = dict(parameters)
        given = ", ".join(f"{name}={value!r}" for name, value in parameters.items()) or "none"
        super().__init__(f"{module}{signature} does not accept its parameters: {reason}\n  given: {given}")


class TypeMismatchError(QueryError, TypeError):
    """A module's input or result does not fit the columns it is bound to."""


class UnknownModuleError(QueryError, LookupError):
    """No installed plugin offers a module or function of that name."""

    def __init__(
        self,
        kind: str,
        name: str,
        suggestion: str | None,
        installed: Sequence[str],
        unreadable: Sequence[str] = (),
        *,
        is_sure: bool = False,
        advice: str = "",
    ) -> None:
        self.name = name
        self.suggestion = suggestion
        self.installed = tuple(installed)
        lines = [f"no {kind} is named {name!r}"]
        own = [offered for offered in installed if offered.startswith(f"{name}.")]
        if suggestion:
            lines.append(f"  did you mean {suggestion}?")
        if advice:
            lines.append(f"  {advice}")
        elif not suggestion and "." not in name and not own:
            lines.append("  a name begins with its plugin, as in 'stats.average'")
        if own:
            lines.append(f"  {name!r} is a plugin, with the {kind}s {', '.join(own)}")
        if not own:
            lines += [f"  it may be in a package that cannot be read: {first_line}" for first_line in unreadable]
        if not own and not is_sure:
            lines.append(f"  installed {kind}s: {', '.join(installed) or 'none'}")
            lines.append(f"  a {kind}'s package must be installed where the driver and the workers run")
        super().__init__("\n".join(lines))


class ModuleError(MuntinError):
    """A module breaks its contract; the module writer must act."""


class ModuleDefinitionError(ModuleError, TypeError):
    """A module class is incomplete: no name, no version, or types that cannot be derived."""


class ModuleContractError(ModuleError, ValueError):
    """A module returned something that its base class forbids."""


class Extent(Protocol):
    """A window, as far as an error tells it."""

    @property
    def start(self) -> int:
        """Its first tick."""

    @property
    def end(self) -> int:
        """The tick after its last."""


class ModuleFailedError(ModuleError, RuntimeError):
    """A module raised an exception; the original is chained as `__cause__`.

    Attributes:
        module: The module's name.
        version: Its version.
        key: The grouping key whose window was evaluated.
        window: The window, or None outside one.
        method: The method that failed.
    """

    def __init__(
        self, module: str, version: str, key: object, window: Extent | None, method: str, cause: BaseException | str
    ) -> None:
        self.module = module
        self.version = version
        self.key = key
        self.window = window
        self.method = method
        self._cause = cause if isinstance(cause, str) else safe_message(cause)
        super().__init__(self._words(str(window)))

    def at(self, key: object, window: Extent | None) -> ModuleFailedError:
        """Return the same failure of another key and window, for who finds out which of many it was."""
        return ModuleFailedError(self.module, self.version, key, window, self.method, self._cause)

    def say_window(self, spell: Callable[[int, int], str]) -> None:
        """Have the message say the window in other words, such as those of `Axis.TIME.spell_interval`."""
        if self.window is not None:
            self.args = (self._words(spell(self.window.start, self.window.end)),)

    def _words(self, window: str) -> str:
        return (
            f"{self.module} {self.version} failed in {self.method}: {self._cause}\n"
            f"  key: {safe_repr(self.key)}\n  window: {window}\n"
            "  the module's own traceback is above; test it without Spark with muntin.testing"
        )


class PluginError(MuntinError):
    """The installed plugins do not fit together; whoever installs them must act."""


class PluginLoadError(PluginError, ImportError):
    """A plugin could not be imported or does not follow the hook specification."""

    def __init__(self, plugin: str, distribution: str, reason: str) -> None:
        self.plugin = plugin
        self.distribution = distribution
        self.reason = reason
        super().__init__(
            f"plugin {plugin!r} of {distribution} cannot be loaded: {reason}\n  other plugins are not affected"
        )


class MalformedPackageError(PluginError, ValueError):
    """The metadata of an installed package cannot be read, so it is unknown if it has plugins."""

    def __init__(self, package: str, reason: str) -> None:
        self.package = package
        self.reason = reason
        super().__init__(
            f"the entry points of {package} cannot be read: {reason}\n"
            "  other packages are not affected; install it again, or remove it"
        )


class DuplicateNameError(PluginError, ValueError):
    """Two plugins offer the same name; Muntin never picks one silently.

    Attributes:
        name: The name.
        sources: Both offers.
        is_kept: True if the first keeps the name and works, as the plugin of the package `muntin-<name>`.
    """

    def __init__(self, name: str, first: str, second: str, *, is_kept: bool = False) -> None:
        self.name = name
        self.sources = (first, second)
        self.is_kept = is_kept
        kept = f"  the first keeps it, as the package muntin-{name.replace('_', '-')}; the second is not loaded: rename"
        super().__init__(
            f"the name {name!r} is offered twice: by {first} and by {second}\n"
            + (f"{kept} its entry point, or uninstall it" if is_kept else "  uninstall one of them")
        )


class StreamError(MuntinError, ValueError):
    """A stream change that makes no sense on its own, whatever came before it."""

    def __init__(self, message: str, **values: object) -> None:
        self.values = values
        super().__init__(message)
