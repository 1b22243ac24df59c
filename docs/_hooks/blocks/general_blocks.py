"""Content from spec, kit and reference on general pages: one function per ``<!-- name -->``."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mkdocs.exceptions import PluginError
from posenc_lab.scheme_families import FAMILIES, by_family

import architecture
import claims
import explorer_data
import posenc
import references
import vectors
from blocks import compare_blocks, length_blocks
from blocks.scheme_blocks import DESIDERATA, schemes
from markup import code, fenced, link, prose, table
from pages import in_reference
from posenc_conformance.commands.export import export_command
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.report import document
from posenc_conformance.scheme_file import read

EXAMPLES = Path(__file__).parents[2] / "examples"
LANGUAGES = {
    ".c": "c",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".go": "go",
    ".java": "java",
    ".js": "javascript",
    ".mjs": "javascript",
    ".py": "python",
    ".R": "r",
    ".rs": "rust",
}
BFLOAT16_RESOLUTION = 2.0**-8


@dataclass(frozen=True)
class Story:
    """A run of the kit that a page shows."""

    files: Mapping[str, str]
    """Names of example files by their names on the page; the last file is the adapter."""
    fails: bool = False
    options: tuple[str, ...] = ()

    @property
    def impl(self) -> str:
        """Name of the adapter's file."""
        return list(self.files)[-1]


LIBRARY = {"mylib.py": "mylib.py"}
STORIES = {
    "wrong": Story(LIBRARY | {"mylib_adapter.py": "mylib_adapter.py"}, fails=True),
    "right": Story(LIBRARY | {"mylib_adapter.py": "mylib_adapter_half.py"}),
    "engine": Story(
        {"myengine.py": "myengine.py", "myengine_adapter.py": "myengine_adapter.py"},
        fails=True,
        options=("--posenc-model=llama-3.2-1b",),
    ),
    "own": Story({"triangle.py": "triangle.py"}, fails=True, options=("-m", "invariant")),
}


def scheme_list() -> str:
    """List all schemes by family, each with a link to its page."""
    text = ""
    for family, members in by_family().items():
        text += f"\n## {FAMILIES[family]}\n\n" if members else ""
        for scheme in members:
            calls = ", ".join(f"`{name}`" for name in scheme.calls)
            text += f"\n### [{scheme.title}]({scheme.id}.md)\n\n{prose(scheme.summary)}\n\n"
            text += (
                f"Calls: {calls}. {len(scheme.goldens)} goldens, "
                f"{len(scheme.invariants)} invariants, "
                f"{len(scheme.deviations)} known mistakes.\n\n"
            )
    return text


def desiderata() -> str:
    """Tabulate every scheme that states desiderata against every desideratum."""
    names = list(DESIDERATA)
    rows = []
    for scheme in schemes().values():
        holds = {wish.name: wish.holds for wish in scheme.desiderata}
        if holds:
            cells = [{True: "yes", False: "no", None: ""}[holds.get(name)] for name in names]
            where = f"../../schemes/{scheme.id}/#desiderata"
            rows.append([f'<a href="{where}">{scheme.title}</a>', *cells])
    return table(["scheme", *names], rows)


def files() -> str:
    """List links to the files of the specification."""
    names = [path.name for path in read.scheme_paths()]
    rows = [f"- [`{name}`](spec/{name})" for name in (*names, read.SCHEMA_NAME)]
    return "\n".join(["", *rows, "", ""])


def roundoff() -> str:
    """Tabulate the unit roundoffs of the dtypes that can be claimed."""
    rows = []
    for name in _floats():
        v, u = UNIT_ROUNDOFF[name], _angle_roundoff(name)
        rows.append([code(name), _power(v), _power(u)])
    return table(["dtype of the result", "<em>v</em>", "<em>u</em>"], rows)


def rooms() -> str:
    """Tabulate the purpose of each room of the kit, and the rooms that it imports."""
    imports = architecture.arrows()
    order = [room for row in architecture.rows(imports) for room in row]
    rows = []
    for room in order:
        below = [other for other in order if (room, other) in imports]
        rows.append([code(room), prose(architecture.purpose(room)), ", ".join(map(code, below))])
    return table(["room", "what it is for", "knows"], rows)


