"""The command ``posenc``; ``posenc --help`` lists its subcommands."""

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from posenc_conformance.commands.judge.arguments import (
    JUDGE,
    add_engines,
    add_judge,
    judge_options,
    split,
)
from posenc_conformance.commands.progress import Progress
from posenc_conformance.commands.repro.arguments import add_repro, circumstances_of
from posenc_conformance.errors import UserError
from posenc_conformance.files import shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 for success, 1 for a finding such as drift, 2 for a UserError."""
    words = (*(sys.argv[1:] if arguments is None else arguments),)
    typed = split(words)
    parser = _parser()
    if not typed.own:
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(typed.own)
    options.of_run, options.of_engine, options.typed = typed.of_run, typed.of_engine, words
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may lack a letter of ours
        sys.stdout.reconfigure(errors="replace")
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except UserError as error:
        print(f"posenc: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # as in: posenc list | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="posenc",
        description="Conformance of positional encodings; judge with: pytest --impl=NAME",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version, and end")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="implementations, and what they claim")
    listing.set_defaults(run=_list)
    schemes = commands.add_parser("schemes", help="schemes, their calls and combinations")
    schemes.add_argument(
        "names", nargs="*", default=[], metavar="NAME", help="describe these schemes"
    )
    schemes.set_defaults(run=_schemes)
    explain = commands.add_parser("explain", help="what the known mistakes of a scheme are")
    explain.add_argument("scheme", help="its id, such as rope")
    explain.add_argument("mistakes", nargs="*", default=[], metavar="MISTAKE", help="only these")
    explain.set_defaults(run=_explain)
    init = commands.add_parser("init", help="write an adapter: look at a library, claim what fits")
    init.add_argument(
        "name",
        help="a package, module, module:attribute or .py file; for any other name, a commented "
        "adapter to start from, NAME_adapter.py, is written",
    )
    init.add_argument(
        "schemes",
        nargs="*",
        default=[],
        help="look for these alone; write what was not found as comments",
    )
    init.add_argument(
        "--language",
        help="write a harness and a first adapter in c, cpp, go, java, javascript, r or rust",
    )
    init.add_argument(
        "--posenc-timeout",
        type=float,
        metavar="SECONDS",
        help="end a call that takes longer (default: 20); an import may take five times as long",
    )
    init.set_defaults(run=_init)
    new = commands.add_parser("new", help="write the files of a new scheme, ready to be filled")
    new.add_argument("name", help="its id, such as log-bias")
    new.add_argument(
        "--family", required=True, help="what it is like: absolute, bias, rotary or sparse"
    )
    new.add_argument("--to", metavar="FOLDER", help="the folder for files of a scheme of your own")
    new.set_defaults(run=_new)
    goldens = commands.add_parser("goldens", help="check or write the golden values of the spec")
    goldens.add_argument(
        "files", nargs="*", default=[], help="scheme files (default: the installed spec)"
    )
    mode = goldens.add_mutually_exclusive_group(required=True)
    mode.add_argument(
        "--check",
        action="store_true",
        help="regenerate, certify with the oracle, show differences; exit 1 if there are any",
    )
    mode.add_argument("--write", action="store_true", help="write what the reference says now")
    goldens.set_defaults(run=_goldens)
    export = commands.add_parser(
        "export", help="write test vectors that need neither Python nor posenc, or check them"
    )
    for name, text in (
        ("scheme", "its id, such as rope (default: all schemes)"),
        ("dtype", "float32, float64, bfloat16 or float16 (default: float32)"),
        ("form", "json, npz, safetensors or text (default: all of them)"),
    ):
        export.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="NAME",
            help=f"{text}; for several, repeat it or use commas",
        )
    mode = export.add_mutually_exclusive_group(required=True)
    mode.add_argument("--out", metavar="DIR", help="a folder, new or from an earlier export")
    mode.add_argument("--check", metavar="DIR", help="list what a new export would change; exit 1")
    export.set_defaults(run=_export)
    known = commands.add_parser("known", help="write the failures of a report as known failures")
    known.add_argument("report", help="what --posenc-report wrote")
    known.add_argument("file", help="the file to write, for --posenc-known")
    known.set_defaults(run=_write_known)
    repro = commands.add_parser("repro", help="print a snippet that reproduces one failure")
    add_repro(repro)
    repro.set_defaults(run=_repro)
    identify = commands.add_parser("identify", help="tell what a saved table is")
    identify.add_argument("file", help=".npy, .npz, .safetensors, .pt or text")
    identify.add_argument(
        "arrays", nargs="*", default=[], metavar="ARRAY", help="which, if there are several"
    )
    identify.add_argument(
        "--all", action="store_true", help="show all explanations that fit alike, not the best ones"
    )
    identify.set_defaults(run=_identify)
    model = commands.add_parser("model", help="what a model computes, and what mistakes cost")
    model.add_argument(
        "name", nargs="?", help="a model of the spec, or the path of a config.json or GGUF file"
    )
    model.add_argument("--json", action="store_true", help="print one JSON object")
    model.set_defaults(run=_model)
    compare = commands.add_parser(
        "compare", help="whether a converted checkpoint means what the original one means"
    )
    compare.add_argument(
        "original", help="a folder of transformers, MLX, Mistral or Meta, or a GGUF file"
    )
    compare.add_argument("converted", help="what a converter made of it, in any of these forms")
    compare.add_argument("--json", action="store_true", help="print a JSON document")
    compare.set_defaults(run=_compare)
    probe = commands.add_parser(
        "probe", help="write a checkpoint that lets a deployed inference engine be judged"
    )
    probe.add_argument("name", help="a model of the spec, or the path of a config.json")
    probe.add_argument("--out", required=True, metavar="FOLDER", help="where to write")
    probe.add_argument(
        "--dtype", default="bfloat16", help="of the weights: bfloat16, float16 or float32"
    )
    probe.add_argument(
        "--spelling",
        default="released",
        help="of config.json: as released, or as transformers-5 saves it",
    )
    probe.add_argument(
        "--gguf", action="store_true", help="write a GGUF file, named by --out, not a folder"
    )
    probe.add_argument(
        "--all-heads", action="store_true", help="have as many heads as the model, and be larger"
    )
    probe.set_defaults(run=_probe)
    add_judge(commands.add_parser(JUDGE, help="start an engine with a probe, and judge it"), _judge)
    add_engines(commands.add_parser("engines", help="engines that judge can start"), _engines)
    badge = commands.add_parser("badge", help="write a report's result as a badge, for a README")
    badge.add_argument("report", help="what --posenc-report wrote")
    badge.add_argument(
        "--to", metavar="FOLDER", default="badges", help="where to write (default: badges)"
    )
    badge.set_defaults(run=_badge)
    plot = commands.add_parser("plot", help="draw an encoding: its table, curves and distances")
    plot.add_argument("call", help="a scheme or one of its calls, such as rope")
    plot.add_argument("table", nargs="?", help="a saved table (.npy, …) to draw beside it")
    plot.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument, parameter, convention or combination, such as base=500000",
    )
    plot.add_argument("-o", metavar="FILE", help="the SVG to write (default: CALL.svg)")
    plot.set_defaults(run=_plot)
    report = commands.add_parser("report", help="write a report as one page, with pictures")
    report.add_argument("report", help="what --posenc-report wrote")
    report.add_argument("--html", required=True, metavar="FILE", help="where to write the page")
    report.set_defaults(run=_report)
    diff = commands.add_parser("diff", help="what got better and worse between two reports")
    diff.add_argument("before", help="what --posenc-report wrote")
    diff.add_argument("after", help="what it wrote later")
    diff.set_defaults(run=_diff)
    shells = commands.add_parser("completion", help="print completion for a shell, to be sourced")
    shells.add_argument("shell", choices=("bash", "zsh", "fish"))
    shells.set_defaults(run=_completion, commands=commands)
    for command, text in (
        (init, "an adapter that is there"),
        (new, "files that are there"),
        (export, "files of the same names that no export wrote"),
        (known, "a file that is there"),
        (probe, "files of the same names that are no probe"),
        (badge, "files of the same names that are no badges"),
        (report, "a file that is no page of posenc"),
        (plot, "a file that is no plot of posenc"),
    ):
        command.add_argument("--force", action="store_true", help=f"overwrite {text}")
    for command in (listing, schemes, explain, repro, identify, export):
        command.add_argument(
            "--posenc-schemes",
            metavar="FOLDER",
            action="append",
            default=[],
            help="also use the scheme files in this folder",
        )
    return parser


class _Version(argparse.Action):
    """Prints the version; it is imported only then, since NumPy comes with it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from posenc import __version__

        print(f"posenc {__version__}")
        parser.exit()


