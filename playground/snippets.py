"""Short Python that prints a number that is on screen: with the project's models, and once more by hand."""

from __future__ import annotations

from collections.abc import Mapping

from playground.decoding import Way, beginning
from playground.runs import Run
from playground.schedule import Setting
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


def decoding(subject: Subject, way: Way) -> str:
    """Return a program that writes the subject's text, a line a word: the word, and P of it or ln P of the path.

    Args:
        subject: Run, step and sentence.
        way: How each word is chosen.
    """
    source, begun = beginning(subject.task, subject.src)
    room = subject.task.max_len - (0 if source else len(begun) - 1)
    name = {"greedy": "greedy", "sample": "sampled", "beam": "beam"}[way.kind]
    settings = {
        "greedy": [],
        "sample": [f"temperature={way.temperature}", f"top_k={way.top_k}", f"top_p={way.top_p}", "generator=generator"],
        "beam": [f"width={way.width}", f"penalty={way.penalty}"],
    }[way.kind]
    settings += [f"max_len={max(room, 1)}", *([f"forced={dict(way.forced)}"] if way.forced else [])]
    call = f"{name}(model, src, {', '.join(settings)})"
    lines = [
        "import torch",
        "",
        f"from models import {name}{', winner' if way.kind == 'beam' else ''}",
        "from playground.runs import RunStore",
        "",
        f"run = RunStore().open({subject.run.id!r})",
        f"model, vocabulary = run.model({subject.step}), run.config.data.vocabulary",
        f"src = torch.tensor([{source or list(begun)}])",
    ]
    if way.kind == "beam":
        lines += [
            f"for branch in winner(list({call})):",
            "    (word,) = vocabulary.decode([branch.token])",
            '    print(f"{word}  {branch.total:.3f}")',
        ]
    else:
        lines += [f"generator = torch.Generator().manual_seed({way.seed})"] if way.kind == "sample" else []
        lines += [
            f"for step in {call}:",
            "    (word,) = vocabulary.decode(step.token.tolist())",
            "    p = step.logits.softmax(dim=-1)[0, step.token[0]]",
            '    print(f"{word}  {p:.3f}")',
        ]
    return "\n".join(lines) + "\n"


def of_rate(run: Run, step: int, setting: Setting, *, is_logged: bool) -> str:
    """Return a program that prints the learning rate of an update: by the model's code, by hand, and as it was logged.

    Args:
        run: The run whose log is read.
        step: Number of the update.
        setting: What the rate depends on.
        is_logged: Whether the setting is the run's own, so that its log has the same number.
    """
    lines = [
        "from models import noam_rate",
        "",
        f"step, d_model, warmup, factor = {step}, {setting.d_model}, {setting.warmup}, {setting.factor:g}",
        "print(noam_rate(step, d_model=d_model, warmup=warmup, factor=factor))",
        "print(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))",
    ]
    if is_logged:
        lines += [
            "",
            "from playground.runs import RunStore",
            "",
            f"run = RunStore().open({run.id!r})",
            f'print(run.metrics["learning_rate"][{step - 1}])',
        ]
    return "\n".join(lines) + "\n"


def of_adam(run: Run, step: int, probe: int) -> str:
    """Return a program that prints a step of Adam: by the project's code, and by hand from the run's gradients.

    Args:
        run: The run whose gradients are read.
        step: Number of the update.
        probe: Number of the weight, of `playground.probes`.
    """
    recipe = run.config.recipe
    lines = [
        "from playground.adam import adam",
        "from playground.runs import RunStore",
        "",
        f"run, step = RunStore().open({run.id!r}), {step}",
        f'gradients, rates = run.gradients[:step, {probe}], run.metrics["learning_rate"][:step]',
        f"b1, b2, eps = {recipe.beta1:g}, {recipe.beta2:g}, {recipe.eps:g}",
        "print(adam(gradients, rates, beta1=b1, beta2=b2, eps=eps).step[-1])",
        "",
        "m = v = 0.0",
        "for g in gradients:",
        "    m = b1 * m + (1 - b1) * g",
        "    v = b2 * v + (1 - b2) * g**2",
        "m_hat, v_hat = m / (1 - b1**step), v / (1 - b2**step)",
        "print(-rates[-1] * m_hat / (v_hat**0.5 + eps))",
    ]
    return "\n".join(lines) + "\n"
