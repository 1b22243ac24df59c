"""The version has one source, and all copies of it agree."""

import re
import subprocess
import sys
from importlib.metadata import version

import yaml

import posenc
import posenc_conformance
from tests.building import CHECKOUT


def text(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def test_the_package_has_the_version() -> None:
    """If they differ, the environment is older than the checkout: make installs it again."""
    assert version("posenc") == posenc.__version__


def test_the_kit_has_the_version_of_the_reference() -> None:
    assert posenc_conformance.__version__ == posenc.__version__


def test_the_citation_has_the_version() -> None:
    assert yaml.safe_load(text("CITATION.cff"))["version"] == posenc.__version__


def test_the_changelog_begins_with_the_version() -> None:
    first = re.search(r"^## (\S+)", text("CHANGELOG.md"), re.M)
    assert first is not None
    assert first[1] == posenc.__version__


def test_importing_the_kit_imports_no_numpy() -> None:
    code = "import sys, posenc_conformance; assert not {'numpy', 'posenc'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
