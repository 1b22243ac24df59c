"""llama.cpp's converter for models without a tokenizer: ``… SCRIPT ARGUMENTS…``.

Single layers are called with numbers and need no words. Nothing else is changed.
"""

import runpy
import sys
from pathlib import Path
from typing import Any


def set_vocab(model: Any) -> None:
    """Write the size of the vocabulary, without words."""
    model._set_vocab_none()
    model.gguf_writer.add_vocab_size(model.hparams["vocab_size"])


if __name__ == "__main__":
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))

    import conversion

    found = conversion.get_model_class

    def get_model_class(name: str, mmproj: bool = False) -> Any:
        """Return the class of an architecture, changed to need no words."""
        model = found(name, mmproj)
        model.set_vocab = set_vocab
        return model

    conversion.get_model_class = get_model_class
    runpy.run_path(sys.argv[0], run_name="__main__")
