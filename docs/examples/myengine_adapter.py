from myengine import Rope

from posenc_conformance import claims


class Adapter:
    @claims(models=["llama-2-7b", "llama-3-8b", "llama-3.1-8b", "llama-3.2-1b"])
    def rotary(self, x, positions, *, config, layer):
        return Rope({"rope_theta": 10000.0, **config}, layer)(x, positions)
