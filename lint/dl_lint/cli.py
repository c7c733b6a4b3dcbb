"""The command ``dl-lint``: reads options, runs, prints, and says by its exit status what it found."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from dl_lint import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TextIO

    from dl_lint.engine.report import Entry, Failure
    from dl_lint.engine.selection import ConfigError
    from dl_lint.output import Paint, Render
    from dl_lint.session import Outcome, Session

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif")

# For people; the others are for programs and say nothing beside their records.
TALKING = ("full", "concise")

CLEAN, FINDINGS, UNCHECKED, INTERRUPTED = 0, 1, 2, 130


def run() -> NoReturn:
    """The console script. Ends the process at once: to free a tree's objects one by one takes a tenth of a run."""
    gc.disable()  # one run makes little garbage in cycles: a fifth of the time saved, no memory lost (timm: 121 MB)
    status = main()
    with suppress(OSError, ValueError):  # a full disk, which main has reported; or the server has closed it
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Lint, and return the exit status: 0 clean, 1 findings, 2 something could not be checked, 130 interrupted."""
    if (sys.argv[1:] if argv is None else list(argv))[:1] == ["server"]:
        return _serve(list(sys.argv[2:] if argv is None else argv[1:]))
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a path may hold what the terminal cannot show
    try:
        status = _main(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except Exception as error:  # Python would exit with 1, which says that there are findings
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            sys.stderr.write(f"dl-lint: error: cannot write what there is to say: {error.strerror}\n")
            return UNCHECKED
        import traceback

        sys.stderr.write(f"{traceback.format_exc()}dl-lint: error: this is a fault of dl-lint, please report it\n")
        return UNCHECKED
    return status


def _open_what_is_closed() -> None:
    """A shell may start the command without these streams (``>&-``): what is written there is lost, as with others."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process


def _serve(arguments: Sequence[str]) -> int:
    """``dl-lint server``, for editors; a folder of that name is ``./server``."""
    parser = argparse.ArgumentParser("dl-lint server", description="A language server on standard input and output.")
    try:
        parser.parse_args(arguments)
        from dl_lint.server import serve
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else UNCHECKED
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dl_lint"):
            raise
        sys.stderr.write(f"dl-lint: error: the server needs {error.name}: pip install 'dl-lint[server]'\n")
        return UNCHECKED
    serve()
    return CLEAN


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    try:
        options = parser.parse_args(argv)
        if options.write_baseline and (options.fix or options.diff):
            parser.error("--write-baseline accepts findings, --fix and --diff fix them: choose one")
        if options.watch and (options.write_baseline or options.stdin_filename or "-" in options.paths):
            parser.error("--watch follows files: it goes with neither standard input nor --write-baseline")
        if options.sight and options.output_format not in (*TALKING, "json"):
            parser.error(f"--sight is printed as text or as json, not as {options.output_format}")
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else UNCHECKED
    from dl_lint.engine import catalogue
    from dl_lint.engine.selection import ConfigError

    try:
        rules = catalogue.entries()
        if options.explain is not None:
            return _explain(options, rules)
        if options.list_rules:
            return _list_rules(options, rules.values())
        return _watch(options, rules) if options.watch else _lint(options, rules)
    except ConfigError as error:
        _complain(error)
        return UNCHECKED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "dl-lint",
        description="Finds the mistakes in PyTorch data pipelines by reading the code; never imports or runs it.",
        epilog="Exit status: 0 clean, 1 findings, 2 something could not be checked. `dl-lint server` serves editors.",
        allow_abbrev=False,
        formatter_class=_help,
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and folders (default: .); - reads standard input")
    add("--version", action="version", version=f"dl-lint {__version__}")
    fixes = parser.add_argument_group("fixing").add_argument
    fixes("--fix", action="store_true", help="fix what can be fixed safely")
    fixes("--unsafe-fixes", action="store_true", help="with --fix or --diff: also fixes that may change what code does")
    fixes("--diff", action="store_true", help="print what --fix would change; change nothing")
    choose = parser.add_argument_group(
        "rules (codes, prefixes such as DL3, names, or ALL; comma-separated)"
    ).add_argument
    choose("--select", action="append", type=_list, metavar="RULES", help="run these and no others")
    choose("--extend-select", action="append", type=_list, default=[], metavar="RULES", help="run these too")
    choose("--ignore", action="append", type=_list, default=[], metavar="RULES", help="do not run these")
    choose("--pedantic", action="store_true", help="run advice too: rules that depend on size or taste")
    choose("--explain", metavar="RULE", help="say what a rule means, and stop")
    choose("--list-rules", action="store_true", help="list the rules, and stop")
    show = parser.add_argument_group("output").add_argument
    show("--output-format", choices=FORMATS, default="full", help="default: full")
    show("--statistics", action="store_true", help="count findings by rule instead of showing them")
    show("--sight", action="store_true", help="say which loaders, loops and datasets could not be followed, and why")
    show("--exit-zero", action="store_true", help="exit 0 even with findings")
    live = parser.add_argument_group("old code").add_argument
    live("--baseline", metavar="FILE", help="say nothing of the findings that FILE accepts")
    live("--write-baseline", action="store_true", help="accept all present findings in the baseline file")
    tune = parser.add_argument_group("how it runs").add_argument
    tune(
        "--config",
        action="append",
        default=[],
        metavar="FILE|KEY=VALUE",
        help="a TOML file instead of the nearest pyproject.toml with [tool.dl-lint], or a key that wins over the file",
    )
    tune("--stdin-filename", metavar="NAME", help="what the code on standard input is called")
    tune("--watch", action="store_true", help="lint again after every change, until Ctrl-C")
    tune("--no-cache", action="store_true", help="neither read nor write what earlier runs kept")
    return parser


