"""Stand-ins for CUDA's libraries, so that a CUDA build of torch imports where they are missing.

    python benchmarks/matrix/cuda_stubs.py .../site-packages/torch/lib

Most releases of torch come as CUDA builds alone, whose libraries are gigabytes and whose data loading needs none of
them. Each missing library becomes one that defines what torch asks of it, as functions that do nothing. Needs gcc,
nm and readelf.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

_SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libutil|libgcc_s|libstdc\+\+|libgomp\S*|ld-linux\S*)[.-]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def missing_libraries(libraries: list[Path]) -> set[str]:
    """Names of libraries that these need, and that neither the system nor their own folder has."""
    needed = {name for each in libraries for name in re.findall(r"NEEDED.*\[(.*?)\]", _output("readelf", "-d", each))}
    return {name for name in needed - {each.name for each in libraries} if not _SYSTEM.match(name)}


def undefined_symbols(libraries: list[Path]) -> dict[str, set[str]]:
    """Symbols that none of these defines, by the version that is asked of them; the empty one for those without."""
    defined, undefined = set(), set()
    for each in libraries:
        defined |= {line.split()[-1].split("@")[0] for line in _output("nm", "-D", "--defined-only", each).splitlines()}
        lines = _output("nm", "-D", "--undefined-only", each).splitlines()
        undefined |= {line.split()[-1] for line in lines if " U " in line}
    by_version = defaultdict[str, set[str]](set)
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        if name not in defined and _IDENTIFIER.fullmatch(name):
            by_version[version.lstrip("@")].add(name)
    return by_version


def wanted_versions(libraries: list[Path]) -> dict[str, set[str]]:
    """The versions of symbols that are asked of each library."""
    wanted = defaultdict[str, set[str]](set)
    for each in libraries:
        asked = ""
        for line in _output("readelf", "-V", each).splitlines():
            if file := re.search(r"File: (\S+)\s+Cnt", line):
                asked = file[1]
            elif version := re.search(r"Name: (\S+)\s+Flags", line):
                wanted[asked].add(version[1])
    return wanted


def write_stub(path: Path, symbols: dict[str, set[str]]) -> None:
    """Compile a library that defines symbols, by version."""
    names = sorted(set().union(*symbols.values()))
    nodes = [
        f"{version} {{ global: {' '.join(f'{name};' for name in sorted(each))} }};"
        for version, each in symbols.items()
        if version
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "stub.c"), Path(folder, "versions.map")
        source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in names))
        script.write_text("\n".join(node.replace("{ global:  }", "{ }") for node in nodes))
        versions = [f"-Wl,--version-script={script}"] if nodes else []
        soname = f"-Wl,-soname,{path.name}"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", "-O0", "-o", path, source, soname, *versions], check=True
        )


def main(folder: Path) -> None:
    """Write what is missing beside torch's own libraries."""
    libraries = sorted(folder.glob("*.so*"))
    missing, symbols, versions = missing_libraries(libraries), undefined_symbols(libraries), wanted_versions(libraries)
    for number, name in enumerate(sorted(missing)):
        own = {version: symbols[version] for version in versions[name]}
        if number == 0:  # those without a version are looked for in every library
            own[""] = symbols[""]
        write_stub(folder / name, own)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
