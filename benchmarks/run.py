"""What the kit costs: wall time, collection, plugin import and memory, each as a whole process.

    python benchmarks/run.py [IMPL]

Times are the best of three, beside an empty pytest run on the same machine.
"""

import resource
import subprocess
import sys
import tempfile
import time

HERE = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def best(command: list[str], times: int = 3) -> float:
    """Shortest wall time in seconds, in an empty folder."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(times):
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, capture_output=True, check=False)
            found.append(time.perf_counter() - start)
    return min(found)


def plugin_import_ms() -> float:
    """Import of the plugin alone, pytest being there already."""
    code = (
        "import pytest, time; t = time.perf_counter(); import posenc_conformance.plugin; "
        "print(1000 * (time.perf_counter() - t))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    impl = f"--impl={sys.argv[1] if len(sys.argv) > 1 else 'reference'}"
    print(f"plugin import without --impl   {plugin_import_ms():8.1f} ms")
    empty = best(HERE)
    print(f"empty pytest run               {empty:8.2f} s")
    collect = best([*HERE, impl, "--collect-only"])
    print(f"collection, {impl:18} {collect:8.2f} s, {collect - empty:.2f} s above the empty run")
    whole = best([*HERE, impl])
    print(f"whole run, one process         {whole:8.2f} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory                    {peak:8.0f} MB")


if __name__ == "__main__":
    main()
