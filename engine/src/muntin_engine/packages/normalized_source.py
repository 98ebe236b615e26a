"""The source of functions and classes in one spelling: without comments, docstrings and layout.

Two sources that differ only in these give the same text, from which a version of the code is computed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeAlias

from muntin.definitions.source_parsing import parse_source, while_parsing

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def function_source(function: FunctionType) -> str | None:
    """Return the source of a function that was written with `def`; None if there is none."""
    return _spelled(_definition_of(function))


def class_source(cls: type) -> str | None:
    """Return the source of a class; None if there is none.

    Python knows the first line of a function, even in a cell of a notebook, but not that of a class. So a class is
    found as the definition around one of its methods. A class without methods is left to `inspect`.
    """
    for function in _functions_in_body(cls):
        definition = _innermost_class(_tree_around(function), function.__code__.co_firstlineno)
        if definition is not None and definition.name == cls.__name__:
            return _spelled(definition)
    try:
        text = while_parsing(lambda: inspect.getsource(cls))
        return _spelled(parse_source(textwrap.dedent(text)))
    except (OSError, TypeError, SyntaxError):
        return None


def module_source(text: str) -> str | None:
    """Return the source of a whole file in one spelling; None if the text is not Python."""
    return _spelled(_parsed(text))


def _functions_in_body(cls: type) -> Iterator[FunctionType]:
    """Yield the functions that were written in the body of a class, also those behind properties and decorators."""
    for value in vars(cls).values():
        getter = getattr(value, "fget", None)  # of a property
        function = inspect.unwrap(getattr(value, "__func__", getter or value))
        # A function that was written elsewhere and assigned in the body has another qualified name.
        if isinstance(function, FunctionType) and function.__code__.co_qualname.startswith(f"{cls.__qualname__}."):
            yield function


def _innermost_class(tree: ast.Module | None, line: int) -> ast.ClassDef | None:
    """Return the innermost class whose definition contains a line; None if there is none."""
    innermost: ast.ClassDef | None = None
    for node in _definitions(tree):
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            innermost = node  # inner classes come after outer ones
    return innermost


def _definition_of(function: FunctionType) -> _Definition | None:
    """Return the definition of a function in its file or cell; None if there is none."""
    code = function.__code__
    for node in _definitions(_tree_around(function)):
        if isinstance(node, ast.ClassDef):
            continue
        if node.name == code.co_name and _first_line(node) == code.co_firstlineno:
            return node
    return None


def _tree_around(function: FunctionType) -> ast.Module | None:
    """Return the syntax tree of the file or cell that has a function; None if there is no source."""
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        return None
    return _parsed("".join(lines))


def _parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a file or cell, parsed only once even for several threads; None if it is not Python."""
    return while_parsing(lambda: _tree_of(text))


@lru_cache(64)
def _tree_of(text: str) -> ast.Module | None:
    """Parse a file or cell; None if it is not Python."""
    try:
        return ast.parse(text)
    except SyntaxError:  # a cell with commands of the notebook, say
        return None


def _definitions(tree: ast.Module | None) -> Iterator[_Definition]:
    """Yield the definitions of functions and classes in a tree, outer before inner ones; nothing for no tree."""
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            yield node


def _first_line(node: _Definition) -> int:
    """Return the line at which a definition begins, with its decorators."""
    lines_of_decorators = [decorator.lineno for decorator in node.decorator_list]
    return min([node.lineno, *lines_of_decorators])


def _spelled(node: ast.AST | None) -> str | None:
    """Return the text of a tree in one spelling, without docstrings; None for no tree."""
    if node is None:
        return None
    copy = parse_source(ast.unparse(node))  # the tree is cached, and removing docstrings changes it
    return ast.unparse(_Undocumented().visit(copy))


class _Undocumented(ast.NodeTransformer):
    """Removes the docstrings of a tree."""

    def generic_visit(self, node: ast.AST) -> Any:
        """Remove the docstrings in a node; a body that is empty without its docstring gets a `pass`."""
        super().generic_visit(node)
        if isinstance(node, ast.Module | _Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node
