"""``python -m scoreboard.deployed``: judge engines as they are deployed, and store the results.

Judges what is due: models that were not judged yet with the packages that would be installed now
and this version of the kit.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from time import monotonic

from posenc_conformance import __version__
from posenc_conformance.checks.deployed import CONTEXT
from posenc_conformance.commands.probe import SPELLINGS
from posenc_conformance.errors import UserError
from scoreboard.deployed import kept
from scoreboard.deployed.engines import Engine, engines, select
from scoreboard.deployed.judging import Bench, bench_for, context_of, models, nothing_yet
from scoreboard.deployed.kept import Cell, Results


def main() -> int:
    """Judge engines; return 1 if one can't be judged or, with ``--check``, something is due."""
    parser = argparse.ArgumentParser(prog="python -m scoreboard.deployed", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ENGINE", help="engines (default: all)")
    parser.add_argument("--models", nargs="+", default=[], help="default: all that have probes")
    parser.add_argument(
        "--spellings", nargs="+", choices=SPELLINGS, default=SPELLINGS, help="default: both"
    )
    parser.add_argument("--all", action="store_true", help="judge even what is up to date")
    parser.add_argument("--check", action="store_true", help="judge nothing, tell what is due")
    parser.add_argument(
        "--context", type=int, default=CONTEXT, help="tokens of the longest text; windows get more"
    )
    options = parser.parse_args()
    try:
        chosen, chosen_models = select(options.names, engines()), models(options.models)
    except UserError as error:
        print(f"scoreboard: {error}", file=sys.stderr)
        return 2
    problems = 0
    for engine in chosen:
        spellings = [candidate for candidate in engine.spellings if candidate in options.spellings]
        pairs = [(model, spelling) for model in chosen_models for spelling in spellings]
        due = [*_due(engine, pairs, options.all)]
        print(f"{engine.name}: {len(due)} due", flush=True)
        if options.check:
            problems += bool(due)
            continue
        try:
            _judge(engine, due, options.context)
        except UserError as error:
            print(f"scoreboard: {engine.name}: {error}", file=sys.stderr, flush=True)
            problems += 1
    return 1 if problems else 0


Asked = tuple[str, str]
"""A model and a spelling."""


def _due(engine: Engine, wanted: Sequence[Asked], all: bool) -> Iterator[Asked]:
    """Yield the models and spellings that must be judged."""
    before = None if all else _kept(engine)
    cells = before.cells if before else {}
    for pair in wanted:
        if (cell := cells.get(pair)) is None or cell.kit != __version__:
            yield pair


def _kept(engine: Engine) -> Results | None:
    """Return the stored results of an engine, if its installation would be the same now."""
    try:
        results = kept.read(kept.place_of(engine.name))
    except UserError:
        return None
    return results if results.install == engine.pinned else None


def _judge(engine: Engine, due: Sequence[Asked], context: int) -> None:
    if not due:
        return
    bench = bench_for(engine)
    results, began = _kept(engine) or nothing_yet(bench), monotonic()
    for cell in _cells(bench, due, context):
        results = results.with_cell(cell)
        kept.write(results, kept.place_of(engine.name))
        seconds = monotonic() - began
        print(f"  {cell.model}, {cell.spelling}: {_told(cell)}, in {seconds:.0f} s", flush=True)
        began = monotonic()


def _cells(bench: Bench, due: Sequence[Asked], context: int) -> Iterator[Cell]:
    """Judge the models one by one, or an engine's own layers on all models in one run."""
    if bench.engine.layers:
        yield from bench.judge_layers([model for model, _ in due])
        return
    for model, spelling in due:
        yield bench.judge(model, spelling, context_of(model, context))


def _told(cell: Cell) -> str:
    named = ", ".join(f"{mistake.id} ({mistake.failures})" for mistake in cell.mistakes)
    counts = f"{len(cell.passed)} passed, {len(cell.failed)} failed"
    return f"{cell.verdict}: {cell.says or named or counts}"


if __name__ == "__main__":
    sys.exit(main())
