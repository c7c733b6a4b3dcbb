"""Where the rules of dl-lint that advice names are explained."""

from __future__ import annotations

_PAGE = "https://github.com/pytest-dataloader/pytest-dataloader/blob/main/docs/rules.md"
# dl-lint is never imported from here; a test holds these names against its own.
_NAMES = {
    "DL108": "sync-every-step",
    "DL204": "missing-persistent-workers",
    "DL206": "host-cpu-count-workers",
    "DL207": "zero-workers",
    "DL208": "ineffective-sharing-strategy",
    "DL210": "pinned-without-workers",
    "DL301": "python-container-in-dataset",
    "DL302": "growing-cache-in-dataset",
    "DL303": "handle-shared-over-fork",
    "DL304": "cuda-in-worker",
    "DL305": "retained-worker-batch",
    "DL306": "unpicklable-in-worker",
    "DL307": "missing-main-guard",
    "DL308": "stale-dataset-in-persistent-workers",
    "DL309": "stop-iteration-in-getitem",
    "DL401": "missing-set-epoch",
    "DL402": "frozen-generator-in-dataset",
    "DL403": "constant-worker-seed",
    "DL404": "epoch-repeating-worker-seed",
    "DL405": "unsharded-iterable-dataset",
    "DL406": "unsharded-training-loader",
    "DL407": "reseeding-per-sample",
    "DL408": "oversized-numpy-seed",
    "DL409": "padded-evaluation-sampler",
}


def explanation_of(code: str) -> str:
    """The address of a rule's explanation; empty for what is no rule of ours.

    >>> explanation_of("DL301").rpartition("/")[2], explanation_of("")
    ('rules.md#dl301-python-container-in-dataset', '')
    """
    name = _NAMES.get(code)
    return f"{_PAGE}#{code.lower()}-{name}" if name else ""
