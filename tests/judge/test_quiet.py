"""Results near the largest number: the kit itself causes no warning, and hides none."""

import warnings

import numpy as np
import pytest

from posenc_conformance.judge.warnings_off import as_usual, without_warnings

pytestmark = pytest.mark.remembered(shipped=True)

HUGE = np.full(2, 1e308)
ADAPTER = """
import numpy as np
from posenc_conformance import claims
class Adapter:
    @claims("half", dtype="float64")
    def rope(self, x, positions, *, base=10000.0, rotary_dim=None):
        {first}
        return {result}
"""


def test_only_the_implementation_warns() -> None:
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        with without_warnings():
            assert np.isinf(HUGE * 10).all()
            with as_usual(), pytest.raises(RuntimeWarning, match="overflow"):
                HUGE * 10
            assert np.isinf(HUGE * 10).all()
        with as_usual(), pytest.raises(RuntimeWarning, match="overflow"):
            HUGE * 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "result", "warned"),
    [
        ("pass", "np.full(x.shape, 1e308)", False),
        ("pass", "1e308 * np.sign(x + 0.1)", False),
        ("np.float64(1e308) * np.array([10.0])", "x", True),
    ],
)
def test_a_run_shows_the_warnings_of_the_adapter_only(
    pytester: pytest.Pytester, first: str, result: str, warned: bool
) -> None:
    (pytester.path / "mine.py").write_text(ADAPTER.format(first=first, result=result))
    done = pytester.runpytest_subprocess("--impl=mine.py", "-p", "no:cacheprovider", "rope.yaml")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    text = done.stdout.str()
    assert ("RuntimeWarning" in text) is warned
    if warned:
        assert "mine.py:7: RuntimeWarning" in text
