"""``python -m posenc_lab.compared [KIND]``: judge all wrong conversions, stored as F16 or KIND."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc_lab.compared.judging import all_judged


def main(kind: str = "F16") -> int:
    """Print what was found of each wrong conversion; return 1 unless all are rejected."""
    with TemporaryDirectory() as folder:
        verdicts = all_judged(Path(folder), kind)
    for verdict in verdicts:
        mark = "named" if verdict.is_named else "rejected" if verdict.is_rejected else "MISSED"
        print(f"{mark:9} {verdict.id}: {', '.join(verdict.names)}")
    rejected, named = (
        sum(verdict.is_rejected for verdict in verdicts),
        sum(verdict.is_named for verdict in verdicts),
    )
    print(f"{len(verdicts)} wrong: {rejected} rejected, {named} named")
    return 0 if rejected == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
