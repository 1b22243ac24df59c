"""Models: what an engine makes of a configuration, one group of layers after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc_conformance.adapters.claims import Claim, claims_on
from posenc_conformance.adapters.resolve import check_range, keywords_of
from posenc_conformance.checks import Check, Extent, Options, variant
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.errors import UserError, location_of
from posenc_conformance.judge.arrays import Floats, lattice
from posenc_conformance.judge.asking import ask
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import DeviationModel
from posenc_conformance.judge.deviation import Prediction as Prediction
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.kinds import ENGINE
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.scope import Engine, Scope
from posenc_conformance.judge.subject import MEMORY_OF_A_CALL, Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong
from posenc_conformance.models.file import Model, model_named
from posenc_conformance.models.meaning import LENGTH, Context, Group, case_of, length_of, rows_of
from posenc_conformance.models.mistakes import (
    MISREAD,
    MISTAKES,
    SHORT_TABLES,
    changed_numbers,
    short_tables,
)
from posenc_conformance.scheme_file.model import Arguments, Call, Parameter

LEVEL = "model"
HEADS = 2
USUAL_LENGTH = 4096
"""Length of texts for a configuration that does not say one."""
BETWEEN = (37, 300)
"""Positions between the first ones and the last one."""
SAME = ("causal", "first-key", "last-key")
"""Forms of a bias that differ by a constant for each query, which softmax does not see."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about a group of layers of a model."""

    model: Model
    group: Group
    id: str
    call: str
    arguments: Arguments

    def of(self, group: Group, dtype: str) -> Case:
        """Make the case of this or another group in a dtype, which holds lattices exactly."""
        return _seen(case_of(group, self.arguments).with_fields(dtype=dtype))


def engines(adapter: object) -> dict[str, tuple[Claim, ...]]:
    """Return the claims of an adapter about models, by the name of the method."""
    return {
        name: claims
        for name, claims in claims_on(adapter).items()
        if name in ENGINE and callable(getattr(adapter, name))
    }


def require_engine(adapter: object) -> None:
    """Raise UserError for an adapter that says nothing of models."""
    if not engines(adapter):
        raise UserError(
            f"{type(adapter).__name__} claims nothing about models, so none can be judged",
            "put @claims(models=[...]) above rotary(x, positions, *, config, layer), "
            "bias(q_len, k_len, *, config, layer) or encoding(positions, *, config)",
        )


def subjects_of(
    adapter: object,
    models: Sequence[Model],
    memory: int = MEMORY_OF_A_CALL,
    own: Sequence[Model] = (),
) -> dict[str, list[Subject]]:
    """Make a subject for each group of layers of a model that an adapter claims, by model id.

    ``own`` are models that no claim can name, because the spec does not know them.

    Raises UserError for a claim of an unknown model, and for a method that cannot be called.
    """
    found: dict[str, list[Subject]] = {}
    for name, claims in engines(adapter).items():
        method = getattr(adapter, name)
        keywords = keywords_of(_form(name), method)
        ids = [_ids(claim, name, method) for claim in claims]
        for model in (*models, *own):
            named = [
                claim
                for claim, some in zip(claims, ids, strict=True)
                if some is None or model.id in some or model in own
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
                    tuple(Scope(options, {}, each.dtypes, each.max_position) for each in named),
                    method,
                    keywords,
                    memory_of_a_call=memory,
                    engine=_engine(model, group, name),
                )
                found.setdefault(model.id, []).append(subject)
    return found


def _form(name: str) -> Call:
    """Make a call that says how a method of an engine is called."""
    given = ("config",) if name == "encoding" else ("config", "layer")
    parameters = {each: Parameter(each, "", "", None, 0, argument=False, when={}) for each in given}
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
    """Return the groups of a model that a method is asked about: each computes something."""
    if call == "rotary":
        return turned_groups(model)
    scheme = {"bias": "alibi", "encoding": "sinusoidal"}[call]
    return [group for group in model.meaning.groups if group.scheme == scheme]


def turned_groups(model: Model) -> list[Group]:
    """Return the groups that turn, and beside them those that leave everything as it is."""
    turning = [group for group in model.meaning.groups if group.turns]
    found = []
    for group in model.meaning.groups:
        if group.turns:
            found.append(group)
        elif turning and group.call is None and group.attention != "linear":
            size = turning[0].parameters["head_dim"]
            still = {"head_dim": size, "base": 10000, "proportion": 0}
            found.append(
                replace(group, scheme="p-rope", call="p_rope", combination="half", parameters=still)
            )
    return found


def _engine(model: Model, group: Group, call: str) -> Engine:
    named = {"_name_or_path": model.repository} if model.repository else {}
    keywords: dict[str, Any] = {"config": {**named, **model.config}}
    if group.layers:
        keywords["layer"] = group.layers[0]
    return Engine(model.id, group.id, call, keywords)


