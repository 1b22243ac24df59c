"""Gives odd files and programs to the kit, and rates each outcome as good, poor or bad.

    python -m posenc_lab.hostile [KIND ...]

An outcome is *good* if it is the right answer, or one message that names the file and the field and
says what to do. It is *poor* if the message doesn't help. It is *bad* if it is a traceback, takes
more than ten seconds or a gigabyte, controls the terminal, or accepts nonsense as valid.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from posenc_lab.hostile.files import files
from posenc_lab.hostile.judging import Outcome, Rating, Stage, of_file
from posenc_lab.hostile.programs import descriptions, programs

PROGRAM = f"{sys.executable} {Path(__file__).with_name('program.py')}"


def outcomes(kinds: Sequence[str] = ()) -> Iterator[tuple[str, str, str, Outcome]]:
    """Yield "file" or "program", kind, name and outcome of each case of ``kinds`` (default all)."""
    for each in files():
        if not kinds or each.kind in kinds:
            yield "file", each.kind, each.name, of_file(each)
    chosen = [each for each in (*programs(), *descriptions()) if not kinds or each.kind in kinds]
    if not chosen:
        return
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), PROGRAM)
        for case in chosen:
            act = stage.of_description if case.kind == "descriptions" else stage.of_program
            yield "program", case.kind, case.name, act(case)
        left = stage.end()
        rating = Rating.BAD if left else Rating.GOOD
        yield "program", "left behind", "processes", Outcome(rating, f"{left} processes")


def main(kinds: Sequence[str]) -> int:
    """Print the table; return 1 if anything is bad."""
    tally: dict[tuple[str, str], Counter[Rating]] = {}
    for what, kind, name, outcome in outcomes(kinds):
        tally.setdefault((what, kind), Counter())[outcome.rating] += 1
        if outcome.rating is not Rating.GOOD:
            print(f"{outcome.rating}: {kind} {name}: {outcome.why}", file=sys.stderr, flush=True)
    print("| | kind | tried | good | poor | bad |\n|---|---|---|---|---|---|")
    for (what, kind), found in tally.items():
        numbers = [found.total(), *(found[rating] for rating in Rating)]
        print(f"| {what} | {kind} | {' | '.join(map(str, numbers))} |")
    for what in ("file", "program"):
        whole = sum((found for (each, _), found in tally.items() if each == what), Counter())
        print(f"| {what} | all | {whole.total()} | {' | '.join(str(whole[r]) for r in Rating)} |")
    return 1 if any(found[Rating.BAD] for found in tally.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
