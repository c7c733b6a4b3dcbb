"""One walk over a file's tree that finds its scopes, blocks, bindings, loops, calls and stores."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dl_lint.flow.scopes import (
    PICKED,
    Binding,
    Block,
    Change,
    FileIndex,
    Loop,
    Parents,
    Path,
    Scope,
    Site,
    Sites,
    Store,
)
from dl_lint.source.positions import KNOWS_FIELDS, place_fields
from dl_lint.source.syntax import (
    Comprehension,
    ForStatement,
    FunctionDefinition,
    TryStatement,
    WithStatement,
    captures,
    children,
    dotted,
    parameters,
)

if TYPE_CHECKING:
    from dl_lint.source.parser import Syntax


MUTATORS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "clear"})
EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})

Bodies = list[tuple[Block, ast.AST | None, Iterable[ast.stmt]]]
"""Bodies still to be walked: the block that they run in, the node they belong to, and their statements."""


def index_file(path: str, syntax: Syntax, linted: bool, sites: Sites, parents: Parents) -> FileIndex:
    """Index one file; ``sites`` and ``parents`` are shared by the whole project and filled here."""
    file = FileIndex(path, linted, syntax)
    walk = _Walk(file, sites, parents)
    walk.run(syntax.module.body)
    return file


class _Walk:
    """The state of one walk: an explicit stack, so that deep code does not overflow Python's own."""

    def __init__(self, file: FileIndex, sites: Sites, parents: Parents) -> None:
        self.file = file
        self.sites = sites
        self.parents = parents
        self.order = 0

    def run(self, body: list[ast.stmt]) -> None:
        self.file.module = module = self.open_scope("module", None, None)
        stack: list[tuple[Block, ast.AST | None, Iterator[ast.stmt]]] = [(module.body, None, iter(body))]
        while stack:
            block, owner, statements = stack[-1]
            stmt = next(statements, None)
            if stmt is None:
                stack.pop()
                self.close(block)
                continue
            self.order += 2
            site = Site(block.scope, block, self.order)
            self.sites[stmt] = site
            if owner is not None:
                self.parents[stmt] = owner
            handler = HANDLERS.get(type(stmt))
            bodies = handler(self, stmt, site) if handler is not None else []
            stack += [(inner, node, iter(statements)) for inner, node, statements in bodies[::-1]]

    # --- scopes and blocks -------------------------------------------------------------

    def open_scope(self, kind: str, node: Any, site: Site | None) -> Scope:
        parent = site.scope if site is not None else None
        scope = Scope(kind, node, self.file, site, parent)
        scope.body = Block("body", scope, owner=node)
        self.file.scopes.append(scope)
        if parent is not None:
            parent.children.append(scope)
        return scope

    def open_block(self, kind: str, site: Site, owner: ast.AST, arm: int = 0, under: Block | None = None) -> Block:
        block = Block(kind, site.scope, under or site.block, owner, arm)
        self.file.arms.setdefault(owner, []).append(block)
        return block

    def close(self, block: Block) -> None:
        """Let an ``if`` whose arms all end the same way end its own block that way."""
        parent = block.parent
        if block.kind == "else" and parent is not None and block.owner is not None and not parent.exits:
            first = self.file.arms[block.owner][0]
            if block.exits and block.exits == first.exits:
                parent.exits = block.exits

    # --- names -------------------------------------------------------------------------

    def bind(
        self,
        name: str,
        kind: str,
        node: ast.AST,
        site: Site,
        value: ast.expr | None = None,
        path: Path = (),
        alias: ast.alias | None = None,
    ) -> None:
        scope = site.scope
        binding = Binding(name, kind, Site(scope, site.block, site.order + 1), node, value, path, alias)
        scope.bindings.setdefault(name, []).append(binding)
        where = scope.outer.get(name)
        if where is not None:
            home: Scope | None = self.file.module if where == "global" else scope.parent
            while home is not None and where == "nonlocal" and home.kind != "module" and name not in home.bindings:
                home = home.parent
            if home is not None:
                home.remote.setdefault(name, []).append(binding)

    def bind_target(
        self, target: ast.expr, kind: str, node: ast.AST, site: Site, value: ast.expr | None, op: str = ""
    ) -> None:
        stack: list[tuple[ast.expr, Path]] = [(target, ())]
        while stack:
            item, path = stack.pop()
            match item:
                case ast.Name():
                    self.sites[item] = site
                    self.parents[item] = node
                    self.bind(item.id, kind, node, site, value, path)
                case ast.Tuple() | ast.List() | ast.Set():
                    self.sites[item] = site
                    self.parents[item] = node
                    stack.extend((part, (*path, at)) for part, at in _positions(item.elts))
                case ast.Attribute() | ast.Subscript():
                    self.store(item, kind, node, site, value, path, op)
                case _:
                    self.visit(item, node, site)

    def store(
        self,
        target: ast.Attribute | ast.Subscript,
        kind: str,
        node: ast.AST,
        site: Site,
        value: ast.expr | None,
        path: Path,
        op: str,
    ) -> None:
        self.visit(target, node, site)
        if isinstance(node, ast.stmt):
            made = Store(node, target, value, path, site, op or ("" if kind == "assign" else kind))
            site.scope.stores.append(made)
            if isinstance(target, ast.Attribute):
                self.file.stores[target.attr].append(made)
        name = dotted(target)
        if name is not None:
            self.bind(name, kind, node, site, value, path)
        elif isinstance(target, ast.Subscript):
            holder = dotted(target.value)
            if holder is not None:
                kind = "delete" if op == "del" else "item"
                self.change(Change(holder, kind, node, target.slice, value if not path else None, site))

    def change(self, change: Change) -> None:
        change.site.scope.changes[change.name].append(change)

    # --- expressions -------------------------------------------------------------------

    def visit(self, root: ast.AST | None, parent: ast.AST, site: Site) -> None:
        if root is None:
            return
        sites, parents = self.sites, self.parents
        stack = [(root, parent, site)]
        while stack:
            node, above, at = stack.pop()
            sites[node] = at
            parents[node] = above
            if isinstance(node, ast.Name):
                at.scope.loads[node.id].append(node)
            elif isinstance(node, ast.Attribute):
                stack.append((node.value, node, at))
            elif not isinstance(node, ast.Constant):
                special = EXPRESSIONS.get(type(node))
                if special is None or not special(self, node, at, stack):
                    stack += [(child, node, at) for child in children(node)[::-1]]

    def call(self, node: ast.Call, site: Site, _stack: Any) -> bool:
        site.scope.calls.append(node)
        func = node.func
        if isinstance(func, ast.Attribute):
            self.file.methods[func.attr].append(node)
            if func.attr in MUTATORS:
                inner = isinstance(func.value, ast.Subscript)
                holder = dotted(func.value.value if isinstance(func.value, ast.Subscript) else func.value)
                if holder is not None:
                    value = node.args[0] if node.args else None
                    self.change(Change(holder, "inner" if inner else func.attr, node, None, value, site))
        elif isinstance(func, ast.Name):
            self.file.methods[func.id].append(node)
        elif isinstance(func, ast.Subscript | ast.Call):
            self.file.methods[PICKED].append(node)
        return False

    def comprehension(self, node: Comprehension, site: Site, stack: list[tuple[ast.AST, ast.AST, Site]]) -> bool:
        scope = self.open_scope("comprehension", node, site)
        self.order += 2
        inner = Site(scope, scope.body, self.order)
        later: list[tuple[ast.AST, ast.AST, Site]] = []
        for at, clause in enumerate(node.generators):
            self.sites[clause] = inner
            self.parents[clause] = node
            later.append((clause.iter, clause, site if at == 0 else inner))
            self.bind_target(clause.target, "for", clause, inner, clause.iter)
            scope.loops.append(Loop(clause, site if at == 0 else inner, scope.body))
            later.extend((test, clause, inner) for test in clause.ifs)
        self.order += 2
        inner = Site(scope, scope.body, self.order)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        later.extend((part, node, inner) for part in parts)
        stack.extend(reversed(later))
        return True

    def lambda_(self, node: ast.Lambda, site: Site, stack: list[tuple[ast.AST, ast.AST, Site]]) -> bool:
        scope = self.open_scope("lambda", node, site)
        self.parameters(node.args, node, scope, site)
        self.order += 2
        stack.append((node.body, node, Site(scope, scope.body, self.order)))
        return True

    def parameters(self, arguments: ast.arguments, node: ast.AST, scope: Scope, outer: Site) -> None:
        inside = Site(scope, scope.body, self.order)
        scope.params = tuple(parameters(arguments))
        for param in scope.params:
            self.sites[param.node] = inside
            self.parents[param.node] = node
            self.visit(param.default, param.node, outer)
            self.visit(param.node.annotation, param.node, outer)
            self.bind(param.name, "param", param.node, inside)

    def walrus(self, node: ast.NamedExpr, site: Site, _stack: Any) -> bool:
        home = site
        while home.scope.kind == "comprehension" and home.scope.site is not None:
            home = home.scope.site
        if isinstance(node.target, ast.Name):
            self.bind(node.target.id, "assign", node, home, node.value)
        return False

    def f_string(self, node: ast.JoinedStr, _site: Site, _stack: Any) -> bool:
        place_fields(node)
        return False

    def yield_(self, node: ast.Yield | ast.YieldFrom, site: Site, _stack: Any) -> bool:
        site.scope.function.yields.append(node)
        return False

    # --- statements --------------------------------------------------------------------

    def assign(self, stmt: ast.Assign, site: Site) -> Bodies:
        self.visit(stmt.value, stmt, site)
        for target in stmt.targets:
            self.bind_target(target, "assign", stmt, site, stmt.value)
        return []

    def annotate(self, stmt: ast.AnnAssign, site: Site) -> Bodies:
        self.visit(stmt.value, stmt, site)
        self.visit(stmt.annotation, stmt, site)
        if stmt.value is not None or site.scope.kind == "class":
            self.bind_target(stmt.target, "assign", stmt, site, stmt.value)
        return []

    def type_alias(self, stmt: Any, site: Site) -> Bodies:
        """``type X = …`` binds X as an assignment does."""
        self.visit(stmt.value, stmt, site)
        self.bind_target(stmt.name, "assign", stmt, site, stmt.value)
        return []

    def augment(self, stmt: ast.AugAssign, site: Site) -> Bodies:
        self.visit(stmt.value, stmt, site)
        self.bind_target(stmt.target, "augment", stmt, site, stmt.value, type(stmt.op).__name__)
        return []

    def plain(self, stmt: ast.stmt, site: Site) -> Bodies:
        for child in children(stmt):
            self.visit(child, stmt, site)
        match stmt:
            case ast.Return():
                site.scope.function.returns.append(stmt)
                site.block.exits = site.block.exits or "leave"
            case ast.Raise():
                site.block.exits = site.block.exits or "leave"
            case ast.Expr(value=ast.Call(func=func)) if dotted(func) in EXITS:
                site.block.exits = site.block.exits or "leave"
            case ast.Break():
                site.block.exits = site.block.exits or "break"
            case ast.Continue():
                site.block.exits = site.block.exits or "continue"
            case _:
                pass
        return []

    def delete(self, stmt: ast.Delete, site: Site) -> Bodies:
        for target in stmt.targets:
            self.bind_target(target, "delete", stmt, site, None, "del")
        return []

    def declare(self, stmt: ast.Global | ast.Nonlocal, site: Site) -> Bodies:
        for name in stmt.names:
            site.scope.outer[name] = "global" if isinstance(stmt, ast.Global) else "nonlocal"
        return []

    def imports(self, stmt: ast.Import | ast.ImportFrom, site: Site) -> Bodies:
        for alias in stmt.names:
            if isinstance(stmt, ast.Import):
                self.bind(alias.asname or alias.name.partition(".")[0], "import", stmt, site, alias=alias)
                continue
            name = alias.asname or alias.name
            self.bind(name, "from", stmt, site, alias=alias)
            if name != alias.name:
                self.file.renamed[alias.name][name] = None
        return []

    def if_(self, stmt: ast.If, site: Site) -> Bodies:
        self.visit(stmt.test, stmt, site)
        bodies: Bodies = [(self.open_block("if", site, stmt), stmt, stmt.body)]
        if stmt.orelse:
            bodies.append((self.open_block("else", site, stmt, 1), stmt, stmt.orelse))
        return bodies

    def for_(self, stmt: ForStatement, site: Site) -> Bodies:
        self.visit(stmt.iter, stmt, site)
        block = self.open_block("for", site, stmt)
        self.bind_target(stmt.target, "for", stmt, Site(site.scope, block, site.order), stmt.iter)
        site.scope.loops.append(Loop(stmt, site, block))
        return [(block, stmt, stmt.body), *self.loop_else(stmt, site)]

    def while_(self, stmt: ast.While, site: Site) -> Bodies:
        block = self.open_block("while", site, stmt)
        self.visit(stmt.test, stmt, Site(site.scope, block, site.order))
        site.scope.loops.append(Loop(stmt, site, block))
        return [(block, stmt, stmt.body), *self.loop_else(stmt, site)]

    def loop_else(self, stmt: ForStatement | ast.While, site: Site) -> Bodies:
        return [(self.open_block("loop-else", site, stmt, 1), stmt, stmt.orelse)] if stmt.orelse else []

    def with_(self, stmt: WithStatement, site: Site) -> Bodies:
        for item in stmt.items:
            self.sites[item] = site
            self.parents[item] = stmt
            self.visit(item.context_expr, item, site)
            if item.optional_vars is not None:
                self.bind_target(item.optional_vars, "with", item, site, item.context_expr)
        return [(site.block, stmt, stmt.body)]

    def try_(self, stmt: TryStatement, site: Site) -> Bodies:
        body = self.open_block("try", site, stmt)
        bodies: Bodies = [(body, stmt, stmt.body)]
        for arm, handler in enumerate(stmt.handlers, 1):
            block = self.open_block("except", site, stmt, arm)
            self.sites[handler] = site
            self.parents[handler] = stmt
            self.visit(handler.type, handler, site)
            if handler.name is not None:
                self.bind(handler.name, "except", handler, Site(site.scope, block, site.order))
            bodies.append((block, handler, handler.body))
        if stmt.orelse:
            bodies.insert(1, (self.open_block("try-else", site, stmt, 0, under=body), stmt, stmt.orelse))
        if stmt.finalbody:
            bodies.append((site.block, stmt, stmt.finalbody))
        return bodies

    def match_(self, stmt: ast.Match, site: Site) -> Bodies:
        self.visit(stmt.subject, stmt, site)
        bodies: Bodies = []
        for arm, case in enumerate(stmt.cases):
            block = self.open_block("case", site, stmt, arm)
            inside = Site(site.scope, block, site.order)
            self.sites[case] = inside
            self.parents[case] = stmt
            for name in captures(case.pattern):
                self.bind(name, "case", case, inside)
            self.visit(case.guard, case, inside)
            bodies.append((block, case, case.body))
        return bodies

    def function(self, stmt: FunctionDefinition, site: Site) -> Bodies:
        for decorator in stmt.decorator_list:
            self.visit(decorator, stmt, site)
        self.visit(stmt.returns, stmt, site)
        self.bind(stmt.name, "def", stmt, site)
        scope = self.open_scope("function", stmt, site)
        self.parameters(stmt.args, stmt, scope, site)
        return [(scope.body, stmt, stmt.body)]

    def class_(self, stmt: ast.ClassDef, site: Site) -> Bodies:
        for child in (*stmt.decorator_list, *stmt.bases, *stmt.keywords):
            self.visit(child, stmt, site)
        self.bind(stmt.name, "class", stmt, site)
        scope = self.open_scope("class", stmt, site)
        return [(scope.body, stmt, stmt.body)]


