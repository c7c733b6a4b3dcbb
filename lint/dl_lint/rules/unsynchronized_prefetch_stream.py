"""A prefetcher hands out a batch that its side stream may still be copying, or fills its memory again too early.

## What it does

Finds prefetchers written by hand that copy the next batch inside `with torch.cuda.stream(side)` and hand it out without
any wait between the streams; and those that wait, but neither call `record_stream` on what they hand out nor make the
side stream wait for the consumer's before it copies again.

## Why is this bad?

Kernels of one stream do not wait for another. Without `wait_stream` the model reads what was in that memory before.
Without `record_stream` the allocator gives a batch's memory back to the side stream as soon as Python drops it, and the
next copy overwrites what the model has yet to read. Neither raises an error, and both depend on timing.

## Example

```python
import torch


class Prefetcher:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.side = torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.batch = next(self.batches, None)
        if self.batch is not None:
            with torch.cuda.stream(self.side):
                self.batch = self.batch.cuda(non_blocking=True)

    def next(self):
        batch = self.batch
        self.preload()
        return batch
```

## Use instead

```python
import torch


class Prefetcher:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.side = torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.batch = next(self.batches, None)
        if self.batch is not None:
            with torch.cuda.stream(self.side):
                self.batch = self.batch.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.side)
        batch = self.batch
        if batch is not None:
            batch.record_stream(torch.cuda.current_stream())
        self.preload()
        return batch
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Finding, Related, rule
from dl_lint.transfers import streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project

WAIT = (
    "nothing makes the consumer's stream wait for this copy on a side stream: the batch is used before it has arrived",
    "call `torch.cuda.current_stream().wait_stream(side)` before the batch is handed out, and `record_stream` on it",
)
RECORD = (
    "the side stream may fill this memory again while the consumer's stream reads it: nobody tells the allocator",
    "call `record_stream(torch.cuda.current_stream())` on each tensor that is handed out",
)


@rule("DL107", severity="bug")
def unsynchronized_prefetch_stream(project: Project) -> Iterator[Finding]:
    for one in streams.unsynchronized_prefetches(project):
        message, remedy = WAIT if one.lacking == "wait" else RECORD
        entered = project.place(one.context.items[0].context_expr)
        yield Finding(project.place(one.copy), message, remedy, (Related(entered, "the side stream"),))
