"""Make the data of both examples: a few hundred JPEG files and an index of captions that refers to them.

Run twice, it does nothing the second time.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from PIL import Image

IMAGES = 256
SIDE = 160  # pixels
CAPTIONS = 100_000
CLASSES = 1_000


def make_image(seed: int) -> Image.Image:
    """A picture with enough detail that decoding it costs what a small photograph costs."""
    rng = random.Random(seed)
    coarse = Image.frombytes("RGB", (20, 20), rng.randbytes(20 * 20 * 3))
    return coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC)


def main(folder: Path) -> None:
    done = folder / "index.json"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(IMAGES):
        make_image(number).save(folder / f"{number:04}.jpg", quality=90)
    classes = [f"class {number}: " + " ".join(f"synonym-{number}-{k}" for k in range(6)) for number in range(CLASSES)]
    (folder / "classes.json").write_text(json.dumps(classes))
    rows = [{"path": f"{n % IMAGES:04}.jpg", "label": n % CLASSES, "caption": f"picture {n}"} for n in range(CAPTIONS)]
    partial = folder / "index.json.partial"
    partial.write_text(json.dumps(rows))
    partial.rename(done)  # last, so that an interrupted run starts again


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images")
