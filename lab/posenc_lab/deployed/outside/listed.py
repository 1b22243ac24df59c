"""All engines from outside: importing their modules fills the list."""

from posenc_lab.deployed.outside import (
    batches,
    biases,
    cases,
    chunks,
    decode,
    growing,
    heads,
    layers,
    norms,
    places,
    precision,
    projections,
    reuse,
    right,
    right_requests,
    scalings,
    tables,
)

MODULES = (
    batches,
    biases,
    chunks,
    decode,
    growing,
    heads,
    layers,
    norms,
    places,
    precision,
    projections,
    reuse,
    right,
    right_requests,
    scalings,
    tables,
)
"""The modules that list cases."""
CASES = cases.CASES
