"""The project as rules see it: a small set of queries over all files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.context import torch_version
from dl_lint.flow import call_graph, enclosing, models
from dl_lint.flow.hints import NO_HINTS, Hints
from dl_lint.flow.imports import Content, Files, Read
from dl_lint.flow.interpreter import classes, names
from dl_lint.flow.program import Program
from dl_lint.pipeline import datasets, loaders, loops
from dl_lint.transfers import copies

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator

    from dl_lint.context.torch_version import Target
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.scopes import Binding, Scope
    from dl_lint.flow.values import Class, Frame, Loader, Made, Sampler, Value
    from dl_lint.pipeline.loaders import Argument, Pins, Workers
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.source.packaging import Around
    from dl_lint.transfers.copies import Transfer


class Project(Program):
    """All linted files with what is known of their loaders, loops, datasets and transfers."""

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
        found = Files(root, read, content, around, models.known(hints.models))
        return cls(found, found.add(files), hints)

    # --- values ------------------------------------------------------------------------

    def bound_value(self, binding: Binding) -> Value:
        """What a binding gives its name, without the changes made in place later."""
        return names.bound_value(self, binding)

    def argument(self, made: Made, name: str) -> Argument:
        """An argument of the constructor of a loader, a sampler or another outside object."""
        return loaders.argument(self, made, name)

    def passed(self, call: ast.Call, name: str, *positions: str) -> Argument:
        """An argument of any call whose callee takes ``positions`` in order."""
        return loaders.passed(self, call, name, *positions)

    def target(self, near: ast.AST) -> Target:
        """Which torch the code of ``near`` is for: as configured, else as its project says."""
        return torch_version.target(self, near)

    # --- calls and stores ---------------------------------------------------------------

    def callers(self, function: Scope) -> tuple[Frame, ...]:
        """The known calls of a function of the project."""
        return call_graph.callers(self, function)

    # --- loaders -----------------------------------------------------------------------

    def loaders(self) -> tuple[Loader, ...]:
        """Every construction of a DataLoader, of a subclass or of kin in other libraries."""
        return loaders.all_loaders(self)

    def samplers(self) -> tuple[Sampler, ...]:
        """Every construction of a sampler of torch or of a subclass of one."""
        return loaders.all_samplers(self)

    def workers(self, loader: Loader) -> Workers:
        """some, none, default-none (none unless the user asks for some) or unknown (possibly some)."""
        return loaders.workers(self, loader)

    def may_have_workers(self, loader: Loader) -> bool:
        """Whether a loader has workers at least in some runs: a literal, an option's default, a branch says so."""
        return loaders.may_have_workers(self, loader)

    def pins(self, loader: Loader) -> Pins:
        """yes (where an accelerator is there), no or unknown."""
        return loaders.pins(self, loader)

    # --- loops and batches --------------------------------------------------------------

    def loader_loops(self) -> tuple[LoaderLoop, ...]:
        """Every loop over the batches of a loader: for, comprehension, and ``next(iterator)`` in any loop."""
        return loops.loader_loops(self)

    def drained_again(self) -> Iterator[tuple[Loader, LoopNode]]:
        """The loaders that a generator hands on whole, with the loop that does so again and again."""
        return loops.drained_again(self)

    def begun_again(self) -> Iterator[tuple[Loader, LoopNode]]:
        """The loaders of which a method keeps a new iterator each time that a loop comes to it."""
        return loops.begun_again(self)

    def iterated_loaders(self, expr: ast.expr) -> tuple[tuple[Loader, ...], bool]:
        """The loaders whose batches iterating ``expr`` gives, and whether it can be nothing else."""
        return loops.loaders_iterated(self, expr)

    def repeated_by(self, loop: LoaderLoop, loader: Loader) -> LoopNode | None:
        """The loop (an epoch loop, as a rule) that iterates the same ``loader`` again; it may stand in a caller."""
        return loops.repeated_by(self, loop, loader)

    def batches_in(self, value: Value) -> tuple[Loader, ...]:
        """The loaders whose batches ``value`` is, is part of or was computed from."""
        return loops.batches_in(value)

    def placement(self, value: Value) -> str:
        """Where a tensor lives: pinned, pageable, device, cpu, host, or unknown (also for what is no tensor)."""
        return loaders.placement(self, value)

    def transfers(self) -> Iterator[Transfer]:
        """Every call of to, cuda, cpu, pin_memory and copy_ on something that may be a tensor."""
        return copies.transfers(self)

    # --- datasets ----------------------------------------------------------------------

    def dataset_classes(self) -> tuple[datasets.DatasetClass, ...]:
        """The classes of the linted files whose objects are datasets."""
        return datasets.dataset_classes(self)

    def kept(self, cls: Class) -> Iterator[datasets.Kept]:
        """What the methods of a class and of its bases store on self, or change there in place."""
        return datasets.kept(self, cls)

    def reads(self, cls: Class) -> Iterator[datasets.Read]:
        """The attributes of self that are read while a sample is fetched."""
        return datasets.reads(self, cls)

    def fetching(self, cls: Class) -> tuple[Scope, ...]:
        """The functions that run in a worker for each sample: ``__getitem__``, ``__iter__`` and what they call."""
        return datasets.fetching(self, cls)

    def reachable(self, *roots: Scope) -> tuple[Scope, ...]:
        """The functions of the project that run when ``roots`` do, themselves first."""
        return call_graph.reachable(self, *roots)

    def external_bases(self, cls: Class) -> tuple[str, ...]:
        """The qualified names of what a class derives from outside the project."""
        return classes.external_bases(self, cls)

    # --- where things stand -------------------------------------------------------------

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        return enclosing.statement_of(self, node)

    def function_of(self, node: ast.AST) -> Scope:
        """The function, lambda, class or module whose code a node is."""
        return enclosing.function_of(self, node)

    def loops_around(self, node: ast.AST) -> Iterator[LoopNode]:
        """The loops that a node runs in, innermost first, within its function."""
        return enclosing.loops_around(self, node)

    def repeating(self, node: ast.AST) -> tuple[LoopNode, ...]:
        """The loops that run a node again: those around it, then those around the calls of its function."""
        return call_graph.repeating(self, node)

    def tests_around(self, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
        """The ``if`` tests that a node depends on, innermost first, with the outcome that it needs."""
        return enclosing.tests_around(self, node)

    def is_left_by_break(self, loop: LoopNode) -> bool:
        return enclosing.is_left_by_break(loop)

    def in_handler(self, node: ast.AST) -> bool:
        return enclosing.in_handler(self, node)

    def under_main_guard(self, node: ast.AST) -> bool:
        return enclosing.under_main_guard(self, node)

    def changes_in(self, expr: ast.AST, loop: LoopNode) -> bool:
        """Whether something that ``expr`` reads is bound, stored or changed inside ``loop``."""
        return enclosing.changes_in(self, expr, loop)