def questions(model: Model, group: Group, call: str) -> list[Question]:
    """List what is asked about a group of layers."""
    asked = {"rotary": _of_rotary, "bias": _of_bias, "encoding": _of_encoding}[call]
    return [
        Question(model, group, id, call, arguments)
        for id, arguments in asked(model.meaning.context, group).items()
    ]


def _of_rotary(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    """Ask within the original context, to its very end; then one past it, and at the end of all."""
    size = int(group.parameters["head_dim"])
    end = context.original or context.extended or USUAL_LENGTH
    places = {"within": [0, 1, *(each for each in BETWEEN if each < end - 1), end - 1]}
    if group.grows:  # neither length is factor times the original one, which some take for all
        places["beyond"] = [1, end, end + end // 2 - 1]
        places["longer"] = [1, end, max(4 * end, context.extended or 0) - 1]
    elif context.extended is not None and context.extended > end:
        places["beyond"] = [*dict.fromkeys((end, context.extended - 1))]
    found = {}
    for id, rows in places.items():
        positions = rows_of(group, np.array(rows))
        found[id] = {"x": lattice((HEADS, len(rows), size)), "positions": positions}
    if group.scheme == "m-rope":  # an image: rows and columns beside one moment
        axes = np.array([[9, 9, 9, 9], [9, 9, 10, 10], [9, 10, 9, 10]])
        found["axes"] = {"x": lattice((HEADS, 4, size)), "positions": axes}
    return found


def _of_bias(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    longest = context.extended or USUAL_LENGTH
    return {"prefill": {"q_len": 5, "k_len": 5}, "decode": {"q_len": 2, "k_len": longest}}


def _of_encoding(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    last = int(group.parameters["rows"]) - 1
    return {"rows": {"positions": np.array([0, 1, *BETWEEN, last])}}


def checks(model: Model, subjects: Sequence[Subject]) -> Iterator[Check]:
    """Yield a check per question about a group, and dtype; then one that asks every layer."""
    groups = {}
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
                    return _judge(subject, question, case)

                id = f"{question.id}[{variant(subject)}-{dtype}]"
                yield Check(LEVEL, id, subject, dtype, run, Extent.of(case))
    rotary = [each for (call, _), each in groups.items() if call == "rotary"]
    if len(rotary) > 1:

        def each_layer(subject: Subject, options: Options) -> Outcome:
            return _layers(model, rotary)

        yield Check(LEVEL, "layers[rotary]", rotary[0][1], None, each_layer)


def ids_of(model: Model, dtypes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the ids of all checks of a model, claimed or not, in these dtypes of each call."""
    for call in ENGINE:
        groups = _groups(model, call)
        for group in groups:
            for question in questions(model, group, call):
                for dtype in dtypes[call]:
                    yield f"{question.id}[{call}-{group.id}-{dtype}]"
        if call == "rotary" and len(groups) > 1:
            yield "layers[rotary]"


def _judge(subject: Subject, question: Question, case: Case) -> Outcome:
    """Ask a question, and compare the result with what the spec says of the model.

    Raises Wrong with the mistake in reading the configuration that explains it, if there is one.
    """
    case, left_out = _within_claim(subject, case)
    title = _title(question)
    try:
        output = ask(subject, case)
    except Misbehaviour as problem:
        raise Wrong(f"{title}: {problem}") from None
    values = output.astype(np.float64)
    for form in _forms(case):
        if agrees(form, values):
            case = form
    try:
        page = page_of(question.model)
        outcome = require_agreement(None, case, values, title, _special(question), page)
    except Wrong as wrong:
        raise _by_spelling(subject, case, wrong) from None
    return replace(outcome, left_out=left_out)


def _title(question: Question) -> str:
    group = question.group
    place = f"layer {group.layers[0]} ({group.id})" if group.layers else f"the {group.id}"
    return f"{question.id}: {question.call}() for {place} of {question.model.title}"


def page_of(model: Model) -> str:
    """Name the command that explains a model."""
    return f"posenc model {model.path.stem if model.path.suffix == '.yaml' else model.path}"


def _within_claim(subject: Subject, case: Case) -> tuple[Case, str]:
    """Leave out positions that are not claimed; return the case, and words for what is left out.

    Raises NotClaimed if nothing is left.
    """
    largest = max(scope.max_position for scope in subject.scopes if case.dtype in scope.dtypes)
    left_out = ""
    if "positions" in case.arguments and case.largest_position > largest:
        kept = np.flatnonzero(np.atleast_2d(case.arguments["positions"]).max(axis=0) <= largest)
        left_out = f"positions beyond {largest:,}, which are not claimed"
        if not kept.size:
            raise NotClaimed(left_out)
        changed = {name: case.arguments[name][..., kept] for name in ("positions",)}
        if "x" in case.arguments:
            changed["x"] = case.arguments["x"][..., kept, :]
        if LENGTH in case.arguments:
            changed[LENGTH] = length_of(changed["positions"])
        case = case.with_fields(arguments={**case.arguments, **changed})
    subject.require_claimed(case)
    return case, left_out


def _seen(case: Case) -> Case:
    """Return the same case; of a bias only what a causal mask lets a query look at."""
    if case.call.kind != "bias":
        return case
    rows = case.shape[-1] - case.shape[-2] + np.arange(case.shape[-2])
    seen = np.arange(case.shape[-1]) <= rows[:, None]
    return replace(case, printed=np.where(seen, case.truth, np.nan))


def _forms(case: Case) -> Iterator[Case]:
    """Yield a bias in the forms that attend alike."""
    if case.call.kind == "bias":
        for name in SAME:
            yield _seen(case.with_conventions(**case.call.combinations[name].conventions))


def _special(question: Question) -> Mapping[str, DeviationModel]:
    """Return models of the mistakes in reading a configuration: what each would compute."""
    model, group = question.model, question.group
    own = next(each for each in model.meaning.groups if each.id == group.id)
    found: dict[str, DeviationModel] = {}
    for mistake in MISTAKES:

        def predicted(
            case: Case, got: Floats, ways: Any = mistake.ways, what: str = mistake.what
        ) -> Iterator[Prediction]:
            for made in ways(own, model.meaning, model.configuration):
                if made.call is not None:
                    truth = _of_group(case, made).truth
                    yield Prediction(f"matches {what}{changed_numbers(own, made)}", truth)

        found[mistake.id] = predicted
    if model.meaning.context.original:
        found[SHORT_TABLES] = _short_tables(model.meaning.context.original)
    return found


def _short_tables(end: int) -> DeviationModel:
    """Make a model of tables for the original context that do not refuse positions beyond it."""

    def predicted(case: Case, got: Floats) -> Iterator[Prediction]:
        where = case.arguments.get("positions")
        if where is None or where.max() < end:
            return
        for words, read in short_tables(end):
            twin = case.with_fields(arguments={**case.arguments, "positions": read(where)})
            yield Prediction(f"matches {words}", twin.truth)

    return predicted


def _of_group(case: Case, group: Group) -> Case:
    """Return the case of another group, with the same inputs."""
    inputs = ("x", "positions", "q_len", "k_len")
    given = {name: value for name, value in case.arguments.items() if name in inputs}
    found = case_of(group, given)
    return (
        found.with_conventions(form=case.conventions["form"]) if case.call.kind == "bias" else found
    )


def _by_spelling(subject: Subject, case: Case, wrong: Wrong) -> Wrong:
    """Return the same failure; under the name of the place that is read, if that explains it.

    That is tried with configurations in which everything stands where the engine may look for it.
    """
    explanations = wrong.outcome.explanations
    first = explanations[0][0] if explanations else None
    assert subject.engine is not None
    config = subject.engine.keywords["config"]
    for misread in MISREAD:
        other = misread.respelled(config)
        if other == config or misread.mistake not in (None, first):
            continue
        keywords = {**subject.engine.keywords, "config": other}
        twin = replace(subject, engine=replace(subject.engine, keywords=keywords))
        if _agrees(twin, case):
            words = misread.words
            _, *lines = wrong.text.splitlines()
            outcome = replace(wrong.outcome, explanations=((misread.id, words), *explanations))
            return Wrong("\n".join([f"{words} [{misread.id}]", *lines]), outcome, wrong.case)
    return wrong


def _agrees(subject: Subject, case: Case) -> bool:
    try:
        return agrees(case, ask(subject, case))
    except (Misbehaviour, NotClaimed):
        return False


def _layers(model: Model, groups: Sequence[tuple[Group, Subject]]) -> Outcome:
    """Ask every layer, each of which must be treated as the group that it belongs to.

    Raises Blocked if groups are wrong as a whole: that is said elsewhere.
    """
    wrong: dict[int, str] = {}
    whole = True
    for group, subject in groups:
        assert subject.engine is not None
        own = {}
        for layer in group.layers:
            keywords = {**subject.engine.keywords, "layer": layer}
            each = replace(subject, engine=replace(subject.engine, keywords=keywords))
            own[layer] = _treated_as(model, group, each, [other for other, _ in groups])
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
    """Return the id of the group that a layer is treated as; empty if it is like none."""
    question = questions(model, group, "rotary")[0]
    case, _ = _within_claim(subject, question.of(group, subject.dtypes[0]))
    try:
        output = ask(subject, case)
    except Misbehaviour:
        return ""
    if agrees(case, output):
        return group.id
    others = (each for each in groups if each.parameters["head_dim"] == case.shape[-1])
    inputs = {name: case.arguments[name] for name in ("x", "positions")}
    for other in others:
        like = case_of(other, inputs).with_fields(dtype=case.dtype)
        if agrees(like, output):
            return other.id
    return ""
