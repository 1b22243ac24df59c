"""The one exception for mistakes that a person can mend."""


class UserError(Exception):
    """What happened and why, with a hint at what to do; shown without a traceback."""

    def __init__(self, cause: str, hint: str = "") -> None:
        self.cause = cause
        self.hint = hint
        super().__init__(f"{cause}\nhint: {hint}" if hint else cause)
