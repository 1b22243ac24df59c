"""Model adapters: their reading of configurations is judged, and mistakes are named."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.checks import Options
from posenc_conformance.checks.engine_questions import questions
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.checks.model_adapter import (
    checks,
    ids_of,
    require_engine,
    subjects_of,
)
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.call_kinds import ENGINE
from posenc_conformance.models.file import with_configuration
from posenc_conformance.models.keys.places import MISREAD
from posenc_conformance.models.misreadings import (
    BIAS_MISSING,
    EARLY,
    MISTAKES,
    OF_A_RANK,
    SHORT_TABLES,
    UNROTATED,
)
from posenc_lab.miniatures.model_adapters import MODELS as CLAIMED
from posenc_lab.miniatures.model_adapters import (
    RIGHT,
    WRONG,
    Engine,
    OriginalContext,
    OriginalContextAnew,
)
from tests.building import CHECKOUT
from tests.model_adapters import failures, judged, models

pytestmark = pytest.mark.remembered(shipped=True)


@pytest.mark.slow
@pytest.mark.parametrize("made", RIGHT, ids=lambda made: made.__name__)
def test_right_engines_pass(made: type[Engine]) -> None:
    outcomes = judged(made())
    assert len(outcomes) > len(CLAIMED)
    assert not [(id, execution.text) for id, execution in outcomes if execution.verdict != "passed"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WRONG if name != "layers-mistaken"])
def test_wrong_engines_are_rejected_and_named(name: str) -> None:
    outcomes = failures(WRONG[name]())
    named = Counter(
        run.outcome.explanations[0][0] for _, run in outcomes if run.outcome.explanations
    )
    assert named.most_common(1)[0][0] == name, [run.text for _, run in outcomes]


@pytest.mark.slow
def test_mistaken_layers_are_listed() -> None:
    outcomes = dict(failures(WRONG["layers-mistaken"](), "gemma-3-4b"))
    assert "sliding" in outcomes["gemma-3-4b layers[rotary]"].text
    assert "[layers-mistaken]" in outcomes["gemma-3-4b layers[rotary]"].text
    assert "5 as sliding" in outcomes["gemma-3-4b layers[rotary]"].text


def test_every_mistake_is_planted() -> None:
    names = {mistake.id for mistake in MISTAKES} | {mistake.id for mistake in MISREAD}
    names |= {"layers-mistaken", SHORT_TABLES, EARLY, UNROTATED.id, BIAS_MISSING, OF_A_RANK}
    assert names - {"betas-ignored"} == WRONG.keys()  # no model there has other betas


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "said"),
    [(OriginalContext, "get their last row"), (OriginalContextAnew, "start anew")],
)
def test_tables_that_end_too_early_are_wrong_only_beyond_the_original_context(
    made: type[Engine], said: str
) -> None:
    outcomes = dict(failures(made(), "llama-3.1-8b", "phi-3.5-mini", "llama-2-7b"))
    assert {id.split("-float")[0].split("-bfloat")[0] for id in outcomes} == {
        "llama-3.1-8b beyond[rotary-layers",
        "phi-3.5-mini beyond[rotary-layers",
    }
    assert all(f"[{SHORT_TABLES}" in run.text and said in run.text for run in outcomes.values())


def test_mistaken_numbers_are_reported() -> None:
    outcomes = dict(failures(WRONG["factor-of-another-model"](), "llama-3.2-1b"))
    text = outcomes["llama-3.2-1b within[rotary-layers-float32]"].text
    assert "factor 8 for 32" in text
    assert "Llama 3.2 1B" in text
    assert "posenc model llama-3.2-1b" in text


def test_a_claim_that_ends_early_is_reported() -> None:
    class Short(Engine):
        @claims(models=["llama-3.1-8b"], max_position=8192)
        def rotary(self, *given: Any, **named: Any) -> Any:
            return super().rotary(*given, **named)

    outcomes = dict(judged(Short(), "llama-3.1-8b"))
    assert all(execution.verdict == "passed" for execution in outcomes.values())
    assert "8,192" in outcomes["llama-3.1-8b beyond[rotary-layers-float32]"].outcome.left_out

    class Shorter(Engine):
        @claims(models=["llama-3.1-8b"], max_position=8191)
        def rotary(self, *given: Any, **named: Any) -> Any:
            return super().rotary(*given, **named)

    outcomes = dict(judged(Shorter(), "llama-3.1-8b"))
    assert outcomes["llama-3.1-8b beyond[rotary-layers-float32]"].verdict == "not_claimed"


def test_changes_to_the_configuration_do_not_persist() -> None:
    class Destructive(Engine):
        def block(self, config: Mapping[str, Any], layer: int) -> dict[str, Any]:
            result = super().block(config, layer)
            if isinstance(config, dict) and isinstance(config.get("rope_scaling"), dict):
                config["rope_scaling"].clear()
            return result

        def base(self, config: Mapping[str, Any], layer: int) -> float:
            return float(config["rope_theta"])

        def rotary(self, x: Any, positions: Any, *, config: Any, layer: int) -> Any:
            copied = json.loads(json.dumps(config))
            self.block(config, layer)
            return super().rotary(x, positions, config=copied, layer=layer)

    assert not failures(Destructive(), "llama-3.1-8b")


def test_all_checks_of_a_model_are_counted() -> None:
    dtypes = {call: ["float32"] for call in ENGINE}
    claimed = subjects_of(Engine(), models())
    for model in models():
        ids = [*ids_of(model, dtypes)]
        assert len(set(ids)) == len(ids)
        made = {check.id for check in checks(model, claimed.get(model.id, []))}
        assert {id for id in made if "float16" not in id} <= {*ids}


Claiming = Callable[..., Any]


@pytest.mark.parametrize(
    ("claim", "method", "said"),
    [
        (claims(models=["llama-3.1-8x"]), "rotary", "llama-3.1-8b"),
        (claims("half"), "rotary", "something other than models"),
        (claims(models=["bloom"], heads=8), "bias", "something other than models"),
        (claims(dtype="float8"), "rotary", "claims dtype 'float8'"),
    ],
)
def test_invalid_claims_are_refused(claim: Claiming, method: str, said: str) -> None:
    def rotary(self: object, x: Any, positions: Any, *, config: Any, layer: int) -> Any:
        return x

    adapter = type("Mine", (), {method: claim(rotary)})()
    with pytest.raises(UserError) as caught:
        subjects_of(adapter, models())
    assert said in f"{caught.value.cause} {caught.value.hint}"


def test_a_method_with_another_parameter_is_refused() -> None:
    class Mine:
        @claims()
        def rotary(self, x: Any, positions: Any, *, config: Any, layer: int, weights: Any) -> Any:
            return x

    with pytest.raises(UserError, match="requires 'weights'"):
        subjects_of(Mine(), models())


MINE = "from posenc_lab.miniatures.model_adapters import {} as Mine\nclass Adapter(Mine): pass\n"
OWN = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "max_position_embeddings": 4096,
    "rope_theta": 500000.0,
    "rope_scaling": {"type": "linear", "factor": 4.0},
}


@pytest.fixture
def judge(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that writes and judges an adapter of a miniature."""
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT), prepend=":")
    pytester.path.joinpath("config.json").write_text(json.dumps(OWN), encoding="utf-8")

    def run(name: str, *options: str) -> pytest.RunResult:
        pytester.path.joinpath("mine.py").write_text(MINE.format(name), encoding="utf-8")
        return pytester.runpytest_subprocess(
            "--impl=mine.py:Adapter", "-p", "no:cacheprovider", *options
        )

    return run


