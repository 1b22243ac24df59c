"""The stored reports of the board, and the reasons to refuse one."""

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
WORDS = {"used_by", "description", "kills", "note", "source", "usual", "why"}
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
    """A valid report of an adapter in the table."""

    library: Library
    adapter: Adapter
    content: Mapping[str, Any]
    without: tuple[str, ...] = ()
    """Calls whose spec has changed since, as ``scheme.call``; the report leaves them out."""

    @property
    def report(self) -> Report:
        """The kit's report of the run."""
        report: Report = self.content["report"]
        return report

    @property
    def version(self) -> str:
        """The installed version of the library; the kit's version for its own examples."""
        named: Mapping[str, str] = self.report["implementation"]["versions"]
        return self._own[1] or [self.content["measured"]["kit"], *named.values()][-1]

    @property
    def package(self) -> str:
        """The library's package, which several rows may share; its name where it has none."""
        return _normalise(self._own[0]) or self.library.name

    @property
    def _own(self) -> tuple[str, str]:
        """The library's package and its version; both are empty where it has none.

        The adapter may name the library's dependencies alone. Then the environment has it.
        """
        for versions in (
            self.report["implementation"]["versions"],
            self.content["measured"]["packages"] or {},
        ):
            if own := _distribution(self.library.name, versions):
                return own, versions[own]
        return "", ""


def _distribution(library: str, packages: Iterable[str]) -> str:
    """Find the package of a library, such as flashinfer-python of flashinfer; empty if none fits.

    One name may continue the other after a hyphen: transformers is that of transformers-compiled.
    """
    name = f"{_normalise(library)}-"
    alike = [
        package
        for package in packages
        if name.startswith(f"{_normalise(package)}-") or f"{_normalise(package)}-".startswith(name)
    ]
    return min(alike, key=lambda package: abs(len(package) - len(library)), default="")


def place_of(name: str) -> Path:
    """Return the file of an adapter's report."""
    return REPORTS / f"{name}.json.gz"


def earlier_place_of(name: str) -> Path:
    """Return the file of an adapter's report of an earlier release."""
    return REPORTS / "earlier" / f"{name}.json.gz"


def write(content: Mapping[str, Any], path: Path) -> None:
    """Write a report without this machine's paths; the same content gives the same file."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)
    text = PACKAGES.sub(r"\1", text).replace(f"{ROOT}{os.sep}", "")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_bytes(gzip.compress(text.encode(), mtime=0))
    draft.replace(path)


def keep(content: Mapping[str, Any]) -> None:
    """Store an adapter's report; move the replaced report of another release to ``earlier``.

    A replaced report of another spec is dropped, since it isn't comparable.
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
    """Read the stored report of any adapter.

    Raises UserError as :func:`read_whole` does, and for a report of another spec than the current.
    """
    content = read_whole(path)
    if other := changed_calls(content):
        hint = HINT.format(name=path.name.removesuffix(".json.gz"))
        raise UserError(f"{path.name} is of another spec: {', '.join(other)} differ since", hint)
    return content


def read_whole(path: Path) -> Mapping[str, Any]:
    """Read a stored report of any spec.

    Raises UserError for a file that is truncated, of another format, or from an unfinished run.
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
    """Return a report without the calls whose spec has changed, and these calls."""
    other = changed_calls(content)
    parts = {
        part: [
            entry
            for entry in content["report"][part]
            if f"{entry['scheme']}.{entry['call']}" not in other
        ]
        for part in ("rows", "checks")
    }
    return {**content, "report": {**content["report"], **parts}}, tuple(other)


def changed_calls(content: Mapping[str, Any]) -> list[str]:
    """Return the calls of a report whose spec has changed since the report was made."""
    then: Mapping[str, Mapping[str, str]] = content["inputs"].get("schemes", {})
    shown = {(row["scheme"], row["call"]) for row in content["report"]["rows"]}

    def is_asked_still(id: str, call: str) -> bool:
        digest = then.get(id, {}).get(call)
        return digest is not None and digest == digests_of_calls(id).get(call)

    return sorted(f"{id}.{call}" for id, call in shown if not is_asked_still(id, call))


def out_of_date(library: Library, adapter: Adapter) -> str:
    """Return why an adapter must be judged again; empty if its report is up to date."""
    try:
        content = read_kept(place_of(adapter.name))
    except UserError as error:
        return error.cause
    if content["install"] != list(library.pinned):
        return "what is installed has changed"
    if content["measured"]["kit"] != __version__:
        return f"it was judged by the kit's version {content['measured']['kit']}"
    for name, now in inputs(adapter, ()).items():
        if content["inputs"].get(name) != now and name != "schemes":
            return f"its {name} has changed"
    return ""


def inputs(adapter: Adapter, schemes: Iterable[str]) -> dict[str, Any]:
    """Return hashes of everything that a verdict depends on, except the library itself."""
    return {
        "adapter": _digest(file.read_bytes() for file in adapter.files),
        "known failures": _digest([adapter.known.read_bytes()]) if adapter.known else "",
        "schemes": {id: dict(digests_of_calls(id)) for id in schemes},
    }


@lru_cache(maxsize=128)
def digests_of_calls(id: str) -> Mapping[str, str]:
    """Hash a scheme file's requirements for each call, without prose; empty if there is no file.

    A call's hash covers its own entry, the conventions that it uses, its own or shared entries of
    lists of mappings, and all other fields.
    """
    path = paths_by_name().get(id)
    if path is None:
        return {}
    raw = load_yaml(path, path.read_text(encoding="utf-8"))
    requirements = {name: _without_prose(part) for name, part in raw.items() if name not in PROSE}
    calls = requirements.pop("calls", {})
    return {
        call: _digest(
            [json.dumps(_of_call(call, told, requirements), sort_keys=True, default=str).encode()]
        )
        for call, told in calls.items()
    }


def _of_call(call: str, told: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a scheme file that are relevant to a call."""
    used = {*told.get("options", ())}
    for combination in told.get("combinations", {}).values():
        used |= {*combination["conventions"]}
    parts: dict[str, Any] = {"call": told}
    for name, part in asked.items():
        if name == "conventions":
            part = {item: value for item, value in part.items() if item in used}
        elif isinstance(part, list) and all(isinstance(item, dict) for item in part):
            part = [item for item in part if item.get("call", call) == call]
        parts[name] = part
    return parts


def _without_prose(part: Any) -> Any:
    if isinstance(part, dict):
        return {str(name): _without_prose(item) for name, item in part.items() if name not in WORDS}
    return [_without_prose(item) for item in part] if isinstance(part, list) else part


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


def _normalise(package: str) -> str:
    return re.sub("[-_.]+", "-", package).lower()


def all_kept(table: Iterable[Library]) -> tuple[list[Kept], dict[str, str]]:
    """Return the valid reports, and by adapter, why its report or some calls are missing.

    A call whose spec has changed since is left out; the other calls of its report remain valid.
    """
    reports: list[Kept] = []
    refused: dict[str, str] = {}
    for library in table:
        for adapter in library.adapters:
            try:
                content, without = of_this_spec(read_whole(place_of(adapter.name)))
            except UserError as error:
                refused[adapter.name] = error.cause
                continue
            if content["report"]["checks"]:
                reports.append(Kept(library, adapter, content, without))
            if without:
                refused[adapter.name] = f"of another spec: {', '.join(without)} differ since"
    return reports, refused


def earlier(kept: Kept) -> Kept | None:
    """Return the report of an earlier release, if there is one of the current spec."""
    try:
        return Kept(kept.library, kept.adapter, read_kept(earlier_place_of(kept.adapter.name)))
    except UserError:
        return None
