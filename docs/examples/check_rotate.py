import mylib
import numpy as np

from posenc_conformance import check


def test_rotate():
    q = np.random.default_rng(0).standard_normal((2, 8, 128, 64), dtype=np.float32)
    out = mylib.rotate(q, np.arange(128), 500_000.0)
    check(out, "rope", x=q, positions=np.arange(128), base=500_000.0, layout="interleaved")
