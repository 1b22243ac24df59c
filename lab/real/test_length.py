"""What must hold before the experiment on length is worth its time."""

import subprocess
import sys


def test_models_compute_what_posenc_does_and_learn() -> None:
    """In a process of its own: torch is told to be deterministic for all of it."""
    subprocess.run([sys.executable, "-m", "posenc_lab.length", "--smoke"], check=True)
