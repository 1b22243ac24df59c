"""Content of the site about the project: how to install it and how to cite it."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import yaml

from markup import fenced, link, paragraph

ROOT = Path(__file__).parents[3]
REPOSITORY = "REPO_URL"
"""The environment variable with the repository's address, as mkdocs.yml reads it."""


def repository() -> str:
    """Return the repository's address: of the environment, else of pyproject.toml; may be empty."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(os.environ.get(REPOSITORY) or project.get("urls", {}).get("Source", ""))


def in_repository(path: str) -> str:
    """Return the address of a file in the repository."""
    return f"{repository().rstrip('/')}/blob/main/{path}"


def install() -> str:
    """Say how to install: from the repository if its address is known, else from a clone.

    Without a prompt, so that the button beside it copies what a shell understands.
    """
    address = repository()
    if not address:
        return "In a clone of this repository:\n" + fenced("pip install .", "sh")
    return fenced(f"pip install git+{address}", "sh")


def issues() -> str:
    """Say where to open an issue: at the repository if its address is known."""
    address = repository().rstrip("/")
    if not address:
        return (
            "This copy of the site was built without the address of a repository. Open an issue or "
            "a pull request at the one that your clone came from: `git remote get-url origin` "
            "prints its address."
        )
    return f"[Open an issue]({address}/issues/new), or a pull request."


def dispute(finding: str, root: str) -> str:
    """Make the door of a finding: a new issue if the repository is known, else how to do it."""
    address = repository().rstrip("/")
    place = f"{root}maintainers/#dispute-it"
    if address:
        place = f"{address}/issues/new?{urlencode({'title': f'Dispute of {finding}'})}"
    here = link(f"#finding-{finding}", "Link to this finding")
    return paragraph(f"{here}. {link(place, 'Dispute it')}.")


def cite() -> str:
    """Write CITATION.cff as a BibTeX entry."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    authors = " and ".join(f"{{{author['name']}}}" for author in citation["authors"])
    address = repository()
    fields = {
        "title": f"{{{citation['title']}}}",
        "author": f"{{{authors}}}",
        "version": f"{{{citation['version']}}}",
        "license": f"{{{citation['license']}}}",
        **({"url": f"{{{address}}}"} if address else {}),
    }
    body = "".join(f"  {name:8}= {value},\n" for name, value in fields.items())
    return fenced(f"@software{{posenc,\n{body}}}", "bibtex", title="BibTeX")


BLOCKS: dict[str, Callable[[], str]] = {
    "cite": cite,
    "install": install,
    "where:issues": issues,
}
