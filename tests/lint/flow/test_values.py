"""What expressions stand for: one line of code, one value."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest
from dl_lint.flow.call_graph import MOST_CALLS

from ..describe import probes

if TYPE_CHECKING:
    from ..linked import Load

LITERALS = [
    ("probe(3)", "3"),
    ("probe('a' + 'b')", "'ab'"),
    ("probe(2 * 4 - 1)", "7"),
    ("probe(-2)", "-2"),
    ("probe(1 / 0)", "unknown"),
    ("probe(not None)", "True"),
    ("probe(3 > 2)", "True"),
    ("probe(None is None)", "True"),
    ("probe([1, 'a'])", "list(1, 'a')"),
    ("probe((1, 2)[-1])", "2"),
    ("probe([1, 2, 3][1:])", "list of 1 | 2 | 3"),
    ("probe([1, 1][1:][0])", "1"),
    ("probe({'a': 1}['a'])", "1"),
    ("probe({'a': 1}.get('b', 5))", "5"),
    ("probe(1 if x else 2)", "1 | 2"),
    ("probe(1 if 0 else 2)", "2"),
    ("probe(x or 3)", "3 | unknown"),
    ("probe(0 or 3)", "3"),
    ("probe(int('4'))", "4"),
    ("probe(int('a'))", "number"),
    ("probe(max(1, n))", "positive number"),
    ("probe(min(4, 2))", "2"),
    ("probe(len(xs))", "number"),
    ("probe((y := 5))", "5"),
    ("probe([i for i in (1, 1)])", "list of 1"),
    ("probe({name: 1 for name in ('a', 'b')})", "{a: 1, b: 1}"),
    ("probe({name: 1 for name in ('a', 'b') if x})", "dict of 1"),
    ("probe({name: 1 for name in names})", "dict of 1"),
    ("probe(dict(a=1, **{'b': 2}))", "{b: 2, a: 1}"),
]


@pytest.mark.parametrize(("code", "expected"), LITERALS, ids=[code for code, _ in LITERALS])
def test_literals_and_operators(load: Load, code: str, expected: str) -> None:
    assert probes(load(code)) == [expected]


FLOWS = {
    "the newest assignment wins": ("x = 1\nx = 2\nprobe(x)", "2"),
    "a key that a comprehension does not have is the one set later": (
        "x = {k: 1 for k in ['a', 'b']}\nif c:\n    x['d'] = 2\n    probe(x['d'])",
        "2",
    ),
    "an assignment below does not reach": ("x = 1\nprobe(x)\nx = 2", "1"),
    "two arms, both seen": ("if c:\n    x = 1\nelse:\n    x = 2\nprobe(x)", "1 | 2"),
    "two arms cover what was before": ("x = 0\nif c:\n    x = 1\nelse:\n    x = 2\nprobe(x)", "1 | 2"),
    "one arm does not": ("x = 0\nif c:\n    x = 1\nprobe(x)", "0 | 1"),
    "arms exclude each other": ("x = 0\nif c:\n    x = 1\nelse:\n    probe(x)", "0"),
    "an arm that leaves does not reach": (
        "def f(c):\n    x = 0\n    if c:\n        x = 1\n        return\n    probe(x)",
        "0",
    ),
    "two tests of one flag go the same way": (
        "if f:\n    x = 1\nelse:\n    x = 2\nif f:\n    probe(x)",
        "1",
    ),
    "also if one of them is denied": (
        "if not a.f:\n    x = 1\nelse:\n    x = 2\nif a.f:\n    probe(x)",
        "2",
    ),
    "unless the flag is bound anew": (
        "f = g()\nif f:\n    x = 1\nelse:\n    x = 2\nf = g()\nif f:\n    probe(x)",
        "1 | 2",
    ),
    "tests of two flags do not": (
        "if f:\n    x = 1\nelse:\n    x = 2\nif g:\n    probe(x)",
        "1 | 2",
    ),
    "an arm that raises counts as covered": (
        "if c == 1:\n    x = 1\nelif c == 2:\n    x = 2\nelse:\n    raise E\nprobe(x)",
        "1 | 2",
    ),
    "a loop carries round": ("x = 1\nfor _ in y:\n    probe(x)\n    x = 2", "1 | 2"),
    "a loop that starts anew does not": ("for _ in y:\n    x = 1\n    probe(x)\n    x = 2", "1"),
    "a loop may not run": ("x = 1\nfor _ in y:\n    x = 2\nprobe(x)", "1 | 2"),
    "an endless loop runs": ("x = 1\nwhile True:\n    x = 2\n    if c:\n        break\nprobe(x)", "2"),
    "a break takes the way out": ("x = 1\nwhile True:\n    if c:\n        x = 2\n        break\n    probe(x)", "1"),
    "with is straight on": ("x = 1\nwith f() as g:\n    x = 2\nprobe(x)", "2"),
    "try may fail before": ("x = 1\ntry:\n    x = 2\nexcept E:\n    pass\nprobe(x)", "1 | 2"),
    "try and handler cover": ("x = 0\ntry:\n    x = 1\nexcept E:\n    x = 2\nprobe(x)", "1 | 2"),
    "else goes on from try": ("x = 0\ntry:\n    x = 1\nexcept E:\n    raise\nelse:\n    probe(x)", "1"),
    "finally always runs": ("x = 0\ntry:\n    pass\nfinally:\n    x = 1\nprobe(x)", "1"),
    "cases exclude each other": (
        "match c:\n    case 1:\n        x = 1\n    case 2:\n        x = 2\n        probe(x)",
        "2",
    ),
    "what has another length is not unpacked": (
        "def f(c):\n    if c:\n        return 1, 2, 3\n    return 4, 5\na, b = f(x)\nprobe((a, b))",
        "tuple(4, 5)",
    ),
    "nor inside another": (
        "def f(c):\n    return (0, (1, 2, 3)) if c else (6, (4, 5))\n_, (a, b) = f(x)\nprobe((_, a, b))",
        "tuple(0 | 6, 4, 5)",
    ),
    "nor in a loop": ("for a, b in [(1, 2), (3, 4, 5)]:\n    probe(a)", "1"),
    "but into a star it is": (
        "def f(c):\n    return (1, 2, 3) if c else (4, 5)\na, *b = f(x)\nprobe(a)",
        "1 | 4",
    ),
    "and where all have another length": (
        "def f(c):\n    return (1, 2, 3) if c else (4,)\na, b = f(x)\nprobe(a)",
        "1 | 4",
    ),
    "and what has grown": (
        "def f(c):\n    xs = [1]\n    if c:\n        xs.append(2)\n    return xs if c else (4, 5)\n"
        "a, b = f(x)\nprobe(a)",
        "1 | 2 | 4",
    ),
    "and one at a time": ("def f(c):\n    return (1, 2, 3) if c else (4, 5)\nprobe(f(x)[0])", "1 | 4"),
    "unpacking": ("(a, b), *c = (1, 2), 3, 4\nprobe(b)", "2"),
    "behind a star": ("a, *b, c = 1, 2, 3\nprobe(c)", "3"),
    "into a star": ("a, *b = 1, 2, 3\nprobe(b)", "list of 1 | 2 | 3"),
    "into a star of what is not known": ("a, *b = x\nprobe(b)", "unknown"),
    "into a star inside another": (
        "for i, (_, *b) in enumerate([(1, 2)]):\n    c, d = [x for x in b]\n    probe(d)",
        "1 | 2",
    ),
    "a deleted name is gone": ("x = 1\ndel x\nprobe(x)", "unknown"),
    "a function's own name is not the module's, bound or not": (
        "x = 0\ndef f(c):\n    if c:\n        x = 1\n    probe(x)",
        "1",
    ),
    "a global name may be what it was": (
        "x = 0\ndef f(c):\n    global x\n    if c:\n        x = 1\n    probe(x)",
        "0 | 1",
    ),
    "augmented": ("x = 'a'\nx += 'b'\nprobe(x)", "number"),
    "what a list was given": ("x = [1]\nx.append(2)\nprobe(x)", "list of 1 | 2"),
    "what a dict was given": ("x = {}\nx['a'] = 1\nx.update(b=2)\nprobe(x)", "{a: 1, b: 2}"),
    "what a dict may have been given": (
        "x = {'a': 1}\nif c:\n    x['a'] = 2\n    x['b'] = 3\nprobe(x)",
        "{a: 1 | 2, b: 3 | absent}",
    ),
    "what it is given later does not count": ("x = {}\nprobe(x)\nx['a'] = 1", "{}"),
    "what it is given before it is made does not": ("x = {}\nx['a'] = 1\nx = {}\nprobe(x)", "{}"),
    "an attribute stored in the same function": ("def f(o):\n    o.x = 1\n    probe(o.x)", "1"),
}


@pytest.mark.parametrize(("code", "expected"), FLOWS.values(), ids=FLOWS)
def test_the_way_control_goes(load: Load, code: str, expected: str) -> None:
    assert probes(load(code)) == [expected]


CALLS = {
    "a return": ("def f():\n    return 1\nprobe(f())", "1"),
    "several returns": ("def f(c):\n    if c:\n        return 1\n    return 2\nprobe(f(0))", "1 | 2"),
    "no return": ("def f():\n    pass\nprobe(f())", "None"),
    "an argument comes back": ("def f(x, y=2):\n    return y, x\nprobe(f(1))", "tuple(2, 1)"),
    "by keyword": ("def f(x, *, y):\n    return y\nprobe(f(0, y=3))", "3"),
    "through stars": ("def f(*args, **kwargs):\n    return args[0], kwargs['b']\nprobe(f(1, b=2))", "tuple(1, 2)"),
    "from a tuple and a dict": ("def f(a, b):\n    return a, b\nprobe(f(*(1,), **{'b': 2}))", "tuple(1, 2)"),
    "each call its own": ("def f(x):\n    return [x]\nprobe(f(1))\nprobe(f(2))", "list(1)\nlist(2)"),
    "through two functions": ("def f(x):\n    return g(x)\ndef g(y):\n    return y\nprobe(f(1))", "1"),
    "a closure": ("def f(x):\n    def g():\n        return x\n    return g()\nprobe(f(1))", "1"),
    "a lambda": ("f = lambda x: (x, 1)\nprobe(f(2))", "tuple(2, 1)"),
    "a partial": (
        "from functools import partial\ndef f(a, b):\n    return a, b\nprobe(partial(f, 1)(b=2))",
        "tuple(1, 2)",
    ),
    "recursion": ("def f(n):\n    if n:\n        return f(n - 1)\n    return 7\nprobe(f(3))", "7"),
    "endless recursion": ("def f():\n    return f()\nprobe(f())", "unknown"),
    "methods of two objects that return each other's": (
        """
        class Table:
            def joined(self, other):
                return other.sorted(self)
            def sorted(self, other):
                return other.joined(self)
        probe(Table().joined(Table()))
        """,
        "unknown",
    ),
    "methods that come round to one that ends": (
        """
        class Table:
            def joined(self, other):
                return other.sorted(self) if other else 7
            def sorted(self, other):
                return other.joined(self)
        probe(Table().joined(Table()))
        """,
        "7",
    ),
    "a function handed over": ("def f(g):\n    return g(1)\ndef h(x):\n    return [x]\nprobe(f(h))", "list(1)"),
    "a generator": ("def f(xs):\n    for x in xs:\n        yield x\nfor x in f([1, 2]):\n    probe(x)", "1 | 2"),
    "a parameter of all callers": ("def f(x):\n    probe(x)\nf(1)\nf(2)", "1 | 2"),
    "a slice of a parameter": ("def f(x):\n    return x[1:][::2]\nprobe(f([1, 2]))", "list of 1 | 2"),
    "a chain of whatever a list holds": (
        "import itertools\nfor x in itertools.chain(*[[1, 2], [3]]):\n    probe(x)",
        "1 | 2 | 3",
    ),
    "a parameter nobody passes": ("def f(x=4):\n    probe(x)", "parameter default 4"),
    "a parameter nobody knows": ("def f(x):\n    probe(x)", "unknown"),
    "a function of a context": (
        "import multiprocessing as mp\nprobe(mp.get_context('spawn').Manager())",
        "made Manager",
    ),
    "a spawned function": (
        "import torch.multiprocessing as mp\ndef f(rank, x):\n    probe(x)\nmp.spawn(f, args=(1,), nprocs=2)",
        "1",
    ),
    "a function that Lightning's Fabric launches": (
        "import lightning as L\ndef f(fabric, x, y=2):\n    probe(x)\n    probe(y)\nL.Fabric().launch(f, 1)",
        "1\n2",
    ),
    "a function that detectron2 launches": (
        "from detectron2.engine import launch\ndef f(x):\n    probe(x)\nlaunch(f, 8, num_machines=1, args=(1,))",
        "1",
    ),
    "a function of a process": (
        "from multiprocessing import Process\ndef f(x):\n    probe(x)\nProcess(target=f, args=(1,)).start()",
        "1",
    ),
    "a function of a thread": (
        "import threading\ndef f(x, y):\n    probe(y)\nthreading.Thread(target=f, args=(1, 2)).start()",
        "2",
    ),
    "an annotated parameter": ("class C:\n    pass\ndef f(c: C):\n    probe(c)", "a C"),
}


@pytest.mark.parametrize(("code", "expected"), CALLS.values(), ids=CALLS)
def test_calls(load: Load, code: str, expected: str) -> None:
    assert probes(load(code)) == expected.split("\n")


CLASSES = {
    "an attribute of the constructor": ("class C:\n    def __init__(self, x):\n        self.x = x\nprobe(C(1).x)", "1"),
    "each object its own": (
        "class C:\n    def __init__(self, x):\n        self.x = x\na, b = C(1), C(2)\nprobe(a.x)\nprobe(b.x)",
        "1\n2",
    ),
    "seen from inside": (
        "class C:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n        probe(self.x)\nC(1)\nC(2)",
        "1 | 2",
    ),
    "of another method": (
        "class C:\n    def __init__(self):\n        self.x = None\n    def f(self):\n        self.x = 1\n"
        "    def g(self):\n        probe(self.x)",
        "1 | None",
    ),
    "the newest in the method": (
        "class C:\n    def __init__(self):\n        self.x = 1\n    def f(self):\n        self.x = 2\n"
        "        probe(self.x)",
        "2",
    ),
    "of a base": ("class B:\n    x = 1\nclass C(B):\n    pass\nprobe(C().x)", "1"),
    "overridden": ("class B:\n    x = 1\nclass C(B):\n    x = 2\nprobe(C().x)", "2"),
    "of a subclass, where the base has none": (
        "class B:\n    def f(self):\n        probe(self.x)\nclass C(B):\n    x = 3",
        "3",
    ),
    "of a subclass, where the base only asks for it": (
        "class B:\n    def f(self):\n        raise NotImplementedError\n    def g(self):\n        probe(self.f())\n"
        "class C(B):\n    def f(self):\n        return 3",
        "3",
    ),
    "a property": ("class C:\n    @property\n    def p(self):\n        return 1\nprobe(C().p)", "1"),
    "a method": ("class C:\n    def f(self, x):\n        return x\nprobe(C().f(1))", "1"),
    "a static method": ("class C:\n    @staticmethod\n    def f(x):\n        return x\nprobe(C.f(1))", "1"),
    "a class method": ("class C:\n    @classmethod\n    def make(cls):\n        return cls()\nprobe(C.make())", "a C"),
    "a static method of the object's class": (
        "class C:\n    @staticmethod\n    def f(x):\n        return x\n    def g(self):\n"
        "        return self.__class__.f(1), type(self).f(2)\nprobe(C().g())",
        "tuple(1, 2)",
    ),
    "a class method of the object's class": (
        "class C:\n    @classmethod\n    def f(cls, x):\n        return cls, x\n    def g(self):\n"
        "        probe(type(self).f(1))",
        "tuple(class C, 1)",
    ),
    "a method of the object's class": (
        "class C:\n    def f(self, x):\n        return x\n    def g(self):\n        probe(self.__class__.f(self, 1))",
        "1",
    ),
    "a type of something else": ("probe(type(x).f(1))", "made type.f.()"),
    "super": (
        "class B:\n    def f(self):\n        return 1\nclass C(B):\n    def f(self):\n"
        "        return [super().f()]\nprobe(C().f())",
        "list(1)",
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    a: int\n    b: int = 2\nprobe(D(1).a)\n"
        "probe(D(1).b)",
        "1\nfield default 2",
    ),
    "defaults that keywords override": (
        "class C:\n    a = 1\n    b = 2\n    def __init__(self, **kw):\n        self.c = 3\n"
        "        for k, v in kw.items():\n            setattr(self, k, v)\n    def d(self):\n        return 4\n"
        "c = C(a=5, c=6)\nprobe(c.a)\nprobe(c.b)\nprobe(c.c)\nprobe(c.d())\nprobe(C(**read()).a)\n"
        "def f(c: C):\n    probe(c.b)",
        "5\n2\n6\n4\nunknown\nunknown",
    ),
    "keywords in the dict of an object": (
        "class C:\n    a = 1\n    def __init__(self, x, **kw):\n        self.__dict__.update(kw)\n"
        "probe(C(2, a=3).a)\nprobe(C(2).a)",
        "3\n1",
    ),
    "defaults that anything may override": (
        "class C:\n    a = 1\n    def __init__(self):\n        self.b = 2\n    def load(self, d):\n"
        "        for k in d:\n            setattr(self, k, d[k])\nprobe(C().a)\nprobe(C().b)",
        "unknown\n2",
    ),
    "some attributes of another name": (
        "class C:\n    a = 1\n    def __init__(self, kinds):\n        for kind in kinds:\n"
        "            setattr(self, f'{kind}_root', kind)\nprobe(C(['x']).a)",
        "1",
    ),
    "called": ("class C:\n    def __call__(self):\n        return 1\nprobe(C()())", "1"),
    "iterated": ("class C:\n    def __iter__(self):\n        yield 1\nfor x in C():\n    probe(x)", "1"),
    "an iterator of itself": (
        "class C:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        return 1\n"
        "probe(next(iter(C())))",
        "1",
    ),
    "iterators of each other": (
        "class A:\n    def __iter__(self):\n        return B()\nclass B:\n    def __iter__(self):\n"
        "        return A()\nfor x in A():\n    probe(x)",
        "unknown",
    ),
    "a wrapper of what builds it": (
        "class Plain:\n    classes = 3\nclass Repeated:\n    def __init__(self, inner):\n"
        "        self.classes = inner.classes\ndef build(config):\n    if 'inner' in config:\n"
        "        return Repeated(build(config['inner']))\n    return Plain()\nprobe(build(read()).classes)",
        "3",
    ),
}


@pytest.mark.parametrize(("code", "expected"), CLASSES.values(), ids=CLASSES)
def test_classes_and_objects(load: Load, code: str, expected: str) -> None:
    assert probes(load(code)) == expected.split("\n")


OPTIONS = """
    import argparse

    def parser():
        made = argparse.ArgumentParser()
        group = made.add_argument_group("data")
        group.add_argument("-j", "--num-workers", type=int, default={default})
        made.add_argument("--flag", action="store_true")
        made.add_argument("--name", dest="title")
        made.add_argument("path")
        return made

    def main(args):
        probe(args.{name})

    if __name__ == "__main__":
        args = parser().parse_args()
        main(args)
