"""A scheme in a few lines of NumPy, PyTorch and JAX, and the kit's verdict on them."""

from textwrap import indent
from typing import Any

from mkdocs.exceptions import PluginError
from posenc_lab import code as judging

from markup import code, fenced, link
from pages import in_reference

PAGE = "schemes/‹name›.md"
TITLES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}


def has_code(scheme: str) -> bool:
    """Return whether a scheme has code to show."""
    return scheme in judging.claimed()


def tabs(scheme: str) -> str:
    """Show the code in each library, with its verdict."""
    libraries = [library for id, library in judging.schemes_with_code() if id == scheme]
    return "\n" + "".join(_tab(scheme, library) for library in libraries)


def _tab(scheme: str, library: str) -> str:
    text = judging.path(scheme, library).read_text(encoding="utf-8")
    verdict = judging.recorded().get(scheme, {}).get(library)
    if verdict is None or verdict["code"] != judging.digest(scheme, library):
        raise PluginError(
            f"the code of {scheme} in {library} has changed since it was judged: "
            f"run python -m posenc_lab.code --library {library} {scheme}"
        )
    content = fenced(text, "python") + _verdict(scheme, verdict)
    return f'=== "{TITLES[library]}"\n\n{indent(content, "    ")}\n'


def _verdict(scheme: str, said: dict[str, Any]) -> str:
    """Write the verdict in one paragraph.

    It names the combinations that the code was judged as, the checks passed and the horizon; and,
    if the code accepts any bad input, how many bad inputs it refuses.
    """
    claimed = " and ".join(
        link(in_reference(PAGE, scheme, f"combination-{call.replace('_', '-')}-{name}"), code(name))
        for call, name in _distinct(judging.claimed()[scheme]).items()
    )
    bad = said["refused"] + said["not refused"]
    words = [f"<strong>Passed</strong> {said['passed']} checks as {claimed} in float32"]
    if said["horizon"]:
        reach, all_asked = min(map(tuple, said["horizon"].values()))
        words.append(f"precise to {reach:,}{', the farthest asked' if all_asked else ''}")
    if said["not refused"]:
        words.append(f"refuses {said['refused']} of {bad} bad inputs")
    return f'\n<p class="verdict">{"; ".join(words)}.</p>\n'


def _distinct(claimed: dict[str, str]) -> dict[str, str]:
    """Keep only the last call of each combination."""
    return {call: name for name, call in {name: call for call, name in claimed.items()}.items()}