def kinds() -> str:
    """Tabulate the arguments and results of each kind of call."""
    rows = [[code(name), code(kind.call), kind.result] for name, kind in KINDS.items()]
    return table(["kind", "call", "result"], rows)


def reach() -> str:
    """Tabulate the horizon that the bound guarantees, and where the bound becomes vacuous."""
    rows = []
    for scheme in schemes().values():
        rotates = any(call.kind in ("encode", "rotary") for call in scheme.calls.values())
        if rotates and scheme.accuracy.angle:
            for name in _floats():
                angle = scheme.accuracy.angle * _angle_roundoff(name)
                left = 1 - scheme.accuracy.rounding * UNIT_ROUNDOFF[name]
                rows.append(
                    [
                        scheme.title,
                        code(name),
                        f"{BFLOAT16_RESOLUTION / angle:,.0f}",
                        f"{left / angle:,.0f}",
                    ]
                )
    head = ["scheme", "dtype", "horizon of whoever passes, at least", "judged up to about"]
    return table(head, rows)


def ulp() -> str:
    """Tabulate errors of an ordinary float32 sinusoid, in ulps and in units of the bound."""
    dim, base = 64, 10000.0
    positions = np.arange(1, 4096)
    rounding, angle = (
        getattr(schemes()["sinusoidal"].accuracy, name) for name in ("rounding", "angle")
    )
    unit = UNIT_ROUNDOFF["float32"]
    frequency = (base ** -(np.arange(dim // 2) / (dim // 2))).astype(np.float32)
    theta = positions.astype(np.float32)[:, None] * frequency
    got = np.sin(theta).astype(np.float64)
    truth = posenc.sinusoidal(positions, dim, base=base)[:, 0::2]
    error = np.abs(got - truth)
    ulps = error / np.spacing(np.abs(truth).astype(np.float32))
    exact = positions[:, None] * base ** -(np.arange(dim // 2) / (dim // 2))
    allowed = unit * (rounding + angle * exact * (1 + np.abs(np.log(exact / positions[:, None]))))
    rows = []
    for row, pair in _largest(ulps, 4):
        rows.append(
            [
                f"{positions[row]:,}",
                str(2 * pair),
                code(f"{truth[row, pair]:.9g}"),
                code(f"{got[row, pair]:.9g}"),
                f"{ulps[row, pair]:,.0f}",
                f"{error[row, pair] / allowed[row, pair]:.2f}",
            ]
        )
    head = ["position", "channel", "true value", "float32 gives", "error in ulp", "error ÷ bound"]
    return table(head, rows)


def _largest(values: np.ndarray[Any, Any], count: int) -> Iterator[tuple[int, int]]:
    """Yield the row and column of the largest values, at most one for each column."""
    order = np.argsort(values, axis=None)[::-1]
    seen: set[int] = set()
    for place in order:
        row, column = (int(i) for i in np.unravel_index(place, values.shape))
        if column not in seen:
            seen.add(column)
            yield row, column
        if len(seen) == count:
            return


def _floats() -> list[str]:
    return [name for name, unit in UNIT_ROUNDOFF.items() if unit]


def _angle_roundoff(dtype: str) -> float:
    return UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]


def _power(value: float) -> str:
    return f"2<sup>−{-int(np.log2(value))}</sup>"


def reference_api() -> str:
    """List the functions of every module of the reference.

    Their arguments are explained with the call of the same name on the scheme's page.
    """
    text = ""
    package = "posenc.schemes"
    for scheme in schemes().values():
        module = import_module(f"{package}.{scheme.package_name}.{scheme.module_name}")
        place = link(in_reference("api/posenc.md", scheme.id, "calls"), "Arguments")
        text += f"\n## Module `{scheme.module_name}`\n\n{place}\n\n"
        for name in module.__all__:
            text += (
                f"::: {module.__name__}.{name}\n    options:\n"
                f'      heading: "posenc.{name}"\n      toc_label: "{name}"\n'
                f"      heading_level: 3\n"
                f"      show_signature_annotations: false\n"
                f"      show_docstring_parameters: {str(name not in scheme.calls).lower()}\n\n"
            )
    return text


def schema(path: Path, *, described_only: bool = False) -> str:
    """Tabulate the fields of a JSON Schema: all, or only those with a description."""
    root = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        [code(where), kind, prose(description)]
        for where, kind, description in _fields(root, root)
        if description or not described_only
    ]
    return table(["field", "type", "meaning"], rows)


def messages() -> str:
    """Tabulate the fields of every object of the protocol."""
    text = (read.spec_folder() / "protocol.schema.json").read_text(encoding="utf-8")
    rows = []
    for name, node in json.loads(text)["definitions"].items():
        for field, child in node.get("properties", {}).items():
            words = prose(child.get("description", ""))
            rows.append([code(f"{name}.{field}"), _kind(child), words])
    return table(["field", "type", "meaning"], rows)


def _fields(
    root: Mapping[str, Any], node: Mapping[str, Any], where: str = ""
) -> Iterator[tuple[str, str, str]]:
    for name, child in node.get("properties", {}).items():
        yield from _field(root, child, f"{where}.{name}".removeprefix("."))
    extra = node.get("additionalProperties")
    if isinstance(extra, dict):
        yield from _field(root, extra, f"{where}.‹name›".removeprefix("."))


def _field(
    root: Mapping[str, Any], node: Mapping[str, Any], where: str
) -> Iterator[tuple[str, str, str]]:
    target = node
    if "$ref" in node:
        target = root["definitions"][node["$ref"].rpartition("/")[2]]
    yield where, _kind(target), node.get("description", target.get("description", ""))
    if target.get("type") == "object" and "$ref" not in node:
        yield from _fields(root, target, where)
    items = target.get("items")
    if isinstance(items, dict) and items.get("type") == "object":
        yield from _fields(root, items, f"{where}[]")


def _kind(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return "one of " + ", ".join(code(value) for value in node["enum"])
    if "const" in node:
        return code(node["const"])
    if "$ref" in node:
        return str(node["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf"):
        if several in node:
            return " or ".join(_kind(alternative) for alternative in node[several])
    kind = node.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def example(name: str, shown: str) -> str:
    """Show an example file under the file name ``shown``."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    return fenced(text, LANGUAGES[Path(name).suffix], title=shown)


def excerpt(name: str, first: str, end: str) -> str:
    """Show lines of a scheme file.

    They start at the first line that begins with ``first`` and stop before the next line that
    begins with ``end``.
    """
    lines = read.paths_by_name()[name].read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(first))
    stop = next(n for n, line in enumerate(lines) if n > start and line.startswith(end))
    return fenced("\n".join(lines[start:stop]), "yaml", title=_place(name))


def _place(name: str) -> str:
    path = read.paths_by_name()[name]
    return path.relative_to(read.spec_folder().parent).as_posix()


def golden_to_write(name: str) -> str:
    """Show the first golden of a scheme file as an author writes it, without values."""
    raw = yaml.safe_load(read.paths_by_name()[name].read_text(encoding="utf-8"))
    golden = {**raw["goldens"][0], "expect": {"values": []}}
    del golden["sha256"]
    text = yaml.safe_dump({"goldens": [golden]}, sort_keys=False, default_flow_style=None)
    return fenced(text.rstrip(), "yaml", title=_place(name))


def failure(story: str) -> str:
    """Show the first failure in the run of a story, as the terminal shows it."""
    output = _run(story)[0]
    first = output.partition(" FAILURES ")[2].partition("\n")[2]
    lines = first.splitlines()
    rules = [index for index, line in enumerate(lines) if line.startswith(("___", "==="))]
    if len(rules) < 2:
        raise PluginError(f"the example that should fail does not:\n{output}")
    shown = [lines[rules[0]].strip("_ "), *lines[rules[0] + 1 : rules[1]]]
    return fenced("\n".join(shown), title="the first failure", kind="failure")


def assertion() -> str:
    """Show the message of ``check`` in the test of an example, as pytest prints it."""
    files = {"mylib.py": "mylib.py", "test_rotate.py": "check_rotate.py"}
    with tempfile.TemporaryDirectory() as folder:
        lines = _pytest(Path(folder), files, [], fails=True).splitlines()
    shown = [line for line in lines if line.startswith(("E  ", ">  "))]
    return fenced("\n".join(shown), title="pytest", kind="failure")


def scorecard(story: str) -> str:
    """Show the scorecard of a story's run."""
    card = _run(story)[0].partition(" scorecard: ")[2].partition("\n")[2]
    body = card.partition("\nreport: ")[0]
    if "checks:" not in body:
        raise PluginError(f"the scorecard of the {story} example is not as expected:\n{card}")
    story_ = STORIES[story]
    title = " ".join(("pytest", f"--impl={story_.impl}", *story_.options))
    return fenced(body.strip("\n"), title=title, kind="card")


def picture() -> str:
    """Draw the input and the outcomes of the kit, from the two runs that the page shows."""
    wrong, right = _run("wrong")[1], _run("right")[1]
    failed = next(check for check in wrong["checks"] if check["verdict"] == "failed")
    name, explanation = failed["explanations"][0]
    where = (
        next(line for line in failed["message"].splitlines() if line.startswith("where "))
        .removeprefix("where")
        .strip()
    )
    holds = max(row["horizon"] for row in right["rows"] if row["horizon"] is not None)
    return (
        '\n<figure class="flow" id="what-comes-out">\n'
        "<div><strong>Your code</strong>"
        "<code>rotate(x, positions, base)</code></div>\n"
        '<div class="arrow" aria-hidden="true"></div>\n'
        f"<div><strong>posenc</strong>compares it with {_known_mistakes()}</div>\n"
        '<div class="arrow" aria-hidden="true"></div>\n'
        f'<div class="outcome"><strong>The mistake, by name</strong><code>{name}</code>'
        f"{explanation[0].upper()}{explanation[1:]}. First seen at {where}.</div>\n"
        '<div class="outcome right"><strong>Or how far it holds</strong>'
        f"<code>float32</code>Precise enough up to position {holds:,}.</div>\n"
        "<figcaption>Both answers come from real runs, made whenever this site is built."
        "</figcaption>\n</figure>\n\n"
    )


def _known_mistakes() -> str:
    """Count the known mistakes of the scheme that the two runs judge, and of all schemes."""
    every = sum(len(scheme.deviations) for scheme in schemes().values())
    of_rope = len(schemes()["rope"].deviations)
    return f"{of_rope} known mistakes of RoPE ({every} in all schemes)"


def properties(story: str) -> str:
    """Tabulate the invariants that a run checked, with statement and outcome."""
    rows = []
    for check in _run(story)[1]["checks"]:
        if check["level"] == "invariant":
            name = check["id"].split("::")[2].partition("[")[0]
            stated = {item.id: item for item in schemes()[check["scheme"]].invariants}
            statement = stated[name].statement if name in stated else "the definition itself"
            rows.append([code(name), prose(statement), check["verdict"]])
    return table(["property", "what it says", "outcome"], rows)


def sample_report() -> str:
    """Show an abridged report, to illustrate its form."""
    report = dict(_run("wrong")[1])
    failed = [check for check in report["checks"] if check["verdict"] == "failed"]
    report["checks"] = [{**failed[0], "message": failed[0]["message"][:60] + "…"}, "…"]
    for name in ("rows", "not_claimed"):
        report[name] = [*report[name][:1], "…"]
    report["combinations_not_claimed"] = {"rope": report["combinations_not_claimed"]["rope"]}
    return fenced(json.dumps(report, indent=2, ensure_ascii=False), "json")


@lru_cache(maxsize=len(STORIES))
def _run(story: str) -> tuple[str, dict[str, Any]]:
    """Run a story as a user would; return the run's output and report."""
    told = STORIES[story]
    options = [f"--impl={told.impl}", *told.options, "--posenc-report=report.json"]
    with tempfile.TemporaryDirectory() as folder:
        output = _pytest(Path(folder), told.files, options, fails=told.fails)
        return output, json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))


def _pytest(folder: Path, files: Mapping[str, str], options: Sequence[str], *, fails: bool) -> str:
    """Run pytest on copies of example files in ``folder``, named by the keys of ``files``."""
    for name, source in files.items():
        shutil.copy(EXAMPLES / source, folder / name)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--color=no", "-p", "no:cacheprovider"],
        cwd=folder,
        env=clean | {"COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode != fails:
        raise PluginError(
            f"the example {', '.join(files)} ended with {done.returncode} instead of {fails:d}:\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout


BLOCKS: dict[str, Callable[[], str]] = {
    "api:reference": reference_api,
    "example:adapter": partial(example, "mylib_adapter.py", "mylib_adapter.py"),
    "example:check": partial(example, "check_rotate.py", "test_rotate.py"),
    "example:engine": partial(example, "myengine.py", "myengine.py"),
    "example:engine-adapter": partial(example, "myengine_adapter.py", "myengine_adapter.py"),
    "example:library": partial(example, "mylib.py", "mylib.py"),
    "example:jax": partial(example, "jax_adapter.py", "jax_adapter.py"),
    "example:torch": partial(example, "torch_adapter.py", "torch_adapter.py"),
    "explorer:modules": explorer_data.module_list,
    "explorer:preloads": explorer_data.preloads,
    "example:torch-module": partial(example, "torch_module.py", "torch_module.py"),
    "example:program": partial(example, "rotate.py", "rotate.py"),
    "example:triangle": partial(example, "triangle.py", "triangle.py"),
    "example:triton": partial(example, "triton_adapter.py", "triton_adapter.py"),
    "example:serving": partial(example, "serving_adapter.py", "serving_adapter.py"),
    **{
        f"example:language-{ending}": partial(
            example, f"../../harness/{place}/adapter.{ending}", f"adapter.{ending}"
        )
        for place, ending in (
            ("c", "c"),
            ("cpp", "cpp"),
            ("go", "go"),
            ("java", "java"),
            ("js", "mjs"),
            ("r", "R"),
            ("rust", "rs"),
        )
    },
    **{
        f"example:cpp-{Path(name).stem}": partial(example, f"cpp/{name}", name)
        for name in ("adapter.cpp", "encodings.hpp", "order.cpp")
    },
    "example:vectors-js": partial(example, "vectors/rope.js", "rope.js"),
    "excerpt:integer-call": partial(excerpt, "integer", "calls:", "accuracy:"),
    "excerpt:integer-golden": partial(golden_to_write, "integer"),
    "list:claims": claims.overview,
    "list:files": files,
    "list:desiderata": desiderata,
    "list:references": references.bibliography,
    "list:schemes": scheme_list,
    **compare_blocks.BLOCKS,
    **length_blocks.BLOCKS,
    **vectors.BLOCKS,
    "run:assertion": assertion,
    "run:failure": partial(failure, "wrong"),
    "run:failure-engine": partial(failure, "engine"),
    "run:picture": picture,
    "run:properties-own": partial(properties, "own"),
    "run:report": sample_report,
    "run:scorecard-engine": partial(scorecard, "engine"),
    "run:scorecard-right": partial(scorecard, "right"),
    "run:scorecard-wrong": partial(scorecard, "wrong"),
    "schema:protocol": messages,
    "schema:report": lambda: schema(Path(document.__file__).with_name("report.schema.json")),
    "schema:vectors": lambda: schema(read.spec_folder() / export_command.SCHEMA),
    "schema:scheme": lambda: schema(read.spec_folder() / read.SCHEMA_NAME, described_only=True),
    "table:kinds": kinds,
    "table:reach": reach,
    "table:rooms": rooms,
    "table:roundoff": roundoff,
    "table:ulp": ulp,
}
