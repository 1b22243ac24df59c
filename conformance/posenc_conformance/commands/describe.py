"""Descriptions of schemes, of their known mistakes, and of implementations, for a terminal."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from textwrap import wrap

from posenc_conformance.adapters.find import blank, registered, target, versions
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.model_adapter import engines
from posenc_conformance.commands.cures import cure_of
from posenc_conformance.errors import UserError
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.scheme_file.read import spec_folder
from posenc_conformance.scheme_file.scheme import Call, Convention, Parameter, Point

WIDTH = 96


def scheme_named(name: str, schemes: Sequence[KnownScheme]) -> KnownScheme:
    """Find a scheme by its id, or by the name of its file.

    Raises UserError if there is none.
    """
    by_id = {scheme.id: scheme for scheme in schemes}
    id = name.removesuffix(".yaml").replace("_", "-")
    if id not in by_id:
        raise UserError(f"there is no scheme {name!r}", guess(id, [*by_id], "schemes"))
    return by_id[id]


def signature(scheme: KnownScheme, call: Call) -> str:
    """Return a call as an adapter's method takes it: by position, then by keyword."""
    axes = dict.fromkeys(axis for point in call.combinations.values() for axis in point.conventions)
    keywords = [
        *(parameter.name for parameter in call.parameters.values() if parameter.passed),
        *(axis for axis in (*axes, *call.options) if scheme.conventions[axis].passed),
        *(["dtype"] if call.dtype == "keyword" else []),
    ]
    star = ["*", *dict.fromkeys(keywords)] if keywords else []
    return f"{call.name}({', '.join([*call.arguments, *star])})"


def overview(schemes: Sequence[KnownScheme]) -> Iterator[str]:
    """Yield every scheme with its calls and their combinations."""
    for scheme in sorted(schemes, key=lambda scheme: (scheme.family, scheme.id)):
        yield f"{scheme.family}: {scheme.id}: {scheme.title}"
        for call in scheme.calls.values():
            yield f"  {signature(scheme, call)}: {', '.join(call.combinations)}"


def details(scheme: KnownScheme) -> Iterator[str]:
    """Yield everything that a claim about a scheme and its methods can contain."""
    yield f"{scheme.id}: {scheme.title}"
    yield from _wrapped(scheme.summary, "  ", "")
    for call in scheme.calls.values():
        yield ""
        yield signature(scheme, call)
        yield from _wrapped(f"returns {call.returns}", "  ")
        for name, text in call.arguments.items():
            yield from _wrapped(f"{name}: {text}{_more(call.parameters.get(name))}", "  ")
        for parameter in call.parameters.values():
            if parameter.name not in call.arguments:
                yield from _wrapped(_parameter(parameter), "  ")
        yield "  combinations:"
        for combination in call.combinations.values():
            chosen = _point(combination.conventions)
            heading = f"{combination.name} ({chosen})" if chosen else combination.name
            yield from _wrapped(f"{heading}: {combination.used_by}", "    ")
        if call.options:
            yield f"  optional: {', '.join(call.options)}"
    for axis in scheme.conventions.values():
        yield ""
        yield from _convention(axis)


def _more(parameter: Parameter | None) -> str:
    """Return the part of a parameter's description after its first semicolon."""
    _, mark, more = parameter.description.partition("; ") if parameter else ("", "", "")
    return f"{mark}{more.removesuffix('.')}"


def _parameter(parameter: Parameter) -> str:
    how = f"{parameter.type}, by keyword"
    if parameter.of is not None:
        how = f"{parameter.type}, from the shape of {parameter.of}"
    if parameter.when:
        how += f", with {_point(parameter.when)}"
    return f"{parameter.name} ({how}): {parameter.description}"


def _point(point: Point) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.items())


def _convention(axis: Convention) -> Iterator[str]:
    default = "optional" if axis.optional else f"default {axis.default}"
    yield from _wrapped(f"convention {axis.name} ({default}): {axis.description}", "")
    for value, text in axis.values.items():
        yield from _wrapped(f"{value}: {text}", "  ")


def explained(scheme: KnownScheme, names: Sequence[str]) -> Iterator[str]:
    """Yield descriptions of known mistakes of a scheme, their effects, cures, and links to cases.

    Without ``names``, yields all known mistakes of the scheme.

    Raises UserError for an unknown name.
    """
    mistakes = {deviation.id: deviation for deviation in scheme.deviations}
    for name in names:
        if name not in mistakes:
            raise UserError(
                f"{scheme.id} has no known mistake {name!r}", guess(name, [*mistakes], "they")
            )
    yield f"{scheme.id}: {scheme.title}"
    yield from _wrapped(scheme.summary, "  ", "")
    for name in names or mistakes:
        yield ""
        yield name
        yield from _wrapped(f"{mistakes[name].description} {mistakes[name].effect}", "  ", "")
        if cure := cure_of(scheme, mistakes[name]):
            yield from _wrapped(f"fix: {cure}", "  ")
        yield from (f"  {link}" for link in mistakes[name].links)
    page = spec_folder().parent / "docs" / "schemes" / f"{scheme.id}.md"
    if page.is_file():  # in a checkout
        yield f"\nmore in {page}"


def implementations(schemes: Sequence[KnownScheme]) -> Iterator[str]:
    """Yield lines on whether each registered implementation is installed, and what it claims."""
    for name in registered():
        yield from _implementation(name, schemes)


def _implementation(name: str, schemes: Sequence[KnownScheme]) -> Iterator[str]:
    try:
        adapter = target(name)
        installed = versions(adapter)
        claimed = subjects(blank(adapter), schemes)
        of_models = engines(blank(adapter))
    except UserError as error:
        yield f"{name}: cannot be used: {error.cause}"
        return
    missing = [package for package, number in installed.items() if not number]
    if missing:
        yield f"{name}: not installed; needs {', '.join(missing)}"
    else:
        shown = ", ".join(f"{package} {number}" for package, number in installed.items())
        yield f"{name}: installed{f' ({shown})' if shown else ''}"
    for subject in claimed:
        yield f"  {subject.call.name}  {subject.label}  ({', '.join(subject.dtypes)})"
    for call, claims in of_models.items():
        for claim in claims:
            models = ", ".join(claim.restrictions.get("models", ["every model"]))
            yield f"  {call}  {models}  ({', '.join(claim.dtypes)})"


def guess(name: str, known: Sequence[str], what: str) -> str:
    """Return a hint at the most similar known name, or else at all of them."""
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"{what} are {', '.join(known)}"


def _wrapped(text: str, indent: str, hanging: str = "  ") -> list[str]:
    """Wrap a text into lines, all but the first indented by ``hanging`` more."""
    after = indent + hanging
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=after, break_on_hyphens=False)
