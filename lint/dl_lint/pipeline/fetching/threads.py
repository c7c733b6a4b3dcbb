"""Libraries that start threads of their own while samples are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline import datasets, loaders, workers

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.pipeline.datasets import DatasetClass


PARALLEL = frozenset(
    f"cv2.{name}"
    for name in (
        "resize", "cvtColor", "warpAffine", "warpPerspective", "remap", "GaussianBlur", "blur", "boxFilter", "filter2D",
        "medianBlur", "bilateralFilter", "dilate", "erode", "morphologyEx", "undistort", "fastNlMeansDenoisingColored",
        "fastNlMeansDenoising", "Canny", "pyrDown", "pyrUp", "equalizeHist", "LUT", "calcOpticalFlowFarneback",
    )
)  # fmt: skip
"""Functions of OpenCV that divide an image among its threads."""

SWITCHES = ("setNumThreads", "OPENCV_FOR_THREADS_NUM")
"""Words of those who have thought of them."""

LAUNCHING = (".py", ".ipynb", ".sh", ".slurm", ".sbatch", ".yml", ".yaml", ".env", "Dockerfile")
"""Endings of the names of files that say how a script is started."""


def opencv_calls(program: Program, dataset: DatasetClass) -> Iterator[tuple[ast.Call, str]]:
    """The calls of OpenCV that run on several threads while a worker fetches samples, where nobody has said how many.

    Torch gives each worker one thread of its own, which OpenCV does not look at.
    """
    using = workers.users(program, dataset.cls) or workers.unclaimed(program, dataset.cls)
    if not any(loaders.may_have_workers(program, one) for one in using):
        return
    if any(program.mentions(dataset.node, word, *LAUNCHING) for word in SWITCHES):
        return
    for call, name in datasets.outside_calls(program, *datasets.fetching(program, dataset.cls)):
        if name in PARALLEL:
            yield call, name
