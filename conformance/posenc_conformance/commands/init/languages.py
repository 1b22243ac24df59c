"""The option ``posenc init --language``: a harness and an adapter to start from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from posenc_conformance.door import LARGEST_CONFIGURATION, read_bytes
from posenc_conformance.errors import UserError
from posenc_conformance.files import Writer
from posenc_conformance.scheme_file.read import spec_folder


@dataclass(frozen=True)
class Language:
    """The files of a language, with the commands to build and run; {} is the adapter's name."""

    title: str
    place: str
    harness: str
    ending: str
    build: str
    run: str = "./{}"


LANGUAGES = {
    "c": Language(
        "C", "c", "posenc_harness.h", "c", "gcc -std=c11 -O2 -o {0} {0}.c <your library> -lm"
    ),
    "cpp": Language(
        "C++",
        "cpp",
        "posenc_harness.hpp",
        "cpp",
        "g++ -std=c++17 -O2 -o {0} {0}.cpp <your library>",
    ),
    "go": Language(
        "Go", "go", "posenc_harness.go", "go", "go build -o {0} {0}.go posenc_harness.go"
    ),
    "java": Language(
        "Java",
        "java",
        "PosencHarness.java",
        "java",
        "javac -d {0}_classes {0}.java PosencHarness.java",
        "'java -cp {}_classes Adapter'",
    ),
    "javascript": Language("JavaScript", "js", "posenc_harness.mjs", "mjs", "", "'node {}.mjs'"),
    "r": Language("R", "r", "posenc_harness.R", "R", "", "'Rscript --vanilla {}.R'"),
    "rust": Language(
        "Rust", "rust", "posenc_harness.rs", "rs", "rustc --edition 2021 -O -o {0} {0}.rs"
    ),
}


def start(stem: str, language: str, *, force: bool = False) -> Iterator[str]:
    """Write harness and adapter into the current folder, and yield instructions.

    The adapter computes two encodings itself, so that it can be built and judged right away. A
    harness that is already there is left as it is.

    Raises UserError for a language without a harness, and, unless ``force`` is given, if there is
    an adapter of this name or a different harness.
    """
    if language not in LANGUAGES:
        raise UserError(
            f"there is no harness for {language!r}, only for {', '.join(LANGUAGES)}",
            "write your own: the protocol is one line of JSON per message, see docs/protocol.md",
        )
    chosen = LANGUAGES[language]
    name = f"{stem}_adapter"
    adapter, harness = Path(f"{name}.{chosen.ending}"), Path(chosen.harness)
    texts = spec_folder().parent / "harness" / chosen.place
    example = (texts / f"adapter.{chosen.ending}").read_text(encoding="utf-8")
    contents = {adapter: example.replace(f"my {chosen.title} library", stem)}
    shipped = (texts / chosen.harness).read_text(encoding="utf-8")
    hint = "move it away, or go to another folder"
    existing = read_bytes(harness, LARGEST_CONFIGURATION, hint) if harness.is_file() else b""
    has_harness = existing == shipped.encode()
    if not has_harness:
        contents[harness] = shipped
    Writer(force=force).write(contents)
    also = f"; {harness} is there" if has_harness else f", and {harness}"
    yield f"wrote {adapter}, which computes sinusoidal and rope by itself{also}"
    yield "replace the arithmetic with calls of your library, and change the claims"
    if chosen.build:
        yield f"build it with: {chosen.build.format(name)}"
    yield f"judge it with: pytest --impl={chosen.run.format(name)}"
