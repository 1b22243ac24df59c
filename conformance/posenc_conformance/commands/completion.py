"""Completion of ``posenc`` in a shell, written from the parser of its arguments."""

import argparse
import shlex
from collections.abc import Iterator, Mapping

from posenc_conformance.commands.judge.table import read_table
from posenc_conformance.models.file import paths as model_paths
from posenc_conformance.scheme_file.read import paths_by_name

NAMED = {
    "schemes": ("explain", "plot", "schemes"),
    "models": ("judge", "model", "probe"),
}
"""Commands whose arguments are names of the specification, by the kind of name."""
BASH = """\
_posenc() {{
    local word command= words=
    [ "$COMP_CWORD" -gt 1 ] && for word in "${{COMP_WORDS[@]}}"; do
        case $word in {commands}) command=$word; break;; esac
    done
    case $command in
        "") words={quoted};;
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$2"))
}}
complete -o default -F _posenc posenc"""
"""With nothing to offer, ``default`` offers the names of files."""
ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def completion(
    shell: str, commands: Mapping[str, argparse.ArgumentParser], help: Mapping[str, str]
) -> str:
    """Return lines that teach a shell the subcommands, their options, and names of the spec.

    ``help`` has a line on each command, which fish shows.
    """
    if shell == "fish":
        return "\n".join(_fish(commands, help))
    words = {name: shlex.quote(_words(name, parser)) for name, parser in commands.items()}
    cases = (f"        {name}) words={offered};;" for name, offered in words.items())
    text = BASH.format(
        commands="|".join(commands), quoted=shlex.quote(" ".join(commands)), cases="\n".join(cases)
    )
    return ZSH * (shell == "zsh") + text


def _words(name: str, parser: argparse.ArgumentParser) -> str:
    options = (option for action in _options(parser) for option in action.option_strings)
    return " ".join([*_values(name, parser), *options])


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _values(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the words that a command takes besides options, as far as they are known."""
    choices = [choice for action in parser._actions for choice in action.choices or ()]
    schemes = paths_by_name() if name in NAMED["schemes"] else ()
    models = [path.stem for path in model_paths()] if name in NAMED["models"] else ()
    engines = read_table([]).engines if name == "judge" else ()
    return [*choices, *engines, *schemes, *models]


def _fish(
    commands: Mapping[str, argparse.ArgumentParser], help: Mapping[str, str]
) -> Iterator[str]:
    for name, parser in commands.items():
        about = shlex.quote(help[name])
        yield f"complete -c posenc -n __fish_use_subcommand -f -a {name} -d {about}"
        where = f"complete -c posenc -n '__fish_seen_subcommand_from {name}'"
        if values := _values(name, parser):
            yield f"{where} -a {shlex.quote(' '.join(values))}"
        for action in _options(parser):
            names = [
                f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                for option in action.option_strings
            ]
            yield " ".join([where, *names, *(["-r"] if action.nargs != 0 else [])])
