"""Answers of ``posenc identify`` to arrays from installed libraries, and the time each takes.

    python -m benchmarks.identify

Needs the libraries that ``make real`` installs. The arrays are those of
``lab/posenc_lab/models/saved_arrays.py``, which demands the right name of each.
"""

import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc_conformance.commands.identify.answers import told_of_file
from posenc_lab.models.saved_arrays import SAVED, saved


def row(name: str, folder: Path) -> tuple[str, float]:
    """Return the answer for an array up to its worst difference, and the seconds it took."""
    path = saved(name, folder)
    start = time.perf_counter()
    lines = [line for line, _ in told_of_file(path, [])]
    taken = time.perf_counter() - start
    answer = re.sub(r"\s+", " ", " ".join(lines)).strip()
    return answer.partition(" worst difference")[0], taken


def main() -> None:
    with TemporaryDirectory() as folder:
        row(next(iter(SAVED)), Path(folder))  # reads the spec for all others
        print("| array | seconds | answer |\n|---|---|---|")
        for name in SAVED:
            answer, taken = row(name, Path(folder))
            print(f"| {name} | {taken:.2f} | {answer} |", flush=True)


if __name__ == "__main__":
    main()
