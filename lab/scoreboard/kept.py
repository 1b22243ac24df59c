"""Reports as the board keeps them, and the reasons for which one is refused."""

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from posenc_conformance import __version__
from posenc_conformance.door import LARGEST_DOCUMENT, read_json
from posenc_conformance.errors import UserError
from posenc_conformance.report.difference import require_complete
from posenc_conformance.report.layout import Report
from posenc_conformance.scheme_file.read import paths_by_name
from posenc_conformance.scheme_file.strict_yaml import load_yaml
from scoreboard.table import FOLDER, ROOT, Adapter, Library

FORMAT = 1
MARK = "posenc-scoreboard"
REPORTS = Path(os.environ.get("SCOREBOARD_REPORTS", FOLDER / "reports"))
PROSE = {
    "known-use",
    "title",
    "summary",
    "sources",
    "provenance",
    "desiderata",
    "deviations",
    "published",
}
WORDS = {"used_by", "description", "kills", "note", "source", "why"}
FIELDS = {
    MARK: int,
    "name": str,
    "library": str,
    "language": str,
    "install": list,
    "measured": dict,
    "inputs": dict,
    "report": dict,
}
MEASURED = ("date", "seconds", "seed", "kit", "commit", "system", "cpu", "features", "packages")
PACKAGES = re.compile(r"""/[^\s"':,]*?/((?:site|dist)-packages/)""")
HINT = "judge it again: make scoreboard ONLY={name}"


@dataclass(frozen=True)
class Kept:
    """A report that may be shown, of an adapter that the table has."""

    library: Library
    adapter: Adapter
    content: Mapping[str, Any]
    without: tuple[str, ...] = ()
    """Calls that are asked something else since, as ``scheme.call``; they are left out."""

    @property
    def report(self) -> Report:
        """What the run wrote."""
        report: Report = self.content["report"]
        return report

    @property
    def version(self) -> str:
        """The version of the library, as it was installed; of the kit for an example of its own."""
        versions: Mapping[str, str] = self.report["implementation"]["versions"]
        known = {_normalise(name): number for name, number in versions.items()}
        kit: str = self.content["measured"]["kit"]
        return known.get(_normalise(self.library.name)) or [kit, *known.values()][-1]


def place_of(name: str) -> Path:
    """Return the file of an adapter's report."""
    return REPORTS / f"{name}.json.gz"


def earlier_place_of(name: str) -> Path:
    """Return the file of an adapter's report of an earlier release."""
    return REPORTS / "earlier" / f"{name}.json.gz"


def write(content: Mapping[str, Any], path: Path) -> None:
    """Keep a report, without places of this machine; the same content makes the same file."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)
    text = PACKAGES.sub(r"\1", text).replace(f"{ROOT}{os.sep}", "")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_bytes(gzip.compress(text.encode(), mtime=0))
    draft.replace(path)


def keep(content: Mapping[str, Any]) -> None:
    """Keep the report of an adapter; that of another release, which it replaces, is kept beside it.

    What it replaces is dropped if it is of another spec: nothing can be compared with it.
    """
    path = place_of(content["name"])
    try:
        before = read_kept(path)
    except UserError:
        before = content
    if _versions(before) != _versions(content):
        write(before, earlier_place_of(content["name"]))
    write(content, path)


def _versions(content: Mapping[str, Any]) -> Mapping[str, str]:
    versions: Mapping[str, str] = content["report"]["implementation"]["versions"]
    return versions


def read_kept(path: Path) -> Mapping[str, Any]:
    """Read a kept report, of whatever adapter.

    Raises UserError as :func:`read_whole` does, and for one that is of another spec than the one
    beside it.
    """
    content = read_whole(path)
    if other := changed_calls(content):
        hint = HINT.format(name=path.name.removesuffix(".json.gz"))
        raise UserError(f"{path.name} is of another spec: {', '.join(other)} differ since", hint)
    return content


def read_whole(path: Path) -> Mapping[str, Any]:
    """Read a kept report, of whatever spec.

    Raises UserError for a file that is cut off, of another format, or of a run that was not
    through.
    """
    hint = HINT.format(name=path.name.removesuffix(".json.gz"))
    if not path.exists():
        raise UserError(f"there is no {path.name}", hint)
    content = read_json(path, LARGEST_DOCUMENT, hint, packed=True)
    if not isinstance(content, dict) or content.get(MARK) != FORMAT:
        raise UserError(f"{path.name} is no report of the board in format {FORMAT}", hint)
    for field, kind in FIELDS.items():
        if not isinstance(content.get(field), kind):
            raise UserError(f"{path.name} is not whole: it has no {field}", hint)
    missing = [field for field in MEASURED if field not in content["measured"]]
    if missing:
        raise UserError(f"{path.name} does not say its {missing[0]}", hint)
    require_complete(content["report"], path.name)
    if reason := content["report"].get("interrupted"):
        raise UserError(f"{path.name} is of a run that was not through: {reason}", hint)
    return content


def of_this_spec(content: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return a report without what is of another spec, and the calls that this leaves out."""
    other = changed_calls(content)
    kept = {
        part: [
            each
            for each in content["report"][part]
            if f"{each['scheme']}.{each['call']}" not in other
        ]
        for part in ("rows", "checks")
    }
    return {**content, "report": {**content["report"], **kept}}, tuple(other)


