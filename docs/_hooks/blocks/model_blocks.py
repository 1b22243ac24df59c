"""Content of the page of models, from ``spec/models``."""

import html
from collections.abc import Callable

from posenc_lab.deployed.cases import RIGHT, WRONG
from posenc_lab.deployed.judging import LISTED

from blocks.general_blocks import schema
from blocks.scheme_blocks import schemes
from markup import code, link, paragraph, prose, table, thread
from posenc_conformance.deployed.architectures.decoders import FAMILIES
from posenc_conformance.deployed.checkpoint.writing import files_of
from posenc_conformance.deployed.engine import has_probe, probe_for
from posenc_conformance.models.file import SCHEMA, Model, flat, load_all, model_named
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import MISTAKES, longer
from posenc_conformance.models.sources import one_source_words
from posenc_conformance.scheme_file.read import spec_folder

COLUMNS = (
    *("model", "layers", "scheme", "head_dim", "rotated", "base", "scaling", "context"),
    *("window", "layout", "read in"),
)


def models() -> str:
    """Tabulate all models, with a row for each group of layers."""
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    return (
        '\n<div id="models-controls" class="controls" role="group" aria-label="Filters" hidden>'
        '</div>\n<p id="models-said" role="status"></p>\n'
        '<div class="wide sticky"><table id="models-table" class="matrix">'
        "<caption>What released models do with positions</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n{''.join(map(_model, load_all()))}</table></div>\n"
        '<script type="module" src="../assets/models.js"></script>\n\n'
    )


def _model(model: Model) -> str:
    """Make the rows of a model; ``data-`` attributes are what filters read."""
    groups = model.meaning.groups
    schemes_ = " ".join(dict.fromkeys(group.scheme for group in groups))
    sources = "one" if model.one_source else "two"
    rows = "".join(_group(model, number) for number in range(len(groups)))
    return (
        f'<tbody data-family="{model.configuration.type}" data-schemes="{schemes_}" '
        f'data-sources="{sources}">{rows}</tbody>\n'
    )


def _group(model: Model, number: int) -> str:
    group, first = model.meaning.groups[number], number == 0
    cells = [
        group.id if len(model.meaning.groups) > 1 else "",
        f'<a href="../schemes/{group.scheme}/">{schemes()[group.scheme].title}</a>',
        *_numbers(group),
        _context(model) if first else "",
        f"{group.window:,}" if group.window is not None else "",
        (model.meaning.layout or "") if first else "",
        _sources(model) if first else "",
    ]
    name = f'<th scope="row">{_name(model)}</th>' if first else "<td></td>"
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _name(model: Model) -> str:
    file = f'<a href="../spec/models/{model.path.name}">{code(model.id)}</a>'
    return f'<span id="{model.id}">{file}</span><br>{html.escape(model.title)}'


def _numbers(group: Group) -> list[str]:
    parameters = group.parameters
    if not group.turns:
        heads = f"{parameters['heads']} heads" if "heads" in parameters else ""
        return ["", "", "", heads]
    width = rotated(group)
    if "proportion" in parameters:
        width = int(width * parameters["proportion"])
    return [str(parameters["head_dim"]), str(width), f"{parameters['base']:,}", _scaling(group)]


def _scaling(group: Group) -> str:
    factor = group.parameters.get("factor")
    parts = [f"× {factor:g}"] if factor is not None else []
    parts += [f"pairs × {longer(group):.4g}"] if longer(group) != 1 else []
    parts += [f"logits × {group.score_factor:.4g}"] if group.score_factor is not None else []
    parts += ["queries by position"] if group.temperature is not None else []
    return ", ".join(parts)


def _context(model: Model) -> str:
    context = model.meaning.context
    if context.extended is None:
        return ""
    if context.original in (None, context.extended):
        return f"{context.extended:,}"
    return f"{context.original:,} → {context.extended:,}"


def _sources(model: Model) -> str:
    read = ", ".join(
        link(source.url, html.escape(source.title.partition(" at ")[0]))
        for source in model.sources
        if not source.apart
    )
    alone = one_source_words(model.one_source)
    return f"{read}<br>{alone}" if alone else read


