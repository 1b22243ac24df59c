"""Models: an engine's interpretation of a configuration, one group of layers after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posenc_conformance.adapters.claims import Claim, claims_on
from posenc_conformance.adapters.resolve import check_range, keywords_of
from posenc_conformance.checks import Check, Extent, Options, variant
from posenc_conformance.checks.engine_mistakes import WrongEngine
from posenc_conformance.checks.engine_questions import TURNING, Question, questions, seen
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.errors import UserError, location_of
from posenc_conformance.judge.call_kinds import ENGINE
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Engine, Scope
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import MEMORY_OF_A_CALL, Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong
from posenc_conformance.models.file import Model, model_named
from posenc_conformance.models.layer_kinds import WITHOUT_POSITIONS
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import unturned
from posenc_conformance.scheme_file.scheme import Call, Parameter

LEVEL = "model"
LONGEST = 1 << 20
"""Limit on positions unless a claim goes further: a table of more positions needs much memory."""
SAME = ("causal", "first-key", "last-key")
"""Forms of a bias that differ by a constant per query, which softmax ignores."""


def engines(adapter: object) -> dict[str, tuple[Claim, ...]]:
    """Return an adapter's claims about models, by method name."""
    return {
        name: claims
        for name, claims in claims_on(adapter).items()
        if name in ENGINE and callable(getattr(adapter, name))
    }


def require_engine(adapter: object) -> None:
    """Raise UserError for an adapter without claims about models."""
    if not engines(adapter):
        raise UserError(
            f"{type(adapter).__name__} claims nothing about models, so none can be judged",
            "put @claims(models=[...]) above rotary(x, positions, *, config, layer), "
            "scores(q, k, q_positions, k_positions, *, config, layer), "
            "bias(q_len, k_len, *, config, layer) or encoding(positions, *, config)",
        )


def subjects_of(
    adapter: object,
    models: Sequence[Model],
    memory: int = MEMORY_OF_A_CALL,
    own: Sequence[Model] = (),
) -> dict[str, list[Subject]]:
    """Make a subject for each group of layers in each claimed model; return them by model id.

    ``own`` are models that no claim can name, because they are not in the spec.

    Raises UserError for a claim of an unknown model, and for a method that cannot be called.
    """
    subjects: dict[str, list[Subject]] = {}
    for name, claims in engines(adapter).items():
        method = getattr(adapter, name)
        keywords = keywords_of(_form(name), method)
        ids = [_ids(claim, name, method) for claim in claims]
        for model in (*models, *own):
            named = [
                claim
                for claim, model_ids in zip(claims, ids, strict=True)
                if model_ids is None or model.id in model_ids or model in own
            ]
            if not named:
                continue
            for group in _groups(model, name):
                case = questions(model, group, name)[0].of(group, "float32")
                options = {key: (value,) for key, value in case.conventions.items()}
                subject = Subject(
                    case.scheme,
                    case.call,
                    case.call.combinations[group.combination or ""],
                    tuple(
                        Scope(options, {}, each.dtypes, _farthest(each, model)) for each in named
                    ),
                    method,
                    keywords,
                    memory_of_a_call=memory,
                    engine=_engine(model, group, name),
                )
                subjects.setdefault(model.id, []).append(subject)
    return subjects


def _farthest(claim: Claim, model: Model) -> int:
    """Return the largest position to check: that of the claim, or the last one of the model."""
    if claim.max_position is not None:
        return claim.max_position
    return max(claim.farthest, min(model.meaning.context.extended or 0, LONGEST) - 1)


def _form(name: str) -> Call:
    """Make the Call that describes the signature of an adapter's method."""
    keys = ("config",) if name == "encoding" else ("config", "layer")
    parameters = {key: Parameter(key, "", "", None, 0, argument=False, when={}) for key in keys}
    return Call(name, name, "", "keyword", dict.fromkeys(ENGINE[name], ""), parameters, {}, ())


