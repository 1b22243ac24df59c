import vectors
from blocks.scheme_blocks import schemes
from posenc_conformance.commands.export.choice import Form, choices
from posenc_conformance.judge.form import EXACT


def every_form() -> None:
    """The exported vectors reject every form of a known mistake that any candidate's call can show.

    Goldens reject many of them, but not all.
    """
    shown, by_goldens, by_vectors = set(), set(), set()
    for scheme in schemes().values():
        for call in scheme.calls.values():
            dtype = call.dtype if call.dtype in EXACT else vectors.DTYPES[0]
            for choice in choices(scheme, call, dtype):
                candidate = choice.candidate
                place = (call.name, candidate.group)
                shown |= _at(place, choice.telling)
                by_vectors |= _at(place, candidate.rejects(choice.elements))
                if candidate.own:
                    by_goldens |= _at(place, candidate.rejects(candidate.first))
    assert by_vectors == shown
    assert len(shown) / 2 < len(by_goldens) < len(shown)


def _at(place: object, forms: frozenset[Form]) -> set[tuple[object, Form]]:
    return {(place, form) for form in forms}