def layouts() -> str:
    """Tabulate the released models by layout."""
    rows = []
    for layout in ("half", "interleaved"):
        listed = [model for model in load_all() if model.meaning.layout == layout]
        names = [
            f'<a href="../../models/#{entry.id}">{html.escape(entry.title)}</a>' for entry in listed
        ]
        rows.append([f"<strong>{layout}</strong>", str(len(listed)), ", ".join(names)])
    return table(["layout", "models", "which"], rows)


def differences() -> str:
    """Tabulate contradictions between the sources of a model."""
    rows = [
        [
            code(model.id),
            code(field),
            f"{flat(model.config).get(field)}",
            f"{value}",
            link(source.url, html.escape(source.where)),
        ]
        for model in load_all()
        for source in model.sources
        for field, value in source.differs.items()
    ]
    return table(["model", "field", "here", "there", "where"], rows)


def mistakes() -> str:
    """Tabulate the misreadings of models, with the threads about them."""
    rows = []
    for mistake in MISTAKES:
        threads = {
            url: None
            for model in load_all()
            for misreading in model.mistakes
            if misreading.id == mistake.id
            for url in misreading.links
        }
        rows.append([code(mistake.id), prose(mistake.what), ", ".join(map(thread, threads))])
    return table(["mistake", "what is done", "threads"], rows)


def probes() -> str:
    """Tabulate the types of models for which a probe can be made."""
    rows = []
    for type in FAMILIES:
        listed = [model for model in load_all() if model.configuration.type == type]
        with_probe = [model.id for model in listed if has_probe(model)]
        rows.append([code(type), ", ".join(map(code, with_probe)) or "none is in the spec"])
    return table(["model_type", "models"], rows)


def count_models() -> str:
    """Say how many models there are, and how many of them rest on two sources wholly."""
    everything = load_all()
    wholly = sum(not model.one_source for model in everything)
    return paragraph(
        f"{len(everything)} models. Of {wholly}, two independent sources state each value that "
        f"decides a number; of the other {len(everything) - wholly} the table says "
        "<em>one source</em>, and for what."
    )


def fields() -> str:
    """Tabulate the fields of a model file that have a description."""
    return schema(spec_folder() / SCHEMA, described_only=True)


SIZED = ("llama-3.1-8b", "llama-3.2-1b", "mistral-7b-v0.3", "qwen3-0.6b", "pythia-70m")
"""Models whose probe sizes are shown."""


def sizes() -> str:
    """Tabulate the sizes of some models' probes, and the least size of attention alone."""
    rows = []
    for model in map(model_named, SIZED):
        probe = probe_for(model)
        plan = probe.plan
        heads, layers, size = plan.heads + plan.kv_heads, plan.layers, plan.head_dim
        attention = 2 * heads * size * plan.hidden * layers
        least = 2 * 2 * size * (len(plan.pairs) + 2 * layers + 1) * layers
        whole = sum(map(len, files_of(probe, "float16").values()))
        told = [f"{2 * attention / 1e6:.1f}", f"{2 * least / 1e6:.1f}", f"{whole / 1e6:.1f}"]
        rows.append([model.title, str(layers), str(size), str(plan.hidden), *told])
    head = ["model", "layers", "d", "H", "attention, MB", "the least, MB", "probe, MB"]
    return table(head, rows)


def small_engines() -> str:
    """Say how many small engines there are, and how many of the wrong ones have a name."""
    assert LISTED  # importing them has filled the lists
    named = sum(bool(case.name) for case in WRONG)
    return paragraph(
        f"{len(RIGHT)} right engines and {len(WRONG)} wrong ones, {named} of which have a name: "
        f"{100 * named / len(WRONG):.0f}%."
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "count:models": count_models,
    "schema:model": fields,
    "table:model-differences": differences,
    "table:model-mistakes": mistakes,
    "table:layouts": layouts,
    "table:models": models,
    "table:probes": probes,
    "table:sizes": sizes,
    "table:small-engines": small_engines,
}
