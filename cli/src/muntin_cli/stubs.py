"""Stubs of typed calls, by which editors show the columns, the parameters and the docstring of a module.

A typed call has them when it runs. A type checker only sees that `average = typed_call(Average)` is some call: Python's
annotations cannot say that columns go by place and the parameters of a constructor by name.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from muntin import Module
from muntin.catalog import Catalog
from muntin.catalog.plugin_entries import plugin_entries
from muntin.schemas import Field, Struct, Variable
from muntin_cli.errors import UsageError

_LINE: Final = 88
"""The length from which on a signature has a line for each parameter: the default of formatters."""

_CALL: Final = "muntin.modules.call"
_HOMES: Final = ("typing", "collections.abc", "muntin")
"""The packages from which a name is imported, if they have it."""

_WRITTEN: Final = "written by `muntin stubs"
"""The end of the docstring of a file that is written."""

_ANYTHING: Final = Variable("")
"""The type of the input of a module that does not read its payloads."""


@dataclass(frozen=True, slots=True)
class CallFiles:
    """The typed calls of a plugin: a module of Python, and the stub beside it.

    Attributes:
        source: File of the module.
        code: Text of the module: a typed call for each module of the plugin.
        stub: Text of the stub.
    """

    source: Path
    code: str
    stub: str

    @property
    def texts(self) -> Mapping[Path, str]:
        """The texts by their files."""
        return {self.source: self.code, self.source.with_suffix(".pyi"): self.stub}

    def outdated(self) -> list[Path]:
        """Return the files that are missing or say something else; their layout does not count."""
        files: list[Path] = []
        for file, text in self.texts.items():
            if not file.is_file() or not _says(file.read_text(encoding="utf-8"), text):
                files.append(file)
        return files


def _says(text: str, expected: str) -> bool:
    """Return True if a text has the expected code, however a formatter has laid it out."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(expected))
    except SyntaxError:
        return False


def calls_of(catalog: Catalog, name: str) -> CallFiles:
    """Return the typed calls of a plugin, for the module `calls` of its package.

    Args:
        catalog: Catalog of the installed plugins.
        name: The name of the plugin, for example `"stats"`.

    Raises:
        UnknownModuleError: There is no such plugin.
        PluginLoadError: The plugin cannot be loaded.
        UsageError: The plugin has no modules, or is no package.
    """
    plugin = catalog.plugin(name)
    classes: dict[str, type[Module]] = {}
    for full_name, cls in sorted(plugin.modules.items()):
        call_name = full_name.rpartition(".")[2]
        # A module whose name is a keyword gets no call: a query names it by module("...").
        if not keyword.iskeyword(call_name):
            classes[call_name] = cls
    if not classes:
        raise UsageError(f"the plugin {plugin.name} has no modules, which typed calls are of")
    folder = _package_folder(plugin.name)
    return CallFiles(folder / "calls.py", _code_of(plugin.name, classes), _stub_of(plugin.name, classes))


def _package_folder(plugin: str) -> Path:
    """Return the folder of the package that a plugin is in."""
    entry = next(entry for entry in plugin_entries().entries if entry.name == plugin)
    package = import_module(entry.module.partition(".")[0])
    if not hasattr(package, "__path__") or package.__file__ is None:
        raise UsageError(
            f"the plugin {plugin} is the module {package.__name__}, and typed calls need a package\n"
            f"  move it to {package.__name__}/plugin.py"
        )
    return Path(package.__file__).parent


def _code_of(plugin: str, classes: Mapping[str, type[Module]]) -> str:
    """Return the text of the module `calls`, with a typed call for each module class of a plugin, by its name."""
    imports = Imports()
    imports.add("muntin", "typed_call")
    calls: list[str] = []
    for name, cls in classes.items():
        imports.add(cls.__module__, cls.__name__)
        calls.append(f"{name} = typed_call({cls.__name__})")
    heading = f'"""Functions that name the modules of `{plugin}` in a query; {_WRITTEN} {plugin}`."""'
    return "\n\n".join([heading, str(imports), "\n".join(calls)]) + "\n"


def _stub_of(plugin: str, classes: Mapping[str, type[Module]]) -> str:
    """Return the text of the stub, with a function for each module class of a plugin, by its name."""
    imports = Imports()
    imports.add(_CALL, "ModuleCall")
    functions = [_function_of(name, cls, imports) for name, cls in classes.items()]
    heading = f'"""The functions that name the modules of `{plugin}`, as editors show them; {_WRITTEN} {plugin}`."""'
    return "\n\n".join([heading, str(imports), *functions]) + "\n"


@dataclass(slots=True)
class Imports:
    """The imports of a stub.

    Attributes:
        names: The names that are imported from each module.
        modules: The modules that are imported whole, each as an import statement names it: `datetime as dt`.
    """

    names: dict[str, set[str]] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)

    def add(self, module: str, name: str) -> None:
        """Import a name from a module."""
        self.names.setdefault(module, set()).add(name)

    def __str__(self) -> str:
        of_python: list[str] = []
        of_others: list[str] = []
        for module in sorted(self.modules):
            lines = of_python if _is_of_python(module) else of_others
            lines.append(f"import {module}")
        for module in sorted(self.names):
            lines = of_python if _is_of_python(module) else of_others
            lines.append(f"from {module} import {', '.join(sorted(self.names[module]))}")
        blocks = ["\n".join(lines) for lines in (of_python, of_others) if lines]
        return "\n\n".join(blocks)


