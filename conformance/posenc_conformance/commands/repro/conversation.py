"""A shell command that sends a program the requests that it answers wrongly."""

import shlex
from collections.abc import Sequence

from posenc_conformance.commands.repro.record import Given, Made
from posenc_conformance.remote.command_line import Manifest
from posenc_conformance.remote.wire import Lines, Message

END = "EOF"


def conversation(title: Sequence[str], manifest: Manifest, name: str, calls: Sequence[Made]) -> str:
    """Return the command, with the requests as its input; it prints the answers."""
    queue: list[Message] = [{"request": "describe", "protocol": 1}]
    for made in calls:
        arguments = {
            name: each.made() if isinstance(each, Given) else each
            for name, each in made.arguments.items()
        }
        queue.append({"request": "call", "call": name, "arguments": arguments})
    queue.append({"request": "goodbye"})
    wire = Lines()
    lines = [wire.encode({"id": 1 + n, **each}).decode().rstrip() for n, each in enumerate(queue)]
    command = manifest.command
    variables = [f"{name}={shlex.quote(value)}" for name, value in command.environment.items()]
    started = " ".join([*variables, *map(shlex.quote, command.words)])
    folder = [f"cd {shlex.quote(str(command.folder))}"] if command.folder else []
    head = [f"# {line}" for line in title]
    return "\n".join([*head, *folder, f"{started} <<'{END}'", *lines, END])
