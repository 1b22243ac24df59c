"""``make scoreboard``: judge adapters whose report is out of date, and store the reports.

With a release, judge that release instead, and store its report for comparison with the present.
"""

import argparse
import sys
from time import monotonic

from posenc_conformance.errors import UserError
from scoreboard import kept
from scoreboard.judging import card, judge
from scoreboard.releases import of_release
from scoreboard.table import libraries, select


def main() -> int:
    """Judge adapters; return 1 if any could not be judged."""
    parser = argparse.ArgumentParser(prog="make scoreboard", description=__doc__)
    parser.add_argument("names", nargs="*", help="adapters or libraries (default: all)")
    parser.add_argument("--all", action="store_true", help="judge even what is up to date")
    parser.add_argument("--check", action="store_true", help="judge nothing, tell what is due")
    parser.add_argument("--gpu", action="store_true", help="judge what needs a GPU, and that alone")
    parser.add_argument(
        "--here", action="store_true", help="install nothing: judge with what this Python has"
    )
    parser.add_argument("--release", metavar="PACKAGE==VERSION", help="an earlier one, see above")
    options = parser.parse_args()
    problems = 0
    try:
        table = [item for item in libraries() if options.names or item.gpu == options.gpu]
        chosen = select(options.names, table)
        if not options.check and any(library.gpu for library, _ in chosen):
            card()
    except UserError as error:
        print(f"scoreboard: {error}", file=sys.stderr)
        return 2
    for library, adapter in chosen:
        forced = options.all or options.release
        reason = kept.out_of_date(library, adapter) or ("it is asked for" if forced else "")
        if options.check or not reason:
            print(f"{adapter.name}: {reason or 'up to date'}", flush=True)
            problems += bool(reason)
            continue
        print(f"{adapter.name}: {reason}; judging", flush=True)
        began = monotonic()
        try:
            if options.release:
                content = judge(of_release(library, options.release), adapter)
                kept.write(content, kept.earlier_place_of(adapter.name))
            else:
                content = judge(library, adapter, options.here)
                kept.keep(content)
        except UserError as error:
            print(f"scoreboard: {adapter.name}: {error}", file=sys.stderr, flush=True)
            problems += 1
            continue
        counts = content["report"]["summary"]
        shown = ", ".join(f"{counts[item]} {item}" for item in ("passed", "failed", "known"))
        print(f"  {shown}, in {monotonic() - began:.0f} s with its installation", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