def _completion(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.completion import completion

    commands = options.commands
    help = {action.dest: str(action.help) for action in commands._choices_actions}
    print(completion(options.shell, commands.choices, help))
    return 0


def _repro(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from posenc_conformance.commands.repro.snippet import snippet

    with Progress() as progress:
        run = replace(circumstances_of(options), progress=progress.tell)
        text = snippet(options.id, options.impl, run)
    print(text)
    return 0


def _identify(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.identify.answers import MOST, told_of_file

    any_known = False
    file, progress = Path(options.file), Progress()
    most = None if options.all else MOST
    told = told_of_file(file, options.arrays, options.posenc_schemes, progress.tell, most=most)
    for lines, is_known in told:
        print(lines, flush=True)
        any_known = any_known or is_known
    return 0 if any_known else 1


def _model(options: argparse.Namespace) -> int:
    if options.json:
        from posenc_conformance.commands.model_json import as_json

        if not options.name:
            raise UserError("--json describes one model", "name a model of the spec, or a file")
        print(as_json(options.name))
        return 0
    from posenc_conformance.commands import model

    print("\n".join(model.describe_model(options.name) if options.name else model.overview()))
    return 0


def _compare(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.compare import compare_command

    with Progress() as progress:
        found = compare_command.compare(options.original, options.converted, progress.tell)
    lines = [compare_command.document(found)] if options.json else compare_command.lines(found)
    print("\n".join(lines))
    return found.exit_code


def _probe(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.probe import write_gguf, write_probe

    arguments = options.name, options.out, options.dtype
    how = {"force": options.force, "all_heads": options.all_heads}
    written = (
        write_gguf(*arguments, **how)
        if options.gguf
        else write_probe(*arguments, options.spelling, **how)
    )
    for line in written:
        print(line)
    return 0


def _judge(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.judge.judge_command import Order, judge

    order = Order(
        engine=options.engine,
        model=options.model,
        out=options.out,
        dtype=options.dtype,
        spelling=options.spelling,
        gguf=options.gguf,
        all_heads=options.all_heads,
        environment=options.environment,
        port=options.port,
        name=options.name,
        tables=tuple(options.engines),
        wait=options.wait,
        plan=options.plan,
        verbose=options.verbose,
        judge_options=judge_options(options),
        engine_options=options.of_engine,
        typed=options.typed,
    )
    return judge(order)


def _engines(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.judge.listing import listing

    for line in listing(options.names, options.engines, options.environment):
        print(line)
    return 0


def _diff(options: argparse.Namespace) -> int:
    from posenc_conformance.report.difference import difference, read_report

    changes = difference(read_report(Path(options.before)), read_report(Path(options.after)))
    print("\n".join(changes.lines()))
    return 1 if changes.worse else 0


def _plot(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.plot import plot

    for told in plot(options.call, options.param, options.table, options.o, force=options.force):
        print(told)
    return 0


def _report(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from posenc_conformance.report.difference import read_report
    from posenc_conformance.report.page import WRITER, page

    content, path = page(read_report(Path(options.report))), Path(options.html)
    replace(WRITER, option="", streams=False, force=options.force).write({path: content})
    print(f"wrote {shown(path)}")
    return 0


def _badge(options: argparse.Namespace) -> int:
    from posenc_conformance.commands import badge

    for line in badge.write(Path(options.report), Path(options.to), force=options.force):
        print(line)
    return 0


def _goldens(options: argparse.Namespace) -> int:
    from posenc_conformance.commands import goldens

    return goldens.main(options.files, options.write)


def _export(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.export.export_command import check, export, ordered
    from posenc_conformance.registry import load_all

    schemes = load_all(options.posenc_schemes)
    if options.check is not None:
        if options.scheme or options.dtype or options.form:
            raise UserError(
                "--check takes no --scheme, --dtype or --form", "the folder says what it holds"
            )
        differences = check(options.check, schemes)
        print("\n".join(differences) or f"{shown(options.check)}: an export would change nothing")
        return 1 if differences else 0
    order = ordered(options.scheme, options.dtype, options.form, schemes)
    for line in export(order, options.out, schemes, force=options.force):
        print(line)
    return 0


def _write_known(options: argparse.Namespace) -> int:
    from posenc_conformance.report import known

    written = known.write(Path(options.report), Path(options.file), force=options.force)
    print(f"wrote {shown(options.file)} with", "\n".join(written.words()))
    return 0


def _list(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.describe import implementations
    from posenc_conformance.registry import load_all

    for line in implementations(load_all(options.posenc_schemes)):
        print(line)
    return 0


def _schemes(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.describe import details, overview, scheme_named
    from posenc_conformance.registry import load_all

    schemes = load_all(options.posenc_schemes)
    if not options.names:
        print("\n".join(overview(schemes)))
        print("\nposenc schemes NAME says what each keyword, convention and parameter means")
    for scheme in [scheme_named(name, schemes) for name in options.names]:
        print("\n".join([*details(scheme), ""]))
    return 0


def _explain(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.describe import explained, scheme_named
    from posenc_conformance.registry import load_all

    scheme = scheme_named(options.scheme, load_all(options.posenc_schemes))
    print("\n".join(explained(scheme, options.mistakes)))
    return 0


def _new(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.new.new_command import FAMILIES, new

    if options.family not in FAMILIES:
        raise UserError(
            f"there is no skeleton for the family {options.family!r}",
            f"families are {', '.join(FAMILIES)}; begin with the one that is nearest",
        )
    for line in new(options.name, options.family, options.to, force=options.force):
        print(line)
    return 0


def _init(options: argparse.Namespace) -> int:
    from posenc_conformance.commands.init.init_command import init
    from posenc_conformance.commands.search_path import add_search_path

    add_search_path()
    given = options.name, options.schemes, options.language
    written = init(*given, force=options.force, seconds=options.posenc_timeout)
    print("\n".join(written))
    return 0
