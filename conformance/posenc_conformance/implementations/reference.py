"""The reference implementation, judged like any other. It claims everything in the spec."""

from collections.abc import Callable
from typing import Any

import posenc
from posenc_conformance import claims
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.scheme_file.model import Call, Scheme
from posenc_conformance.scheme_file.read import load_all


class Reference:
    """Every call of every scheme, from ``posenc``."""

    requires = ("numpy",)


def _claiming_everything(scheme: Scheme, call: Call) -> Callable[..., Any]:
    reference = getattr(posenc, call.name)
    options = {name: list(scheme.conventions[name].values) for name in call.options}

    @claims(*call.combinations, dtype=list(DTYPES), max_position=2**53, **options)
    def method(self: Reference, *arguments: Any, **keywords: Any) -> Any:
        return reference(*arguments, **keywords)

    return method


for _scheme in load_all():
    for _call in _scheme.calls.values():
        setattr(Reference, _call.name, _claiming_everything(_scheme, _call))
