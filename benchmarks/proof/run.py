"""What a fault that dl-lint finds costs: each rule's pair, faulty and mended, measured by simple means.

    python benchmarks/proof/run.py [RULE…]

RULE is the name of a file here. Prints one line a rule; the rule's page holds the figures of one such run. What a pair
needs and is not there, a package or a CUDA device, is said in its line.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def lacking(needs: tuple[str, ...]) -> str | None:
    """The first of what a pair needs that is not there."""
    for need in needs:
        if need == "cuda":
            import torch

            if not torch.cuda.is_available():
                return "a CUDA device"
        elif importlib.util.find_spec(need) is None:
            return f"the package {need}"
    return None


def measured(name: str) -> str:
    """What the pair of a rule shows, in a sentence."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for what is pickled by name
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        return f"not measured, it needs the package {error.name}"
    needed = lacking(getattr(module, "NEEDS", ()))
    return f"not measured, it needs {needed}" if needed else str(module.measure())


def main(arguments: list[str]) -> int:
    names = sorted(path.stem for path in HERE.glob("*.py") if path != Path(__file__))
    asked = [one.replace("-", "_") for one in arguments] or names
    if unknown := set(asked) - set(names):
        sys.exit(f"no pair for {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if len(asked) == 1:
        print(f"{asked[0]}: {measured(asked[0])}")
        return 0
    return max(subprocess.run([sys.executable, __file__, name], check=False).returncode for name in asked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
