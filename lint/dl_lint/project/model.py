"""The project as rules see it: a small set of queries over all files."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from dl_lint.hints import NO_HINTS, Hints
from dl_lint.project import (
    attributes,
    context,
    datasets,
    loaders,
    loops,
    names,
    reach,
    target,
    telling,
    tensors,
    transfers,
)
from dl_lint.project.evaluate import Evaluator
from dl_lint.project.modules import Content, Files, Read
from dl_lint.project.tokens import Tokens
from dl_lint.project.values import External, Loader, Made, Sampler, Value, alternatives
from dl_lint.rule import Place
from dl_lint.source.positions import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.around import Around
    from dl_lint.project.context import LoopNode
    from dl_lint.project.loaders import Argument, Pins, Workers
    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.scopes import Binding, FileIndex, Scope, Site, Store
    from dl_lint.project.target import Target
    from dl_lint.project.transfers import Transfer
    from dl_lint.project.values import Class, Frame
    from dl_lint.source.syntax import FunctionDefinition


class Project:
    """All linted files, linked. Everything is worked out on demand and once."""

    def __init__(self, files: Files, linted: list[FileIndex], hints: Hints = NO_HINTS) -> None:
        self.files: tuple[FileIndex, ...] = tuple(linted)
        self.hints = hints
        self.evaluator = Evaluator(files, linted, hints)
        self._tokens = Tokens(files)

    @classmethod
    def load(
        cls,
        files: Iterable[str],
        root: str,
        read: Read,
        content: Content = lambda _: None,
        hints: Hints = NO_HINTS,
        around: Around | None = None,
    ) -> Project:
        """Index the files to lint, by their paths as the user named them (absolute, or relative to ``root``).

        ``read`` parses a file, and gives None where that cannot be done. It is also asked for files that are only
        imported and therefore never linted, by path relative to ``root`` if inside it, else absolute. ``content`` gives
        a file's bytes where they may differ from those on disk, as in an editor or between two passes of fixes;
        ``around`` the files that are no code.
        """
        found = Files(root, read, content, around)
        return cls(found, found.add(files), hints)

    # --- values ------------------------------------------------------------------------

    def value(self, expr: ast.expr | None) -> Value:
        """What an expression stands for over all known callers of its function."""
        return self.evaluator.value(expr)

    def bound_value(self, binding: Binding) -> Value:
        """What a binding gives its name, without the changes made in place later."""
        return self.evaluator.resolve(names.of_binding(self.evaluator, binding))

    def argument(self, made: Made, name: str) -> Argument:
        """An argument of the constructor of a loader, a sampler or another outside object."""
        return loaders.argument(self.evaluator, made, name)

    def passed(self, call: ast.Call, name: str, *positions: str) -> Argument:
        """An argument of any call whose callee takes ``positions`` in order."""
        return loaders.passed(self.evaluator, call, name, positions)

    def target(self, near: ast.AST) -> Target:
        """Which torch the code of ``near`` is for: as configured, else as its project says."""
        return target.target(self, near)

    # --- calls and stores ---------------------------------------------------------------

    def calls(self, *qualified: str) -> Iterator[ast.Call]:
        """The calls of outside functions by their qualified names, such as ``torch.cuda.empty_cache``."""
        last = {name.rpartition(".")[2] for name in qualified}
        for file in self.files:
            names = last.union(*(file.renamed.get(name, ()) for name in last))
            found = (call for name in names for call in file.methods.get(name, ()))
            for call in sorted(found, key=span):
                callee = alternatives(self.evaluator.symbolic(call.func))
                if any(isinstance(one, External) and one.name in qualified for one in callee):
                    yield call

    def method_calls(self, *methods: str) -> Iterator[ast.Call]:
        """The calls of ``anything.method(…)``, by file, in source order."""
        for file in self.files:
            found = (call for name in methods for call in file.methods.get(name, ()))
            yield from sorted((call for call in found if isinstance(call.func, ast.Attribute)), key=span)

    def attribute_stores(self, *attributes: str) -> Iterator[Store]:
        """The assignments to ``anything.attribute``, by file, in source order."""
        for file in self.files:
            found = (store for name in attributes for store in file.stores.get(name, ()))
            yield from sorted(found, key=lambda store: span(store.target))

    def callers(self, function: Scope) -> tuple[Frame, ...]:
        """The known calls of a function of the project."""
        return self.evaluator.callers.of(function) or ()

    def mentions(self, near: ast.AST, word: str) -> bool:
        """Whether any Python file of the sub-project around ``near``, linted or not, holds ``word``."""
        return self._tokens.mentions(self.evaluator.sites[near].scope.file, word)

    def mentions_unlinted(self, near: ast.AST, word: str) -> bool:
        """Whether a Python file of the sub-project around ``near`` that is not linted holds ``word``."""
        return self._tokens.mentions_beyond(self.evaluator.sites[near].scope.file, word, self.files)

    def are_near(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two nodes stand in the same sub-project."""
        return self._tokens.are_near(self.evaluator.sites[one].scope.file, self.evaluator.sites[other].scope.file)

    # --- loaders -----------------------------------------------------------------------

    @cached_property
    def _made(self) -> tuple[tuple[Loader, ...], tuple[Sampler, ...]]:
        return loaders.constructions(self.evaluator)

    def loaders(self) -> tuple[Loader, ...]:
        """Every construction of a DataLoader, of a subclass or of kin in other libraries."""
        return self._made[0]

    def samplers(self) -> tuple[Sampler, ...]:
        """Every construction of a sampler of torch or of a subclass of one."""
        return self._made[1]

    def workers(self, loader: Loader) -> Workers:
        """some, none, default-none (none unless the user asks for some) or unknown (possibly some)."""
        return loaders.workers(self.evaluator, loader)

    def may_have_workers(self, loader: Loader) -> bool:
        """Whether a loader has workers at least in some runs: a literal, an option's default, a branch says so."""
        return loaders.may_have_workers(self.evaluator, loader)

    def pins(self, loader: Loader) -> Pins:
        """yes (where an accelerator is there), no or unknown."""
        return loaders.pins(self.evaluator, loader)

    # --- loops and batches --------------------------------------------------------------

    @cached_property
    def _loops(self) -> tuple[LoaderLoop, ...]:
        return tuple(loops.loader_loops(self.evaluator))

    def loader_loops(self) -> tuple[LoaderLoop, ...]:
        """Every loop over the batches of a loader: for, comprehension, and ``next(iterator)`` in any loop."""
        return self._loops

    def drained_again(self) -> Iterator[tuple[Loader, LoopNode]]:
        """The loaders that a generator hands on whole, with the loop that does so again and again."""
        return loops.drained_again(self.evaluator)

    def iterated_loaders(self, expr: ast.expr) -> tuple[tuple[Loader, ...], bool]:
        """The loaders whose batches iterating ``expr`` gives, and whether it can be nothing else."""
        return loops.iterated_loaders(self.evaluator, self.value(expr))

    def repeated_by(self, loop: LoaderLoop, loader: Loader) -> LoopNode | None:
        """The loop (an epoch loop, as a rule) that iterates the same ``loader`` again; it may stand in a caller."""
        return loops.repeated_by(self.evaluator, loop, loader)

    def batches_in(self, value: Value) -> tuple[Loader, ...]:
        """The loaders whose batches ``value`` is, is part of or was computed from."""
        return tuple(dict.fromkeys(loops.batches_in(value)))

    def placement(self, value: Value) -> str:
        """Where a tensor lives: pinned, pageable, device, cpu, host, or unknown (also for what is no tensor)."""
        found = {tensors.placed(self.evaluator, one) for one in alternatives(value)}
        return found.pop() if len(found) == 1 else "unknown"

    def transfers(self) -> Iterator[Transfer]:
        """Every call of to, cuda, cpu, pin_memory and copy_ on something that may be a tensor."""
        return transfers.transfers(self.evaluator)

    # --- datasets ----------------------------------------------------------------------

    @cached_property
    def _datasets(self) -> tuple[datasets.DatasetClass, ...]:
        return datasets.dataset_classes(self.evaluator, self.loaders())

    def dataset_classes(self) -> tuple[datasets.DatasetClass, ...]:
        """The classes of the linted files whose objects are datasets."""
        return self._datasets

    def kept(self, cls: Class) -> Iterator[datasets.Kept]:
        """What the methods of a class and of its bases store on self, or change there in place."""
        return datasets.kept(self.evaluator, cls)

    def reads(self, cls: Class) -> Iterator[datasets.Read]:
        """The attributes of self that are read while a sample is fetched."""
        return datasets.reads(self.evaluator, cls)

    def fetching(self, cls: Class) -> tuple[Scope, ...]:
        """The functions that run in a worker for each sample: ``__getitem__``, ``__iter__`` and what they call."""
        return datasets.fetching(self.evaluator, cls)

    def entered(self, call: ast.Call) -> tuple[Scope, ...]:
        """The functions of the project that a call enters."""
        return tuple(reach.functions(self.evaluator, self.value(call.func)))

    def reachable(self, *roots: Scope) -> tuple[Scope, ...]:
        """The functions of the project that run when ``roots`` do, themselves first."""
        return reach.reachable(self.evaluator, roots)

    def external_bases(self, cls: Class) -> tuple[str, ...]:
        """The qualified names of what a class derives from outside the project."""
        return attributes.external_bases(self.evaluator, cls)

    # --- where things stand -------------------------------------------------------------

    def place(self, node: ast.AST) -> Place:
        file = self.evaluator.sites[node].scope.file
        return Place(file.path, file.syntax.place(node))

    def told(self, place: Place) -> str:
        """A place in words, for messages: path and line, of a notebook cell and line."""
        return telling.told(self.evaluator, place)

    def path(self, node: ast.AST) -> str:
        return self.evaluator.sites[node].scope.file.path

    def site(self, node: ast.AST) -> Site:
        """The scope, the block and the place in the order of evaluation."""
        return self.evaluator.sites[node]

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.evaluator.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first, up to its file."""
        return context.ancestors(self.evaluator, node)

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        return context.statement_of(self.evaluator, node)

    def function_of(self, node: ast.AST) -> Scope:
        """The function, lambda, class or module whose code a node is."""
        return context.function_of(self.evaluator, node)

    def scope_of(self, node: FunctionDefinition | ast.ClassDef | ast.Lambda) -> Scope:
        """The scope that a definition opens."""
        return self.evaluator.scope_of(node)

    def loops_around(self, node: ast.AST) -> Iterator[LoopNode]:
        """The loops that a node runs in, innermost first, within its function."""
        return context.loops_around(self.evaluator, node)

    def repeating(self, node: ast.AST) -> tuple[LoopNode, ...]:
        """The loops that run a node again: those around it, then those around the calls of its function."""
        return context.repeating(self.evaluator, node)

    def tests_around(self, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
        """The ``if`` tests that a node depends on, innermost first, with the outcome that it needs."""
        return context.tests_around(self.evaluator, node)

    def is_left_by_break(self, loop: LoopNode) -> bool:
        return context.is_left_by_break(loop)

    def uses(self, near: ast.AST, name: str) -> Iterator[ast.expr]:
        """Where the dotted ``name`` is read in the file of ``near``."""
        return context.uses(self.evaluator, near, name)

    def in_handler(self, node: ast.AST) -> bool:
        return context.in_handler(self.evaluator, node)

    def under_main_guard(self, node: ast.AST) -> bool:
        return context.under_main_guard(self.evaluator, node)

    def changes_in(self, expr: ast.AST, loop: LoopNode) -> bool:
        """Whether something that ``expr`` reads is bound, stored or changed inside ``loop``."""
        return context.changes_in(self.evaluator, expr, loop)
