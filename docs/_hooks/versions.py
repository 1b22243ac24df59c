"""Support for several versions of the site: `mike` sets the version of a build."""

import os

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Configure the list of versions and the address for a build by `mike`."""
    if "MIKE_DOCS_VERSION" in os.environ:
        config.extra["version"] = {"provider": "mike", "default": ["latest", "dev"]}
        if config.site_url:  # mike appends the version without a slash
            config.site_url = config.site_url.rstrip("/") + "/"
    return config
