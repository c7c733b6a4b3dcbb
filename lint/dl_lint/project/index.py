"""One walk over a file's tree that finds its scopes, blocks, bindings, loops, calls and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dl_lint.facts import tree as t
from dl_lint.project.scopes import Binding, Block, Change, FileIndex, Loop, Parents, Path, Scope, Site, Sites, Store
from dl_lint.project.syntax import children, dotted

MUTATORS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "clear"})
EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})

Bodies = list[tuple[Block, t.Node | None, Iterable[t.Stmt]]]
"""Bodies still to be walked: the block that they run in, the node they belong to, and their statements."""


def index_file(path: str, body: tuple[t.Stmt, ...], linted: bool, sites: Sites, parents: Parents) -> FileIndex:
    """Index one file; ``sites`` and ``parents`` are shared by the whole project and filled here."""
    file = FileIndex(path, linted)
    walk = _Walk(file, sites, parents)
    walk.run(body)
    return file


class _Walk:
    """The state of one walk: an explicit stack, so that deep code does not overflow Python's own."""

    def __init__(self, file: FileIndex, sites: Sites, parents: Parents) -> None:
        self.file = file
        self.sites = sites
        self.parents = parents
        self.order = 0

    def run(self, body: tuple[t.Stmt, ...]) -> None:
        self.file.module = module = self.open_scope("module", None, None)
        stack: list[tuple[Block, t.Node | None, Iterator[t.Stmt]]] = [(module.body, None, iter(body))]
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
            bodies = HANDLERS[type(stmt)](self, stmt, site)
            stack.extend((inner, node, iter(statements)) for inner, node, statements in reversed(bodies))

    # --- scopes and blocks -------------------------------------------------------------

    def open_scope(self, kind: str, node: Any, site: Site | None) -> Scope:
        parent = site.scope if site is not None else None
        scope = Scope(kind, node, self.file, site, parent)
        scope.body = Block("body", scope, owner=node)
        self.file.scopes.append(scope)
        if parent is not None:
            parent.children.append(scope)
        return scope

    def open_block(self, kind: str, site: Site, owner: t.Node, arm: int = 0, under: Block | None = None) -> Block:
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
        self, name: str, kind: str, node: t.Node, site: Site, value: t.Expr | None = None, path: Path = ()
    ) -> None:
        scope = site.scope
        binding = Binding(name, kind, Site(scope, site.block, site.order + 1), node, value, path)
        scope.bindings.setdefault(name, []).append(binding)
        if type(node) is t.ImportFrom and node.attr != name:
            self.file.renamed[node.attr].add(name)
        where = scope.outer.get(name)
        if where is not None:
            home: Scope | None = self.file.module if where == "global" else scope.parent
            while home is not None and where == "nonlocal" and home.kind != "module" and name not in home.bindings:
                home = home.parent
            if home is not None:
                home.remote.setdefault(name, []).append(binding)

    def bind_target(
        self, target: t.Expr, kind: str, node: t.Node, site: Site, value: t.Expr | None, op: str = ""
    ) -> None:
        stack: list[tuple[t.Expr, Path]] = [(target, ())]
        while stack:
            item, path = stack.pop()
            match item:
                case t.Name():
                    self.sites[item] = site
                    self.parents[item] = node
                    self.bind(item.id, kind, node, site, value, path)
                case t.Sequence():
                    self.sites[item] = site
                    self.parents[item] = node
                    stack.extend((part, (*path, at)) for part, at in _positions(item.items))
                case t.Attribute() | t.Subscript():
                    self.store(item, kind, node, site, value, path, op)
                case _:
                    self.visit(item, node, site)

    def store(
        self,
        target: t.Attribute | t.Subscript,
        kind: str,
        node: t.Node,
        site: Site,
        value: t.Expr | None,
        path: Path,
        op: str,
    ) -> None:
        self.visit(target, node, site)
        if isinstance(node, t.Stmt):
            made = Store(node, target, value, path, site, op or ("" if kind == "assign" else kind))
            site.scope.stores.append(made)
            if isinstance(target, t.Attribute):
                self.file.stores[target.attr].append(made)
        name = dotted(target)
        if name is not None:
            self.bind(name, kind, node, site, value, path)
        elif isinstance(target, t.Subscript):
            holder = dotted(target.value)
            if holder is not None:
                kind = "delete" if op == "del" else "item"
                self.change(Change(holder, kind, node, target.index, value if not path else None, site))

    def change(self, change: Change) -> None:
        change.site.scope.changes[change.name].append(change)

    # --- expressions -------------------------------------------------------------------

    def visit(self, root: t.Node | None, parent: t.Node, site: Site) -> None:
        if root is None:
            return
        sites, parents = self.sites, self.parents
        stack = [(root, parent, site)]
        while stack:
            node, above, at = stack.pop()
            sites[node] = at
            parents[node] = above
            kind = type(node)
            if isinstance(node, t.Name):
                at.scope.loads[node.id].append(node)
                continue
            if kind is t.Constant:
                continue
            special = EXPRESSIONS.get(kind)
            if special is not None and special(self, node, at, stack):
                continue
            stack.extend((child, node, at) for child in reversed(children(node)))

    def call(self, node: t.Call, site: Site, _stack: Any) -> bool:
        site.scope.calls.append(node)
        func = node.func
        if isinstance(func, t.Attribute):
            self.file.methods[func.attr].append(node)
            if func.attr in MUTATORS:
                inner = isinstance(func.value, t.Subscript)
                holder = dotted(func.value.value if isinstance(func.value, t.Subscript) else func.value)
                if holder is not None:
                    value = node.args[0] if node.args else None
                    self.change(Change(holder, "inner" if inner else func.attr, node, None, value, site))
        elif isinstance(func, t.Name):
            self.file.methods[func.id].append(node)
        return False

    def comprehension(self, node: t.Comprehension, site: Site, stack: list[tuple[t.Node, t.Node, Site]]) -> bool:
        scope = self.open_scope("comprehension", node, site)
        self.order += 2
        inner = Site(scope, scope.body, self.order)
        later: list[tuple[t.Node, t.Node, Site]] = []
        for at, clause in enumerate(node.generators):
            self.sites[clause] = inner
            self.parents[clause] = node
            later.append((clause.iter, clause, site if at == 0 else inner))
            self.bind_target(clause.target, "for", clause, inner, clause.iter)
            scope.loops.append(Loop(clause, site if at == 0 else inner, scope.body))
            later.extend((test, clause, inner) for test in clause.ifs)
        self.order += 2
        inner = Site(scope, scope.body, self.order)
        later.extend((part, node, inner) for part in (node.key, node.element) if part is not None)
        stack.extend(reversed(later))
        return True

    def lambda_(self, node: t.Lambda, site: Site, stack: list[tuple[t.Node, t.Node, Site]]) -> bool:
        scope = self.open_scope("lambda", node, site)
        self.parameters(node.params, node, scope, site)
        self.order += 2
        stack.append((node.body, node, Site(scope, scope.body, self.order)))
        return True

    def parameters(self, params: tuple[t.Param, ...], node: t.Node, scope: Scope, outer: Site) -> None:
        inside = Site(scope, scope.body, self.order)
        for param in params:
            self.sites[param] = inside
            self.parents[param] = node
            self.visit(param.default, param, outer)
            self.visit(param.annotation, param, outer)
            self.bind(param.name, "param", param, inside)

    def walrus(self, node: t.Walrus, site: Site, _stack: Any) -> bool:
        home = site
        while home.scope.kind == "comprehension" and home.scope.site is not None:
            home = home.scope.site
        if isinstance(node.target, t.Name):
            self.bind(node.target.id, "assign", node, home, node.value)
        return False

    def yield_(self, node: t.Yield, site: Site, _stack: Any) -> bool:
        site.scope.function.yields.append(node)
        return False

    # --- statements --------------------------------------------------------------------

    def assign(self, stmt: t.Assign, site: Site) -> Bodies:
        self.visit(stmt.value, stmt, site)
        self.visit(stmt.annotation, stmt, site)
        if stmt.value is not None or site.scope.kind == "class":
            for target in stmt.targets:
                self.bind_target(target, "assign", stmt, site, stmt.value)
        return []

    def augment(self, stmt: t.AugAssign, site: Site) -> Bodies:
        self.visit(stmt.value, stmt, site)
        self.bind_target(stmt.target, "augment", stmt, site, stmt.value, stmt.op)
        return []

    def plain(self, stmt: t.Stmt, site: Site) -> Bodies:
        for child in children(stmt):
            self.visit(child, stmt, site)
        match stmt:
            case t.Return():
                site.scope.function.returns.append(stmt)
                site.block.exits = site.block.exits or "leave"
            case t.Raise():
                site.block.exits = site.block.exits or "leave"
            case t.ExprStmt(value=t.Call(func=func)) if dotted(func) in EXITS:
                site.block.exits = site.block.exits or "leave"
            case t.Jump(kind="break" | "continue"):
                site.block.exits = site.block.exits or stmt.kind
            case _:
                pass
        return []

    def delete(self, stmt: t.Delete, site: Site) -> Bodies:
        for target in stmt.targets:
            self.bind_target(target, "delete", stmt, site, None, "del")
        return []

    def declare(self, stmt: t.Scope, site: Site) -> Bodies:
        for name in stmt.names:
            site.scope.outer[name] = stmt.kind
        return []

    def imports(self, stmt: t.Import | t.ImportFrom, site: Site) -> Bodies:
        self.bind(stmt.name, "import" if isinstance(stmt, t.Import) else "from", stmt, site)
        return []

    def if_(self, stmt: t.If, site: Site) -> Bodies:
        self.visit(stmt.test, stmt, site)
        bodies: Bodies = [(self.open_block("if", site, stmt), stmt, stmt.body)]
        if stmt.orelse:
            bodies.append((self.open_block("else", site, stmt, 1), stmt, stmt.orelse))
        return bodies

    def for_(self, stmt: t.For, site: Site) -> Bodies:
        self.visit(stmt.iter, stmt, site)
        block = self.open_block("for", site, stmt)
        self.bind_target(stmt.target, "for", stmt, Site(site.scope, block, site.order), stmt.iter)
        site.scope.loops.append(Loop(stmt, site, block))
        return [(block, stmt, stmt.body), *self.loop_else(stmt, site)]

    def while_(self, stmt: t.While, site: Site) -> Bodies:
        block = self.open_block("while", site, stmt)
        self.visit(stmt.test, stmt, Site(site.scope, block, site.order))
        site.scope.loops.append(Loop(stmt, site, block))
        return [(block, stmt, stmt.body), *self.loop_else(stmt, site)]

    def loop_else(self, stmt: t.For | t.While, site: Site) -> Bodies:
        return [(self.open_block("loop-else", site, stmt, 1), stmt, stmt.orelse)] if stmt.orelse else []

    def with_(self, stmt: t.With, site: Site) -> Bodies:
        for item in stmt.items:
            self.sites[item] = site
            self.parents[item] = stmt
            self.visit(item.value, item, site)
            if item.target is not None:
                self.bind_target(item.target, "with", item, site, item.value)
        return [(site.block, stmt, stmt.body)]

    def try_(self, stmt: t.Try, site: Site) -> Bodies:
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
        if stmt.final:
            bodies.append((site.block, stmt, stmt.final))
        return bodies

    def match_(self, stmt: t.Match, site: Site) -> Bodies:
        self.visit(stmt.subject, stmt, site)
        bodies: Bodies = []
        for arm, case in enumerate(stmt.cases):
            block = self.open_block("case", site, stmt, arm)
            inside = Site(site.scope, block, site.order)
            self.sites[case] = inside
            self.parents[case] = stmt
            for name in case.names:
                self.bind(name, "case", case, inside)
            self.visit(case.guard, case, inside)
            bodies.append((block, case, case.body))
        return bodies

    def function(self, stmt: t.FunctionDef, site: Site) -> Bodies:
        for decorator in stmt.decorators:
            self.visit(decorator, stmt, site)
        self.visit(stmt.returns, stmt, site)
        self.bind(stmt.name, "def", stmt, site)
        scope = self.open_scope("function", stmt, site)
        self.parameters(stmt.params, stmt, scope, site)
        return [(scope.body, stmt, stmt.body)]

    def class_(self, stmt: t.ClassDef, site: Site) -> Bodies:
        for child in (*stmt.decorators, *stmt.bases, *stmt.keywords):
            self.visit(child, stmt, site)
        self.bind(stmt.name, "class", stmt, site)
        scope = self.open_scope("class", stmt, site)
        return [(scope.body, stmt, stmt.body)]


