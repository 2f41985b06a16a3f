"""The drawing of the architecture as it reaches the browser: real numbers, both languages, doors that open."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from models import ModelConfig, Transformer, capture
from playground.blueprint import blueprint
from playground.figures.theme import LIGHT
from playground.i18n import LANGUAGES, Translate
from playground.reading import Reading
from playground.thumbnail import HIDDEN, TOP
from playground.ui.components import architecture as component
from playground.ui.link import PICKS

ROOT = Path(__file__).parents[2]

VOCABULARY = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "<b>&amp;", "$x$ :red[no]", "le", "chat", "noir", "the", "cat", "black")
SRC = torch.tensor([[8, 10, 9, 2]])
TGT = torch.tensor([[1, 5, 6]])


def config(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": len(VOCABULARY), "d_model": 12, "n_heads": 3, "d_ff": 17, "n_layers": 2, "max_len": 13}
    return ModelConfig(**{**sizes, **changes})


def reading(model: ModelConfig) -> Reading:
    made = Transformer(model, generator=torch.Generator().manual_seed(0))
    both = model.architecture == "encoder-decoder"
    ids = {"src": SRC, "tgt": TGT}
    words = {name: tuple(VOCABULARY[int(i)] for i in row[0]) for name, row in ids.items()}
    if both:
        return Reading(capture(made, SRC, TGT), vocabulary=VOCABULARY, **words)
    only = "src" if model.architecture == "encoder-only" else "tgt"
    return Reading(capture(made, ids[only]), vocabulary=VOCABULARY, **{**dict.fromkeys(ids, ()), only: words[only]})


@pytest.fixture
def sent(monkeypatch):
    """What reaches the browser, and what the browser answers."""

    class Wire:
        data: dict[str, Any]
        open: Any = None

        def __call__(self, *, key: str, data: dict[str, Any], **_: object) -> Wire:
            self.data = json.loads(json.dumps(data))
            return self

    wire = Wire()
    monkeypatch.setattr(component, "_architecture", wire)
    monkeypatch.setattr(component, "_lines", wire)
    return wire


def drawn(model: ModelConfig, language: str = "en", **choices: int) -> Any:
    return component.architecture(model, reading(model), theme=LIGHT, t=Translate(language), key="drawing", **choices)


def cells(small: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(small["uint8"]), dtype=np.uint8).reshape(small["drawn"])


def test_thumbnails_are_the_passes_own_numbers(sent):
    drawn(config())
    weights = reading(config())["decoder.1.cross_attn.weights"]
    small = sent.data["tensors"]["decoder.1.cross_attn.weights"]
    assert small["shape"] == [3, 3, 4]
    assert small["rows"] == ["⟨bos⟩", "le", "chat"]
    np.testing.assert_allclose(cells(small) / TOP, weights.values, atol=0.5 / TOP + 1e-6)


def test_the_future_is_hidden_and_never_a_number(sent):
    drawn(config())
    small = cells(sent.data["tensors"]["decoder.0.self_attn.weights"])
    future = ~np.tri(3, dtype=bool)
    assert (small[:, future] == HIDDEN["causal"]).all()
    assert (small[:, ~future] <= TOP).all()


def test_the_likeliest_next_words_are_those_of_the_pass(sent):
    drawn(config())
    probs = reading(config())["probs"].values
    assert len(sent.data["next"]) == 3
    for row, best in zip(probs, sent.data["next"], strict=True):
        assert [p for _, p in best] == pytest.approx(sorted(row.tolist(), reverse=True)[:5])
        assert best[0][0] == VOCABULARY[int(row.argmax())]


def test_user_text_is_sent_as_it_is(sent):
    drawn(config())
    assert {word for best in sent.data["next"] for word, _ in best} <= set(VOCABULARY)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "none"])
def test_every_model_is_drawn_in_every_language(sent, language, architecture, placement, positions):
    model = config(architecture=architecture, norm_placement=placement, positions=positions)
    drawn(model, language)
    blocks = {block["name"] for plan in sent.data["plans"].values() for block in plan["blocks"]}
    assert blocks == set(sent.data["blocks"])
    assert all(said["name"] and said["says"] for said in sent.data["blocks"].values())
    shown = {block["tensor"].replace("{layer}", "1") for block in sent.data["plans"]["wide"]["blocks"]}
    assert shown <= set(sent.data["tensors"])


def test_the_facts_are_the_configurations(sent):
    model = config(n_kv_heads=1, norm_placement="pre")
    drawn(model)
    values = [value for _, value in sent.data["facts"]]
    assert values[1:] == ["2 + 2", "3 × 4, 1 for k, v", "12", "17 ReLU", "11", "Pre-LN", "sinusoidal", values[-1]]
    assert values[-1] == f"{model.n_parameters:,}"


def test_choices_are_clamped_to_what_there_is(sent):
    drawn(config(), layer=9, head=-1, at=99)
    assert (sent.data["layer"], sent.data["head"], sent.data["at"]) == (1, 0, 2)


def test_a_door_asks_only_for_what_a_link_can_say():
    for model in (config(), config(norm_placement="pre"), config(architecture="encoder-only")):
        plan = blueprint(model)
        for block in plan.blocks:
            page, picks = plan.door(block.name, 1)
            assert (ROOT / "pages" / f"{page}.py").is_file()
            for name, value in picks.items():
                most = PICKS[name]
                assert (value in most) if isinstance(most, tuple) else (0 <= int(value) <= most)


@pytest.mark.parametrize(
    ("answer", "door"),
    [
        ({"block": "decoder.cross_attn", "layer": 0}, ("one_head", {"where": "cross", "layer": 0})),
        ({"block": "encoder.ffn", "layer": 77}, ("layer", {"stack": "encoder", "part": "ffn", "layer": 1})),
        ({"block": "linear", "layer": "x"}, ("output", {})),
        ({"block": "../../etc"}, None),
        ({}, None),
        ("nonsense", None),
        (None, None),
    ],
)
def test_what_the_browser_says_opens_a_door_or_nothing(sent, answer, door):
    sent.open = answer
    assert drawn(config()) == door


def test_the_drawing_of_a_small_model_is_small(sent):
    drawn(config(d_model=48, d_ff=4096, n_heads=4, n_layers=6))
    assert len(json.dumps(sent.data)) < 200_000


def test_lines_carry_every_digit_and_say_the_strongest(sent):
    weights = reading(config())["decoder.1.cross_attn.weights"].select(head=2)
    weights = weights.relabelled({"query": ("le", "chat", "⟨eos⟩")})
    component.attention_lines(weights, theme=LIGHT, t=Translate("en"), key="lines", layer=1, head=2, group="g")
    back = np.frombuffer(base64.b64decode(sent.data["weights"]["float32"]), dtype="<f4").reshape(3, 4)
    np.testing.assert_array_equal(back, weights.values)
    strongest = weights.axis("key").labels[int(weights.values[1].argmax())]
    assert f"chat looks most at {strongest}." in sent.data["alt"]
    assert sent.data["written"] == ["le", "chat", "⟨eos⟩"]


def test_it_mounts_in_a_running_page():
    def page() -> None:
        import torch

        from models import ModelConfig, Transformer, capture
        from playground.figures.theme import LIGHT
        from playground.i18n import Translate
        from playground.reading import Reading
        from playground.ui.components.architecture import architecture

        words = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "le", "chat")
        model = ModelConfig(vocab_size=5, d_model=8, n_heads=2, d_ff=12, n_layers=1, max_len=9)
        made = Transformer(model, generator=torch.Generator().manual_seed(0))
        trace = capture(made, torch.tensor([[3, 2]]), torch.tensor([[1, 4]]))
        pass_ = Reading(trace, src=("le", "⟨eos⟩"), tgt=("⟨bos⟩", "chat"), vocabulary=words)
        architecture(model, pass_, theme=LIGHT, t=Translate("zh"), key="drawing")

    app = AppTest.from_function(page).run()
    assert not app.exception
