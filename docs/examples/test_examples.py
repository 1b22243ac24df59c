"""What the tutorials say of their examples; run where PyTorch, JAX and Triton are installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent
TUTORIALS = EXAMPLES.parent / "tutorials"
KERNEL = ("rope-kernel.yaml", "-k")
"""What Triton's interpreter is asked of a kernel: all of it takes some minutes."""
MACHINE = re.compile(r"\d+\.[\de+-]+|_{3,} ?| ?_{3,}|, \d+ of \d+ failures")


def judged(adapter: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", f"--impl={adapter}", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *options], cwd=EXAMPLES, capture_output=True, text=True, check=False
    )


def shown(page: str) -> list[str]:
    text = (TUTORIALS / page).read_text(encoding="utf-8")
    return re.findall(r"^```text\n(.*?)^```", text, re.S | re.M)


def plain(text: str) -> str:
    """Without decimals, whose last digits are the machine's, lines of headings, and counts."""
    return MACHINE.sub("", text)


@pytest.mark.parametrize(
    "adapter",
    ["torch_adapter.py", "torch_module.py:SteadyAdapter", "jax_adapter.py", "triton_adapter.py"],
)
def test_it_passes(adapter: str) -> None:
    done = judged(adapter, "-q")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_cast_module_fails_as_the_tutorial_shows() -> None:
    output = judged("torch_module.py:Adapter", "--color=no").stdout
    failure, diagnosis = shown("pytorch.md")
    assert plain(failure) in plain(output), output
    assert plain(diagnosis) in plain(output), output


def test_the_wrong_backward_pass_fails_as_the_tutorial_shows(
    tmp_path: Path,
) -> None:
    source = (EXAMPLES / "triton_adapter.py").read_text(encoding="utf-8")
    swapped = source.replace("ctx.base, -1)", "ctx.base, 1)")
    assert swapped != source
    (tmp_path / "kernel.py").write_text(swapped, encoding="utf-8")
    output = judged(f"{tmp_path / 'kernel.py'}", "--color=no").stdout
    backward, _strides = shown("kernel.md")
    assert plain(backward) in plain(output), output


def test_a_kernel_of_an_engine_passes() -> None:
    done = judged("serving_adapter.py", *KERNEL, "smoke or golden or invariant")
    assert done.returncode == 0, done.stdout + done.stderr


def test_ignored_strides_are_named_as_the_tutorial_shows(tmp_path: Path) -> None:
    source = (EXAMPLES / "serving_adapter.py").read_text(encoding="utf-8")
    strided = source.replace("x.stride(0)", "heads * head_dim")
    assert strided != source
    (tmp_path / "kernel.py").write_text(strided, encoding="utf-8")
    output = judged(f"{tmp_path / 'kernel.py'}", *KERNEL, "golden", "--color=no").stdout
    _backward, strides = shown("kernel.md")
    assert plain(strides) in plain(output), output
