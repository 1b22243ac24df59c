"""Run uv with pip's settings, so that package indexes are configured only once, for pip.

``.venv/bin/python .ci/uv.py pip install …``: uv itself reads neither pip.conf nor PIP_INDEX_URL.
"""

import ast
import os
import subprocess
import sys

CALLED = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}
SECTIONS = ("global", "install", ":env:")
"""Sections of pip's settings; the later ones win."""


def settings() -> dict[str, str]:
    """Return pip's settings as environment variables of uv."""
    listed = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    variables = {}
    for section in SECTIONS:
        for line in lines:
            key, _, value = line.partition("=")
            name = key.removeprefix(f"{section}.")
            if name != key and name in CALLED:
                words = ast.literal_eval(value).split()
                between = "," if name == "find-links" else " "
                variables[CALLED[name]] = between.join(words)
    return variables


# pip takes the best version that any index has, and so the build of torch for CPUs. Pins have
# hashes, so that no index can substitute another file.
chosen = {"UV_INDEX_STRATEGY": "unsafe-best-match", **settings(), **os.environ}
command = [sys.executable, "-m", "uv", *sys.argv[1:]]
os.execve(sys.executable, command, chosen)
