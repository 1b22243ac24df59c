"""Code in PyTorch and JAX is judged as the pages say; run where these are installed."""

import pytest
from posenc_lab import code

SHOWN = [(scheme, library) for scheme, library in code.schemes_with_code() if library != "numpy"]


@pytest.mark.parametrize(("scheme", "library"), SHOWN)
def test_it_is_judged_as_the_page_says(scheme: str, library: str) -> None:
    said = code.judge_code(scheme, library)
    assert said.pop("failed") == []
    assert said.items() <= code.recorded()[scheme][library].items(), "run python -m posenc_lab.code"
