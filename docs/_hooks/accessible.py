"""What the theme leaves without a name for those who hear the page instead of seeing it."""

from mkdocs.exceptions import PluginError

SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'


def named(page: str, output: str) -> str:
    """A finished page on which the search dialog has a name.

    Raises PluginError when the theme has changed, so that this cannot fail unseen.
    """
    if output.count(SEARCH) != 1:
        raise PluginError(
            f"{page}: the theme's search dialog is no longer {SEARCH}…: see whether it has a name "
            "of its own now, and change or remove docs/_hooks/accessible.py"
        )
    return output.replace(SEARCH, f'{SEARCH} aria-label="Search"')
