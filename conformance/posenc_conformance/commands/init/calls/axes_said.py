"""The axes of an array that a docstring or an annotation names, such as [batch, seq, dim]."""

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter

from posenc_conformance.commands.init.roles import roles_of

WORDS = {
    "b": "b bs bsz batch batch_size n_batch num_batches",
    "h": "h nh head heads n_head n_heads nheads num_heads num_attention_heads",
    "s": "s t l n seq seq_len seqlen seq_length sequence sequence_length len length time tokens "
    "n_tokens num_tokens q_len context_length",
    "d": "d c e dim dims head_dim headdim dim_head d_head head_size d_model embed_dim emb_dim "
    "embedding_dim hidden hidden_dim hidden_size n_embd features channels embed embedding",
}
LETTERS: Mapping[str, str] = {
    word: letter for letter, words in WORDS.items() for word in words.split()
}
LISTED = re.compile(r"[\[(]([^\[\]()\n]+,[^\[\]()\n]+)[\])]")
"""Names between brackets."""
QUOTED = re.compile(r"[\"']([\w ]+)[\"']")
"""Names in an annotation such as Float[Tensor, "b s d"]."""
OF_ROWS = {"x", "other"}


def axes_said(documents: Sequence[str], parameters: Sequence[Parameter]) -> str:
    """Return the axes of x, or of queries and keys, as letters of ``shape``; empty if unknown.

    A text that gives them more than one order leaves them open.
    """
    names = [each.name for each in parameters if OF_ROWS & {*roles_of(each)}]
    told = {*_of_documents(documents, names), *_of_annotations(parameters)}
    return told.pop() if len(told) == 1 else ""


def _of_documents(documents: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield the axes that follow the name of a parameter on its line."""
    for line in (line for text in documents for line in text.splitlines()):
        end = 0
        for found in LISTED.finditer(line):
            before, end = line[end : found.start()], found.end()
            axes = _axes(found[1].split(","))
            if axes and any(re.search(rf"\b{re.escape(name)}\b", before) for name in names):
                yield axes


def _of_annotations(parameters: Sequence[Parameter]) -> Iterator[str]:
    for each in parameters:
        if each.annotation is not each.empty and OF_ROWS & {*roles_of(each)}:
            yield from filter(
                None, (_axes(x.split()) for x in QUOTED.findall(str(each.annotation)))
            )


def _axes(words: Sequence[str]) -> str:
    """Return the letters of axes; empty if one is unknown, named twice or missing."""
    plain = (re.sub(r"[\s-]+", "_", word.strip(" `*'\"").lower()) for word in words)
    letters = "".join(LETTERS.get(word, "?") for word in plain)
    whole = len({*letters}) == len(letters) and {*"sd"} <= {*letters} and len(letters) in (3, 4)
    return letters if whole and "?" not in letters else ""
