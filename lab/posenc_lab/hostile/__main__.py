"""Give odd files and programs to the kit, and rate each outcome as good, poor or bad.

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
    for candidate in files():
        if not kinds or candidate.kind in kinds:
            yield "file", candidate.kind, candidate.name, of_file(candidate)
    chosen = [
        candidate
        for candidate in (*programs(), *descriptions())
        if not kinds or candidate.kind in kinds
    ]
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
    for source, kind, name, outcome in outcomes(kinds):
        tally.setdefault((source, kind), Counter())[outcome.rating] += 1
        if outcome.rating is not Rating.GOOD:
            print(f"{outcome.rating}: {kind} {name}: {outcome.why}", file=sys.stderr, flush=True)
    print("| | kind | tried | good | poor | bad |\n|---|---|---|---|---|---|")
    for (source, kind), ratings in tally.items():
        numbers = [ratings.total(), *(ratings[rating] for rating in Rating)]
        print(f"| {source} | {kind} | {' | '.join(map(str, numbers))} |")
    for source in ("file", "program"):
        whole = sum(
            (ratings for (other, _), ratings in tally.items() if other == source), Counter()
        )
        print(f"| {source} | all | {whole.total()} | {' | '.join(str(whole[r]) for r in Rating)} |")
    return 1 if any(ratings[Rating.BAD] for ratings in tally.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
