"""Engines from outside: what is listed as wrong is wrong, and what is listed as right is right."""

import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.execution import execute
from posenc_lab.deployed.outside.cases import Case
from posenc_lab.deployed.outside.comparing import compared
from posenc_lab.deployed.outside.configs import CONFIGS
from posenc_lab.deployed.outside.judging import checks_of, judge
from posenc_lab.deployed.outside.listed import CASES, MODULES
from posenc_lab.deployed.outside.naming import Answer, answer_of
from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True)

WRONG = [case for case in CASES if not case.right]
RIGHT = [case for case in CASES if case.right]
NEAR = [case for case in CASES if case.context <= 1024]
"""Those whose texts are short."""
EXACT = [case for case in NEAR if case.right and case.dtype == "float32" and not case.doubt]


def named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def test_each_case_has_an_id_and_a_line() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    assert all(case.about.endswith(".") for case in CASES)
    assert all(case.config in CONFIGS for case in CASES)
    assert {case.report.count("#") for case in CASES} == {0, 1}


def test_models_are_those_of_the_spec() -> None:
    known = {path.stem for path in (CHECKOUT / "spec" / "models").rglob("*.yaml")}
    assert {model for case in CASES for model in case.models} <= known


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len({case.name for case in WRONG}) >= 150
    assert len({case.name for case in RIGHT}) >= 40
    assert len({case.kind for case in CASES}) <= len(MODULES)


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        ([], Answer.PASSED),
        ([("window-off", "a window is one off")], Answer.NAMED),
        ([("", "no known mistake")], Answer.UNNAMED),
        ([("causal", "sees no key behind")], Answer.MISNAMED),
        ([("window-off", ""), ("causal", "")], Answer.ALSO),
    ],
)
def test_an_answer_is_told(answers: list[tuple[str, str]], answer: Answer) -> None:
    assert answer_of(named("window-one-more-given"), answers) == answer


def test_a_right_engine_is_refused_or_accepted() -> None:
    assert answer_of(named("tiles"), []) == Answer.ACCEPTED
    assert answer_of(named("tiles"), [("", "")]) == Answer.REFUSED


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.parametrize("case", [case for case in NEAR if not case.right], ids=lambda it: it.id)
def test_a_wrong_engine_differs_from_the_plain_one(case: Case) -> None:
    ((_, apart),) = compared([case])
    assert apart > 1e-3


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.parametrize("case", EXACT, ids=lambda it: it.id)
def test_a_right_engine_agrees_with_the_plain_one(case: Case) -> None:
    ((_, apart),) = compared([case])
    assert apart < 5e-3


@pytest.mark.slow
def test_a_case_is_judged() -> None:
    found = judge(named("offset-of-one"))
    assert (found.answer, found.asked > 0) == (Answer.NAMED, True)
    assert any("rows-shifted" in line for line in found.said)


NAMES = (
    ("last-slope-missing[bloom]", "distance-1[", "slopes-wrong"),
    ("bias-ends-at-four-hundred[bloom]", "distance-777[", "distances-clamped"),
    ("keys-of-a-chunk[bloom]", "late-keys[", "chunks-restart"),
    ("distances-of-one-query[bloom]", "distance-1[", "written-otherwise"),
    ("half-of-the-buckets[t5-far]", "distance-1[", "number-of-buckets"),
    ("decoder-of-the-encoder[t5]", "distance-1[decoder", "table-of-another"),
    ("encoder-padded[t5]", "one-batch[encoder", "wrong-in-batch"),
    ("padding-left-seen[mistral]", "one-batch[", "wrong-in-batch"),
    ("first-pair-unturned[llama]", "distance-1[", "pairs-wrong"),
    ("last-head-of-queries-unturned[llama]", "layers[", "heads-wrong"),
    ("fused-keys-after-values[phi3]", "distance-1[", "scores-zero"),
    ("sinks-of-the-first-head[gpt_oss]", "distance-1[", "sinks-wrong"),
    ("cap-of-twenty[gemma2]", "distance-1[", "score-cap-wrong"),
    ("norms-all-heads-together[qwen3-plain]", "distance-1[", "scores-multiplied"),
    ("keys-restart-every-128[llama-far]", "late-keys[", "chunks-restart"),
    ("one-short-behind-prefix[llama]", "same-text-again[", "changes-when-repeated"),
    ("last-word-never-computed[llama]", "same-text-again[", "changes-when-repeated"),
    ("dynamic-of-the-longest[dynamic]", "beyond-batch[", "wrong-in-batch"),
    ("row-of-the-last-twice[gpt2]", "late-rows[", "rows-wrong"),
    ("loses-row-five-hundred[llama-far]", "every-key[", "keys-lost"),
    ("window-of-layer-2[modernbert-deep]", "window-layers[", "window-ignored"),
    ("keys-lost-at-pages[llama]", "written-keys[", "keys-lost"),
    ("usual-betas[yarn-betas]", "distance-1[", "betas-ignored"),
    ("queries-clamped-at-600[llama-far]", "late-keys[", "late-positions-wrong"),
    ("keys-unturned-at-600[llama-far]", "late-keys[", "keys-misplaced"),
    ("short-table-in-middle[llama-deep]", "late-layers[", "positions-clamped"),
    ("sinks-while-reading-only[gpt_oss]", "distance-1[", "sinks-wrong"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("id", "check", "name"), NAMES, ids=[case[0] for case in NAMES])
def test_a_mistake_has_its_name(id: str, check: str, name: str) -> None:
    case = next(case for case in CASES if case.id == id)
    execution = execute(next(checks_of(case, check)), Options(1))
    assert execution.outcome.explanations[0][0] == name, execution.text