@pytest.mark.slow
def test_one_model_by_its_name(judge: Callable[..., Any]) -> None:
    result = judge("FactorEight", "--posenc-model=llama-3.2-1b", "--posenc-report=report.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*factor 8 for 32 [[]factor-of-another-model*", "llama-3.2-1b  rotary  layers*0*6*"]
    )
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["models"] == ["llama-3.2-1b"]
    assert report["summary"]["failed"] == 6


@pytest.mark.slow
def test_a_users_own_configuration(judge: Callable[..., Any]) -> None:
    result = judge("Engine", "--posenc-model=config.json")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["config.json*rotary*3*0*"])
    result = judge("ReadsRopeType", "--posenc-model=config.json")
    result.stdout.fnmatch_lines(["reads the key rope_type where this configuration has type*"])
    id = "config.json::model::within[rotary-layers-float32]"
    assert judge("Engine", "--posenc-model=config.json", id).parseoutcomes() == {"passed": 1}


@pytest.mark.slow
def test_only_claimed_models_are_checked(judge: Callable[..., Any]) -> None:
    assert judge("Engine", "gpt-oss-20b.yaml").parseoutcomes() == {"passed": 26}
    result = judge("Engine", "--posenc-model=olmo-7b")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*no claims about olmo-7b*"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("impl", "model", "said"),
    [
        ("reference", "llama-3.1-8b", "claims nothing about models"),
        ("mine.py", "llama-3.1-9b", "there is no model 'llama-3.1-9b'*"),
        ("mine.py", "nowhere/config.json", "cannot be read"),
        ("mine.py", "model.gguf", "an engine needs the configuration as a dict"),
        ("mine.py", "broken.json", "rope_scaling.factr"),
    ],
)
def test_impossible_requests_are_refused_with_the_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, impl: str, model: str, said: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT), prepend=":")
    scaling = {"type": "linear", "factor": 4.0, "factr": 8.0}
    broken = {**OWN, "rope_scaling": scaling}
    pytester.path.joinpath("broken.json").write_text(json.dumps(broken), encoding="utf-8")
    pytester.path.joinpath("mine.py").write_text(
        "from posenc_lab.miniatures.model_adapters import Engine\nclass Adapter(Engine): pass\n",
        encoding="utf-8",
    )
    result = pytester.runpytest_subprocess(f"--impl={impl}", f"--posenc-model={model}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_a_failure_can_be_repeated_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE.format("ScalingIgnored"), encoding="utf-8")
    id = "llama-3.1-8b.yaml::model::within[rotary-layers-float32]"
    assert main(["repro", id, "--impl=mine.py:Adapter"]) == 0
    script = capsys.readouterr().out
    assert ".rotary(x, positions, config={" in script
    exec(script, {"__name__": "repro"})
    assert "expected" in capsys.readouterr().out


def test_a_configuration_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(OWN), encoding="utf-8")
    (group,) = with_configuration(path).meaning.groups
    assert (group.scheme, group.parameters["factor"]) == ("position-interpolation", 4)
    assert np.isclose(group.parameters["base"], 5e5)


