"""A sample of the changes of the reference that lab/posenc_lab/mutants.py makes; it makes all."""

import ast

import pytest

from posenc_lab.mutants import fates_of, modules, parsed, reviewed
from posenc_lab.mutation import code_of

pytestmark = pytest.mark.remembered(shipped=True)

SAMPLED = ("posenc.schemes.alibi", "posenc.schemes.cope", "posenc.schemes.t5_bias")
STEP = 13


def test_sampled_mutants_are_killed_or_listed() -> None:
    known = reviewed()
    fates = fates_of(SAMPLED, jobs=2, step=STEP)
    assert {fate.module for fate in fates} == set(SAMPLED)
    holes = [fate for fate in fates if fate.by in ("same", "unjudged") and fate.key not in known]
    assert not holes, "\n".join(f"{each.module}:{each.line}: {each.change}" for each in holes)


@pytest.mark.parametrize("module", modules())
def test_every_mutant_is_python_and_leaves_no_trace(module: str) -> None:
    tree, mutants = parsed(module)
    before = ast.dump(tree)
    for mutant in mutants:
        code_of(tree, mutant, module)
    assert ast.dump(tree) == before


def test_what_is_listed_is_there() -> None:
    there = {(m, each.text, each.change) for m in modules() for each in parsed(m)[1]}
    assert not reviewed().keys() - there
