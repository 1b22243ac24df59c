import mylib
import numpy as np

from posenc_conformance import check


def test_rotate():
    rng, n = np.random.default_rng(0), np.arange(128)
    q = rng.standard_normal((2, 8, 128, 64), np.float32)
    out = mylib.rotate(q, n, 5e5)
    check(out, "rope", x=q, positions=n, base=5e5, layout="interleaved")
