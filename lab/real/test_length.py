"""Preconditions of the experiment on length."""

import subprocess
import sys


def test_models_agree_with_posenc_and_learn() -> None:
    """Run in a separate process, in which torch is deterministic."""
    subprocess.run([sys.executable, "-m", "posenc_lab.length", "--smoke"], check=True)
