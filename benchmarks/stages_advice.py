"""What ``stages`` says of loaders that one sample, waiting workers, or workers as such hold up; and of such as none do.

    python benchmarks/stages_advice.py --seconds 3 --repeats 5 [--busy 2]

``--busy`` starts so many loops that never rest beside.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_dataloader.checks import Setting, stages

if TYPE_CHECKING:
    from collections.abc import Callable


class Timed(Dataset[Any]):
    """Waits, or computes, so many milliseconds for each sample."""

    def __init__(self, ms: Callable[[int], float], length: int = 2000, *, computing: bool = False) -> None:
        self.ms, self.length, self.computing = ms, length, computing

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if self.computing:
            end = time.thread_time_ns() + int(self.ms(index) * 1e6)
            while time.thread_time_ns() < end:
                pass
        else:
            time.sleep(self.ms(index) / 1e3)
        return torch.tensor(index)


def varying(index: int) -> float:
    """As pictures of many sizes: 0.5 to 4 ms."""
    return 0.5 * 2 ** (index * 2654435761 % 1000 / 333)


def waits(samples: list[Any]) -> Any:
    time.sleep(0.02)
    return torch.stack([sample for (sample,) in samples])


def loop() -> None:
    while True:
        pass


@dataclass(frozen=True, slots=True)
class Case:
    """A loader, and whether slow samples, more workers and no workers at all should be spoken of."""

    make: Callable[[], DataLoader[Any]]
    slow: str = ""
    more: bool = False
    dear: bool = False


CASES = {
    "one slow sample": Case(
        lambda: DataLoader(Timed(lambda at: 600 if at == 100 else 1), batch_size=16, num_workers=2), "100", more=True
    ),
    "one slow sample, shuffled": Case(
        lambda: DataLoader(Timed(lambda at: 300 if at == 1234 else 1), 16, True, num_workers=2), "1234", more=True
    ),
    "one slow sample, computing": Case(
        lambda: DataLoader(Timed(lambda at: 300 if at == 100 else 1, computing=True), 16, num_workers=2), "100"
    ),
    "samples of many sizes": Case(lambda: DataLoader(Timed(varying), 16, True, num_workers=2), more=True),
    "samples of many sizes, computing": Case(
        lambda: DataLoader(Timed(varying, computing=True), 16, True, num_workers=2)
    ),
    "collate waits": Case(
        lambda: DataLoader(TensorDataset(torch.zeros(4000, 64)), batch_size=16, num_workers=2, collate_fn=waits),
        more=True,
    ),
    "numbers in memory": Case(
        lambda: DataLoader(TensorDataset(torch.zeros(20_000), torch.zeros(20_000)), 32, True, num_workers=2), dear=True
    ),
    "rows in memory": Case(
        lambda: DataLoader(TensorDataset(torch.zeros(20_000, 64)), 64, True, num_workers=2), dear=True
    ),
    "computing, one worker": Case(
        lambda: DataLoader(Timed(lambda _: 1.0, computing=True), 16, num_workers=1), more=True
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--only", default="", help="only loaders whose name contains this")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    busy = [multiprocessing.Process(target=loop, daemon=True) for _ in range(asked.busy)]
    for process in busy:
        process.start()
    total = wrong = accused = 0
    for name, case in ((name, case) for name, case in CASES.items() if asked.only in name):
        slow, more, dear, longest = [], 0, 0, 0
        for _ in range(asked.repeats):
            seen = stages.measure(case.make(), setting=Setting(seconds=asked.seconds, bench=True))
            said = "; ".join(advice.text for advice in stages.judge(seen).advice)
            slow.append(",".join(one.index for one in seen.sample_times.slowest) if seen.sample_times else "")
            if case.dear and "num_workers=0 gave" not in said:
                print(f"  {name}: {seen.why}")
            dear += "num_workers=0 gave" in said
            more += "num_workers=" in said and "num_workers=0 gave" not in said
            bars = seen.pace_ms_per_sample
            longest += max(bars, key=lambda stage, bars=bars: bars[stage]) == seen.bottleneck  # type: ignore[misc]
        right = sum(one == case.slow for one in slow)
        accused += sum(one not in ("", case.slow) for one in slow) + (0 if case.dear else dear)
        counts = (
            right,
            more if case.more else asked.repeats - more,
            dear if case.dear else asked.repeats - dear,
            longest,
        )
        total, wrong = total + 4 * asked.repeats, wrong + 4 * asked.repeats - sum(counts)
        told = ("slow sample", "more workers", "no workers", "longest bar")
        cells = ", ".join(f"{what} {count}/{asked.repeats}" for what, count in zip(told, counts, strict=True))
        print(f"{name:34}  right: {cells}  {set(slow)}", flush=True)
    print(f"wrong: {wrong} of {total}; accused of what is not so: {accused}")
    for process in busy:
        process.kill()


if __name__ == "__main__":
    main()