def _is_of_python(module: str) -> bool:
    """Return True for a module of the standard library."""
    return re.split(r"\W", module)[0] in sys.stdlib_module_names


def _function_of(name: str, cls: type[Module], imports: Imports) -> str:
    """Return a function with the columns and parameters of a module, and its docstring."""
    parameters = [*_columns_of(cls, imports), *_parameters_of(cls, imports)]
    signature = f"def {name}({', '.join(parameters)}) -> ModuleCall:"
    if len(signature) > _LINE:
        parameter_lines = "".join(f"    {parameter},\n" for parameter in parameters)
        signature = f"def {name}(\n{parameter_lines}) -> ModuleCall:"
    docstring = inspect.cleandoc(cls.__doc__ or "")
    lines = [f"    {line}".rstrip() for line in docstring.splitlines()]
    prefix = "r" if "\\" in docstring else ""  # the docstring is read from a class, where a backslash stands for itself
    end = "\n    " if len(lines) > 1 else ""
    body = "\n".join(lines).removeprefix("    ")
    if body.endswith('"') and not end:
        # Before the three quotes that end the docstring, a fourth one has to be escaped, and backslashes with it.
        prefix = ""
        escaped = body[:-1].replace("\\", "\\\\")
        body = f'{escaped}\\"'
    return f'{signature}\n    {prefix}"""{body}{end}"""'


def _columns_of(cls: type[Module], imports: Imports) -> list[str]:
    """Return the parameters of the columns that a module reads."""
    imports.add(_CALL, "Column")
    inputs = cls.input_fields()
    if inputs:
        imports.add(_CALL, "StreamColumns")
        return [f"{module_input.name}: Column | tuple[Column, ...] | StreamColumns" for module_input in inputs]
    input_type = cls.input_field().type
    if input_type == _ANYTHING:
        return ["column: Column = ...", "/"]
    if not isinstance(input_type, Struct):
        return ["column: Column", "/"]

    # One column that is a struct may stand for all columns, so that only the first is required.
    first_name, *further_names = _names_of_columns(cls, input_type.fields)
    further_columns = [f"{name}: Column = ..." for name in further_names]
    return [f"{first_name}: Column", *further_columns, "/"]


def _names_of_columns(cls: type[Module], fields: Sequence[Field]) -> list[str]:
    """Return a parameter name for each field: its own, or `column1` and so on if Python or the constructor has it."""
    constructor_parameters = inspect.signature(cls).parameters
    names: list[str] = []
    for number, input_field in enumerate(fields, 1):
        name = input_field.name
        is_free = name.isidentifier() and not keyword.iskeyword(name) and name not in constructor_parameters
        names.append(name if is_free else f"column{number}")
    return names


def _parameters_of(cls: type[Module], imports: Imports) -> list[str]:
    """Return the parameters of a module's constructor, all by name."""
    parameters: list[str] = []
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue  # values by place are the columns of a call
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        annotation = _annotation_text(parameter.annotation, cls, imports)
        default = "" if parameter.default is parameter.empty else f" = {_default_text(parameter.default)}"
        parameters.append(f"{stars}{parameter.name}: {annotation}{default}")
    # A star that ends the parameters by place needs one by name after it.
    has_names = bool(parameters) and not parameters[0].startswith("**")
    return ["*", *parameters] if has_names else parameters


def _default_text(default: object) -> str:
    """Return a default as a stub has it: numbers, text, booleans and None as they are, and dots for anything else."""
    if isinstance(default, str) and '"' not in default:
        # In double quotes, as formatters write it; `repr` prefers single ones.
        return f'"{repr(default)[1:-1]}"'
    is_plain = default is None or type(default) in (bool, int, float, str)
    return repr(default) if is_plain else "..."


def _annotation_text(annotation: Any, cls: type[Module], imports: Imports) -> str:
    """Return an annotation as text, and import what it names."""
    if annotation is inspect.Parameter.empty:
        imports.add("typing", "Any")
        return "Any"
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    namespace = getattr(cls.__init__, "__globals__", {})
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Name):
            _import_name(node.id, namespace.get(node.id), cls, imports)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in sys.modules:
            _import_module_of(node, namespace, imports)
    return text


def _import_name(name: str, value: object, cls: type[Module], imports: Imports) -> None:
    """Import what a name of an annotation stands for.

    Args:
        name: The name.
        value: Its value beside the class; None where it has none there, as a builtin has.
        cls: The module class.
        imports: The imports of the stub.
    """
    if isinstance(value, ModuleType):
        imports.modules.add(name if name == value.__name__ else f"{value.__name__} as {name}")
        return
    for package in _HOMES:
        in_package = getattr(import_module(package), name, None)
        if in_package is not None and (value is None or in_package is value):
            imports.add(package, name)
            return
    if value is not None:
        # A value may be hidden in the module that it names as its home; the class's own module has it in any case.
        home = str(getattr(value, "__module__", ""))
        is_there = getattr(sys.modules.get(home), name, None) is value
        imports.add(home if is_there else cls.__module__, name)


def _import_module_of(node: ast.Attribute, namespace: Mapping[str, Any], imports: Imports) -> None:
    """Import the module before the last dot of an annotation that Python has spelled with full names."""
    module = ast.unparse(node.value)
    if module.partition(".")[0] not in namespace:
        imports.modules.add(module)
