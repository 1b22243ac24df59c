"""Quantised blocks of a GGUF file, which the package gguf reads for `posenc compare`."""

from pathlib import Path

from posenc_conformance.commands.compare.compare_command import compare
from posenc_lab.compared.conversions import to_gguf
from posenc_lab.compared.families import original
from posenc_lab.compared.judging import write_converted, write_original


def test_a_right_conversion_is_accepted_in_blocks_of_eight_bits(tmp_path: Path) -> None:
    before = write_original(tmp_path / "original", original("llama"))
    after = write_converted(tmp_path / "converted", to_gguf(original("llama")), "Q8_0")
    comparison = compare(str(before), str(after))
    assert not comparison.differs
    assert any(finding.subject == "rows" for finding in comparison.findings)
