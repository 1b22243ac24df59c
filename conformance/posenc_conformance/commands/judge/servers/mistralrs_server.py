"""A completions server for mistral.rs: ``mistralrs_server.py PROBE PORT``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from completions import Reading, serve, words_of
from mistralrs import ChatCompletionRequest, ModelDType, Runner, Which

LIKELIEST = 20
"""Number of likeliest words to request."""
AS_IT_IS = '{{ messages[0]["content"] }}'
"""A chat template that adds nothing: only chats return log-probabilities."""

if __name__ == "__main__":
    folder, port = sys.argv[1:]
    words = words_of(folder)
    with TemporaryDirectory() as scratch:
        template = Path(scratch, "as-it-is.jinja")
        template.write_text(AS_IT_IS, encoding="utf-8")
        runner = Runner(
            Which.Plain(model_id=folder, dtype=ModelDType.F32), jinja_explicit=str(template)
        )

    def complete(prompt: list[int], steps: int) -> Sequence[Reading]:
        """Generate greedily with ``Runner``, after the words of a prompt."""
        text = " ".join(words[token] for token in prompt)
        request = ChatCompletionRequest(
            model="default",
            messages=[{"role": "user", "content": text}],
            max_tokens=steps,
            temperature=0.0,
            logprobs=True,
            top_logprobs=LIKELIEST,
            ignore_eos=True,
        )
        answer = runner.send_chat_completion_request(request)
        if answer.usage.prompt_tokens != len(prompt):
            raise ValueError(f"{len(prompt)} words were read as {answer.usage.prompt_tokens}")
        content = answer.choices[0].logprobs.content
        return [{words[word.token]: word.logprob for word in step.top_logprobs} for step in content]

    serve(port, complete)
