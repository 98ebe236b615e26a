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
from typing import Any, Final, Protocol

from muntin.errors.messages import Argument, Arguments, ErrorMessage
from muntin.errors.safe_text import safe_message, safe_repr

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


_UNKNOWN: Final = object()
"""Stands for the wrong value where an error is about none."""


class MuntinError(Exception):
    """The root of all errors that Muntin raises on purpose; catch it to handle all of them.

    Attributes:
        argument: The name of the argument that was wrong, as Python spells it; None if no argument was wrong, or it is
            not known which.
        value: The value that was wrong; None if no value was wrong, or it is not known which.
        message: The text of the error, which remembers the template and the parts that it was made from.

    Example:
        >>> from muntin import tumbling
        >>> try:
        ...     tumbling("10 fortnights")
        ... except MuntinError as error:
        ...     print(str(error).splitlines()[0])
        '10 fortnights' is not a duration: the unit 'fortnights' is unknown
    """

    def __init__(
        self, message: str = "", /, *, argument: str | None = None, value: object = _UNKNOWN, **parts: object
    ) -> None:
        """Make an error from a message or its template.

        Args:
            message: The message, or its template: `{argument}` stands for the argument with its value, as in
                `clip='full'`, `{value}` for the value, and other names in braces for the other parts.
            argument: The name of the argument that is wrong, as Python spells it.
            value: The value that is wrong.
            parts: Other parts of the message, by name.
        """
        self.argument = argument
        # None may itself be the wrong value, so another object stands for "no value".
        self.value = None if value is _UNKNOWN else value
        if argument is not None:
            # An argument is spelled with `...` where its value does not matter.
            parts["argument"] = Argument(argument, ... if value is _UNKNOWN else value)
        if value is not _UNKNOWN:
            parts["value"] = value
        # A finished message without further parts stays as it is: it has parts of its own.
        if isinstance(message, ErrorMessage) and not parts:
            self.message = message
        else:
            self.message = ErrorMessage(message, **parts)
        super().__init__(str(self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy an error by its attributes, whatever the arguments of its class are."""
        return _with_state, (type(self), self.args, self.__dict__)


def _with_state(cls: type[MuntinError], args: tuple[object, ...], state: dict[str, Any]) -> MuntinError:
    """Make an error again from its pickled attributes, without its constructor."""
    # The constructor of a subclass makes a message from its own arguments, which are not known any more.
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


def message_of(error: Exception) -> str:
    """Return the message of an exception, with its parts if it has any."""
    if isinstance(error, MuntinError):
        return error.message
    first_argument = error.args[0] if error.args else None
    return first_argument if isinstance(first_argument, ErrorMessage) else str(error)


class QueryError(MuntinError):
    """The query cannot be built as written; the query writer must act.

    For example, columns do not make events, a result would have two columns of one name, `aggregate` gets an operator,
    or a stream has no watermark. The message says what to change. A word of Spark's DataFrames that a query does not
    have, such as `query.writeStream`, is Python's own `AttributeError`, with a note of what to write instead.
    """


class DurationError(QueryError, ValueError):
    """A length of time that cannot be read: it has no number, an unknown unit, or a unit without a fixed length.

    Write ticks, a `timedelta`, or text such as `"10 minutes"`; the message lists the units, and suggests the closest.

    Attributes:
        value: The length.
    """

    def __init__(self, value: object, reason: str, instead: str | None = None) -> None:
        """Prepare the message.

        Args:
            value: The value that is not a length of time.
            reason: The reason why not.
            instead: Lines that say what to write instead; None if there is no advice.
        """
        expected = "ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'"
        advice = "" if instead is None else f"\n  {instead}"
        # A template: the base class fills it in, and keeps its parts for those who spell them in another language.
        super().__init__(
            "{value!r} is not a duration: {reason}\n  expected: {expected}{advice}",
            value=value,
            reason=reason,
            expected=expected,
            advice=advice,
        )


class WindowError(QueryError, ValueError):
    """A window specification that makes no windows.

    A size, hop or count is not above zero, a reach is negative, or a calendar knows no such size, start or time zone.
    """


class PolicyError(QueryError, ValueError):
    """A clipping, timestamping or emission policy that does not fit the window or the module, or does not exist.

    The message lists the policies to choose from; the clips among them are those that the module's writer has set in
    `accepted_clips`. For an output mode of Spark, the message says which policy does the same.
    """


class ParameterError(QueryError, TypeError):
    """A module was given parameters that its constructor does not accept; the message has its signature.

    Attributes:
        module: The module's name.
        parameters: The parameters.
    """

    def __init__(self, module: str, parameters: Mapping[str, object], reason: str, signature: str) -> None:
        """Prepare the message.

        Args:
            module: The name of the module.
            parameters: The parameters that it was given.
            reason: The reason why it does not accept them.
            signature: The parameters that it takes, in parentheses.
        """
        self.module = module
        self.parameters = dict(parameters)
        super().__init__(
            "{module}{signature} does not accept its parameters: {reason}\n  given: {given}",
            module=module,
            signature=signature,
            reason=reason,
            given=Arguments(tuple(parameters.items())),
        )


class TypeMismatchError(QueryError, TypeError):
    """A module's input type does not fit the columns it is given, or its result type cannot be known.

    Cast the column, name another, or choose another module.
    """


class UnknownModuleError(QueryError, LookupError):
    """No installed plugin offers a module or function of that name.

    Take the suggestion, or install the package where the driver and the workers run. A name is looked for in the plugin
    that it begins with. No other plugin is imported to suggest a name: an entry such as `patterns.*` stands for the
    names of a plugin that was not imported. For a plugin's name alone the message lists the plugin's modules. If
    `MUNTIN_PLUGINS` is set, it must name the plugin.

    Attributes:
        name: The name that nothing has.
        suggestion: The closest name; None if none is close.
        installed: The names that installed plugins offer.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        suggestion: str | None,
        installed: Sequence[str],
        unreadable: Sequence[str] = (),
        *,
        lists_installed: bool = True,
        advice: str = "",
    ) -> None:
        """Prepare the message.

        Args:
            kind: The kind of thing that the name is for, such as "module" or "window kind".
            name: The name that nothing has.
            suggestion: The closest name; None if none is close.
            installed: The names that installed plugins offer.
            unreadable: The first line of the error about each package that cannot be read.
            lists_installed: False to leave out the installed names, where the suggestion or the advice says enough.
            advice: A line about the name, in place of the one on how names begin; empty if there is none.
        """
        self.name = name
        self.suggestion = suggestion
        self.installed = tuple(installed)
        lines = [f"no {kind} is named {name!r}"]
        # The name may be that of a plugin alone: then these are the plugin's modules, which the message lists.
        offers = [offer for offer in installed if offer.startswith(f"{name}.")]
        if suggestion:
            lines.append(f"  did you mean {suggestion}?")
        if advice:
            lines.append(f"  {advice}")
        elif not suggestion and "." not in name and not offers:
            lines.append("  a name begins with its plugin, as in 'stats.average'")
        if offers:
            lines.append(f"  {name!r} is a plugin, with the {kind}s {', '.join(offers)}")
        if not offers:
            lines += [f"  it may be in a package that cannot be read: {first_line}" for first_line in unreadable]
        if not offers and lists_installed:
            lines.append(f"  installed {kind}s: {', '.join(installed) or 'none'}")
            lines.append(f"  a {kind}'s package must be installed where the driver and the workers run")
        super().__init__("\n".join(lines))
        # Set by hand, as a value that `__init__` of the base class gets would become a part of the message.
        self.value = name


class ModuleError(MuntinError):
    """A module breaks its contract; the module writer must act. The base class of the errors that follow."""


class ModuleDefinitionError(ModuleError, TypeError):
    """A module class is incomplete: no name or version, a method missing, or types that cannot become columns.

    An attribute that nothing reads and whose name nearly is that of one that is read, such as `output_contract` for
    `contract`, is refused too, with the name that was meant. The law *definition is complete* finds this in tests.
    """


class ModuleContractError(ModuleError, ValueError):
    """A module returned something that its base class forbids.

    For example, a value of another type than declared, or an output that starts before its window under
    `timestamps="unchanged"`. A module that replaces or removes builtins, loaded modules or things that Spark's worker
    needs is refused in the same way; they are restored for the next batch.
    """


class Extent(Protocol):
    """A window in an error: its ticks, so that errors need not know windows."""

    @property
    def start(self) -> int:
        """Its first tick."""

    @property
    def end(self) -> int:
        """The tick after its last."""


class ModuleFailedError(ModuleError, RuntimeError):
    """A module raised an exception, or left with `sys.exit`; the original is chained as `__cause__`.

    The query stops, unless `catching` makes a result of the exception. To reproduce it without Spark, put the members
    of the window into a `Script`. A columnar module gets many windows, or rows, at once; it is called again with fewer
    and fewer of them to find the one that fails. Where rows are merged before the shuffle, the error names the slice of
    the row in place of the window. A text of more than 2,000 characters is shown without its middle.

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
        """Prepare the message.

        Args:
            module: The name of the module.
            version: The version of the module.
            key: The grouping key.
            window: The window; None outside one.
            method: The method that failed.
            cause: The exception of the module, or its message.
        """
        self.module = module
        self.version = version
        self.key = key
        self.window = window
        self.method = method
        self._cause = cause if isinstance(cause, str) else safe_message(cause)
        super().__init__(self._words(str(window)))  # in ticks, until `spell_window` spells it as the axis does

    def at(self, key: object, window: Extent | None) -> ModuleFailedError:
        """Return the failure at one key and window, where a call for many of them failed."""
        return ModuleFailedError(self.module, self.version, key, window, self.method, self._cause)

    def spell_window(self, spell: Callable[[int, int], str]) -> None:
        """Change how the message spells the window.

        Args:
            spell: The function from the start and end of the window, in ticks, to words, such as
                `Axis.TIME.spell_interval`.
        """
        if self.window is not None:
            self.message = ErrorMessage(self._words(spell(self.window.start, self.window.end)))
            self.args = (str(self.message),)  # from which `str` of an exception is made

    def name_place(self, place: str) -> None:
        """Begin the message with the place of the failure, such as which of two compared versions it was."""
        self.message = ErrorMessage(f"{place}: {self.message}")
        self.args = (str(self.message),)  # from which `str` of an exception is made

    def _words(self, window: str) -> str:
        """Return the message, with the window as it is to be spelled."""
        return (
            f"{self.module} {self.version} failed in {self.method}: {self._cause}\n"
            f"  key: {safe_repr(self.key)}\n  window: {window}\n"
            "  the module's own traceback is above; test it alone with muntin.testing"
        )


class PluginError(MuntinError):
    """The installed plugins do not fit together; whoever installs them must act. The base class of three errors."""


class PluginLoadError(PluginError, ImportError):
    """A plugin could not be imported or does not follow the hook specification; other plugins are not affected.

    Attributes:
        plugin: The plugin's name.
        distribution: The package that it came from.
        reason: The reason why it cannot be loaded.
    """

    def __init__(self, plugin: str, distribution: str, reason: str) -> None:
        """Prepare the message; `distribution` is the package that the plugin came from."""
        self.plugin = plugin
        self.distribution = distribution
        self.reason = reason
        super().__init__(
            f"plugin {plugin!r} of {distribution} cannot be loaded: {reason}\n  other plugins are not affected"
        )


class MalformedPackageError(PluginError, ValueError):
    """The metadata of an installed package cannot be read, so it is unknown if it has plugins.

    An `entry_points.txt` may be truncated, for example. Other packages are not affected; `muntin modules` and
    `muntin doctor` name the package. Install it again, or remove it.

    Attributes:
        package: The package.
        reason: The reason why its metadata cannot be read.
    """

    def __init__(self, package: str, reason: str) -> None:
        """Prepare the message; `reason` says why the metadata of the package cannot be read."""
        self.package = package
        self.reason = reason
        super().__init__(
            f"the entry points of {package} cannot be read: {reason}\n"
            "  other packages are not affected; install it again, or remove it"
        )


class DuplicateNameError(PluginError, ValueError):
    """Two plugins offer the same name; Muntin never picks one silently.

    A plugin's name belongs to the package `muntin-<name>`: its plugin works, and `muntin modules` and `muntin doctor`
    list the other plugin with this error. If neither package has that name, a query that uses the plugin raises the
    error; uninstall one of the two.

    Attributes:
        name: The name.
        sources: Both offers.
        is_kept: True if the first keeps the name and works, as the plugin of the package `muntin-<name>`.
    """

    def __init__(self, name: str, first: str, second: str, *, is_kept: bool = False) -> None:
        """Prepare the message.

        Args:
            name: The name that is offered twice.
            first: The first offer, and where it comes from.
            second: The second offer, and where it comes from.
            is_kept: True if the first offer keeps the name and works.
        """
        self.name = name
        self.sources = (first, second)
        self.is_kept = is_kept
        remedy = "uninstall one of them"
        if is_kept:
            # Only the package that has the plugin's name may keep it.
            package = f"muntin-{name.replace('_', '-')}"
            remedy = (
                f"the first keeps it, as the package {package}; the second is not loaded: rename its entry point, "
                "or uninstall it"
            )
        super().__init__(f"the name {name!r} is offered twice: by {first} and by {second}\n  {remedy}")


class StreamError(MuntinError, ValueError):
    """A change of a stream that is not legal.

    An event ends before it starts, an id is inserted twice, or a change is behind the watermark. It is raised where a
    program builds events and scripts. A running query does not raise it: the row goes to a side output.

    Attributes:
        values: The offending values, by name.
    """

    def __init__(self, message: str, **values: object) -> None:
        """Prepare the error with its message and, by name, the values that are wrong."""
        self.values = values
        super().__init__(message)
