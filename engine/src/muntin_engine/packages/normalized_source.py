"""The source of functions and classes in one spelling: without comments, docstrings and layout."""

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
    """Return the source of a function that was written with `def`; None if it is not to be had."""
    return _spelled(_definition_of(function))


def class_source(cls: type) -> str | None:
    """Return the source of a class; None if it is not to be had.

    Python says where a function begins, also one in a notebook's cell; so a class is found by a method of its own.
    """
    for function in own_functions(cls):
        tree = _tree_around(function)
        line = function.__code__.co_firstlineno
        classes = [node for node in _definitions(tree) if isinstance(node, ast.ClassDef)]
        around = [node for node in classes if node.lineno <= line <= (node.end_lineno or 0)]
        if around and around[-1].name == cls.__name__:
            return _spelled(around[-1])
    try:
        text = while_parsing(lambda: inspect.getsource(cls))
        return _spelled(parse_source(textwrap.dedent(text)))
    except (OSError, TypeError, SyntaxError):
        return None


def module_source(text: str) -> str | None:
    """Return the source of a whole file."""
    return _spelled(_parsed(text))


def own_functions(cls: type) -> Iterator[FunctionType]:
    """Yield the functions that were written in the body of a class."""
    for value in vars(cls).values():
        function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", None) or value))
        if isinstance(function, FunctionType) and function.__code__.co_qualname.startswith(f"{cls.__qualname__}."):
            yield function


def _definition_of(function: FunctionType) -> _Definition | None:
    code = function.__code__
    nodes = (node for node in _definitions(_tree_around(function)) if not isinstance(node, ast.ClassDef))
    return next((node for node in nodes if (node.name, _first_line(node)) == (code.co_name, code.co_firstlineno)), None)


def _tree_around(function: FunctionType) -> ast.Module | None:
    """Return the file or cell that a function is in."""
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        return None
    return _parsed("".join(lines))


def _parsed(text: str) -> ast.Module | None:
    """Return the tree of a file or cell, which is parsed once, whatever the number of threads that ask for it."""
    return while_parsing(lambda: _tree_of(text))


@lru_cache(64)
def _tree_of(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:  # a cell with commands of the notebook's own
        return None


def _definitions(tree: ast.Module | None) -> Iterator[_Definition]:
    """Yield definitions, outer before inner ones."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _Definition):
            yield node


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _spelled(node: ast.AST | None) -> str | None:
    if node is None:
        return None
    copy = parse_source(ast.unparse(node))  # the node itself is shared, and what is visited is changed
    return ast.unparse(_Undocumented().visit(copy))


class _Undocumented(ast.NodeTransformer):
    """Takes docstrings out."""

    def generic_visit(self, node: ast.AST) -> Any:
        super().generic_visit(node)
        if isinstance(node, ast.Module | _Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node
