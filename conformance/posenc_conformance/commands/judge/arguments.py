"""The arguments of ``posenc judge`` and ``posenc engines``."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

JUDGE = "judge"
HANDED_ON = (
    "--posenc-context",
    "--posenc-dtype",
    "--posenc-cache",
    "--posenc-shift",
    "--posenc-timeout",
    "--posenc-report",
    "--posenc-known",
    "--junitxml",
)
"""Options of a run that judges, which is given them as they are."""
SHORT = ("-k", "-m")
"""Those of them that are followed by their value."""
FLAGS = ("-x", "-q", "-v")
"""Those without a value."""
OF_RUN = "--posenc-"
"""How the names of all other options of that run begin."""
IMPLEMENTATION = "--impl="
"""An option of that run that ``posenc judge`` gives it itself, and refuses."""
Run = Callable[[argparse.Namespace], int]


@dataclass(frozen=True)
class Typed:
    """What was typed, by whom it is for."""

    own: tuple[str, ...]
    """Arguments of the command itself."""
    of_run: tuple[str, ...] = ()
    """Further options of the run that judges; their values follow ``=``."""
    of_engine: tuple[str, ...] = ()


def split(arguments: Sequence[str]) -> Typed:
    """Tell the arguments of ``posenc judge`` from those that it hands on."""
    if list(arguments[:1]) != [JUDGE]:
        return Typed(tuple(arguments))
    place = [*arguments, "--"].index("--")
    ours, of_engine = arguments[:place], arguments[place + 1 :]
    of_run = [
        word
        for word in ours
        if word.startswith((OF_RUN, IMPLEMENTATION)) and word.partition("=")[0] not in HANDED_ON
    ]
    return Typed(tuple(word for word in ours if word not in of_run), (*of_run,), (*of_engine,))


def judge_options(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the options that the run that judges is given."""
    told: list[str] = []
    for name in HANDED_ON:
        value = vars(options)[_key(name)]
        told += [] if value is None else [f"{name}={value}"]
    for name in SHORT:
        value = vars(options)[_key(name)]
        told += [] if value is None else [name, value]
    flags = (name for name in FLAGS if vars(options)[_key(name)])
    return (*told, *flags, *options.of_run)


def _key(name: str) -> str:
    return f"of_run_{name.strip('-').replace('-', '_')}"


def add_judge(parser: argparse.ArgumentParser, run: Run) -> None:
    """Add the arguments of ``posenc judge``."""
    parser.usage = "posenc judge ENGINE MODEL [option ...] [-- option of the engine ...]"
    parser.add_argument(
        "engine",
        help="one of 'posenc engines', or a command with {folder} and {port} in it, in quotes",
    )
    parser.add_argument("model", help="a model of the spec, or the path of a config.json")
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="keep the probe, and what is made of it, in this folder, new or empty (default: a "
        "folder that is removed at the end)",
    )
    parser.add_argument(
        "--dtype", help="of weights and activations (default: the first that the engine has)"
    )
    parser.add_argument(
        "--spelling",
        default="released",
        help="of config.json: as released, or as transformers-5 saves it",
    )
    parser.add_argument("--gguf", action="store_true", help="the own command loads a GGUF file")
    parser.add_argument(
        "--all-heads",
        action="store_true",
        help="the probe has as many heads as the model, and is larger",
    )
    parser.add_argument("--port", type=int, help="where it answers (default: a free port)")
    parser.add_argument(
        "--name", default="", help="what the probe is called there (default: as it is listed)"
    )
    parser.add_argument(
        "--wait",
        type=_seconds,
        default=600.0,
        metavar="SECONDS",
        help="what starting may take, and converting (default: 600)",
    )
    parser.add_argument("--plan", action="store_true", help="print the lines, and run nothing")
    parser.add_argument(
        "--verbose", action="store_true", help="show what converter and engine print"
    )
    _add_table(parser)
    group = parser.add_argument_group(
        "options of the run that judges, as pytest takes them",
        "others that begin with --posenc- as well, with their values after =",
    )
    for name in (*HANDED_ON, *SHORT):
        group.add_argument(name, dest=_key(name), metavar="VALUE")
    for name in FLAGS:
        group.add_argument(name, dest=_key(name), action="store_true")
    parser.set_defaults(run=run)


def add_engines(parser: argparse.ArgumentParser, run: Run) -> None:
    """Add the arguments of ``posenc engines``."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="say all about these engines")
    _add_table(parser)
    parser.set_defaults(run=run)


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environment",
        metavar="FOLDER",
        help="the virtual environment in which the engine is installed (default: that of posenc)",
    )
    parser.add_argument(
        "--engines",
        metavar="FILE",
        action="append",
        default=[],
        help="also use the engines of this table, a YAML file in the form of the kit's own",
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("must be a positive number of seconds")
    return seconds