def _help(prog: str) -> argparse.HelpFormatter:
    """argparse would import shutil and three compression libraries, 5 ms, to ask how wide the terminal is."""
    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 120
    return argparse.HelpFormatter(prog, width=width - 2)


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _joined(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(selector for one in lists for selector in one)


# --- the catalogue ---------------------------------------------------------------------


def _explain(options: argparse.Namespace, rules: Mapping[str, Entry]) -> int:
    from dl_lint.engine.selection import find
    from dl_lint.output import rules as shown

    rule = find(options.explain, rules)
    if options.output_format == "json":
        _print(shown.table_json([rule]), sys.stdout)
    elif sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(shown.explanation(rule)))
    else:
        _print([shown.explanation(rule)], sys.stdout)
    return CLEAN


def _list_rules(options: argparse.Namespace, rules: Iterable[Entry]) -> int:
    from dl_lint.output import rules as shown

    as_json = options.output_format == "json"
    _print(shown.table_json(rules) if as_json else shown.table(rules, _paint(sys.stdout)), sys.stdout)
    return CLEAN


# --- linting ---------------------------------------------------------------------------


def _lint(options: argparse.Namespace, rules: Mapping[str, Entry]) -> int:
    from dl_lint.session import Session, Wishes

    stdin = "-" in options.paths or (options.stdin_filename is not None and not options.paths)
    wishes = Wishes(
        paths=tuple(path for path in options.paths if path != "-"),
        stdin=(options.stdin_filename or "-", sys.stdin.buffer.read()) if stdin else None,
        select=None if options.select is None else _joined(options.select),
        extend=_joined(options.extend_select),
        ignore=_joined(options.ignore),
        pedantic=options.pedantic,
        config=tuple(options.config),
        baseline=options.baseline,
        cache=not options.no_cache,
    )
    session = Session(wishes, rules)
    if options.write_baseline:
        return _write_baseline(session)
    fixing = options.fix or options.diff
    outcome = session.fix(unsafe=options.unsafe_fixes) if fixing else session.lint()
    if options.diff:
        _print(_on_terminal(outcome.diff()) if sys.stdout.isatty() else outcome.diff(), sys.stdout)
    elif options.fix:
        outcome = session.write(outcome, sys.stdout.buffer)
    _show(options, outcome, sys.stderr if options.diff or (options.fix and stdin) else sys.stdout)
    _say(outcome.report.failures)
    if not all(failure.partial for failure in outcome.report.failures):
        return UNCHECKED
    found = bool(outcome.report.findings) or (options.diff and bool(outcome.fixed))
    return FINDINGS if found and not options.exit_zero else CLEAN


