"""Evidence as charts: the data and the layout that plotly.js draws, rounded and thinned for a small file."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from pytest_dataloader.printable import printable
from pytest_dataloader.quantities import figure, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Figure = dict[str, Any]
"""Title, a sentence, height in pixels, ``data`` and ``layout`` as plotly has them, and for its table the axes."""

MOST_POINTS = 60
"""Of one line: with 8 workers and their main process, 540 in a chart that is 400 to 1,200 pixels wide."""
_MOST_TIMED = 120
_FEW = 5
"""Points of a line that are marked."""
_NEGLIGIBLE = 0.001
"""Stages below this share of the slowest one are not drawn."""

COLOURS = {
    "read": "#3b82c4",
    "load": "#3b82c4",
    "fetch": "#d9822b",
    "collate": "#3f9d6b",
    "send": "#9a6bc4",
    "receive": "#2aa5a0",
    "pin": "#8f8f2f",
    "consumer": "#7d8590",
    "step": "#7d8590",
    "startup": "#b08d57",
    "wait": "#d1495b",
}
"""Each is told from white and from near black, and from its neighbours without seeing colours by its place."""
_MAIN, _FIRST, _OTHER = "#7d8590", "#3b82c4", "#d9822b"
_WORKERS = ("#3b82c4", "#d9822b", "#3f9d6b", "#9a6bc4", "#c2577a", "#8f8f2f", "#2aa5a0", "#b08d57")
_SLICES: tuple[tuple[str, str, str], ...] = (
    ("load", "index_ms", "fetched_ms"),
    ("collate", "fetched_ms", "collated_ms"),
    ("send", "packing_ms", "packed_ms"),
    ("wait", "asked_ms", "got_ms"),
    ("receive", "unpacking_ms", "unpacked_ms"),
    ("pin", "unpacked_ms", "pinned_ms"),
)
_OF_THE_DEVICE = (
    ("computes", "compute_ms", COLOURS["collate"]),
    ("only copies", "copy_ms", COLOURS["fetch"]),
    ("idles, the host waits for the loader", "idle_waiting_ms", COLOURS["wait"]),
    ("idles otherwise", "idle_other_ms", _MAIN),
)
_OF_WORKERS, _ASIDE = ("load", "collate", "send"), ("send", "receive", "pin")


def of_loader(checks: Mapping[str, Mapping[str, Any]]) -> list[Figure]:
    """All charts of a loader, from what each check saw; one that saw nothing gives none."""
    drawn: list[Figure | None] = []
    for name, draw in _DRAWN:
        seen = checks.get(name)
        if seen and seen["evidence"]:
            drawn.append(draw(seen["evidence"], seen["limits"]))
    drawn.append(_resources(checks))
    return [each for each in drawn if each is not None]


def stages(evidence: Mapping[str, Any], _limits: Mapping[str, Any]) -> Figure | None:
    """The ladder of stages: what each costs, and what of it passes for a sample."""
    own = evidence.get("ms_per_sample") or {}
    pace = evidence.get("pace_ms_per_sample") or own
    most = max(own.values(), default=0.0)
    names = [name for name in own if own[name] >= _NEGLIGIBLE * most and own[name] > 0]
    if not names:
        return None
    passing = [_round(pace.get(name, 0.0)) for name in names]
    whole = [_round(own[name]) for name in names]
    data = [
        {"type": "bar", "orientation": "h", "name": "wall time per sample", "y": names, "x": passing,
         "marker": {"color": _FIRST}},
        {"type": "bar", "orientation": "h", "name": "time of one process", "y": names, "x": whole,
         "marker": {"color": _MAIN, "opacity": 0.5}},
    ]  # fmt: skip
    return _figure(
        "Stages", "What a sample costs at each stage, in the order in which a batch goes through them.",
        data, x="ms per sample", y="stage", height=90 + 40 * len(names),
        yaxis={"autorange": "reversed", "ticksuffix": " "},
    )  # fmt: skip


def rate_figure(evidence: Mapping[str, Any], limits: Mapping[str, Any]) -> Figure | None:
    """Samples per second in each window, the interval of their mean, and the limit."""
    rates = evidence.get("window_samples_per_second") or ()
    if not rates:
        return None
    low, high = evidence["interval"]
    mean = evidence["samples_per_second"]
    windows = list(range(1, len(rates) + 1))
    ends = [0.5, len(rates) + 0.5]
    data: list[dict[str, Any]] = [
        {"type": "bar", "name": "window", "x": windows, "y": [_round(each) for each in rates], "width": 0.6,
         "marker": {"color": _FIRST, "opacity": 0.75}},
        {"type": "scatter", "mode": "lines", "name": "mean", "x": ends, "y": [_round(mean)] * 2,
         "line": {"color": COLOURS["collate"], "width": 2}},
    ]  # fmt: skip
    limit = limits.get("min_samples_per_second")
    if limit:
        dashed = {"color": COLOURS["wait"], "width": 2, "dash": "dash"}
        data.append({"type": "scatter", "mode": "lines", "name": "limit", "x": ends, "y": [_round(limit)] * 2,
                     "line": dashed})  # fmt: skip
    top = 1.08 * max(*rates, min(high, 2 * mean), limit or 0.0)
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": _round(low), "y1": _round(min(high, top)),
            "fillcolor": COLOURS["collate"], "opacity": 0.18, "line": {"width": 0}, "layer": "below"}  # fmt: skip
    beside = f", limit {figure(limit)}" if limit else ""
    return _figure(
        "Rate by window",
        f"{figure(mean)} samples/s without CPU contention (band: 95 % CI {figure(low)} to {figure(high)}){beside}.",
        data, x="window", y="samples/s", shapes=[band],
        xaxis={"tickformat": "d", "dtick": max(1, len(rates) // 12), "range": ends},
        yaxis={"range": [0, _round(top)]},
    )  # fmt: skip


def batches(evidence: Mapping[str, Any], _limits: Mapping[str, Any]) -> Figure | None:
    """How long each batch took to make, and how long it was waited for."""
    timed = _timed(evidence)
    if not timed:
        return None
    at = list(range(1, len(timed) + 1))
    told = [f"epoch {one['epoch']}, batch {one['number']}, {_maker(one)}<br>samples {_named(one)}" for one in timed]
    data = [
        {"type": "bar", "name": "made in", "x": at, "y": [_round(made_ms(one)) for one in timed], "text": told,
         "textposition": "none", "hovertemplate": "%{y} ms<br>%{text}<extra></extra>", "marker": {"color": _FIRST}},
        {"type": "scatter", "mode": "lines+markers", "name": "waited for",
         "x": at, "y": [_round(_between(one, "asked_ms", "got_ms")) for one in timed],
         "line": {"color": COLOURS["wait"], "width": 1.5}, "marker": {"size": 4}},
    ]  # fmt: skip
    return _figure(
        "Batches", "What each batch took to read and collate, and how long the main process waited for it.",
        data, x="batch, in the order of arrival", y="ms", yaxis={"rangemode": "tozero"},
    )  # fmt: skip


def workers(evidence: Mapping[str, Any], _limits: Mapping[str, Any]) -> Figure | None:
    """What each worker, and the main process, did when."""
    timed = _timed(evidence)
    if not timed:
        return None
    rows = ["main", *(f"worker {number}" for number in sorted({one["worker"] for one in timed} - {-1}))]
    data = []
    for name, begin, end in _SLICES:
        here = [(one, one[begin], one[end]) for one in timed if one[begin] and one[end]]
        if here and (name != "send" or any(one["worker"] >= 0 for one, _, _ in here)):
            of_worker = name in _OF_WORKERS
            data.append(_slices(name, [(_row(one) if of_worker else "main", *ends) for one, *ends in here], [
                f"batch {one['number']}" for one, *_ in here
            ]))  # fmt: skip
    steps = [each for each in evidence["timeline"].get("steps") or () if each["ended_ms"]][:_MOST_TIMED]
    if steps:
        data.append(_slices("step", [("main", each["began_ms"], each["ended_ms"]) for each in steps], [
            f"batch {each['number']}" for each in steps
        ]))  # fmt: skip
    return _figure(
        "Timeline",
        f"Each process over {len(timed)} batches. Thin bars are threads that send, receive and pin. "
        "Drag to look closer, click twice to come back.",
        data, x="ms since the start", y="process", height=110 + 38 * len(rows), barmode="overlay", dragmode="zoom",
        yaxis={"categoryorder": "array", "categoryarray": rows, "autorange": "reversed", "fixedrange": True},
    )  # fmt: skip


def memory(evidence: Mapping[str, Any], _limits: Mapping[str, Any]) -> Figure | None:
    """What each worker has to itself, over the batches of an epoch."""
    lines = _of_curve(evidence.get("curve") or ()) or _of_growth(evidence)
    if not lines:
        return None
    data = []
    for number, (name, at, sizes) in enumerate(lines):
        main = name == "main"
        colour = _MAIN if main else _WORKERS[(number - (lines[0][0] == "main")) % len(_WORKERS)]
        mode = "lines" if len(set(at)) > _FEW else "lines+markers"  # a line of one point is none
        data.append({"type": "scatter", "mode": mode, "name": name, "x": at, "y": sizes,
                     "line": {"color": colour, "width": 2, "dash": "dot" if main else "solid"}})  # fmt: skip
    grows = evidence.get("growth_bytes_per_worker")
    told = f" About {size(grows)} more for each worker in an epoch." if grows else ""
    return _figure(
        "Memory", f"What each process has to itself (private pages).{told}",
        data, x="batch", y="MB", yaxis={"rangemode": "tozero"}, xaxis={"tickformat": "d"},
    )  # fmt: skip


def tuning_figure(evidence: Mapping[str, Any], _limits: Mapping[str, Any]) -> Figure | None:
    """Rates with the numbers of workers that were tried."""
    found = evidence.get("tried") or ()
    if len(found) < 2:
        return None
    data = [
        {"type": "scatter", "mode": "lines+markers", "name": "measured",
         "x": [each["num_workers"] for each in found], "y": [_round(each["samples_per_second"]) for each in found],
         "line": {"color": _MAIN, "dash": "dot"}, "marker": {"color": _OTHER, "size": 10}},
    ]  # fmt: skip
    return _figure(
        "Workers tried", "Samples per second by the number of workers that persist.",
        data, x="num_workers", y="samples/s", yaxis={"rangemode": "tozero"}, xaxis={"tickformat": "d"},
    )  # fmt: skip


def device(evidence: Mapping[str, Any], _limits: Mapping[str, Any]) -> Figure | None:
    """What the device did in each training step."""
    steps = thin_points(evidence["use"]["steps"])
    numbers = list(range(1, len(steps) + 1))
    data = [
        {"type": "bar", "name": name, "x": numbers, "y": [_round(step[part]) for step in steps],
         "marker": {"color": colour}}
        for name, part, colour in _OF_THE_DEVICE
    ]  # fmt: skip
    return _figure(
        "Training steps", "What the device does in each of them.",
        data, x="step", y="ms", barmode="stack", xaxis={"tickformat": "d"},
    )  # fmt: skip


def _resources(checks: Mapping[str, Mapping[str, Any]]) -> Figure | None:
    """What is open whenever an epoch has ended: flat lines are what a loader should have."""
    seen = {name: (checks.get(name) or {}).get("evidence") or {} for name in ("fds", "shm")}
    left = [*(seen["shm"].get("open_after_epochs") or ()), *(seen["shm"].get("open_after_leaving") or ())]
    lines = (
        ("descriptors, main process", seen["fds"].get("open_after_epochs") or (), _FIRST, "solid"),
        ("descriptors, a worker's own", seen["fds"].get("open_in_workers_after_epochs") or (), _OTHER, "solid"),
        ("segments", left, COLOURS["send"], "dash"),
    )
    data = [
        {"type": "scatter", "mode": "lines+markers", "name": name, "x": list(range(1, len(counts) + 1)),
         "y": list(counts), "line": {"color": colour, "dash": dash}}
        for name, counts, colour, dash in lines if len(counts) > 1
    ]  # fmt: skip
    if not data:
        return None
    early = len(seen["shm"].get("open_after_leaving") or ())
    last = "epoch" if early == 1 else f"{early} epochs"
    told = f" The last {last} of segments {'was' if early == 1 else 'were'} left early." if early else ""
    return _figure(
        "Descriptors and segments", f"What is open after each epoch. A line that rises is a leak.{told}",
        data, x="epoch", y="open", yaxis={"rangemode": "tozero"}, xaxis={"tickformat": "d", "dtick": 1},
    )  # fmt: skip


_DRAWN: tuple[tuple[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Figure | None]], ...] = (
    ("stages", stages),
    ("throughput", rate_figure),
    ("stages", batches),
    ("memory", memory),
    ("stages", workers),
    ("tune", tuning_figure),
    ("transfer", device),
)


def made_ms(one: Mapping[str, Any]) -> float:
    """How long a batch took from its index to its being collated; 0 where that is not known."""
    return _between(one, "index_ms", "collated_ms") or _between(one, "index_ms", "fetched_ms")


def _timed(evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    timeline = evidence.get("timeline") or {}
    return list(timeline.get("batches") or ())[:_MOST_TIMED]


def _between(one: Mapping[str, Any], begin: str, end: str) -> float:
    return max(0.0, float(one[end] - one[begin])) if one[begin] and one[end] else 0.0


def _maker(one: Mapping[str, Any]) -> str:
    return f"worker {one['worker']}" if one["worker"] >= 0 else "main process"


def _row(one: Mapping[str, Any]) -> str:
    return f"worker {one['worker']}" if one["worker"] >= 0 else "main"


def _named(one: Mapping[str, Any]) -> str:
    """Samples of a batch; plotly reads labels as HTML."""
    return escape(printable(", ".join(str(index)[:40] for index in one["indices"][:4]))) + ", ..."


def _slices(name: str, ends: Sequence[tuple[str, float, float]], told: Sequence[str]) -> dict[str, Any]:
    aside = name in _ASIDE
    return {
        "type": "bar", "orientation": "h", "name": name, "y": [row for row, _, _ in ends],
        "base": [_round(begin, 2) for _, begin, _ in ends],
        "x": [_round(max(0.0, end - begin), 2) for _, begin, end in ends],
        "text": list(told), "textposition": "none",
        "hovertemplate": f"{name}: %{{x}} ms<br>%{{text}}<extra></extra>",
        "width": 0.25 if aside else 0.55, "offset": 0.17 if aside else -0.4, "marker": {"color": COLOURS[name]},
    }  # fmt: skip


def _of_curve(curve: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[int], list[float]]]:
    """A line for each process of a memory check: batches, and megabytes."""
    lines = []
    for number in sorted({point["worker"] for point in curve}):
        points = thin_points([point for point in curve if point["worker"] == number])
        sizes = [round(point["private_bytes"] / 1e6, 1) for point in points]
        name = f"worker {number}" if number >= 0 else "main"
        lines.append((name, [point["batch"] for point in points], sizes))
    return lines


def _of_growth(evidence: Mapping[str, Any]) -> list[tuple[str, list[int], list[float]]]:
    """The same of what is no DataLoader: the process, and all of its children."""
    between = evidence.get("batches_between") or 0
    lines = []
    for name, key in (("main", "private_bytes"), ("children", "children_bytes")):
        seen = evidence.get(key) or ()
        if any(seen):
            at = [number * between for number in range(len(seen))]
            lines.append((name, thin_points(at), [round(each / 1e6, 1) for each in thin_points(seen)]))
    return lines


def thin_points(points: Sequence[Any], most: int = MOST_POINTS) -> list[Any]:
    """At most so many of the points, evenly, the first and the last among them.

    >>> thin_points(range(10), 4), thin_points([1, 2])
    ([0, 3, 6, 9], [1, 2])
    """
    if len(points) <= most:
        return list(points)
    return [points[round(number * (len(points) - 1) / (most - 1))] for number in range(most)]


def _round(value: float, places: int = 4) -> float:
    """A figure for drawing: four significant digits, or for times on one axis two places."""
    if places == 2:
        return round(value, 2)
    return round(value, places - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _figure(
    title: str, what: str, data: list[dict[str, Any]], *, x: str, y: str, height: int = 300, **layout: Any
) -> Figure:
    horizontal = {
        axis: {"title": {"text": name}} | layout.pop(f"{axis}axis", {}) for axis, name in (("x", x), ("y", y))
    }
    if y in ("stage", "process"):  # the names say it
        horizontal["y"].pop("title")
    axes = {f"{axis}axis": value for axis, value in horizontal.items()}
    return {"title": title, "what": what, "height": height, "axes": [x, y], "data": data, "layout": axes | layout}


def all_figures(loaders: Sequence[Mapping[str, Any]]) -> Iterator[list[Figure]]:
    """The charts of each loader of a document of evidence."""
    for loader in loaders:
        yield of_loader(loader["checks"] | ({"tune": loader["tune"]} if "tune" in loader else {}))