"""


@pytest.mark.parametrize(
    ("name", "default", "expected"),
    [
        ("num_workers", "0", "command line default 0"),
        ("num_workers", "2 * 4", "command line default 8"),
        ("flag", "0", "command line default False"),
        ("title", "0", "command line default None"),
        ("path", "0", "command line default unknown"),
        ("unheard_of", "0", "unknown"),
    ],
)
def test_options_of_the_command_line(load: Load, name: str, default: str, expected: str) -> None:
    assert probes(load(textwrap.dedent(OPTIONS).format(name=name, default=default))) == [expected]


def test_an_option_that_is_assigned_is_either(load: Load) -> None:
    code = textwrap.dedent(OPTIONS).format(name="num_workers", default=8)
    code = code.replace("    main(args)", "    args.num_workers = 1\n    main(args)")
    assert probes(load(code)) == ["1 | command line default 8"]


def test_options_of_a_parser_that_lightning_adds_its_own_to(load: Load) -> None:
    code = textwrap.dedent(OPTIONS).format(name="num_workers", default=8)
    code = "import pytorch_lightning as pl\n" + code.replace(
        "args = parser().parse_args()", "args = pl.Trainer.add_argparse_args(parser()).parse_args()"
    )
    assert probes(load(code)) == ["command line default 8"]


def test_options_of_another_parser_do_not_count(load: Load) -> None:
    other = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--num-workers', default=3)\n"
    code = textwrap.dedent(OPTIONS).format(name="num_workers", default=8)
    assert probes(load({"main.py": code, "other.py": other})) == ["command line default 8"]


ENVIRONMENT = [
    ("os.environ.get('W', 6)", "environment default 6"),
    ("os.environ.setdefault('W', '6')", "environment default '6'"),
    ("int(os.getenv('W', default='6')) - 2", "environment default 4"),
    ("int(os.environ.get('WORLD_SIZE', 1)) > 1", "unknown"),
    ("int(os.environ.get('W'))", "number"),
]


@pytest.mark.parametrize(("code", "expected"), ENVIRONMENT, ids=[code for code, _ in ENVIRONMENT])
def test_variables_of_the_environment(load: Load, code: str, expected: str) -> None:
    assert probes(load(f"import os\nprobe({code})")) == [expected]


OBJECTS = {
    "a name": ("p = P()\np(1)", "1"),
    "an attribute": (
        "class T:\n    def __init__(self):\n        self.p = P()\n    def f(self):\n        self.p(1)",
        "1",
    ),
    "of a builder": ("def build():\n    return P()\np = build()\np(1)", "1"),
    "of a subclass": ("class Q(P):\n    pass\nq = Q()\nq(1)", "1"),
    "of a subclass with its own": ("class Q(P):\n    def __call__(self, x):\n        pass\nq = Q()\nq(1)", "unknown"),
    "one of two": ("p, q = P(), P()\np(1)", "unknown"),
    "two calls": ("p = P()\np(1)\np(2)", "1 | 2"),
    "also in a list": ("p = P()\np(1)\nrun([P()])", "unknown"),
    "never called": ("p = P()", "unknown"),
    "another object of that name": ("p = P()\ndef f(p):\n    p(1)\nf(len)", "unknown"),
}


@pytest.mark.parametrize(("code", "expected"), OBJECTS.values(), ids=OBJECTS)
def test_what_an_object_is_called_with(load: Load, code: str, expected: str) -> None:
    called = "class P:\n    def __call__(self, x=0):\n        probe(x)\n"
    assert probes(load(called + code)) == [expected]


MAPPINGS = {
    "all options": ("probe(config)", "{flag: command line default False, n: command line default 8, …}"),
    "one of them": ("probe(config['n'])", "command line default 8"),
    "one that is not declared": ("probe(config['other'])", "unknown"),
    "one that has another default": ("probe(config.get('n', 1))", "command line default 8"),
    "of a namespace that is passed on": ("def f(a):\n    probe(vars(a)['n'])\nf(args)", "command line default 8"),
    "the attribute": ("probe(args.__dict__['n'])", "command line default 8"),
    "spread": ("def f(n, other=1, **rest):\n    probe(n)\nf(**config)", "command line default 8"),
    "spread over a default": ("def f(other=1, **rest):\n    probe(other)\nf(**config)", "unknown"),
    "spread and laid over": ("def f(n, **rest):\n    probe(n)\nf(**{**config, 'n': 3})", "3"),
    "passed on and laid over": ("def f(c):\n    probe({**c, 'n': 3}['n'])\nf(config)", "3"),
    "passed on and laid under": ("def f(c):\n    probe({'n': 3, **c}['n'])\nf(config)", "3 | unknown"),
    "passed on and copied": ("def f(c):\n    probe(dict(c, m=3)['n'])\nf(config)", "command line default 8"),
    "passed on and set": ("def f(c):\n    c['n'] = 3\n    probe(c['n'])\nf(config)", "3"),
    "passed on and perhaps set": (
        "def f(c):\n    if x:\n        c['n'] = 3\n    probe(c['n'])\nf(config)",
        "3 | command line default 8",
    ),
    "updated": ("config.update(n=3)\nprobe(config['n'])", "3"),
    "updated with who knows what": ("config.update(x)\nprobe(config['n'])", "command line default 8 | unknown"),
    "passed on and updated with who knows what": (
        "def f(c):\n    c.update(x)\n    probe(c['n'])\nf(config)",
        "command line default 8 | unknown",
    ),
    "an object of a class": ("class C:\n    n = 1\nprobe(vars(C())['n'])", "unknown"),
    "a batch that is passed on and set": ("def f(c):\n    c['n'] = 3\n    probe(c)\nf((1, 2))", "tuple(1, 2)"),
}


@pytest.mark.parametrize(("code", "expected"), MAPPINGS.values(), ids=MAPPINGS)
def test_a_command_line_as_a_dict(load: Load, code: str, expected: str) -> None:
    parsed = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=8)\n"
    parsed += "p.add_argument('--flag', action='store_true')\nargs = p.parse_args()\nconfig = vars(args)\n"
    assert probes(load(parsed + code)) == [expected]


def test_what_is_too_wide_is_unknown(load: Load) -> None:
    code = "def f(x):\n    probe(x)\n" + "".join(f"f({n})\n" for n in range(9))
    assert "unknown" in probes(load(code))[0].split(" | ")


def test_a_function_that_everybody_calls_tells_nothing(load: Load) -> None:
    code = "def f(x):\n    probe(x)\n" + "f(1)\n" * MOST_CALLS
    assert probes(load(code)) == ["1"]
    assert probes(load(f"{code}f(1)\n")) == ["unknown"]
