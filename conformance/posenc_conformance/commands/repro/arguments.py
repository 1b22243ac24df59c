"""The arguments of ``posenc repro``: those of a run on which a check depends."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posenc_conformance.commands.repro.snippet import Circumstances


def add_repro(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("id", help="the id of a failed check, as a run shows it")
    parser.add_argument("--impl", required=True, metavar="NAME", help="as given to pytest")
    parser.add_argument("--posenc-model", action="append", default=[], metavar="NAME")
    parser.add_argument("--posenc-examples", type=int, default=3, metavar="N")
    parser.add_argument("--posenc-seed", type=int, default=0, metavar="N")
    parser.add_argument("--posenc-largest", type=int, default=512, metavar="MB")
    parser.add_argument("--posenc-timeout", type=float, metavar="SECONDS")
    parser.add_argument("--posenc-memory", metavar="AMOUNT")
    parser.add_argument("--posenc-python", default="", metavar="PATH")
    parser.add_argument("--posenc-apart", action="store_true")
    parser.add_argument("--posenc-here", action="store_true")


def circumstances_of(options: argparse.Namespace) -> "Circumstances":
    """Return what the run was given, with the search path of pytest's settings."""
    from posenc_conformance.checks import Options
    from posenc_conformance.commands.repro.snippet import Circumstances
    from posenc_conformance.commands.search_path import add_search_path
    from posenc_conformance.models.file import model_file
    from posenc_conformance.registry import load_all
    from posenc_conformance.remote.load import How

    how = How.of(
        options.posenc_timeout,
        options.posenc_memory,
        options.posenc_python,
        here=options.posenc_here,
        apart=options.posenc_apart,
    )
    return Circumstances(
        Options(options.posenc_examples, options.posenc_seed),
        how,
        load_all(options.posenc_schemes),
        [model_file(name) for name in options.posenc_model],
        options.posenc_largest * 2**20,
        add_search_path(),
    )