def _watch(options: argparse.Namespace, rules: Mapping[str, Entry]) -> NoReturn:
    """Until Ctrl-C."""
    from dl_lint import config
    from dl_lint.engine.selection import ConfigError

    try:
        from dl_lint.watching import changes
    except ModuleNotFoundError as error:
        raise ConfigError(f"--watch needs {error.name}: pip install 'dl-lint[watch]'") from None
    gc.enable()  # a run makes little garbage, many make much
    paths = options.paths or ["."]
    for _ in changes(paths, config.locate(paths)):
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[H")
        try:
            _lint(options, rules)
        except ConfigError as error:  # of a file that is being written, perhaps
            _complain(error)
        if options.output_format in TALKING:
            sys.stdout.write("Watching for changes; Ctrl-C ends it.\n")
        sys.stdout.flush()
        sys.stderr.flush()
    raise KeyboardInterrupt


def _write_baseline(session: Session) -> int:
    outcome = session.lint(accepting=False)
    _say(outcome.report.failures)
    path = session.write_baseline(outcome.report)
    _print([f"{path}: {len(outcome.report.findings)} accepted.\n"], sys.stdout)
    return CLEAN if all(failure.partial for failure in outcome.report.failures) else UNCHECKED


def _show(options: argparse.Namespace, outcome: Outcome, stream: TextIO) -> None:
    talking = options.output_format in TALKING
    asked = options.sight or options.statistics
    if not options.diff and (outcome.report.findings or asked or not talking):
        from dl_lint.output import Look, plain

        texts = outcome.texts
        look = Look(texts.lines, _paint(stream) if talking else plain, options.unsafe_fixes, texts.cell)
        _print(_renderer(options)(outcome.report, look), stream)
    if talking:
        from dl_lint.output.closing import closing

        _print(closing(outcome, fix=options.fix, diff=options.diff, unsafe=options.unsafe_fixes), stream)


def _renderer(options: argparse.Namespace) -> Render:
    from dl_lint.output import renderer

    if not options.statistics and not options.sight:
        return renderer(options.output_format)
    from dl_lint.output import sight, statistics

    if options.output_format == "json":
        return sight.render_json if options.sight else statistics.render_json
    return sight.render if options.sight else statistics.render


def _complain(error: ConfigError) -> None:
    from dl_lint.texts import visible

    sys.stderr.write(f"dl-lint: error: {visible(str(error))}\n")


def _say(failures: Iterable[Failure]) -> None:
    from dl_lint.texts import visible

    _print((f"dl-lint: {visible(' '.join(str(failure).split()))}\n" for failure in failures), sys.stderr)


def _on_terminal(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a diff, which a program would take as they are."""
    from dl_lint.texts import visible

    yield from (visible(line.rstrip("\n").replace("\t", "    ")) + "\n" for line in lines)


def _print(chunks: Iterable[str], stream: TextIO) -> None:
    for chunk in chunks:
        stream.write(chunk)


def _paint(stream: TextIO) -> Paint:
    """Colours where rich would use them: on a terminal, as NO_COLOR, FORCE_COLOR and TERM have it."""
    from dl_lint.output import plain

    if os.environ.get("NO_COLOR") or not (stream.isatty() or os.environ.get("FORCE_COLOR")):
        return plain
    from rich.console import Console
    from rich.style import Style

    system = Console(file=stream)._color_system
    return plain if system is None else lambda style, text: Style.parse(style).render(text, color_system=system)
