"""Operators of DL301: what a dataset keeps of every sample."""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from mutants.code import Code, behind_docstring, called, dotted, every, loaded, method, stored
from mutants.datasets import READERS, assigned, index_of, indexed, is_only_indexed, read_by_workers, waken
from mutants.edits import after, before, cut, name_of, replace
from mutants.loaders import has
from mutants.mutant import Fault, operator

if TYPE_CHECKING:
    from mutants.flow import Flow

Making = Iterator[Fault | Callable[[], Fault]]
ARRAYS = {"numpy.array", "numpy.asarray", "torch.tensor", "torch.LongTensor", "torch.FloatTensor", "torch.as_tensor",
          "torch.Tensor", "pyarrow.array"}  # fmt: skip
LOADED = {"numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.concatenate", "numpy.vstack", "numpy.hstack",
          "numpy.stack", "numpy.sort", "numpy.tile", "numpy.repeat", "torch.cat", "torch.stack", "torch.from_numpy",
          "numpy.arange", "numpy.random.permutation", "torch.arange", "torch.randperm"}  # fmt: skip
CONVERTED = {"to_numpy", "astype", "long", "float", "int"}
EMPTY = {"numpy.empty", "numpy.zeros", "numpy.fromfile", "numpy.frombuffer"}
SHUFFLES = ("shuffle", "sampler", "batch_sampler")
LAZY = {"range", "datasets.load_dataset", "datasets.load_from_disk"}
LISTS = {"append", "extend"}
WRITES = {"os.path.join", "os.path.basename", "os.path.dirname", "os.path.abspath", "pathlib.Path", "str"}
"""Make the text or the path of one sample."""


def _held(code: Code, flow: Flow) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef, ast.Assign, str]]:
    """The fields of datasets that workers read at the index, with the method that sets them before the first sample."""
    for cls in read_by_workers(flow):
        made = method(cls, "__init__")
        begun = [made] if made else []
        for call in every(made, ast.Call) if made else ():
            helper = method(cls, dotted(call.func).removeprefix("self."))
            if helper is not None and helper not in begun:
                begun.append(helper)
        for function in begun:
            for node, name in assigned(function):
                if indexed(cls, name) and is_only_indexed(code, cls, name):
                    yield cls, function, node, name


def _is_list(code: Code, function: ast.FunctionDef, value: ast.expr) -> bool:
    """Whether a value is known to be a list of something small for each sample, but not of what a reader returns."""
    if isinstance(value, ast.ListComp):
        return not READERS.search(code.text(value.elt)) and not isinstance(value.elt, ast.ListComp | ast.List)
    if isinstance(value, ast.Call) and called(value) in {"list", "sorted", "tolist", "readlines"}:
        return True
    name = dotted(value)
    grows = [
        it for it in every(function, ast.Call) if called(it) in LISTS and dotted(it.func).rpartition(".")[0] == name
    ]
    return bool(name and grows) and not any(READERS.search(code.text(it.args[0])) for it in grows if it.args)


@operator("DL301")
def keep_the_list(code: Code, flow: Flow) -> Making:
    """Drops ``np.array(…)`` or ``torch.tensor(…)`` around a list that a dataset grows or comprehends."""
    for cls, function, node, name in _held(code, flow):
        call = node.value
        while called(call) in CONVERTED and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            call = call.func.value
        if not (isinstance(call, ast.Call) and code.is_called(call, *ARRAYS) and call.args):
            continue
        source = call.args[0]
        if _is_list(code, function, source):
            edit = cut(code, node) if dotted(source) == name else replace(code, node.value, code.text(source))
            filled = [it for it, other in assigned(function) if other == name]
            yield Fault([edit, *waken(code, flow, cls)], [node, *filled])


@operator("DL301")
def make_a_list_of_an_array(code: Code, flow: Flow) -> Making:
    """Makes a list of an array, a range or the rows on disk that a field holds and ``__getitem__`` indexes."""
    for cls, _, node, _ in _held(code, flow):
        value = node.value
        lazy = isinstance(value, ast.Call) and code.is_called(value, *LAZY)
        if lazy or _is_array(code, value):
            text = f"list({code.text(value)})" if lazy else f"{code.text(value)}.tolist()"
            yield Fault([replace(code, value, text), *waken(code, flow, cls)], [node])


