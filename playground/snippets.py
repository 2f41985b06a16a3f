"""Short Python that prints a number that is on screen: with the project's models, and once more by hand."""

from __future__ import annotations

from collections.abc import Mapping

from playground.subject import Subject
from playground.variant import Variant

# What makes the tensor by hand from others of its sublayer; `at` is the sublayer's name, `i` the head.
_BY_HAND: Mapping[str, str] = {
    "raw_scores": """q, k = trace[at + ".q"], trace[at + ".k"]
raw_scores = q @ k.mT
print(raw_scores[{index}])""",
    "scores": """q, k = trace[at + ".q"], trace[at + ".k"]
scores = q @ k.mT / q.shape[-1] ** 0.5
print(scores[{index}])""",
    "weights": """q, k, mask = trace[at + ".q"], trace[at + ".k"], trace[at + ".mask"]
scores = q @ k.mT / q.shape[-1] ** 0.5
weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
print(weights[{index}])""",
    "z": """weights, v = trace[at + ".weights"], trace[at + ".v"]
z = weights @ v
print(z[{index}])""",
    "probs": """probs = trace["logits"].softmax(dim=-1)
print(probs[{index}])""",
}


def snippet(subject: Subject, name: str, at: Mapping[str, int], variant: Variant | None = None) -> str:
    """Return a program that prints one number of a pass.

    The number is read from the trace; where the attention is the plain one of the paper, it is then made by hand.

    Args:
        subject: Run, step and sentence.
        name: The tensor's name.
        at: A position on each of its axes.
        variant: The pass, if it is not the subject's own.
    """
    vocabulary = subject.task.vocabulary
    variant = variant or Variant(subject.reading)
    reading = variant.reading
    index = ", ".join(str(at[axis.name]) for axis in reading[name].axes)
    src, tgt = variant.batch or ([vocabulary.encode(reading.src)], [vocabulary.encode(reading.tgt)])
    words = {"src": src, "tgt": tgt}
    read = [each for each in words if words[each][0]]  # a model with one stack reads one of them
    changes = [f"sample={variant.sample}"] if variant.batch else []
    changes += ["edits=edits"] if variant.edits else []
    lines = [
        "import torch",
        "",
        "from models import capture",
        *([variant.imports] if variant.imports else []),
        "from playground.runs import RunStore",
        "",
        f"model = RunStore().open({subject.run.id!r}).model({subject.step})",
        *(f"{each} = torch.tensor({words[each]})" for each in read),
        *([f"edits = {variant.edits}"] if variant.edits else []),
        f"trace = capture({', '.join(['model', *read, *changes])})",
        f"print(trace[{name!r}][{index}])",
    ]
    last = name.rsplit(".", 1)[-1]
    config = subject.run.config.model
    is_plain = config.scale_scores and config.positions != "alibi" and config.n_heads == config.n_kv_heads
    if last in _BY_HAND and (is_plain or last == "probs"):
        where = [f"at = {name.rsplit('.', 1)[0]!r}"] if "." in name else []
        lines += ["", *where, _BY_HAND[last].format(index=index)]
    return "\n".join(lines) + "\n"
