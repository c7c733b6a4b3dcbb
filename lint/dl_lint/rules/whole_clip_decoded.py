"""A whole recording, video, volume or array is read for each sample, and a slice of it is kept.

## What it does

Finds `torchaudio.load`, `soundfile.read`, `librosa.load`, `torchvision.io.read_video`, nibabel's `get_fdata()`,
`numpy.load` and `torch.load` that read a file whole while a sample is fetched, where nothing but a slice of what they
return is used. Calls that ask for a part or map the file into memory, and whatever is cached, normalised as a whole or
used otherwise, are left alone.

## Why is this bad?

The rest is read, decoded and thrown away, for every sample of every epoch: a second of a FLAC file of five minutes took
92 ms cut from the whole, and 0.9 ms read alone.

## Example

```python
import random

import soundfile
from torch.utils.data import Dataset


class Speech(Dataset):
    def __init__(self, paths, length):
        self.paths = paths
        self.length = length

    def __getitem__(self, index):
        wave, rate = soundfile.read(self.paths[index], dtype="float32")
        start = random.randint(0, len(wave) - self.length)
        return wave[start : start + self.length]
```

## Use instead

```python
import random

import soundfile
from torch.utils.data import Dataset


class Speech(Dataset):
    def __init__(self, paths, length):
        self.paths = paths
        self.length = length

    def __getitem__(self, index):
        frames = soundfile.info(self.paths[index]).frames
        start = random.randint(0, frames - self.length)
        wave, rate = soundfile.read(self.paths[index], start=start, stop=start + self.length, dtype="float32")
        return wave
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline.fetching import decoding
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project


@rule("DL310", severity="slow")
def whole_clip_decoded(project: Project) -> Iterator[Finding]:
    seen = set()
    for dataset in project.dataset_classes():
        for one in decoding.decodings(project, dataset):
            if one.call in seen:
                continue
            seen.add(one.call)
            kept = project.place(one.kept)
            yield Finding(
                project.place(one.call),
                f"the whole file is read for each sample of `{dataset.name}`, and nothing but a slice of it is used "
                f"({project.told(kept)})",
                one.reader.remedy,
                (Related(kept, "what is kept"),),
            )
