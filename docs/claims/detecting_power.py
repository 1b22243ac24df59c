from measured_blocks import KIT, measured, totals

LIBRARY = "a library's own tests"


def every_miniature() -> tuple[str, ...]:
    """The recorded matrix: all wrong ones rejected, all with a name named first, no false alarm."""
    data = measured("matrix")
    found, right = data["all"], data["right"]
    assert found["rejected"] == found["wrong"]
    assert found["named_first"] == found["nameable"]
    assert right["rejected"] == 0
    return f"{found['wrong']:,} wrong", f"{found['nameable']:,} of them", f"{right['passed']} right"


def others() -> tuple[str, ...]:
    """The recorded comparison: what each way rejects of the wrong miniatures within its reach."""
    data = measured("today")
    rejected, asked = totals(data["wrong"], KIT)
    assert rejected == asked
    assert totals(data["right"], KIT)[0] == 0
    alarms, some = totals(data["right"], "numpy.allclose")
    return (
        f"printed decimals {_percent('printed decimals')} %",
        f"`allclose` {_percent('numpy.allclose')} %",
        f"their own tests {_percent(LIBRARY)} %",
        f"{alarms} of {some} right ones",
    )


def _percent(way: str) -> str:
    rejected, asked = totals(measured("today")["wrong"], way)
    return f"{100 * rejected / asked:.0f}"


def no_hole() -> str:
    """The recorded mutants: each is killed, right by the bound, a refusal, or has its reason."""
    data = measured("mutants")
    assert not data["holes"]
    assert all(each["why"] for each in data["equivalent"])
    return f"{sum(sum(kinds.values()) for kinds in data['modules'].values()):,} mutants"
