"""llama.cpp's converter for probes: ``llamacpp_convert.py SCRIPT ARGUMENTS…``.

The converter identifies GPT-2 tokenizers by the tokens of a certain text, and fails for a probe's
words. So the words of every probe are read from its tokenizer.model, as for Llama. Nothing else is
changed.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))

    from conversion.base import TextModel

    TextModel._set_vocab_gpt2 = TextModel._set_vocab_sentencepiece
    runpy.run_path(sys.argv[0], run_name="__main__")
