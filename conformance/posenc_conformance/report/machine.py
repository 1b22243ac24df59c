"""Conditions on the machine under which an entry of known failures applies."""

import platform
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.specifiers import SpecifierSet

from posenc_conformance.errors import UserError, in_line

HINT = (
    "conditions in when (all must hold): cpu: FEATURE as in /proc/cpuinfo, such as amx_bf16; "
    "no-cpu: FEATURE; system: Linux, Darwin or Windows; machine: x86_64, …; "
    "versions: {PACKAGE: '>=1.2'}"
)


def applies(where: str, conditions: object) -> bool:
    """Return whether all conditions hold on this machine.

    Raises UserError for an unknown condition.
    """
    if not isinstance(conditions, Mapping):
        raise UserError(f"{where}: when is not a mapping", HINT)
    holding = [_holds(where, name, value) for name, value in conditions.items()]
    return all(holding)


def _holds(where: str, name: object, value: object) -> bool:
    if name == "versions" and isinstance(value, Mapping):
        fitting = [_has_version(where, package, versions) for package, versions in value.items()]
        return all(fitting)
    if not isinstance(value, str):
        raise UserError(f"{where}: when.{in_line(name)} is no text", HINT)
    if name == "cpu":
        return value in cpu_features()
    if name == "no-cpu":
        return value not in cpu_features()
    if name == "system":
        return platform.system() == value
    if name == "machine":
        return platform.machine() == value
    raise UserError(f"{where}: when.{in_line(name)} is not a known condition", HINT)


def _has_version(where: str, package: object, wanted: object) -> bool:
    place = f"{where}: when.versions.{in_line(package)}"
    if not package or not isinstance(wanted, str):
        raise UserError(f"{place} needs a package's name and, as text, its versions", HINT)
    try:
        return SpecifierSet(wanted).contains(version(str(package)), prereleases=True)
    except ValueError:  # also for a number with thousands of digits
        raise UserError(f"{place} cannot be {in_line(repr(wanted))}", HINT) from None
    except PackageNotFoundError:
        return False


@lru_cache(maxsize=1)
def cpu_features() -> frozenset[str]:
    """Return the CPU's features under their Linux names; empty where they cannot be read."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    words = (value for name, _, value in lines if name.strip() in ("flags", "Features"))
    return frozenset(next(words, "").split())
