"""Small changes of meaning in a module, numbered: the same number is the same change."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Final

Change = tuple[ast.AST, Callable[[], None]]
"""A node, and what changes it in place."""

_SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
_TWINS: Final = {
    **{"max": "min", "min": "max", "any": "all", "all": "any", "maximum": "minimum", "minimum": "maximum"},
    **{"EARLIEST": "INFINITY", "INFINITY": "EARLIEST"},
}
_SILENT: Final = (ast.JoinedStr, ast.Raise, ast.Assert, ast.AnnAssign, ast.arg)
"""What speaks, checks itself or is a type: a change there is one of words. Of an annotated value the value counts."""


def changes_of(tree: ast.Module) -> Iterator[Change]:
    """Yield all changes of a module, each with the node that it alters when it is called."""
    pending: list[ast.AST] = list(reversed([node for node in tree.body if not _is_for_types(node)]))
    while pending:
        node = pending.pop()
        yield from _changes(node)
        if isinstance(node, ast.FunctionDef):
            pending += reversed([*node.args.defaults, *node.body])
        elif isinstance(node, ast.AnnAssign):
            pending += [node.value] if node.value is not None else []
        elif not isinstance(node, _SILENT):
            pending += reversed(list(ast.iter_child_nodes(node)))


def mutate(tree: ast.Module, number: int) -> str:
    """Change a module in place; return the change in words.

    Args:
        tree: The module.
        number: The number of the change.
    """
    node, change = list(changes_of(tree))[number]
    before = _spell(node)
    change()
    ast.fix_missing_locations(tree)
    return f"{getattr(node, 'lineno', '?')}: {before}  =>  {_spell(node)}"


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            yield from _set(node, node.ops, at, _swapped(operator))
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        yield from _set(node, vars(node), "op", _swapped(node.op))
    elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.comprehension):
        tests: Any = node.ifs if isinstance(node, ast.comprehension) else vars(node)
        for place in range(len(tests)) if isinstance(tests, list) else ["test"]:
            yield from _set(node, tests, place, ast.UnaryOp(ast.Not(), tests[place]))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        other: object = node.value + 1 if type(node.value) is int else not node.value
        yield from _set(node, vars(node), "value", other)
    elif isinstance(node, ast.Constant) and node.value in ("left", "right"):  # sides of np.searchsorted
        yield from _set(node, vars(node), "value", "right" if node.value == "left" else "left")
    elif isinstance(node, ast.Name) and node.id in _TWINS:
        yield from _set(node, vars(node), "id", _TWINS[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in _TWINS:
        yield from _set(node, vars(node), "attr", _TWINS[node.attr])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _set(node, vars(node), "value", ast.Constant(value=None))


def _set(node: ast.AST, holder: Any, place: Any, new: object) -> Iterator[Change]:
    if new is not None:
        yield node, lambda: holder.__setitem__(place, new)


def _swapped(operator: ast.AST) -> ast.AST | None:
    return _SWAPS[type(operator)]() if type(operator) in _SWAPS else None


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _spell(node: ast.AST) -> str:
    return " ".join(ast.unparse(getattr(node, "test", node)).split())[:110]