def _ids(claim: Claim, name: str, method: Any) -> set[str] | None:
    """Return the ids of the models that a claim names; None for all.

    Raises UserError for a claim of anything else.
    """
    check_range(claim, name, location_of(method))
    if claim.combinations or claim.when or claim.restrictions.keys() - {"models"}:
        raise UserError(
            f"{location_of(method)}: {name}() claims something other than models",
            f"a claim here takes only models=[...], dtype and max_position; if a call of {name}"
            " does not work, raise NotImplementedError",
        )
    if "models" not in claim.restrictions:
        return None
    try:
        return {model_named(str(id)).id for id in claim.restrictions["models"]}
    except UserError as error:
        raise UserError(f"{location_of(method)}: {name}(): {error.cause}", error.hint) from None


def _groups(model: Model, call: str) -> list[Group]:
    """Return the groups of a model's layers that an adapter's method covers."""
    if call in TURNING:
        return turned_groups(model)
    scheme = {"bias": "alibi", "encoding": "sinusoidal"}[call]
    return [group for group in model.meaning.groups if group.scheme == scheme]


def turned_groups(model: Model) -> list[Group]:
    """Return the groups that rotate and, if there are any, those without positional encoding."""
    turning = [group for group in model.meaning.groups if group.turns]
    groups = []
    for group in model.meaning.groups:
        if group.turns:
            groups.append(group)
        elif turning and group.call is None and group.attention not in WITHOUT_POSITIONS:
            groups.append(unturned(group, turning[0]))
    return groups


def _engine(model: Model, group: Group, call: str) -> Engine:
    named = {"_name_or_path": model.repository} if model.repository else {}
    keywords: dict[str, Any] = {"config": {**named, **model.config}}
    if group.layers:
        keywords["layer"] = group.layers[0]
    return Engine(model.id, group.id, call, keywords)


def checks(model: Model, subjects: Sequence[Subject]) -> Iterator[Check]:
    """Yield a check per group, question and dtype; then, per method, one of every layer."""
    groups = {}
    claimed = [subject.engine.call for subject in subjects if subject.engine]
    for subject in subjects:
        assert subject.engine is not None
        call = subject.engine.call
        group = next(each for each in _groups(model, call) if each.id == subject.engine.group)
        groups[call, group.id] = group, subject
        for question in questions(model, group, call):
            first: Case | None = None
            for dtype in subject.dtypes:
                case = question.of(group, dtype)
                first = first or case
                case = case.sharing_truth_of(first)

                def run(
                    subject: Subject,
                    options: Options,
                    question: Question = question,
                    case: Case = case,
                ) -> Outcome:
                    return _judge(subject, question, case, claimed)

                id = f"{question.id}[{variant(subject)}-{dtype}]"
                yield Check(LEVEL, id, subject, dtype, run, Extent.of(case))
    for name in TURNING:
        some = [each for (call, _), each in groups.items() if call == name]
        if len(some) > 1:

            def each_layer(
                subject: Subject,
                options: Options,
                some: Sequence[tuple[Group, Subject]] = some,
            ) -> Outcome:
                return _layers(model, some)

            yield Check(LEVEL, f"layers[{name}]", some[0][1], None, each_layer)


