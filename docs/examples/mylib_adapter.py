import mylib

from posenc_conformance import claims


class Adapter:
    @claims(layout="interleaved", dtype="float32")
    def rope(self, x, positions, *, base):
        return mylib.rotate(x, positions, base)