def _positions(items: list[ast.expr]) -> Iterator[tuple[ast.expr, int | None]]:
    """The parts of an unpacked target with their indices: from the end after a star, None for the star itself."""
    starred = False
    for at, item in enumerate(items):
        if isinstance(item, ast.Starred):
            starred = True
            yield item.value, None
        else:
            yield item, at - len(items) if starred else at


_Handler = Callable[[_Walk, Any, Site], Bodies]
HANDLERS: dict[type[ast.AST], _Handler] = {
    ast.Assign: _Walk.assign,
    ast.AnnAssign: _Walk.annotate,
    ast.AugAssign: _Walk.augment,
    ast.Expr: _Walk.plain,
    ast.Return: _Walk.plain,
    ast.Raise: _Walk.plain,
    ast.Assert: _Walk.plain,
    ast.Break: _Walk.plain,
    ast.Continue: _Walk.plain,
    ast.Delete: _Walk.delete,
    ast.Global: _Walk.declare,
    ast.Nonlocal: _Walk.declare,
    ast.Import: _Walk.imports,
    ast.ImportFrom: _Walk.imports,
    ast.If: _Walk.if_,
    ast.For: _Walk.for_,
    ast.AsyncFor: _Walk.for_,
    ast.While: _Walk.while_,
    ast.With: _Walk.with_,
    ast.AsyncWith: _Walk.with_,
    ast.Try: _Walk.try_,
    ast.TryStar: _Walk.try_,
    ast.Match: _Walk.match_,
    ast.FunctionDef: _Walk.function,
    ast.AsyncFunctionDef: _Walk.function,
    ast.ClassDef: _Walk.class_,
}
if hasattr(ast, "TypeAlias"):  # from Python 3.12 on
    HANDLERS[ast.TypeAlias] = _Walk.type_alias

EXPRESSIONS: dict[type[ast.AST], Callable[[_Walk, Any, Site, Any], bool]] = {
    ast.Call: _Walk.call,
    ast.ListComp: _Walk.comprehension,
    ast.SetComp: _Walk.comprehension,
    ast.DictComp: _Walk.comprehension,
    ast.GeneratorExp: _Walk.comprehension,
    ast.Lambda: _Walk.lambda_,
    ast.NamedExpr: _Walk.walrus,
    ast.Yield: _Walk.yield_,
    ast.YieldFrom: _Walk.yield_,
}
if not KNOWS_FIELDS:
    EXPRESSIONS[ast.JoinedStr] = _Walk.f_string
"""Expressions that do more than hold others; True when their children are dealt with."""
