"""Mistakes that a person can mend, and words for exceptions of others."""


class UserError(Exception):
    """What happened and why, with a hint at what to do; shown without a traceback."""

    def __init__(self, cause: str, hint: str = "") -> None:
        self.cause = cause
        self.hint = hint
        super().__init__(f"{cause}\nhint: {hint}" if hint else cause)


def told(error: BaseException) -> str:
    """Type and text of somebody's exception, whose text may itself raise."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
