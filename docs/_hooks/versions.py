"""One version of the site beside others: `mike` tells a build its version, and asks for this."""

import os

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show the list of versions where there are several, and below which address this one is."""
    if "MIKE_DOCS_VERSION" in os.environ:
        config.extra["version"] = {"provider": "mike", "default": ["latest", "dev"]}
        if config.site_url:  # mike puts the version behind it, but no slash
            config.site_url = config.site_url.rstrip("/") + "/"
    return config
