"""Operators of DL3xx: what a dataset keeps, opens and hands to workers."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mutants.code import Code, behind_docstring, called, dotted, every, loaded, method, stored
from mutants.edits import REMOVED, Edit, Pending, after, before, change, cut, importing, indentation, lines_of, replace
from mutants.flow import Flow, is_open
from mutants.loaders import WORKERS, is_plain, is_repeated
from mutants.mutant import Fault, operator

Making = Iterator[Fault | Callable[[], Fault]]
HANDLES = {"h5py.File", "lmdb.open", "zipfile.ZipFile", "tarfile.open", "sqlite3.connect"}
READERS = re.compile(r"\b(open|imread|load|read|read_image|loadmat|decode)\(")


def fields(cls: ast.ClassDef) -> Iterator[tuple[ast.Assign, str]]:
    """What ``__init__`` assigns to fields."""
    made = method(cls, "__init__")
    return assigned(made) if made else iter(())


def assigned(function: ast.FunctionDef) -> Iterator[tuple[ast.Assign, str]]:
    """What a method assigns to fields."""
    for node in every(function, ast.Assign):
        name = dotted(node.targets[0])
        if len(node.targets) == 1 and name.startswith("self.") and name.count(".") == 1:
            yield node, name


def index_of(cls: ast.ClassDef) -> str:
    read = method(cls, "__getitem__")
    return read.args.args[1].arg if read is not None and len(read.args.args) == 2 else ""


def indexed(cls: ast.ClassDef, name: str) -> list[ast.Subscript]:
    """Where ``__getitem__`` reads a field at its index or at what it makes of that."""
    read, index = method(cls, "__getitem__"), index_of(cls)
    if read is None or not index:
        return []
    derived = [node for node in every(read, ast.Assign) if index in loaded(node.value)]
    made = {index} | {target for node in derived for target in stored(node)}
    reads = [it for it in every(read, ast.Subscript) if dotted(it.value) == name and isinstance(it.ctx, ast.Load)]
    return [it for it in reads if _is_one(it.slice) and loaded(it.slice) & made]


def is_only_indexed(code: Code, cls: ast.ClassDef, name: str) -> bool:
    """Whether all uses of a field in its class do with a list as well: subscripts by one index or a plain slice,
    iteration, and calls of functions that take any sequence."""
    for use in every(cls, ast.Attribute):
        outer = code.up[use]
        if dotted(use) != name or not isinstance(use.ctx, ast.Load):
            continue
        at = (
            isinstance(outer, ast.Subscript)
            and outer.value is use
            and (_is_one(outer.slice) or isinstance(outer.slice, ast.Slice))
        )
        over = isinstance(outer, ast.For | ast.comprehension) and outer.iter is use
        if not at and not over and not _takes_sequences(code, outer):
            return False
    return True


def _takes_sequences(code: Code, call: ast.AST) -> bool:
    if not isinstance(call, ast.Call):
        return False
    return called(call) in {"len", "enumerate", "zip", "set", "Counter", "max", "min"} or (
        code.resolved(call.func).startswith(("numpy.", "random."))
    )


def _is_one(index: ast.expr) -> bool:
    return isinstance(index, ast.Name | ast.BinOp | ast.Call | ast.Subscript | ast.Attribute)


def read_by_workers(flow: Flow) -> Iterator[ast.ClassDef]:
    """Map-style datasets that workers read, or are made to read by ``waken``: one of their loaders can be given some,
    or nobody knows their loaders and some loader has workers."""
    some = any(flow.workers(it) != 0 for it in flow.loaders)
    for cls in flow.datasets():
        loaders = flow.loaders_of(cls)
        if any(flow.workers(it) or (len(it.args) < 6 and not is_open(it)) for it in loaders) or (some and not loaders):
            yield cls


def waken(code: Code, flow: Flow, cls: ast.ClassDef) -> list[Pending]:
    """Workers for the loaders of a class, where none of them is known to have any."""
    loaders = flow.loaders_of(cls)
    if any(flow.workers(it) for it in loaders):
        return []
    return [change(code, it, {"num_workers": WORKERS}) for it in loaders if len(it.args) < 6 and not is_open(it)]


@operator("DL302")
def memoise(code: Code, flow: Flow) -> Making:
    """Keeps each sample in a dict. Needs a ``__getitem__`` that reads and has one return, at its end."""

    def make(cls: ast.ClassDef, made: ast.FunctionDef, read: ast.FunctionDef, final: ast.Return) -> Fault:
        index = index_of(cls)
        known = before(code, behind_docstring(read), f"if {index} in self.cache:\n    return self.cache[{index}]")
        kept = before(code, final, f"self.cache[{index}] = {code.text(final.value)}")
        return Fault([after(code, made.body[-1], "self.cache = {}"), known, kept, *waken(code, flow, cls)], [final])

    for cls in read_by_workers(flow):
        made, read = method(cls, "__init__"), method(cls, "__getitem__")
        if made is None or read is None or not index_of(cls) or not READERS.search(code.text(read)):
            continue
        final = read.body[-1]
        one = list(every(read, ast.Return)) == [final] and behind_docstring(read) is not final
        if (
            (
                one
                and isinstance(final, ast.Return)
                and final.value is not None
                and final.value.end_lineno == final.value.lineno
            )
            and "cache" not in code.text(cls)
            and not isinstance(made.body[-1], ast.Return)
        ):
            yield partial(make, cls, made, read, final)


@operator("DL302")
def memoise_the_reader(code: Code, flow: Flow) -> Making:
    """Puts ``functools.lru_cache(maxsize=None)`` on a method that ``__getitem__`` calls with what its index gives."""

    def make(cls: ast.ClassDef, helper: ast.FunctionDef, call: ast.Call) -> Fault:
        edits = importing(code, code.file(cls), "functools")
        decorated = before(code, helper, "@functools.lru_cache(maxsize=None)")
        return Fault([*edits, decorated, *waken(code, flow, cls)], [helper, call])

    for cls in read_by_workers(flow):
        read, index = method(cls, "__getitem__"), index_of(cls)
        for call in every(read, ast.Call) if read and index else ():
            helper = method(cls, dotted(call.func).removeprefix("self."))
            if helper is None or helper.decorator_list or helper.name.startswith("__") or not call.args:
                continue
            if index in {dotted(it) for it in call.args} and READERS.search(code.text(helper)):
                yield partial(make, cls, helper, call)


def _opened(code: Code, cls: ast.ClassDef) -> Iterator[tuple[ast.Assign | ast.With, ast.Call]]:
    """Where the methods of a class, but for ``__init__``, open a handle of what its fields alone tell."""
    made = method(cls, "__init__")
    for node in ast.walk(cls):
        if not isinstance(node, ast.Assign | ast.With) or code.scope(node) is made:
            continue
        if isinstance(node, ast.With) and len(node.items) > 1:
            continue
        scope = code.scope(node)
        call = node.value if isinstance(node, ast.Assign) else node.items[0].context_expr
        if isinstance(call, ast.Call) and code.is_called(call, *HANDLES, "open") and isinstance(scope, ast.FunctionDef):
            own = stored(scope) | {it.arg for it in every(scope, ast.arg)} - {"self"}
            if "self" in loaded(call) and not loaded(call) & own:
                yield node, call


@operator("DL303")
def open_early(code: Code, flow: Flow) -> Making:
    """Opens in ``__init__`` what a method opened lazily, or by ``with`` in ``__getitem__``; some loader has workers."""

    def make(cls: ast.ClassDef, made: ast.FunctionDef, node: ast.Assign | ast.With, call: ast.Call) -> Fault:
        final = made.body[-1]
        if isinstance(node, ast.Assign):
            name = dotted(node.targets[0])
            return Fault([after(code, final, f"{name} = {code.text(call)}"), *waken(code, flow, cls)], [final, node])
        bound = node.items[0].optional_vars
        file = code.file(node)
        opened = after(code, final, f"self.handle = {code.text(call)}")
        header = Edit(file, file.span(node)[0], file.span(bound)[1] if bound else 0,
                      f"{code.text(bound)} = self.handle\n{indentation(code, node)}if True")  # fmt: skip
        return Fault([opened, header, *waken(code, flow, cls)], [final, node])

    for cls in read_by_workers(flow):
        made = method(cls, "__init__")
        for node, call in _opened(code, cls):
            field = isinstance(node, ast.Assign) and dotted(node.targets[0]).startswith("self.")
            within = isinstance(node, ast.With) and node.items[0].optional_vars is not None
            scope = code.scope(node)
            read = within and isinstance(scope, ast.FunctionDef) and scope.name == "__getitem__"
            if made is not None and (field or read):
                yield partial(make, cls, made, node, call)


@operator("DL303")
def open_the_archive_once(code: Code, flow: Flow) -> Making:
    """Opens in ``__init__`` the file that ``__getitem__`` opens for every sample, under a field of its own."""

    def make(cls: ast.ClassDef, made: ast.FunctionDef, node: ast.Assign, call: ast.Call) -> Fault:
        opened = after(code, made.body[-1], f"self.handle = {code.text(call)}")
        return Fault([opened, replace(code, call, "self.handle"), *waken(code, flow, cls)], [made.body[-1], node])

    for cls in read_by_workers(flow):
        made = method(cls, "__init__")
        for node, call in _opened(code, cls):
            scope = code.scope(node)
            local = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if local and isinstance(scope, ast.FunctionDef) and scope.name == "__getitem__" and made is not None:
                assert isinstance(node, ast.Assign)
                if f"{dotted(node.targets[0])}.close" not in code.text(scope):
                    yield partial(make, cls, made, node, call)


@operator("DL304")
def cuda_in_a_sample(code: Code, flow: Flow) -> Making:
    """Puts a tensor that ``__getitem__`` or a collate function makes on the GPU; its loader has workers."""
    makers = {
        "torch.from_numpy",
        "torch.tensor",
        "torch.FloatTensor",
        "torch.LongTensor",
        "torch.as_tensor",
        "torch.stack",
    }
    readers: list[tuple[ast.AST, list[Pending] | Callable[[], list[Pending]]]] = []
    for cls in flow.datasets():
        read = method(cls, "__getitem__")
        if read is not None and flow.loaders_of(cls):
            readers.append((read, partial(waken, code, flow, cls)))
    for loader in flow.loaders:
        collate = flow.argument(loader, "collate_fn")
        for found in code.definitions(collate) if collate is not None and not is_open(loader) else ():
            if not isinstance(found, ast.ClassDef) and flow.workers(loader):
                readers.append((found, []))  # noqa: PERF401 - two kinds of reader, told apart once more below
    for function, woken in readers:
        for call in every(function, ast.Call):
            if code.is_called(call, *makers) and isinstance(
                code.up[call], ast.Return | ast.Tuple | ast.Assign | ast.Dict
            ):
                yield Fault(
                    [
                        replace(code, call, f"{code.text(call)}.cuda()"),
                        *(woken if isinstance(woken, list) else woken()),
                    ],
                    [call],
                )


@operator("DL306")
def wrap_in_a_lambda(code: Code, flow: Flow) -> Making:
    """Wraps a function given as ``collate_fn`` or ``worker_init_fn`` in a lambda; the loader has workers."""

    def make(loader: ast.Call, name: str, value: ast.expr) -> Fault:
        words: dict[str, str | None] = {name: f"lambda given: {code.text(value)}(given)"}
        return Fault(
            [change(code, loader, words if flow.workers(loader) else {**words, "num_workers": WORKERS})], [loader]
        )

    for loader in flow.loaders:
        for name in ("collate_fn", "worker_init_fn"):
            value = flow.argument(loader, name)
            function = isinstance(value, ast.Name) and [
                it for it in code.definitions(value) if not isinstance(it, ast.ClassDef)
            ]
            if value is not None and (function or dotted(value).count(".") == 1) and is_plain(loader):
                yield partial(make, loader, name, value)


@operator("DL306")
def keep_a_lambda(code: Code, flow: Flow) -> Making:
    """Keeps a lambda in a field of a dataset whose loader has workers, called for every sample."""

    def make(cls: ast.ClassDef, node: ast.Assign, name: str) -> Fault:
        wrapped = after(code, node, f"{name}_of = lambda sample: {name}(sample)")
        used = [it for it in every(method(cls, "__getitem__") or cls, ast.Call) if dotted(it.func) == name]
        return Fault(
            [wrapped, *(replace(code, it.func, f"{name}_of") for it in used), *waken(code, flow, cls)],
            [node, *flow.loaders_of(cls)],
        )

    for cls in flow.datasets():
        read = method(cls, "__getitem__")
        for node, name in fields(cls):
            calls = [it for it in every(read, ast.Call) if dotted(it.func) == name] if read else []
            one = calls and all(len(it.args) == 1 and not it.keywords for it in calls)
            if one and flow.loaders_of(cls) and isinstance(code.up[node], ast.FunctionDef):
                yield partial(make, cls, node, name)


@operator("DL307")
def unguard(code: Code, flow: Flow) -> Making:
    """Takes the main guard away from a script that nothing imports, whose function iterates a loader with workers."""
    imported = {part for file in code.files for name in file.names.values() for part in name.split(".")}
    for file in code.files:
        guard = file.tree.body[-1] if file.tree.body else None
        stem = file.path.rpartition("/")[2].removesuffix(".py")
        if not isinstance(guard, ast.If) or "__main__" not in code.text(guard.test) or guard.orelse or stem in imported:
            continue
        called_here = [found for call in every(guard, ast.Call) for found in code.definitions(call.func)]
        loaders = [loader for loader in flow.loaders for loop in flow.loops_of(loader)
                   if is_plain(loader) and len(guard.body) < 6 and flow.workers(loader) is not None
                   and _runs(code, called_here, loop.node)]  # fmt: skip
        if loaders:
            yield partial(_unguarded, code, flow, guard, loaders[0])


def _runs(code: Code, functions: Sequence[ast.AST], loop: ast.For, depth: int = 2) -> bool:
    """Whether one of the functions holds a loop, or calls one that does."""
    for function in functions if depth else ():
        if code.scope(loop) is function:
            return True
        if isinstance(function, ast.FunctionDef):
            inner = [found for call in every(function, ast.Call) if isinstance(call.func, ast.Name)
                     for found in code.definitions(call.func)]  # fmt: skip
            if _runs(code, list(inner), loop, depth - 1):
                return True
    return False


def _unguarded(code: Code, flow: Flow, guard: ast.If, loader: ast.Call) -> Fault:
    file = code.file(guard)
    body = "\n".join(lines_of(code, node) for node in guard.body)
    start, end = file.span(guard)
    edits = [] if flow.workers(loader) else [change(code, loader, {"num_workers": WORKERS})]
    return Fault([Edit(file, start, end, body), *edits], [guard], anywhere=True)


@operator("DL308")
def change_what_workers_copied(code: Code, flow: Flow) -> Making:
    """Changes a number of the dataset between epochs, where ``__getitem__`` reads it in persistent workers."""

    def make(loader: ast.Call, name: str, loop: ast.For, field: str) -> Fault:
        words: dict[str, str | None] = {"persistent_workers": "True", "num_workers": WORKERS}
        line = before(code, loop.body[0], f"{name}.dataset.{field} = {code.text(loop.target)}")
        return Fault([change(code, loader, words), line], [loop.body[0], loader])

    for loader in flow.loaders:
        for use in flow.loops_of(loader):
            outer = code.epoch_loop(use.node)
            source = (
                use.node.iter.args[0] if isinstance(use.node.iter, ast.Call) and use.node.iter.args else use.node.iter
            )
            if not (
                use.repeated and isinstance(outer, ast.For) and isinstance(outer.target, ast.Name) and dotted(source)
            ):
                continue
            classes = [cls for cls in flow.classes_of(loader) if method(cls, "__getitem__")]
            for node, field in fields(classes[0]) if len(classes) == 1 and is_plain(loader) else ():
                numbers = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float)
                read = {dotted(it) for it in every(method(classes[0], "__getitem__") or node, ast.Attribute)}
                if numbers and field in read and flow.sources_are_known(use.node):
                    yield partial(make, loader, dotted(source), outer, field.removeprefix("self."))


@operator("DL308")
def keep_the_workers(code: Code, flow: Flow) -> Making:
    """Adds ``persistent_workers=True`` where the loop over epochs changes the dataset by ``set_epoch`` or a field."""
    for loader in flow.loaders:
        dataset = flow.argument(loader, "dataset")
        name = dotted(dataset)
        if not name or not is_plain(loader) or not is_repeated(flow, loader):
            continue
        file = code.file(loader)
        for call in code.calls["set_epoch"]:
            target = dotted(call.func).removesuffix(".set_epoch")
            if code.file(call) is file and target == name and code.epoch_loop(call) is not None:
                yield Fault(
                    [change(code, loader, {"persistent_workers": "True", "num_workers": WORKERS})], [call, loader]
                )


@operator("DL309")
def exhaust(code: Code, flow: Flow) -> Making:
    """Reads ``next`` of an iterator in place of the list that ``__init__`` makes, at the index of ``__getitem__``."""

    def make(made: ast.FunctionDef, name: str, use: ast.Subscript) -> Fault:
        edits = [after(code, made.body[-1], f"self.items = iter({name})"), replace(code, use, "next(self.items)")]
        return Fault(edits, [use])

    for cls in flow.datasets():
        made = method(cls, "__init__")
        for node, name in fields(cls):
            listed = isinstance(node.value, ast.ListComp | ast.List) or (
                isinstance(node.value, ast.Call)
                and called(node.value) in {"sorted", "list", "listdir", "glob", "readlines", "split"}
            )
            if listed and made is not None and node in made.body and indexed(cls, name):
                yield partial(make, made, name, indexed(cls, name)[0])


@operator("DL310")
def read_the_whole_clip(code: Code, flow: Flow) -> Making:
    """Drops the offset and length that a reader of audio is given, and keeps the same slice of all that it reads."""
    limits = {"frame_offset", "num_frames", "start", "stop", "offset", "duration", "start_pts", "end_pts"}
    for cls in flow.datasets():
        for call in every(cls, ast.Call):
            reader = code.resolved(call.func) in {
                "torchaudio.load",
                "soundfile.read",
                "librosa.load",
                "torchaudio.backend.load",
            }
            words = {word.arg: word.value for word in call.keywords if word.arg in limits}
            assign = code.up[call]
            target = assign.targets[0] if isinstance(assign, ast.Assign) else None
            clip = target.elts[0] if isinstance(target, ast.Tuple) else target
            first, length = (
                words.get("frame_offset") or words.get("start"),
                words.get("num_frames") or words.get("stop"),
            )
            if (
                reader
                and first is not None
                and length is not None
                and isinstance(clip, ast.Name)
                and isinstance(assign, ast.Assign)
            ):
                end = code.text(length) if "stop" in words else f"{code.text(first)} + {code.text(length)}"
                kept = f"{clip.id} = {clip.id}[{'' if 'stop' in words else '..., '}{code.text(first)} : {end}]"
                yield Fault(
                    [change(code, call, dict.fromkeys(map(str, words), REMOVED)), after(code, assign, kept)], [call]
                )


@operator("DL311")
def open_for_every_sample(code: Code, flow: Flow) -> Making:
    """Opens anew, for every sample, the file that a method opened where it was not open yet."""
    for cls in flow.datasets():
        for node, call in _opened(code, cls):
            guard = code.up[node]
            if not code.is_called(call, *HANDLES) or not isinstance(guard, ast.If) or not isinstance(node, ast.Assign):
                continue
            if dotted(node.targets[0]) in code.text(guard.test) and node in guard.body and not guard.orelse:
                read = method(cls, "__getitem__")
                scope = code.scope(node)
                used = read is scope or (
                    read is not None and any(scope in code.definitions(it.func) for it in every(read, ast.Call))
                )
                if used:
                    yield Fault([replace(code, guard.test, "True")], [node])


@operator("DL312")
def swallow(code: Code, flow: Flow) -> Making:
    """Reads another sample where one raises, whatever it raises and without a word."""

    def make(read: ast.FunctionDef, index: str) -> Fault:
        first, final = behind_docstring(read), read.body[-1]
        file = code.file(read)
        blanks = indentation(code, first)
        body = "\n".join(
            textwrap.indent(lines_of(code, it), f"{blanks}    ") for it in read.body[read.body.index(first) :]
        )
        caught = (
            f"{blanks}try:\n{body}\n{blanks}except Exception:\n{blanks}    return self[({index} + 1) % len(self)]\n"
        )
        start = file.starts[first.lineno - 1]
        return Fault([Edit(file, start, file.starts[final.end_lineno or 0], caught)], [read])

    for cls in flow.datasets():
        read, index = method(cls, "__getitem__"), index_of(cls)
        if (
            read is not None
            and index
            and READERS.search(code.text(read))
            and method(cls, "__len__")
            and not any(True for _ in every(read, ast.Try))
            and len(read.body) < 30
        ):
            yield partial(make, read, index)


@operator("DL313")
def leave_opencv_its_threads(code: Code, flow: Flow) -> Making:
    """Takes every ``cv2.setNumThreads`` of the checkout away. Needs a dataset that works on images with OpenCV in its
    file; reading them takes one thread."""
    calls = [call for call in code.calls["setNumThreads"] if isinstance(code.up[call], ast.Expr)]
    mentions = sum(file.source.count(b"setNumThreads") for file in code.files)
    readers = [
        cls for cls in flow.datasets() if re.search(r"cv2\.(resize|warp|cvtColor|GaussianBlur|remap)", code.text(cls))
    ]
    readers = [
        cls for cls in readers if any(flow.workers(it) != 0 for it in flow.loaders_of(cls)) or not flow.loaders_of(cls)
    ]
    if calls and len(calls) == mentions and readers:
        yield Fault(
            [cut(code, code.statement(it)) for it in calls],
            [*readers, *(read for cls in readers if (read := method(cls, "__getitem__")))],
        )
