"""The source of functions and classes in one spelling: without comments, docstrings and layout.

Two sources that differ in these alone are the same text, which a version of the code is made of.
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

    Python knows the first line of a function, even in a notebook's cell, and not that of a class. So a class is found
    by a method in its body.
    """
    for function in _functions_in_body(cls):  # the first that leads to the class
        definition = _innermost_class(_tree_around(function), function.__code__.co_firstlineno)
        if definition is not None and definition.name == cls.__name__:
            return _spelled(definition)
    try:
        text = while_parsing(lambda: inspect.getsource(cls))
        return _spelled(parse_source(textwrap.dedent(text)))
    except (OSError, TypeError, SyntaxError):
        return None


def module_source(text: str) -> str | None:
    """Return the source of a whole file."""
    return _spelled(_parsed(text))


def _functions_in_body(cls: type) -> Iterator[FunctionType]:
    """Yield the functions that were written in the body of a class."""
    for value in vars(cls).values():
        function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", None) or value))
        if isinstance(function, FunctionType) and function.__code__.co_qualname.startswith(f"{cls.__qualname__}."):
            yield function


def _innermost_class(tree: ast.Module | None, line: int) -> ast.ClassDef | None:
    """Return the innermost class whose body has a line; None if there is none."""
    innermost: ast.ClassDef | None = None
    for node in _definitions(tree):
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            innermost = node  # inner definitions come after outer ones
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
    """Return the file or cell that has a function; None if there is no source."""
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        return None
    return _parsed("".join(lines))


def _parsed(text: str) -> ast.Module | None:
    """Return the tree of a file or cell. It is parsed once, even if several threads ask for it."""
    return while_parsing(lambda: _tree_of(text))


@lru_cache(64)
def _tree_of(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:  # a cell with commands of the notebook's own
        return None


def _definitions(tree: ast.Module | None) -> Iterator[_Definition]:
    """Yield definitions, outer before inner ones."""
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
    """Return the text of a tree, without docstrings; None for no tree."""
    if node is None:
        return None
    copy = parse_source(ast.unparse(node))  # the node itself is shared, and what is visited is changed
    return ast.unparse(_Undocumented().visit(copy))


class _Undocumented(ast.NodeTransformer):
    """Removes docstrings."""

    def generic_visit(self, node: ast.AST) -> Any:
        super().generic_visit(node)
        if isinstance(node, ast.Module | _Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node
