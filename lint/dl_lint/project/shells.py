"""Whether a project is run as on Linux machines with GPUs of NVIDIA: by what its prose, its requirements and its code
say of shells, schedulers and CUDA. Nothing of it keeps another system out by itself."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.project import platforms
from dl_lint.project.values import Const, Option, alternatives

if TYPE_CHECKING:
    from dl_lint.around import Around
    from dl_lint.facts import tree as t
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex

_PROSE = re.compile(
    r"\b(?:sbatch|srun|slurm|submitit|apt(?:-get)? install|mpirun|torchrun|torch\.distributed\.(?:launch|run))\b"
    r"|(?:^|[\s`$>])(?:(?:bash|sh|source)[ \t]+[\w./{}$-]+\.sh\b|\./[\w./-]+\.sh\b|source[ \t]+[\w./-]+/bin/activate)"
    r"|\b(?:CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS)=\S+[ \t]+\S*python"
    r"|\bcudatoolkit[ \t]?=|\bpytorch-cuda[ \t]?=|\+cu\d{2,3}\b|/whl/cu\d{2,3}\b",
    re.IGNORECASE | re.MULTILINE,
)
_REQUIRED = re.compile(
    r"^[ \t]*(?:-[ \t]+)?[\"']?(?:[\w-]+::)?(?:cudatoolkit|pytorch-cuda|cupy-cuda\w*|triton|nvidia-[\w-]+-cu\d+"
    r"|deepspeed|apex|flash[-_]attn|dgl-cu\w*|torch[\w-]*[ \t]*[=<>]=?[ \t]*[\d.]+\+cu\d+)\b"
    r"|\+cu\d{2,3}\b|/whl/cu\d{2,3}\b|^FROM[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
"""Of requirements and of the files of container images."""


def are_of_linux(project: Project, near: t.Node, files: frozenset[FileIndex]) -> bool:
    """Whether the project around ``near``, a script of which needs ``files``, is run as on Linux, and names no system
    but that."""
    if not platforms.named_systems(project, near) <= {"Linux"}:
        return False
    around, once = project.evaluator.files.around, project.evaluator.once
    folders = platforms.folders(project, near)
    if any(once(("run as on Linux", folder), partial(_is_told, around, folder)) for folder in folders):
        return True
    return not files.isdisjoint(once("of Linux", lambda: _of_linux(project)))


def _is_told(around: Around, folder: str) -> bool:
    if any(map(_PROSE.search, platforms.texts(around, folder))):
        return True
    names = (name for name in around.names(folder) if not platforms.is_prose(name))
    return any(_REQUIRED.search(around.text(os.path.join(folder, name))) for name in names)


def _of_linux(project: Project) -> frozenset[FileIndex]:
    """The files that call what other systems lack: ``os.uname`` and the backend ``nccl``."""
    calls = [*project.calls("os.uname")]
    for call in project.calls("torch.distributed.init_process_group"):
        backends = alternatives(project.passed(call, "backend", "backend").value)
        words = [one.default if isinstance(one, Option) else one for one in backends]
        if words and all(isinstance(one, Const) and one.value == "nccl" for one in words):
            calls.append(call)
    return frozenset(project.site(call).scope.file for call in calls)