def changed_calls(content: Mapping[str, Any]) -> list[str]:
    """Return the calls of a report that are not asked as they were when it was made."""
    then: Mapping[str, Mapping[str, str]] = content["inputs"].get("schemes", {})
    shown = {(row["scheme"], row["call"]) for row in content["report"]["rows"]}

    def is_asked_still(id: str, call: str) -> bool:
        digest = then.get(id, {}).get(call)
        return digest is not None and digest == digests_of_calls(id).get(call)

    return sorted(f"{id}.{call}" for id, call in shown if not is_asked_still(id, call))


def out_of_date(library: Library, adapter: Adapter) -> str:
    """Why an adapter must be judged again; nothing if its report still holds."""
    try:
        content = read_kept(place_of(adapter.name))
    except UserError as error:
        return error.cause
    if content["install"] != list(library.pinned):
        return "what is installed has changed"
    if content["measured"]["kit"] != __version__:
        return f"it was judged by the kit's version {content['measured']['kit']}"
    for what, now in inputs(adapter, ()).items():
        if content["inputs"].get(what) != now and what != "schemes":
            return f"its {what} has changed"
    return ""


def inputs(adapter: Adapter, schemes: Iterable[str]) -> dict[str, Any]:
    """Hashes of all that a verdict depends on, beside the library itself."""
    return {
        "adapter": _digest(each.read_bytes() for each in adapter.files),
        "known failures": _digest([adapter.known.read_bytes()]) if adapter.known else "",
        "schemes": {id: dict(digests_of_calls(id)) for id in schemes},
    }


@lru_cache(maxsize=128)
def digests_of_calls(id: str) -> Mapping[str, str]:
    """Hash what a scheme file asks of each call, without its prose; nothing if there is no file.

    Of what the scheme has for all calls, conventions count that the call knows, and the rest whole.
    """
    path = paths_by_name().get(id)
    if path is None:
        return {}
    raw = load_yaml(path, path.read_text(encoding="utf-8"))
    asked = {name: _without_prose(part) for name, part in raw.items() if name not in PROSE}
    calls = asked.pop("calls", {})
    return {
        call: _digest(
            [json.dumps(_of_call(call, told, asked), sort_keys=True, default=str).encode()]
        )
        for call, told in calls.items()
    }


def _of_call(call: str, told: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a scheme file that bear on a call."""
    used = {*told.get("options", ())}
    for combination in told.get("combinations", {}).values():
        used |= {*combination["conventions"]}
    parts: dict[str, Any] = {"call": told}
    for name, part in asked.items():
        if name == "conventions":
            part = {each: value for each, value in part.items() if each in used}
        elif isinstance(part, list) and all(isinstance(each, dict) for each in part):
            part = [each for each in part if each.get("call", call) == call]
        parts[name] = part
    return parts


def _without_prose(part: Any) -> Any:
    if isinstance(part, dict):
        return {str(name): _without_prose(each) for name, each in part.items() if name not in WORDS}
    return [_without_prose(each) for each in part] if isinstance(part, list) else part


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]


def _normalise(package: str) -> str:
    return re.sub("[-_.]+", "-", package).lower()


def all_kept(table: Iterable[Library]) -> tuple[list[Kept], dict[str, str]]:
    """Read the reports that may be shown, and say what is missing: whole adapters or some calls.

    A call that is asked something else since is left out; the others were measured all the same.
    """
    found: list[Kept] = []
    refused: dict[str, str] = {}
    for library in table:
        for adapter in library.adapters:
            try:
                content, without = of_this_spec(read_whole(place_of(adapter.name)))
            except UserError as error:
                refused[adapter.name] = error.cause
                continue
            if content["report"]["checks"]:
                found.append(Kept(library, adapter, content, without))
            if without:
                refused[adapter.name] = f"of another spec: {', '.join(without)} differ since"
    return found, refused


def earlier(kept: Kept) -> Kept | None:
    """Return the report of an earlier release, if there is one of this spec."""
    try:
        return Kept(kept.library, kept.adapter, read_kept(earlier_place_of(kept.adapter.name)))
    except UserError:
        return None
