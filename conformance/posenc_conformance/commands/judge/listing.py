"""``posenc engines``: list the engines that ``posenc judge`` can start."""

from collections.abc import Iterator, Sequence

from posenc_conformance.commands.judge.environment import environment
from posenc_conformance.commands.judge.table import Engine, read_table


def listing(names: Sequence[str], files: Sequence[str], place: str | None) -> Iterator[str]:
    """Yield lines on engines: all of them in short, or those of ``names`` in detail.

    Raises UserError for an engine that is not in the table.
    """
    table, where = read_table(files), environment(place)
    engines = [table.engine(name) for name in names] or [*table.engines.values()]
    absent = where.absent_modules({module for engine in engines for module in engine.modules})
    width = max(len(engine.id) for engine in engines)
    for engine in engines:
        missing = [*where.missing(engine, absent)]
        state = f"not installed here: {engine.install}" if missing else "installed"
        yield f"{engine.id:{width}}  {engine.title}: {state}"
        if names:
            yield from _details(engine, missing)
    if not names:
        for name, reason in table.others.items():
            yield f"{name:{width}}  {reason}"
        yield from _how()


def _details(engine: Engine, missing: Sequence[str]) -> Iterator[str]:
    rows = {
        "missing": ", ".join(missing),
        "needs": engine.needs,
        "dtypes": ", ".join(engine.dtypes),
        "cache": engine.cache,
        "loads": "a GGUF file that the kit writes" if engine.gguf else "",
        "convert": engine.convert,
        "serve": engine.serve or "nothing: the kit loads the probe itself",
        "set": " ".join(f"{name}={value}" for name, value in engine.variables.items()),
        "tried": engine.tried or "not yet: its lines are from its pages",
    }
    for name, text in rows.items():
        if text:
            yield f"  {name:8}{text}"
    for number, line in enumerate(engine.repair):
        yield f"  {'repair' if not number else '':8}{line}"


def _how() -> Iterator[str]:
    yield ""
    yield "posenc engines NAME says what an engine needs, and with which lines it is started;"
    yield "posenc judge NAME MODEL judges it, and posenc judge 'COMMAND {folder} … {port}' MODEL"
    yield "any other one. --environment=FOLDER looks for engines in another environment."
