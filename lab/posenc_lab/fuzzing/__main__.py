"""Give malformed inputs to every reader in the kit, and fail if one of them hurts.

    python -m posenc_lab.fuzzing [--seconds N] [--seed N] [--keep FOLDER] [KIND ...]

All kinds (or the named ones) share N seconds. The same seed gives the same inputs. An input hurts
if it causes a traceback, takes more than ten seconds or a gigabyte, or ends the process. ``--keep``
writes such inputs into a folder; minimize them and store them in ``tests/found``, whose files a
test reads.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from posenc_lab.fuzzing.kinds import KINDS
from posenc_lab.fuzzing.trials import Tally, content_of, trials

MOST = 10**9


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if an input hurt."""
    parser = argparse.ArgumentParser(prog="python -m posenc_lab.fuzzing")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all kinds together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to write what hurts")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.kinds if name not in KINDS]:
        parser.error(f"there is no kind {unknown[0]}; there are {', '.join(KINDS)}")
    names = options.kinds or list(KINDS)
    print("| kind | inputs | read | refused | of these caught by the door alone | hurt |")
    print("|---|---|---|---|---|---|")
    hurt = 0
    for name in names:
        tally = trials(name, options.seed, 0, MOST, options.seconds / len(names))
        caught = sum(tally.caught.values())
        print(
            f"| {name} | {tally.tried:,} | {tally.read:,} | {tally.refused:,} | {caught:,} "
            f"| {len(tally.findings):,} |",
            flush=True,
        )
        _tell(name, tally, options.seed, options.keep)
        hurt += len(tally.findings)
    return 1 if hurt else 0


def _tell(name: str, tally: Tally, seed: int, keep: Path | None) -> None:
    for words, count in sorted(tally.caught.items()):
        print(f"  {name}: caught by the door alone: {words} ({count:,})", file=sys.stderr)
    seen: set[tuple[str, str]] = set()
    for finding in tally.findings:
        if (finding.what, finding.where) in seen:
            continue
        seen.add((finding.what, finding.where))
        print(f"  {name}: input {finding.number}: {finding.what} {finding.where}", file=sys.stderr)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            path = keep / f"{name}-{seed}-{finding.number}{Path(KINDS[name].name).suffix}"
            path.write_bytes(content_of(name, seed, finding.number))


if __name__ == "__main__":
    sys.exit(main())