def _is_array(code: Code, value: ast.expr) -> bool:
    """Whether a value is known to be an array: made as one, a part of one, a column, or what a helper returns."""
    made = value.value if isinstance(value, ast.Subscript) else value  # of an archive, np.load(path)["rows"]
    if isinstance(made, ast.Attribute):
        return made.attr == "values" and b"pandas" in code.file(value).source
    if not isinstance(made, ast.Call):
        return False
    return code.is_called(made, *ARRAYS, *LOADED) or called(made) in {"to_numpy", "astype"} or _gives_array(code, made)


def _gives_array(code: Code, call: ast.Call) -> bool:
    """Whether a function of the checkout returns an array that it makes."""
    found = [it for it in code.definitions(call.func) if isinstance(it, ast.FunctionDef)]
    returned = [dotted(it.value) for function in found for it in every(function, ast.Return)]
    made = {
        name
        for function in found
        for it in every(function, ast.Assign)
        if isinstance(it.value, ast.Call) and code.is_called(it.value, *ARRAYS, *LOADED, *EMPTY)
        for name in stored(it)
    }
    return bool(returned) and all(name in made for name in returned)


# --- one more list ------------------------------------------------------------------------


@operator("DL301")
def keep_an_order(code: Code, flow: Flow) -> Making:
    """Keeps a list of shuffled indices and reads the sample that it names, as no loader of the dataset shuffles.

    Needs a dataset that builds no container of its own: it reads files by their number, an archive, or what it was
    given.
    """

    def make(made: ast.FunctionDef, read: ast.FunctionDef, index: str, cls: ast.ClassDef) -> Fault:
        torch = name_of(code.file(cls), "torch")
        kept = after(code, made.body[-1], f"self.order = {torch}.randperm(len(self)).tolist()")
        first = behind_docstring(read)
        edits = [kept, before(code, first, f"{index} = self.order[{index}]"), *waken(code, flow, cls)]
        return Fault(edits, [made.body[-1], first])

    for cls in read_by_workers(flow):
        made, read, index = method(cls, "__init__"), method(cls, "__getitem__"), index_of(cls)
        known = index and method(cls, "__len__") and not code.derived(cls) and "order" not in code.text(cls)
        if not (made and read and known) or isinstance(made.body[-1], ast.Return):
            continue
        loaders = flow.loaders_of(cls)
        plain = loaders and not any(has(flow, it, name) for it in loaders for name in SHUFFLES)
        if plain and _counts(code, read, index) and not _builds_containers(cls):
            yield partial(make, made, read, index, cls)


def _counts(code: Code, read: ast.FunctionDef, index: str) -> bool:
    """Whether the index of a ``__getitem__`` is a number, and neither unpacked nor a key."""
    for use in every(read, ast.Name):
        outer = code.up[use]
        taken = isinstance(outer, ast.Subscript | ast.Attribute | ast.Starred) and outer.value is use
        unpacked = isinstance(outer, ast.Assign) and outer.value is use and isinstance(outer.targets[0], ast.Tuple)
        over = isinstance(outer, ast.For | ast.comprehension) and outer.iter is use
        if use.id == index and (taken or unpacked or over or called(outer) in {"isinstance", "len"}):
            return False
    return not read.decorator_list and index != "_"


def _builds_containers(cls: ast.ClassDef) -> bool:
    """Whether a class fills a field that ``__getitem__`` reads at the index, other than with what it was given."""
    for function in cls.body:
        given = {it.arg for it in every(function, ast.arg)}
        for node, name in assigned(function) if isinstance(function, ast.FunctionDef) else ():
            of_class = called(node.value)[:1].isupper()
            if indexed(cls, name) and dotted(node.value) not in given and not of_class:
                return True
    return False