def _positions(items: tuple[t.Expr, ...]) -> Iterator[tuple[t.Expr, int | None]]:
    """The parts of an unpacked target with their indices: from the end after a star, None for the star itself."""
    starred = False
    for at, item in enumerate(items):
        if isinstance(item, t.Starred):
            starred = True
            yield item.value, None
        else:
            yield item, at - len(items) if starred else at


_Handler = Callable[[_Walk, Any, Site], Bodies]
HANDLERS: dict[type[t.Stmt], _Handler] = {
    t.Assign: _Walk.assign,
    t.AugAssign: _Walk.augment,
    t.ExprStmt: _Walk.plain,
    t.Return: _Walk.plain,
    t.Raise: _Walk.plain,
    t.Assert: _Walk.plain,
    t.Jump: _Walk.plain,
    t.Delete: _Walk.delete,
    t.Scope: _Walk.declare,
    t.Import: _Walk.imports,
    t.ImportFrom: _Walk.imports,
    t.If: _Walk.if_,
    t.For: _Walk.for_,
    t.While: _Walk.while_,
    t.With: _Walk.with_,
    t.Try: _Walk.try_,
    t.Match: _Walk.match_,
    t.FunctionDef: _Walk.function,
    t.ClassDef: _Walk.class_,
}

EXPRESSIONS: dict[type[t.Node], Callable[[_Walk, Any, Site, Any], bool]] = {
    t.Call: _Walk.call,
    t.Comprehension: _Walk.comprehension,
    t.Lambda: _Walk.lambda_,
    t.Walrus: _Walk.walrus,
    t.Yield: _Walk.yield_,
}
"""Expressions that do more than hold others; True when their children are dealt with."""
