"""The generated parts of the README: addresses, its list of schemes, and its outputs.

    python -m posenc_lab.readme

The outputs are those of the README's test, and of its adapter with each of the two layouts claimed.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from posenc_lab.scheme_families import FAMILIES, by_family

ADAPTER = "mylib_adapter.py"
"""File name of the adapter in the README."""
README = Path(__file__).parents[2] / "README.md"
PROJECT = README.with_name("pyproject.toml")
HOLES = (
    "Examples and outputs, which the build fills in, are missing there; "
    "[docs/examples](docs/examples)\nhas the examples.\n"
)
ADDRESSES = re.compile(r"(<!-- addresses: .*? -->\n).*?(?=<!-- end of addresses -->)", re.S)
TABLE = re.compile(r"(<!-- schemes: .*? -->\n).*?(?=<!-- end of schemes -->)", re.S)
CODE = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
ASSERTION = re.compile(r"(?:^E  .*\n)+", re.M)
FAILURE = re.compile(r"^_+ rope\S+golden::interleaved-d4-start\S+ of .*?^also .*?\n", re.S | re.M)
CARD = re.compile(r"^scheme +conventions .*?\nrope .*?\n", re.M)
DECIMAL = re.compile(r"\d+\.[\de+-]+")


def written(text: str) -> str:
    """Return the README with its generated parts updated."""
    test, adapter = CODE.findall(text)
    text = ADDRESSES.sub(lambda match: match[1] + addresses(urls()), text)
    text = TABLE.sub(lambda match: match[1] + table(), text)
    right = adapter.replace('"interleaved"', '"half"')
    for part, output in (
        (ASSERTION, output_of("test_mine.py", test)),
        (FAILURE, output_of(ADAPTER, adapter, f"--impl={ADAPTER}")),
        (CARD, output_of(ADAPTER, right, f"--impl={ADAPTER}")),
    ):
        (new,), (old,) = part.findall(output), part.findall(text)
        text = text.replace(old, new if shape(new) != shape(old) else old)
    return text


def shape(text: str) -> str:
    """Return the text without its decimals, whose last digits depend on the machine."""
    return DECIMAL.sub("#", text)


def urls() -> Mapping[str, str]:
    """Return the addresses of ``[project.urls]`` in pyproject.toml, empty if it has none."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    return dict(project.get("urls", {}))


def addresses(known: Mapping[str, str]) -> str:
    """Say where the site is, and how to clone the repository, as far as that is known."""
    site, source = known.get("Documentation"), known.get("Source")
    clone = f"    git clone {source}\n\n" if source else ""
    where = f"sources of {site}." if site else "sources of the site; `make site` builds it."
    return f"{clone}Links below lead to the {where}\n{HOLES}"


def table() -> str:
    """Return a Markdown table of the schemes of each family."""
    rows = [
        f"| {FAMILIES[name].lower()} | {', '.join(f'`{scheme.id}`' for scheme in schemes)} |\n"
        for name, schemes in by_family().items()
    ]
    return "".join(["| family | schemes |\n|---|---|\n", *rows])


def output_of(name: str, code: str, *options: str) -> str:
    """Return pytest's output for a file with this code."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
