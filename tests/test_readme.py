"""What the README shows is what a reader sees."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def output_of(adapter: str, folder: Path) -> str:
    (folder / "mylib.py").write_text(adapter, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--impl=mylib.py", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def shape(text: str) -> str:
    """The text without its decimals, whose last digits are the machine's."""
    return re.sub(r"\d+\.[\de+-]+", "#", text)


def test_the_ten_lines_print_what_is_shown(tmp_path: Path) -> None:
    (adapter,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len([line for line in adapter.splitlines() if line]) <= 12
    wrong, right = re.findall(r"^```\n(rope.*?|_.*?|scheme.*?)^```", README, re.S | re.M)
    assert shape(wrong) in shape(output_of(adapter, tmp_path))
    assert shape(right) in shape(output_of(adapter.replace('"interleaved"', '"half"'), tmp_path))
