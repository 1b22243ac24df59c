"""``check`` on results like a user's: wrong ones are named, and no right one is refused."""

import pytest

from posenc_conformance.judge.knowledge import KnownScheme
from posenc_lab.judging import schemes
from posenc_lab.miniatures.base import WRONG
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.one_result import of_scheme, scheme_ids

CHOSEN = [scheme for scheme in schemes() if scheme.id in ("alibi", "rope", "sinusoidal", "t5-bias")]
"""Some of the schemes that the laboratory measures, since these take long."""


@pytest.mark.slow
@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize("scheme", CHOSEN, ids=lambda entry: entry.id)
def test_wrong_results_are_named_and_right_ones_pass(scheme: KnownScheme) -> None:
    assert not [entry.miniature for entry in of_scheme(scheme.id, RIGHT) if entry.rejected]
    wrong = [entry for entry in of_scheme(scheme.id, WRONG) if entry.rejected and entry.named]
    unnamed = [f"{entry.miniature}: {entry.names}" for entry in wrong if not entry.is_named]
    assert scheme.id in scheme_ids()
    assert len(wrong) > 8
    assert len(unnamed) <= len(wrong) / 10, unnamed