@operator("DL301")
def write_out_for_all(code: Code, flow: Flow) -> Making:
    """Keeps in a list what ``__getitem__`` puts together for its sample: a path or another text.

    Needs an expression of the index and of fields that nothing but ``__init__`` sets.
    """

    def make(cls: ast.ClassDef, made: ast.FunctionDef, value: ast.expr, whole: ast.expr) -> Fault:
        line = f"self.texts = [{_for_all(whole, index_of(cls))}]"
        edits = [after(code, made.body[-1], line), replace(code, value, f"self.texts[{index_of(cls)}]")]
        return Fault([*edits, *waken(code, flow, cls)], [made.body[-1], value])

    for cls in read_by_workers(flow):
        made, read, index = method(cls, "__init__"), method(cls, "__getitem__"), index_of(cls)
        known = made and read and index and method(cls, "__len__") and not code.derived(cls)
        if not (made and read and known) or isinstance(made.body[-1], ast.Return) or index in stored(read):
            continue
        for value in _texts(code, read) if "texts" not in code.text(cls) else ():
            whole = _written_out(read, value)
            own = stored(read) | {it.arg for it in every(read, ast.arg)}
            if loaded(whole) & own <= {"self", index} and _is_of_the_index(code, cls, value, whole):
                yield partial(make, cls, made, value, whole)


def _for_all(whole: ast.expr, index: str) -> str:
    """The comprehension of an expression: over the items of a field where the index does no more than to choose one."""
    uses = [it for it in every(whole, ast.Name) if it.id == index]
    chosen = [it for it in every(whole, ast.Subscript) if it.slice is uses[0] and dotted(it.value).count(".") == 1]
    if len(uses) == 1 and chosen:
        text = ast.unparse(whole).replace(ast.unparse(chosen[0]), "item")
        return f"{text} for item in {dotted(chosen[0].value)}"
    return f"{ast.unparse(whole)} for {index} in range(len(self))"


def _texts(code: Code, read: ast.FunctionDef) -> Iterator[ast.expr]:
    """The expressions of a method that put a text together, but for keys, and for what is said when something fails."""
    for value in every(read, ast.expr):
        around = [value, *code.around(value)]
        if not _is_text(code, value) or any(_is_text(code, it) for it in around[1:]):
            continue
        if not any(isinstance(it, ast.ExceptHandler | ast.Raise | ast.Assert) for it in around):
            keys = [it for it in around if isinstance(code.up.get(it), ast.Subscript)]
            if not any(getattr(code.up[it], "slice", None) is it for it in keys):
                yield value


def _is_text(code: Code, value: ast.AST) -> bool:
    """Whether an expression puts a text or a path together, and calls nothing else."""
    if not all(code.is_called(it, *WRITES) for it in every(value, ast.Call)):
        return False
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Mod):
        keys = [it.slice for it in every(value, ast.Subscript)]
        return any(isinstance(it.value, str) and it not in keys for it in every(value, ast.Constant))
    return isinstance(value, ast.JoinedStr | ast.Call)


def _written_out(read: ast.FunctionDef, value: ast.expr, depth: int = 3) -> ast.expr:
    """An expression with what its names were assigned, once and at the top of the method, in their places."""
    once = {}
    for node in read.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            once[node.targets[0].id] = node.value
    counts = Counter(it.id for it in every(read, ast.Name) if isinstance(it.ctx, ast.Store))

    class WrittenOut(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if depth and counts[node.id] == 1 and node.id in once:
                return _written_out(read, once[node.id], depth - 1)
            return node

    found: ast.expr = WrittenOut().visit(copy.deepcopy(value))
    return found


def _is_of_the_index(code: Code, cls: ast.ClassDef, value: ast.expr, whole: ast.expr) -> bool:
    """Whether an expression, written out, is of the index, and else only of what ``__init__`` alone has set."""
    index, made, file = index_of(cls), method(cls, "__init__"), code.file(value)
    outer = set(file.names) | set(vars(builtins)) | {it for node in file.tree.body for it in stored(node)}
    fields = {it for it in map(dotted, every(whole, ast.Attribute)) if re.fullmatch(r"self\.\w+", it)}
    later = {it for node in cls.body if node is not made for it in stored(node)}
    known = {name for _, name in assigned(made)} if made else set()
    built = {name for node, name in assigned(made) if called(node.value)[:1].isupper()} if made else set()
    calls = {dotted(it.func) for it in every(whole, ast.Call)} - {dotted(it.func) for it in every(value, ast.Call)}
    return (
        index in loaded(whole)
        and loaded(whole) <= {"self", index} | outer
        and bool(fields)
        and fields <= known - built - later
        and not calls
    )
