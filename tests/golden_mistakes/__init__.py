"""For each golden, the mistake that it alone of its group catches, as a small wrong variant.

One module per scheme, named as in Python; its ``MISTAKES`` has a function from a case to the wrong
result in float64 for every golden's id.
"""

from importlib import import_module

from posenc_conformance.scheme_file.read import load_all
from tests.golden_mistakes.common import Mistake

MISTAKES: dict[str, dict[str, Mistake]] = {
    scheme.id: import_module(f"{__name__}.{scheme.module_name}").MISTAKES for scheme in load_all()
}
