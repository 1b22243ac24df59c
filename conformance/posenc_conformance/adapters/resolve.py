"""Resolving an adapter's claims to subjects, or reporting the error in a claim."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from posenc_conformance.adapters.claims import Claim, claims_on, method_of
from posenc_conformance.errors import UserError
from posenc_conformance.errors import location_of as _where
from posenc_conformance.files import name_module
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.judge.call_kinds import ENGINE, KINDS
from posenc_conformance.judge.claim_scope import SWITCHES, Condition, Scope
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import MEMORY_OF_A_CALL, Subject
from posenc_conformance.scheme_file.scheme import Call, Combination, Convention, Parameter, Value

FARTHEST = 2**53
"""The largest integer up to which float64 represents every integer."""
REFUSE = "refuse"
"""Value of ``odd_dim`` for code that refuses an odd number of channels."""
LONGEST_AXIS = 2**16
"""Longest axis that a claim may name: the kit makes an array of this length."""
MOST_VALUES = 2**12
"""Most values of one parameter that a claim may list: the kit makes a call with each."""


def subjects(
    adapter: object, schemes: Sequence[KnownScheme], memory_of_a_call: int = MEMORY_OF_A_CALL
) -> list[Subject]:
    """Resolve an adapter's claims about the schemes to subjects.

    ``memory_of_a_call`` limits the bytes that the inputs and the result of a call take in float64.

    Raises UserError for a claim that is not in the spec, a method without a keyword for something
    that its claims leave open, and an adapter that claims nothing.
    """
    calls = {call.name: (scheme, call) for scheme in schemes for call in scheme.calls.values()}
    resolved: list[Subject] = []
    claimed = claims_on(adapter)
    for name, claims in sorted(claimed.items()):
        method = method_of(adapter, name)
        if not callable(method):  # a subclass withdraws a claim: rope = None
            continue
        if name in ENGINE and name not in calls:
            continue
        if name not in calls:
            raise UserError(
                f"{_where(method)}: {name}() claims something, but no scheme has a call {name!r}",
                f"calls are {', '.join(sorted(calls))}; for models, {', '.join(ENGINE)}",
            )
        scheme, call = calls[name]
        resolved += _of_method(scheme, call, method, claims, memory_of_a_call)
    if not resolved and not ENGINE.keys() & claimed.keys():
        raise UserError(
            f"{_named(adapter)} claims nothing, so there is nothing to judge",
            "put @claims(...) above each method that the kit should call: "
            "from posenc_conformance import claims; of a library, 'posenc init' writes an adapter",
        )
    return resolved


def _named(adapter: object) -> str:
    return name_module(adapter) if inspect.ismodule(adapter) else type(adapter).__name__


def _of_method(
    scheme: KnownScheme,
    call: Call,
    method: Callable[..., Any],
    claims: Sequence[Claim],
    memory: int,
) -> list[Subject]:
    keywords = keywords_of(call, method)
    scopes: dict[str, list[Scope]] = {}
    for claim in claims:
        chosen, scope = _meaning(scheme, call, claim, method)
        merged = {
            entry.name: _under(scheme, call, scope, entry, method, is_alone=len(chosen) == 1)
            for entry in chosen
        }
        _check_open(scheme, call, chosen, merged, keywords, method)
        for name, entry in merged.items():
            scopes.setdefault(name, []).append(entry)
    return [
        Subject(
            scheme,
            call,
            call.combinations[name],
            tuple(scopes[name]),
            method,
            keywords,
            siblings={other: tuple(listed) for other, listed in scopes.items() if other != name},
            memory_of_a_call=memory,
        )
        for name in call.combinations
        if name in scopes
    ]


def _under(
    scheme: KnownScheme,
    call: Call,
    scope: Scope,
    combination: Combination,
    method: Callable[..., Any],
    *,
    is_alone: bool,
) -> Scope:
    """Return the scope of a claim within a combination, which may fix optional conventions.

    If the code refuses odd head dimensions but the combination defines them, the claim covers even
    ones. Raises UserError if the value that the combination fixes is not among those claimed, and
    the claim is only about this combination: if it is about several, the value may be meant for
    those that fix none.
    """
    fixed = {
        name: value
        for name, value in combination.conventions.items()
        if scheme.conventions[name].optional
    }
    for name, value in fixed.items():
        claimed = scope.options.get(name, (value,))
        if name == "odd_dim" and claimed == (REFUSE,) and value != REFUSE:
            scope = replace(scope, even_dim=True)
        elif value not in claimed and is_alone:
            raise UserError(
                f"{_where(method)}: {call.name}() claims {combination.name!r}, where {name} is "
                f"{value!r}, but also {name}={', '.join(map(repr, claimed))}",
                f"drop {name}, or claim another combination",
            )
    return replace(scope, options={**scope.options, **{n: (item,) for n, item in fixed.items()}})


def _meaning(
    scheme: KnownScheme, call: Call, claim: Claim, method: Callable[..., Any]
) -> tuple[list[Combination], Scope]:
    """Return the combinations that a claim names, and its scope."""
    where = _where(method)
    dtypes = (call.dtype,) if call.dtype in ("integer", "boolean") else claim.dtypes
    check_range(claim, call.name, where)
    axes: dict[str, tuple[Value, ...]] = {}
    options: dict[str, tuple[Value, ...]] = {}
    parameters: dict[str, tuple[Any, ...]] = {}
    for name, values in claim.restrictions.items():
        if name in _identity_axes(scheme, call):
            axes[name] = _require_known(scheme.conventions[name], values, call, where)
        elif name in call.options:
            options[name] = _require_known(scheme.conventions[name], values, call, where)
        elif name in call.parameters:
            parameters[name] = _numbers(call.parameters[name], values, call, where)
        else:
            allowed = [*_identity_axes(scheme, call), *call.options, *call.parameters]
            raise UserError(
                f"{where}: {call.name}() claims {name!r}, an unknown convention or parameter",
                f"it has {', '.join(allowed) or 'none'}",
            )
    chosen = _combinations(scheme, call, claim.combinations, axes, where)
    condition = _condition(scheme, call, claim, where)
    _check_masked(claim, call, where)
    _check_broadcast(claim, call, where)
    _check_switches(claim, call, where)
    return chosen, Scope(
        options,
        parameters,
        dtypes,
        claim.farthest,
        condition,
        masked=claim.masked,
        broadcast=claim.broadcast,
        switches=claim.switches,
    )


def _condition(scheme: KnownScheme, call: Call, claim: Claim, where: str) -> Condition | None:
    """Make the condition of a claim's ``when``; None if the claim has none.

    Raises UserError unless ``when`` is a function whose parameters are all known.
    """
    if claim.when is None:
        return None
    try:
        names = tuple(inspect.signature(claim.when).parameters)
    except (TypeError, ValueError):
        raise UserError(
            f"{where}: {call.name}() claims when={claim.when!r}, which is no function",
            "give a function of some arguments: when=lambda q_len, k_len: q_len == k_len",
        ) from None
    conventions = (name for entry in call.combinations.values() for name in entry.conventions)
    valid = dict.fromkeys([*call.arguments, *call.parameters, *call.options, *conventions, "dtype"])
    for name in names:
        if name not in valid:
            raise UserError(
                f"{where}: the condition of {call.name}() names {name!r}, an unknown argument",
                f"it has {', '.join(valid)}",
            )
    return Condition(claim.when, names)


def _check_switches(claim: Claim, call: Call, where: str) -> None:
    """Refuse switches on unknown counts, and sizes that are not integers above 1."""
    for name, sizes in claim.switches.items():
        if name not in SWITCHES:
            raise UserError(
                f"{where}: {call.name}() claims switches of {name!r}, which is not counted",
                f"give sizes of {', '.join(SWITCHES)}",
            )
        for size in sizes:
            if not isinstance(size, int) or isinstance(size, bool) or size < 2:
                raise UserError(
                    f"{where}: {call.name}() claims a switch at {size!r} {name}",
                    "give whole numbers above 1",
                )


def _check_masked(claim: Claim, call: Call, where: str) -> None:
    """Refuse ``masked`` for a call whose result no mask affects."""
    if not isinstance(claim.masked, bool):
        raise UserError(
            f"{where}: {call.name}() claims masked={claim.masked!r}", "give True, or leave it out"
        )
    if claim.masked and not KINDS[call.kind].hides:
        raise UserError(
            f"{where}: {call.name}() claims masked=True, but no mask hides anything in its result",
            f"leave it out: the call gives {KINDS[call.kind].result}",
        )


def _check_broadcast(claim: Claim, call: Call, where: str) -> None:
    """Refuse ``broadcast`` for a call that is not a bias: its result is not added to logits."""
    if not isinstance(claim.broadcast, bool):
        raise UserError(
            f"{where}: {call.name}() claims broadcast={claim.broadcast!r}",
            "give True, or leave it out",
        )
    if claim.broadcast and call.kind != "bias":
        raise UserError(
            f"{where}: {call.name}() claims broadcast=True, but is not a bias: only what is "
            "added to logits may leave axes out",
            f"leave it out: the call gives {KINDS[call.kind].result}",
        )


def check_range(claim: Claim, call: str, where: str) -> None:
    """Refuse unknown dtypes, invalid positions, and restrictions with an empty list."""
    empty = [name for name, values in claim.restrictions.items() if not values]
    if empty or not claim.dtypes:
        raise UserError(
            f"{where}: {call}() claims no {empty[0] if empty else 'dtype'}: the list is empty",
            "leave it out, or say which values work",
        )
    for name in claim.dtypes:
        if not isinstance(name, str) or name not in DTYPES:
            raise UserError(
                f"{where}: {call}() claims dtype {name!r}, an unknown one",
                f"dtypes are {', '.join(map(repr, DTYPES))}",
            )
    largest: object = claim.farthest
    if not isinstance(largest, int) or isinstance(largest, bool) or not 0 <= largest <= FARTHEST:
        raise UserError(
            f"{where}: {call}() claims max_position={largest!r}",
            "it is the largest position that may be asked for: a whole number from 0 to 2**53",
        )


def _numbers(
    parameter: Parameter, values: Sequence[Any], call: Call, where: str
) -> tuple[int | float, ...]:
    """Return values of a parameter as a tuple.

    Raises UserError unless they are of its type, not too large, and few enough to be tried one by
    one.
    """
    if len(values) > MOST_VALUES:
        raise UserError(
            f"{where}: {call.name}() claims {len(values):,} values of {parameter.name}; at most "
            f"{MOST_VALUES:,} may be listed",
            f"leave {parameter.name} out if any value works, or say which do by a condition: "
            f"when=lambda {parameter.name}: …",
        )
    whole = parameter.type == "integer"
    limit = LONGEST_AXIS if parameter.of is not None else FARTHEST
    for value in values:
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not number or not abs(value) <= limit:
            kind = "a whole number" if whole else "a number"
            raise UserError(
                f"{where}: {call.name}() claims {parameter.name}={value!r}, which is not {kind} "
                f"of at most {limit:,}",
                f"{parameter.name}: {parameter.description}",
            )
    return tuple(values)


def _identity_axes(scheme: KnownScheme, call: Call) -> list[str]:
    used = [name for combination in call.combinations.values() for name in combination.conventions]
    return [name for name in dict.fromkeys(used) if not scheme.conventions[name].optional]


def _require_known(
    axis: Convention, values: Sequence[Value], call: Call, where: str
) -> tuple[Value, ...]:
    for value in values:
        if not isinstance(value, str | int) or value not in axis.values:
            raise UserError(
                f"{where}: {call.name}() claims {axis.name}={value!r}, an unknown convention",
                f"{axis.name} is one of {', '.join(map(repr, axis.values))}",
            )
    return tuple(values)


def _combinations(
    scheme: KnownScheme,
    call: Call,
    names: Sequence[str],
    axes: Mapping[str, tuple[Value, ...]],
    where: str,
) -> list[Combination]:
    if names:
        for name in names:
            if not isinstance(name, str) or name not in call.combinations:
                raise UserError(
                    f"{where}: {call.name}() claims {name!r}, an unknown combination",
                    f"combinations are {', '.join(call.combinations)}",
                )
        chosen = [call.combinations[name] for name in names]
        for combination in chosen:
            _check_agreement(call, combination, axes, where)
        return chosen
    identity = _identity_axes(scheme, call)
    defaults = {name: (scheme.conventions[name].default,) for name in identity}
    matching = []
    for values in product(*(axes.get(name, defaults[name]) for name in identity)):
        point = dict(zip(identity, values, strict=True))
        same = [
            combination
            for combination in call.combinations.values()
            if all(combination.conventions.get(name) == value for name, value in point.items())
        ]
        if not same:
            raise UserError(
                f"{where}: {call.name}() claims {_show(point)}, an unknown combination",
                "combinations are "
                + "; ".join(
                    f"{c.name} ({_show(c.conventions)})" for c in call.combinations.values()
                ),
            )
        matching.append(same[0])
    return matching


def _check_agreement(
    call: Call, combination: Combination, axes: Mapping[str, tuple[Value, ...]], where: str
) -> None:
    """Refuse a claim that names a combination and a convention that the combination lacks."""
    for name, values in axes.items():
        fixed = combination.conventions.get(name)
        if values != (fixed,):
            others = [
                other.name
                for other in call.combinations.values()
                if other.conventions.get(name) in values
            ]
            raise UserError(
                f"{where}: {call.name}() claims {combination.name!r}, which is "
                f"{_show(combination.conventions)}, but also {name}={', '.join(map(str, values))}",
                f"drop {name}, or claim one of {', '.join(others)} instead",
            )


def _show(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def keywords_of(call: Call, method: Callable[..., Any]) -> frozenset[str] | None:
    """Return the keywords that a method takes in addition to positional arguments; None for any.

    Returns None also for a method whose signature cannot be read. Raises UserError for a method
    that takes too few positional arguments, or that requires a keyword which the kit does not pass.
    """
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):  # compiled code may have no signature
        return None
    kinds = inspect.Parameter
    places = [
        p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    needed = len(call.arguments)
    form = f"{call.name}({', '.join(call.arguments)}, *, …)"
    if len(places) < needed and not any(p.kind is kinds.VAR_POSITIONAL for p in parameters):
        raise UserError(
            f"{_where(method)}: {call.name}() takes {len(places)} positional arguments, "
            f"but is called with {needed}",
            f"the call is {form}",
        )
    by_keyword = places[needed:] + [p for p in parameters if p.kind is kinds.KEYWORD_ONLY]
    if any(p.kind is kinds.VAR_KEYWORD for p in parameters):
        return None
    passed = {*call.parameters, *call.options, "dtype"}
    passed |= {name for entry in call.combinations.values() for name in entry.conventions}
    for parameter in by_keyword:
        if parameter.default is kinds.empty and parameter.name not in passed:
            raise UserError(
                f"{_where(method)}: {call.name}() requires {parameter.name!r}, "
                "which the kit does not pass",
                f"the call is {form} with the keywords {', '.join(sorted(passed))}",
            )
    return frozenset(parameter.name for parameter in by_keyword)


def _check_open(
    scheme: KnownScheme,
    call: Call,
    chosen: Sequence[Combination],
    scopes: Mapping[str, Scope],
    keywords: frozenset[str] | None,
    method: Callable[..., Any],
) -> None:
    """Refuse a method that takes no keyword for a choice that its claim leaves open."""
    if keywords is None:
        return
    choices: dict[str, set[Any]] = {}
    for combination in chosen:
        for name, value in combination.conventions.items():
            choices.setdefault(name, set()).add(value)
    for part in scopes.values():
        for name, values in part.options.items():
            choices.setdefault(name, set()).update(values)
    open_ = [
        name
        for name, values in choices.items()
        if len(values) > 1 and scheme.conventions[name].passed
    ]
    scope = next(iter(scopes.values()))  # the scopes differ only in their options
    for name, parameter in call.parameters.items():
        active = all(value in scope.options.get(axis, ()) for axis, value in parameter.when.items())
        if parameter.passed and active and len(scope.parameters.get(name, (0, 0))) > 1:
            open_.append(name)
    if call.dtype == "keyword" and len(scope.dtypes) > 1:
        open_.append("dtype")
    missing = [name for name in open_ if name not in keywords]
    if missing:
        raise UserError(
            f"{_where(method)}: {call.name}() claims more than one {missing[0]}, "
            f"but takes no keyword {missing[0]!r}",
            f"add {missing[0]!r} to the method, or say in @claims which one value it has: "
            f"{missing[0]}=…",
        )
