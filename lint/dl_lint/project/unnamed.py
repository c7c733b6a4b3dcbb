"""What else keeps a loader from being pickled where the parts that we can name are mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import flow
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Function, Made, Unknown, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Loader

_PUTTING = ("add", "set", "register", "with_transform")
"""How the names of functions begin that put something into a dataset which stays there."""

_CHAINED = frozenset({"map", "map_dict", "map_tuple", "select", "filter", "then", "compose"})
"""Methods that return a dataset with a function in it, as ``dataset = WebDataset(…).select(…).map(…)``."""


_TELLING = ("torch", "datasets.", "builtins.")
"""How the names of outside packages begin whose datasets can be pickled, whatever function gives them."""


def has_untold_dataset(project: Project, loader: Loader) -> bool:
    """Whether nothing tells what the dataset of a loader is: a registry made it, or a function from outside."""
    given = project.argument(loader, "dataset")
    made: t.Node | None = given.expr
    if isinstance(made, t.Name):
        bound = flow.reaching(project.function_of(made), made.id, project.site(made)).bindings
        made = bound[0].value if len(bound) == 1 else None
    if not isinstance(made, t.Call):
        return False  # whoever calls this may know
    found = alternatives(given.value)
    return all(isinstance(one, Unknown) or (isinstance(one, Made) and _is_untold(one.name)) for one in found)


def _is_untold(name: str) -> bool:
    return name.rpartition(".")[2].islower() and not name.startswith(_TELLING)


def is_in_notebook(project: Project, *nodes: t.Node) -> bool:
    """Whether something stands in a notebook, where a function of a cell is as far from workers as a lambda."""
    return any(project.site(node).scope.file.path.endswith(".ipynb") for node in nodes)


def may_remain(project: Project, call: t.Call, named: frozenset[t.Node]) -> bool:
    """Whether the function that builds a loader, or one around it, puts a function of its own into a dataset by a call
    (``add_dynamic_item(datasets, pipeline)``) that is none of the obstacles ``named``."""
    scope: Scope | None = project.function_of(call)
    while scope is not None and scope.kind != "module":
        for put in scope.calls:
            name = put.func.attr if isinstance(put.func, t.Attribute) else dotted(put.func) or ""
            if (name.startswith(_PUTTING) and _is_about_data(put)) or (name in _CHAINED and _makes_data(project, put)):
                for argument in put.args:
                    own = isinstance(argument, t.Lambda) or any(
                        _is_nested(one, scope) for one in _functions(project, argument)
                    )
                    if own and argument not in named:
                        return True
        scope = scope.parent
    return False


def _makes_data(project: Project, put: t.Call) -> bool:
    """Whether what a method returns, or what is made of that, is called a dataset."""
    stmt = project.statement_of(put)
    targets = stmt.targets if isinstance(put.func, t.Attribute) and isinstance(stmt, t.Assign) else ()
    return any("data" in (dotted(one) or "").lower() for one in targets)


def _is_about_data(put: t.Call) -> bool:
    owner = [_whole(put.func.value)] if isinstance(put.func, t.Attribute) else []
    items = [item for one in put.args if isinstance(one, t.Sequence) for item in one.items]
    named = (one.id for one in (*owner, *put.args, *items) if isinstance(one, t.Name))
    return any("data" in name.lower() for name in named)


def _whole(expr: t.Expr) -> t.Expr:
    """What ``data["train"]`` is a part of."""
    while isinstance(expr, t.Subscript):
        expr = expr.value
    return expr


def _functions(project: Project, argument: t.Expr) -> Iterator[Scope]:
    for one in alternatives(project.value(argument)):
        if isinstance(one, Function):
            yield one.scope


def _is_nested(function: Scope, definer: Scope) -> bool:
    return function.parent is definer
