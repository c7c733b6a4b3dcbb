"""Hyperparameters as Lightning keeps them: ``self.save_hyperparameters()`` makes ``self.hparams`` of what ``__init__``
was given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import classes, names
from dl_lint.flow.values import NOTHING, Class, Const, Table, Value, union
from dl_lint.source.syntax import Display, called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


SAVING = "save_hyperparameters"


def saved(program: Program, cls: Class) -> Value:
    """``self.hparams`` of an object of a class; nothing where its constructors save none."""
    found: list[Value] = []
    for one in classes.lineage(program, cls):
        for method in classes.methods(one) if isinstance(one, Class) else ():
            found += (_saved_by(program, call, method) for call in method.calls if called(call) == SAVING)
        if found:
            break
    return union(found) if found else NOTHING


def _saved_by(program: Program, call: ast.Call, method: Scope) -> Value:
    """What one call saves: an object that it is given, or the parameters around it, all or those that it names."""
    given = [program.symbolic(arg) for arg in call.args]
    chosen = {one.value for one in given if isinstance(one, Const)}
    if given and not chosen:
        return given[0]
    ignored = set(_ignored(call))
    items = (
        (param.name, names.parameter(param, method))
        for param in method.params[1:]
        if param.kind not in ("args", "kwargs") and param.name not in ignored and (not chosen or param.name in chosen)
    )
    return Table(tuple(items), False, call)


def _ignored(call: ast.Call) -> Iterator[object]:
    for keyword in call.keywords:
        if keyword.arg == "ignore":
            listed = keyword.value.elts if isinstance(keyword.value, Display) else (keyword.value,)
            yield from (one.value for one in listed if isinstance(one, ast.Constant))
