"""Output of ``posenc compare`` on small checkpoints that the build makes and converts."""

import contextlib
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mkdocs.exceptions import PluginError
from posenc_lab.compared.conversions import to_gguf
from posenc_lab.compared.families import original
from posenc_lab.compared.judging import write_converted, write_original
from posenc_lab.compared.wrong import WRONG

from markup import fenced
from posenc_conformance.commands.compare.compare_command import compare, lines
from posenc_conformance.commands.probe import write_gguf, write_probe

MODEL = "llama-3.1-8b"


def _shown(make: Callable[[], tuple[str, str]], differs: bool) -> str:
    """Show what the command prints of two files that are made in an empty folder.

    Raises PluginError if it does not say what the page says.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        before, after = make()
        found = compare(before, after)
        text = "\n".join(lines(found))
    if found.differs is not differs:
        raise PluginError(f"posenc compare does not find what the page says:\n{text}")
    kind = "failure" if differs else "card"
    return fenced(text, title=f"posenc compare {before} {after}", kind=kind)


def _probes() -> tuple[str, str]:
    list(write_probe(MODEL, "probe", "float16", "released"))
    list(write_gguf(MODEL, "probe.gguf", "float16"))
    return "probe", "probe.gguf"


def _without_scaling() -> tuple[str, str]:
    names = _probes()
    path = Path("probe/config.json")
    fields = json.loads(path.read_text(encoding="utf-8"))
    del fields["rope_scaling"]
    path.write_text(json.dumps(fields), encoding="utf-8")
    return names[1], names[0]


def _as_they_were() -> tuple[str, str]:
    (wrong,) = [wrong for wrong in WRONG if wrong.id == "not-permuted"]
    made = original("llama")
    write_original(Path("small"), made)
    write_converted(Path("unpermuted"), wrong.made(made))
    write_converted(Path("right"), to_gguf(made))
    if compare("small", "right.gguf").differs:
        raise PluginError("the right conversion is not accepted")
    return "small", "unpermuted.gguf"


BLOCKS = {
    "run:compare-right": partial(_shown, _probes, False),
    "run:compare-scaling": partial(_shown, _without_scaling, True),
    "run:compare-unpermuted": partial(_shown, _as_they_were, True),
}