def ids_of(model: Model, dtypes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the ids of all checks of a model, claimed or not, in the ``dtypes`` of each method."""
    for call in ENGINE:
        groups = _groups(model, call)
        for group in groups:
            for question in questions(model, group, call):
                for dtype in dtypes[call]:
                    yield f"{question.id}[{call}-{group.id}-{dtype}]"
        if call in TURNING and len(groups) > 1:
            yield f"layers[{call}]"


def _judge(subject: Subject, question: Question, case: Case, claimed: Sequence[str]) -> Outcome:
    """Ask a question, and compare the result with the spec's interpretation of the model.

    Raises Wrong with the mistake in reading the configuration that explains it, if there is one.
    """
    question, case, left_out = _within_claim(subject, question, case)
    title = _title(question)
    try:
        output = question.ask(subject, case)
    except Misbehaviour as problem:
        raise Wrong(f"{title}: {problem}") from None
    values = output.astype(np.float64)
    for form in _forms(case):
        if agrees(form, values):
            case = form
    explain, page = WrongEngine(subject, question).explain, page_of(question.model)
    left_out = "; ".join(filter(None, (left_out, _beside(question, claimed))))
    return replace(require_agreement(None, case, values, title, explain, page), left_out=left_out)


def _beside(question: Question, claimed: Sequence[str]) -> str:
    """Say which factors of queries and logits are left out because scores() is not claimed."""
    group = question.group
    if "scores" in claimed:
        return ""
    factors = {
        "queries": group.temperature is not None,
        "logits": group.score_factor is not None,
    }
    named = [name for name, applies in factors.items() if applies]
    what_is_left = f"what {' and '.join(named)} alone are multiplied by"
    return f"{what_is_left}, since scores() is not claimed" if named else ""


def _title(question: Question) -> str:
    group = question.group
    place = f"layer {group.layers[0]} ({group.id})" if group.layers else f"the {group.id}"
    keys = " with keys at position 0, each 1 in one channel," if question.call == "scores" else ""
    return f"{question.id}: {question.call}(){keys} for {place} of {question.model.title}"


def page_of(model: Model) -> str:
    """Return the command that explains a model."""
    return f"posenc model {model.path.stem if model.path.suffix == '.yaml' else model.path}"


def _within_claim(subject: Subject, question: Question, case: Case) -> tuple[Question, Case, str]:
    """Leave out positions that are not claimed.

    Returns the question, its case, and words for the positions left out.

    Raises NotClaimed if no position is left.
    """
    largest = max(scope.max_position for scope in subject.scopes if case.dtype in scope.dtypes)
    left_out = ""
    if "positions" in case.arguments and case.largest_position > largest:
        rows = np.flatnonzero(np.atleast_2d(case.arguments["positions"]).max(axis=0) <= largest)
        left_out = f"positions beyond {largest:,}, which are not claimed"
        if not rows.size:
            raise NotClaimed(left_out)
        arguments = question.arguments
        changed = {**arguments, "positions": arguments["positions"][..., rows]}
        if "x" in arguments:
            changed["x"] = arguments["x"][..., rows, :]
        question = replace(question, arguments=changed)
        case = question.of(question.group, case.dtype)
    subject.require_claimed(case)
    return question, case, left_out


def _forms(case: Case) -> Iterator[Case]:
    """Yield a bias in all forms that give the same attention weights; nothing for other calls."""
    if case.call.kind == "bias":
        for name in SAME:
            yield seen(case.with_conventions(**case.call.combinations[name].conventions))


def _layers(model: Model, groups: Sequence[tuple[Group, Subject]]) -> Outcome:
    """Check that every layer is treated like its own group.

    Raises Blocked if groups are wrong as a whole, which other checks report.
    """
    wrong: dict[int, str] = {}
    whole = True
    for group, subject in groups:
        assert subject.engine is not None
        own = {}
        for layer in group.layers:
            keywords = {**subject.engine.keywords, "layer": layer}
            layer_subject = replace(subject, engine=replace(subject.engine, keywords=keywords))
            own[layer] = _treated_as(model, group, layer_subject, [other for other, _ in groups])
        mistaken = {layer: name for layer, name in own.items() if name != group.id}
        whole = whole and len(mistaken) in (0, len(own))
        wrong |= mistaken
    if wrong and whole:
        raise Blocked("whole groups of layers are wrong")
    if wrong:
        listed = [f"{layer} as {name or 'none of the groups'}" for layer, name in wrong.items()]
        words = f"layers treated like those of another group: {', '.join(listed)}"
        text = f"{words} [layers-mistaken]\nsee        {page_of(model)}"
        raise Wrong(text, Outcome(explanations=(("layers-mistaken", words),)))
    return Outcome()


def _treated_as(model: Model, group: Group, subject: Subject, groups: Sequence[Group]) -> str:
    """Return the id of the group that a layer is treated as; empty if it matches none."""
    assert subject.engine is not None
    question = questions(model, group, subject.engine.call)[0]
    dtype = subject.dtypes[0]
    question, case, _ = _within_claim(subject, question, question.of(group, dtype))
    try:
        output = question.ask(subject, case)
    except Misbehaviour:
        return ""
    if agrees(case, output):
        return group.id
    others = (peer for peer in groups if peer.parameters["head_dim"] == case.shape[-1])
    for other in others:
        if agrees(question.of(other, dtype), output):
            return other.id
    return ""
