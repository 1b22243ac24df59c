"""One wrong implementation for each mistake of a few calls is rejected and named, in seconds.

test_miniatures judges all wrong ones of all calls.
"""

import pytest

from posenc_lab.judging import diagnoses, failed, judge_until_named
from posenc_lab.miniatures import wrong
from posenc_lab.miniatures.base import WRONG, Mistake

assert wrong.__path__  # importing them fills the list

pytestmark = pytest.mark.remembered(shipped=True)

CALLS = ("rope", "alibi_bias", "t5_bucket", "yarn_frequencies")
NAMED = {
    (item.call, item.named): item for item in reversed(WRONG) if item.call in CALLS and item.named
}
UNNAMED = [miniature for miniature in WRONG if miniature.call in CALLS and not miniature.named][::3]


@pytest.mark.draws
@pytest.mark.parametrize("mistake", NAMED.values(), ids=[f"{call}-{name}" for call, name in NAMED])
def test_a_mistake_is_named(mistake: type[Mistake]) -> None:
    verdicts = judge_until_named(mistake(), mistake.named)
    assert diagnoses(verdicts)[:1] == [mistake.named]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", UNNAMED, ids=lambda entry: str(entry.__name__))
def test_a_mistake_without_a_name_is_rejected(mistake: type[Mistake]) -> None:
    assert failed(judge_until_named(mistake(), None))
