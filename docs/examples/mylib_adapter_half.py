import mylib

from posenc_conformance import claims


class Adapter:
    @claims(layout="half", dtype="float32")
    def rope(self, x, positions, *, base):
        return mylib.rotate(x, positions, base)
