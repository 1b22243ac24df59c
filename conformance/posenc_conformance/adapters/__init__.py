"""Adapters: helpers for writing them, their claims, and finding them by name.

The helpers are for libraries of any framework, and importing this module imports no framework:
:mod:`posenc_conformance.adapters.torch` and :mod:`posenc_conformance.adapters.jax` contain the
helpers for one framework.
"""

from posenc_conformance.adapters.axes import (
    in_batch,
    of_both,
    of_each,
    of_keys,
    of_queries,
    written_over,
)
from posenc_conformance.adapters.functions import bias, mask, module, rope, rope_by_tables, table
from posenc_conformance.adapters.helpers import (
    ALL_FLOATS,
    EXACT,
    FLOATS,
    LONGEST,
    Array,
    Function,
    Positions,
    by_heads,
    headed,
    in_sequence,
    in_stretches,
    once,
    rows_of,
    span,
)
from posenc_conformance.adapters.packages import bare_package
from posenc_conformance.adapters.ranks import by_ranks

__all__ = [
    "ALL_FLOATS",
    "EXACT",
    "FLOATS",
    "LONGEST",
    "Array",
    "Function",
    "Positions",
    "bare_package",
    "bias",
    "by_heads",
    "by_ranks",
    "headed",
    "in_batch",
    "in_sequence",
    "in_stretches",
    "mask",
    "module",
    "of_both",
    "of_each",
    "of_keys",
    "of_queries",
    "once",
    "rope",
    "rope_by_tables",
    "rows_of",
    "span",
    "table",
    "written_over",
]