def test_positions_include_the_end_of_the_original_context_and_the_next() -> None:
    (model,) = (entry for entry in models() if entry.id == "llama-3.1-8b")
    (group,) = model.meaning.groups
    arguments = {entry.id: entry.arguments for entry in questions(model, group, "rotary")}
    assert arguments["within"]["positions"].tolist() == [0, 1, 37, 300, 8191]
    assert arguments["beyond"]["positions"].tolist() == [8192, 8229, 131034, 131071]
    assert {len(entry["positions"]) for entry in arguments.values()} == {
        entry["x"].shape[1] for entry in arguments.values()
    }


@pytest.mark.parametrize(
    ("end", "asked"),
    [
        (302, [0, 1, 37, 300, 301]),
        (301, [0, 1, 37, 300]),
        (300, [0, 1, 37, 299]),
        (38, [0, 1, 37]),
        (37, [0, 1, 36]),
    ],
)
def test_positions_of_a_short_context_reach_its_end_without_repetition(
    end: int, asked: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    plain = {name: value for name, value in OWN.items() if name != "rope_scaling"}
    path.write_text(json.dumps({**plain, "max_position_embeddings": end}), encoding="utf-8")
    model = with_configuration(path)
    (group,) = model.meaning.groups
    (question,) = questions(model, group, "rotary")
    assert question.arguments["positions"].tolist() == asked


def test_questions_include_the_last_row_and_queries_at_the_end_of_all_keys() -> None:
    schemes = set()
    for model in models():
        for group in model.meaning.groups:
            if group.scheme == "sinusoidal":
                (question,) = questions(model, group, "encoding")
                rows = int(group.parameters["rows"])
                assert question.arguments["positions"].tolist() == [0, 1, 37, 300, rows - 1]
            elif group.scheme == "alibi":
                arguments = {entry.id: entry.arguments for entry in questions(model, group, "bias")}
                longest = model.meaning.context.extended or 4096
                assert arguments["decode"] == {"q_len": 2, "k_len": longest}
                assert arguments["prefill"] == {"q_len": 5, "k_len": 5}
            schemes.add(group.scheme)
    assert {"sinusoidal", "alibi"} <= schemes


def test_rotations_by_three_axes_are_tried_with_an_image_of_four_patches() -> None:
    (model, *_) = (entry for entry in models() if entry.meaning.groups[0].scheme == "m-rope")
    arguments = {
        entry.id: entry.arguments for entry in questions(model, model.meaning.groups[0], "rotary")
    }
    time, *axes = arguments["within"]["positions"]
    assert all(np.array_equal(time, entry) for entry in axes)
    assert len(axes) == 2
    time, row, column = arguments["axes"]["positions"]
    assert {*time} == {time[0]}
    assert (row - time[0]).tolist() == [0, 0, 1, 1]
    assert (column - time[0]).tolist() == [0, 1, 0, 1]
    for entry in arguments.values():
        assert entry["x"].shape == (2, entry["positions"].shape[1], entry["x"].shape[2])


def test_an_adapter_that_claims_no_models_is_refused() -> None:
    require_engine(Engine())
    withdrawn = type("Withdrawn", (Engine,), dict.fromkeys(ENGINE))
    for adapter in (withdrawn(), object()):
        with pytest.raises(UserError):
            require_engine(adapter)


def test_no_axis_goes_beyond_the_claim() -> None:
    """Of four patches, the last three would exceed the claim, in a row or a column."""
    model = next(entry for entry in models() if entry.meaning.groups[0].scheme == "m-rope")
    tried: list[Any] = []

    class Near:
        @claims(models=[model.id], max_position=9)
        def rotary(self, x: Array, positions: Array, *, config: Any, layer: int) -> Array:
            tried.append(positions.tolist())
            return x

    judged(Near(), model.id)
    assert [[9], [9], [9]] in tried
    assert np.max([np.max(entry) for entry in tried]) <= 9


def test_the_widest_of_several_claims_sets_the_largest_position() -> None:
    tried: list[Any] = []

    class Several(Engine):
        @claims(models=["llama-3.1-8b"], max_position=100)
        @claims(models=["llama-3.1-8b"], max_position=131071)
        @claims(models=["llama-3.1-8b"], max_position=400)
        def rotary(self, x: Array, positions: Array, *, config: Any, layer: int) -> Array:
            tried.extend(positions.tolist())
            return super().rotary(x, positions, config=config, layer=layer)

    outcomes = judged(Several(), "llama-3.1-8b")
    assert max(tried) == 131071
    assert {execution.outcome.left_out for _, execution in outcomes} == {""}


def test_a_bias_of_more_keys_than_claimed_is_not_checked() -> None:
    class Short(Engine):
        @claims(models=["bloom"], max_position=10)
        def bias(self, q_len: int, k_len: int, *, config: Any, layer: int) -> Array:
            return super().bias(q_len, k_len, config=config, layer=layer)

    outcomes = {check.split()[1]: run for check, run in judged(Short(), "bloom")}
    verdicts = {name.partition("[")[0]: str(run.verdict) for name, run in outcomes.items()}
    assert verdicts == {"prefill": "passed", "decode": "not_claimed"}


# A base that grows with the length of the text.

LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
}
DYNAMIC: dict[str, dict[str, Any]] = {
    "type": {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "rope_type": {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
    "rope_parameters": {
        "rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    },
    "original inside": {
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "type": "dynamic",
            "factor": 2.0,
            "original_max_position_embeddings": 4096,
        },
    },
    "original outside": {
        "max_position_embeddings": 8192,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "dynamic", "factor": 2.0},
    },
}
"""One meaning, spelt in five ways."""


class Growing(Engine):
    """Engine that recomputes the base for every text."""

    def original(self, config: Mapping[str, Any], block: Mapping[str, Any]) -> int:
        name = "original_max_position_embeddings"
        return int(block.get(name) or config.get(name) or config["max_position_embeddings"])

    def frequencies(self, config: Any, block: Any, layer: int, width: int, length: int) -> Array:
        omega = super().frequencies(config, block, layer, width, length)
        by = self.stretch(float(block["factor"]), length / self.original(config, block))
        return omega * by ** (-np.arange(0, width, 2) / (width - 2))

    def stretch(self, factor: float, share: float) -> float:
        return max(factor * share - (factor - 1), 1)


class NeverGrown(Growing):
    def stretch(self, factor: float, share: float) -> float:
        return 1


class GrownForGood(Growing):
    def stretch(self, factor: float, share: float) -> float:
        return super().stretch(factor, factor)


class GrownByLengthAlone(Growing):
    def stretch(self, factor: float, share: float) -> float:
        return max(share, 1)


class FromTheWholeContext(Growing):
    def original(self, config: Mapping[str, Any], block: Mapping[str, Any]) -> int:
        return int(config["max_position_embeddings"])


def judged_on(config: Mapping[str, Any], adapter: object, folder: Path) -> dict[str, Execution]:
    """Return the outcome of each check of a user's configuration, by id."""
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    model = with_configuration(path)
    (subjects,) = subjects_of(adapter, [], own=[model]).values()
    return {check.id: execute(check, Options(1)) for check in checks(model, subjects)}


@pytest.mark.parametrize("form", DYNAMIC)
def test_a_base_that_grows_is_read_in_every_spelling(form: str, tmp_path: Path) -> None:
    outcomes = judged_on({**LLAMA, **DYNAMIC[form]}, Growing(), tmp_path)
    assert {id.split("[")[0] for id in outcomes} == {"within", "beyond", "longer"}
    assert not [execution.text for execution in outcomes.values() if execution.verdict != "passed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "failing", "name"),
    [
        (NeverGrown, {"beyond", "longer"}, "scaling-ignored"),
        (GrownForGood, {"within", "beyond", "longer"}, "always-full"),
        (GrownByLengthAlone, {"beyond", "longer"}, "factor-of-another-model"),
        (FromTheWholeContext, {"beyond", "longer"}, "wrong-context-length"),
    ],
)
def test_a_base_that_grows_wrongly_is_named(
    made: type[Engine], failing: set[str], name: str, tmp_path: Path
) -> None:
    config = {**LLAMA, **DYNAMIC["original inside"], "max_position_embeddings": 5120}
    outcomes = judged_on(config, made(), tmp_path)
    failed = {id.split("[")[0]: run for id, run in outcomes.items() if run.verdict == "failed"}
    assert failed.keys() == failing
    named = Counter(run.outcome.explanations[0][0] for run in failed.values())
    assert named.most_common(1)[0][0] == name, [run.text for run in failed.values()]


def test_a_claim_that_ends_early_is_tried_with_shorter_texts(tmp_path: Path) -> None:
    class Short(Growing):
        @claims(max_position=5000)
        def rotary(self, *given: Any, **named: Any) -> Any:
            return super().rotary(*given, **named)

    outcomes = judged_on({**LLAMA, **DYNAMIC["type"]}, Short(), tmp_path)
    assert {execution.verdict for execution in outcomes.values()} == {"passed"}
    assert any("5,000" in execution.outcome.left_out for execution in outcomes.values())


# Places of fields.

MOVED: dict[str, dict[str, Any]] = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
    },
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
}
"""Blocks of rope_parameters, as transformers writes them since version 5."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOVED)
def test_reading_the_old_place_is_named(kind: str, tmp_path: Path) -> None:
    block = {**MOVED[kind], "rope_theta": 500000.0}
    config = {**LLAMA, "rope_parameters": block}
    assert {run.verdict for run in judged_on(config, Engine(), tmp_path).values()} == {"passed"}
    outcomes = judged_on(config, WRONG["old-place-read"](), tmp_path)
    failed = [run for run in outcomes.values() if run.verdict != "passed"]
    assert failed
    assert {run.outcome.explanations[0][0] for run in failed} == {"old-place-read"}
    assert all("rope_parameters" in run.text.splitlines()[0] for run in failed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOVED)
def test_reading_the_new_place_is_named(kind: str, tmp_path: Path) -> None:
    config = {**LLAMA, "rope_scaling": MOVED[kind], "rope_theta": 500000.0}
    assert {run.verdict for run in judged_on(config, Engine(), tmp_path).values()} == {"passed"}
    outcomes = judged_on(config, WRONG["new-place-read"](), tmp_path)
    failed = [run for run in outcomes.values() if run.verdict != "passed"]
    assert failed
    assert {run.outcome.explanations[0][0] for run in failed} == {"new-place-read"}


@pytest.mark.slow
def test_another_mistake_is_not_named_as_reading_a_wrong_place(tmp_path: Path) -> None:
    config = {**LLAMA, "rope_parameters": {**MOVED["llama3"], "rope_theta": 500000.0}}
    outcomes = judged_on(config, WRONG["factor-of-another-model"](), tmp_path)
    assert {run.verdict for run in outcomes.values()} == {"passed"}  # its factor is 8 as well
    outcomes = judged_on(config, WRONG["base-ignored"](), tmp_path)
    named = {run.outcome.explanations[0][0] for run in outcomes.values() if run.text}
    assert named == {"base-ignored"}


# Checks under a claim that sets no limit, and those that are left out.


class ToItsOwnLength(Engine):
    """A right engine whose claim sets no largest position."""

    @claims(models=["devstral-small-2-24b", "qwen3-4b-2507", "llama-4-scout"])
    def rotary(self, *given: Any, **named: Any) -> Any:
        return super().rotary(*given, **named)


class EndsAt131072(ToItsOwnLength):
    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        return super().tables(positions % 131072, omega, factor)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["devstral-small-2-24b", "qwen3-4b-2507"])
def test_a_model_is_checked_up_to_its_own_length(model: str) -> None:
    right = dict(judged(ToItsOwnLength(), model))
    assert {execution.verdict for execution in right.values()} == {"passed"}
    assert not any("positions" in execution.outcome.left_out for execution in right.values())
    wrong = [execution for _, execution in failures(EndsAt131072(), model)]
    assert wrong
    assert any("131072" in execution.outcome.recovered for execution in wrong)


def test_a_model_of_millions_of_positions_is_not_checked_to_its_end() -> None:
    outcomes = dict(judged(ToItsOwnLength(), "llama-4-scout"))
    assert {execution.verdict for execution in outcomes.values()} == {"passed"}
    assert any("1,048,575" in execution.outcome.left_out for execution in outcomes.values())


@pytest.mark.parametrize(
    ("model", "said"), [("ministral-3-3b", "queries"), ("deepseek-v3", "logits")]
)
def test_values_that_no_claimed_method_returns_are_reported_as_left_out(
    model: str, said: str
) -> None:
    turns_alone = type("TurnsAlone", (Engine,), {"scores": None})()
    outcomes = dict(judged(turns_alone, model))
    assert all(said in execution.outcome.left_out for execution in outcomes.values())
    for engine, other in ((turns_alone, "llama-3.1-8b"), (Engine(), model)):
        others = dict(judged(engine, other))
        assert not any("multiplied" in execution.outcome.left_out for execution in others.values())


CONTEXT = "max_position_embeddings"
YARN = {"rope_type": "yarn", "factor": 4.0}
BLOCKS = {
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
NESTED: Mapping[str, Any] = {
    "model_type": "gemma3_text",
    "hidden_size": 256,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "sliding_window": 1024,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    "rope_parameters": BLOCKS,
}


class UsualBetas(Engine):
    def block(self, config: Mapping[str, Any], layer: int) -> dict[str, Any]:
        return {**super().block(config, layer), "beta_fast": 32, "beta_slow": 1}


class BuiltInLength(Engine):
    def original(self, config: Mapping[str, Any], block: Mapping[str, Any]) -> int:
        return int(block.get("original_max_position_embeddings") or 4096)


class LengthOfContext(Engine):
    def original(self, config: Mapping[str, Any], block: Mapping[str, Any]) -> int:
        return int(block.get("original_max_position_embeddings") or config[CONTEXT])


class OfEachKind(Engine):
    """Reads the block of each kind of layer."""

    def block(self, config: Mapping[str, Any], layer: int) -> dict[str, Any]:
        rope = dict(config["rope_parameters"][config["layer_types"][layer]])
        return {**rope, "kind": rope["rope_type"]}

    def base(self, config: Mapping[str, Any], layer: int) -> float:
        return float(self.block(config, layer)["rope_theta"])


class FlatAlone(Engine):
    """Reads rope_parameters as one flat block, and takes defaults for what is not in it."""

    def block(self, config: Mapping[str, Any], layer: int) -> dict[str, Any]:
        rope = dict(config.get("rope_parameters") or {})
        return {**rope, "kind": rope.get("rope_type", "default")}

    def base(self, config: Mapping[str, Any], layer: int) -> float:
        return float(self.block(config, layer).get("rope_theta", 10000))


@pytest.mark.parametrize(
    ("made", "right", "config", "name", "words"),
    [
        (
            UsualBetas,
            Engine,
            {"rope_scaling": {**YARN, "original_max_position_embeddings": 4096, "beta_fast": 4.0}},
            "betas-ignored",
            "beta_fast 32 for 4",
        ),
        (
            BuiltInLength,
            LengthOfContext,
            {"rope_scaling": YARN, "max_position_embeddings": 40960},
            "wrong-context-length",
            "4096 for 40960",
        ),
        (FlatAlone, OfEachKind, NESTED, "nested-block-unread", "one for each kind of layer"),
    ],
)
def test_a_block_of_which_a_part_is_not_read_is_named(
    made: type[Engine],
    right: type[Engine],
    config: Mapping[str, Any],
    name: str,
    words: str,
    tmp_path: Path,
) -> None:
    outcomes = judged_on({**LLAMA, **config}, made(), tmp_path)
    failed = [run for run in outcomes.values() if run.verdict == "failed"]
    assert failed
    for run in failed:
        assert run.outcome.explanations[0][0] == name, run.text
        assert words in run.text
    passed = judged_on({**LLAMA, **config}, right(), tmp_path).values()
    assert {run.verdict for run in passed} == {"passed"}, [run.text for run in passed]
