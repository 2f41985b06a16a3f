"""Decoding, one step at a time: greedy, drawn, along a beam (rule 17)."""

import math
from itertools import pairwise, product

import pytest
import torch
from torch.testing import assert_close

from models import POSITIONS, KVCache, beam, capture, greedy, length_penalty, sampled, sift, winner
from tests.models.examples import SRC, name_of, small

MANY = torch.tensor([[3, 4, 5, 6, 2], [7, 2, 0, 0, 0], [8, 9, 3, 2, 0]])


def written(model, src, **rest):
    """Return all tokens, `[batch, step]`."""
    return torch.stack([step.token for step in greedy(model, src, **rest)], dim=1)


def by_full_passes(model, src, n, bos_id=1, eos_id=2):
    """Decode greedily without a cache: the whole pass again for each token."""
    given, done = torch.full((len(src), 1), bos_id), torch.zeros(len(src), dtype=torch.bool)
    for _ in range(n):
        token = model(src, given)[:, -1].argmax(dim=-1).masked_fill(done, 0)
        done |= token == eos_id
        given = torch.cat([given, token[:, None]], dim=1)
        if done.all():
            break
    return given[:, 1:]


def speaking(seed=0, **choices):
    """Return a model that never writes padding, and ends its rows now and then."""
    model = small(seed=seed, unembed_bias=True, **choices)
    with torch.no_grad():
        model.unembed_bias[0] = -1e9
    return model


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_greedy_writes_what_full_passes_write(positions, seed):
    model = speaking(seed, positions=positions)
    expected = by_full_passes(model, MANY, 9)
    assert torch.equal(written(model, MANY, max_len=9), expected)
    # A row beside others writes what it writes alone.
    for row in range(3):
        real = MANY[row : row + 1, : int((MANY[row] != 0).sum())]
        alone = written(model, real, max_len=9)
        assert torch.equal(alone[0], expected[row, : alone.shape[1]])


@pytest.mark.parametrize("seed", range(3))
def test_without_a_causal_mask_everything_is_read_again_for_every_token(seed):
    model = speaking(seed, causal=False)
    assert torch.equal(written(model, MANY, max_len=9), by_full_passes(model, MANY, 9))
    with pytest.raises(ValueError, match="nothing is kept"):
        model.decode(SRC, model.encode(SRC), cache=KVCache.empty(model.config, 1))


def test_a_step_says_what_it_chose_from():
    model = speaking()
    for index, step in enumerate(greedy(model, MANY, max_len=4)):
        assert step.index == index
        assert step.logits.shape == (3, 11)
        assert step.finished.dtype == torch.bool
        running = ~step.finished
        assert torch.equal(step.token[running], step.logits.argmax(dim=-1)[running])
    first = next(greedy(model, SRC))
    assert_close(first.logits, model(SRC, torch.tensor([[1]]))[:, -1], atol=1e-5, rtol=1e-5)


def always(model, token):
    """Make a model write one token for ever."""
    with torch.no_grad():
        model.unembed_bias[token] = 1e6
    return model


def test_a_row_that_has_ended_writes_padding():
    model = speaking()
    steps = list(greedy(always(model, 2), MANY))
    assert len(steps) == 1
    assert steps[0].token.tolist() == [2, 2, 2] and steps[0].finished.all()


@pytest.mark.parametrize(("max_len", "length"), [(1, 1), (5, 5), (17, 17), (100, 17), (None, 17)])
def test_length_counts_what_is_written(max_len, length):
    """The end counts, the beginning does not; a decoder of max_len tokens reads the beginning and all but the last."""
    tokens = written(always(speaking(), 7), SRC, max_len=max_len)
    assert tokens.tolist() == [[7] * length]


def test_equal_logits_give_the_lowest_id():
    model = speaking()
    with torch.no_grad():
        model.embedding.zero_()
        model.unembed_bias.zero_()
        model.unembed_bias[[5, 8]] = 3.0
    assert written(model, SRC, max_len=3).tolist() == [[5, 5, 5]]


def test_a_decoder_alone_goes_on_from_a_beginning():
    model = speaking(architecture="decoder-only")
    ids = torch.tensor([[1, 5, 6]])
    tokens = written(model, ids, eos_id=-1, max_len=6)
    given = ids
    for token in tokens[0]:
        assert token == model(given)[0, -1].argmax()
        given = torch.cat([given, token[None, None]], dim=1)
    # Padded on either side, beside a longer beginning.
    beside = torch.tensor([[1, 5, 6, 0, 0], [0, 0, 1, 5, 6], [1, 5, 6, 7, 8]])
    assert torch.equal(written(model, beside, eos_id=-1, max_len=6)[:2], tokens.expand(2, -1))


def test_a_decoder_alone_writes_until_it_is_full():
    model = always(speaking(architecture="decoder-only"), 7)
    assert written(model, torch.full((1, 17), 3)).shape == (1, 1)
    assert written(model, torch.full((1, 14), 3)).shape == (1, 4)
    with pytest.raises(ValueError, match="a sequence of 18 tokens is longer than max_len=17"):
        next(greedy(model, torch.full((1, 18), 3)))


def test_decoding_does_not_disturb_training():
    model = speaking(dropout=0.5).train()
    generator = torch.Generator().manual_seed(0)
    model.dropout.generator = generator
    before = generator.get_state()
    steps = greedy(model, SRC, max_len=3)
    next(steps)
    assert model.training and all(module.training for module in model.modules())
    assert torch.is_grad_enabled()
    assert len(list(steps)) == 2
    assert torch.equal(generator.get_state(), before)
    assert torch.equal(written(model, SRC, max_len=3), written(model.eval(), SRC, max_len=3))


@pytest.mark.parametrize(
    ("choices", "rest", "message"),
    [
        ({"architecture": "encoder-only"}, {}, "encoder-only writes nothing: decoding needs a decoder"),
        ({}, {"max_len": 0}, "max_len is 1 or more, but got 0"),
    ],
)
def test_what_cannot_be_decoded_is_refused(choices, rest, message):
    with pytest.raises(ValueError, match=message):
        next(greedy(small(**choices), SRC, **rest))


# --- Temperature, top-k, top-p ---------------------------------------------------------------------------------------

# Probabilities of 4/8, 2/8, 1/8, 1/8 at ids 1, 3, 0, 2.
EIGHTHS = torch.tensor([1.0, 4.0, 1.0, 2.0]).log()


def test_a_sieve_worked_by_hand():
    """Temperature 1/2 squares: 16, 4, 1, 1 of 22. Top-k of 3 leaves 16, 4, 1 of 21; 0.9 is reached by the first two."""
    sieve = sift(EIGHTHS, temperature=0.5, top_k=3, top_p=0.9)
    exactly = {"atol": 1e-7, "rtol": 0}
    assert_close(sieve.probs, torch.tensor([1, 4, 1, 2]).double() / 8, **exactly)
    assert_close(sieve.tempered, torch.tensor([1, 16, 1, 4]).double() / 22, **exactly)
    assert sieve.order.tolist() == [1, 3, 0, 2]
    assert sieve.in_k.tolist() == [True, True, False, True]
    assert sieve.in_p.tolist() == [False, True, False, True]
    assert_close(sieve.final, torch.tensor([0, 16, 0, 4]).double() / 20, **exactly)
    # 0.8 of the line belongs to id 1, the rest to id 3.
    assert sieve.pick(torch.tensor(0.0)) == sieve.pick(torch.tensor(0.79)) == 1
    assert sieve.pick(torch.tensor(0.81)) == sieve.pick(torch.tensor(1.0)) == 3


def test_temperature_0_is_the_largest_and_the_lowest_id_of_equals():
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    sieve = sift(logits, temperature=0.0)
    assert sieve.final.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    assert sieve.pick(torch.tensor([0.999, 0.999])).tolist() == [1, 0]


@pytest.mark.parametrize("temperature", [1e-30, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("top_k", [None, 1, 3, 4, 5, 10**9])
@pytest.mark.parametrize("top_p", [0.0, 1e-9, 0.5, 0.999999, 1.0])
def test_whatever_is_filtered_a_distribution_is_left(temperature, top_k, top_p):
    logits = torch.tensor([[5.0, -math.inf, 1e4, -3.0], [0.0, 0.0, 0.0, 0.0], [-1e4, 1e-3, 0.0, 1e4]])
    sieve = sift(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    for values in (sieve.probs, sieve.tempered, sieve.final):
        assert bool((values >= 0).all())
        assert_close(values.sum(dim=-1), torch.ones(3).double())
    assert bool((sieve.in_k | ~sieve.in_p).all())
    assert bool((sieve.final[~sieve.in_p] == 0).all())
    assert bool((sieve.in_k.sum(dim=-1) == min(top_k or 4, 4)).all())
    assert sieve.in_p.any(dim=-1).all()
    for at in (0.0, 0.5, 1 - 1e-16):
        picked = sieve.pick(torch.full((3,), at, dtype=torch.float64))
        assert bool(sieve.in_p.gather(-1, picked[:, None]).all())


def test_nothing_is_removed_unless_asked():
    sieve = sift(EIGHTHS, top_k=4, top_p=1.0)
    assert sieve.in_p.all()
    assert torch.equal(sieve.tempered, sieve.probs)
    assert_close(sieve.final, sieve.probs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, "a temperature is 0 or more, but got -0.1"),
        ({"temperature": math.nan}, "a temperature is 0 or more, but got nan"),
        ({"temperature": math.inf}, "a temperature is 0 or more, but got inf"),
        ({"top_k": 0}, "top_k is 1 or more, but got 0"),
        ({"top_p": 1.5}, "top_p is from 0 to 1, but got 1.5"),
        ({"top_p": math.nan}, "top_p is from 0 to 1, but got nan"),
    ],
)
def test_what_cannot_be_sifted_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        sift(EIGHTHS, **settings)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_say_nothing_are_refused(bad):
    with pytest.raises(ValueError, match="NaN or infinite"):
        sift(torch.tensor([0.0, bad]))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("top_k", [1, 7, 50])
@pytest.mark.parametrize("top_p", [0.2, 0.9])
def test_a_sieve_leaves_what_the_filters_of_transformers_leave(temperature, top_k, top_p):
    process = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(3, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    theirs = process.TemperatureLogitsWarper(temperature)(None, logits)
    theirs = process.TopKLogitsWarper(top_k)(None, theirs)
    theirs = process.TopPLogitsWarper(top_p)(None, theirs)
    ours = sift(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    assert_close(ours.final, theirs.softmax(dim=-1))


# --- Drawing ---------------------------------------------------------------------------------------------------------


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def drawn(model, src, seed=0, **rest):
    return torch.stack([step.token for step in sampled(model, src, generator=seeded(seed), **rest)], dim=1)


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"top_k": 1}, {"top_p": 0.0}])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_draw_without_choice_is_greedy(settings, architecture):
    model = speaking(architecture=architecture)
    assert torch.equal(drawn(model, MANY, **settings, max_len=9), written(model, MANY, max_len=9))


def test_a_seed_draws_the_same_again_and_leaves_the_global_generator_alone():
    model = speaking()
    before = torch.get_rng_state()
    one = drawn(model, SRC, 3, eos_id=-1, max_len=12)
    assert torch.equal(one, drawn(model, SRC, 3, eos_id=-1, max_len=12))
    assert not torch.equal(one, drawn(model, SRC, 4, eos_id=-1, max_len=12))
    assert torch.equal(torch.get_rng_state(), before)


def test_draws_fall_as_often_as_their_probability_says():
    """4,000 rows of one step; a share of p lies within 4 standard deviations √(p(1 − p)/n) of p."""
    model, n = speaking(), 4000
    step = next(sampled(model, SRC.expand(n, -1), temperature=0.7, top_k=6, generator=seeded()))
    p = step.sieve.final[0]
    share = torch.bincount(step.token, minlength=11) / n
    assert bool(((share - p).abs() <= 4 * (p * (1 - p) / n).sqrt()).all())
    assert bool((share[p == 0] == 0).all()) and int((p > 0).sum()) == 6


def test_a_draw_says_where_it_fell():
    model = speaking()
    for step in sampled(model, MANY, temperature=1.3, generator=seeded(), eos_id=-1, max_len=4):
        assert step.at.shape == (3,) and bool(((step.at >= 0) & (step.at < 1)).all())
        assert torch.equal(step.token, step.sieve.pick(step.at))
        assert_close(step.sieve.probs, step.logits.double().softmax(dim=-1))


# --- What if ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [greedy, lambda *args, **rest: sampled(*args, generator=seeded(), **rest)])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_forced_token_is_written_and_read(write, architecture):
    model = speaking(architecture=architecture)
    free = list(write(model, SRC, eos_id=-1, max_len=6))
    steps = list(write(model, SRC, eos_id=-1, max_len=6, forced={2: 9}))
    assert [int(step.token) for step in steps[:2]] == [int(step.token) for step in free[:2]]
    assert int(steps[2].token) == 9
    assert_close(steps[2].logits, free[2].logits)  # the model still says what it would have
    tokens = [int(step.token) for step in steps]
    both = architecture == "encoder-decoder"
    given = torch.tensor([[1, *tokens]] if both else [[*SRC[0].tolist(), *tokens]])
    logits = model(SRC, given) if both else model(given)
    for index, step in enumerate(steps):
        assert_close(step.logits[0], logits[0, (0 if both else 4) + index], atol=1e-5, rtol=1e-5)


def test_a_forced_end_ends():
    steps = list(greedy(speaking(), SRC, eos_id=2, forced={1: 2}))
    assert len(steps) == 2 and int(steps[-1].token) == 2
    with pytest.raises(ValueError, match="a forced token is 0 to 10, but got 11"):
        next(greedy(speaking(), SRC, forced={1: 11}))


def test_draws_after_a_forced_token_stay_the_same():
    model = speaking()
    free = [float(step.at) for step in sampled(model, SRC, generator=seeded(), eos_id=-1, max_len=5)]
    forced = [float(s.at) for s in sampled(model, SRC, generator=seeded(), eos_id=-1, max_len=5, forced={1: 8})]
    assert free == forced


# --- Beams -----------------------------------------------------------------------------------------------------------


def tokens_of(branches):
    return [branch.token for branch in branches]


def every_sequence(model, src, length, penalty, eos_id=2):
    """Return {tokens: score} of every sequence there is: each ends, or is as long as may be. By full passes."""
    both = model.config.architecture == "encoder-decoder"
    vocab = model.config.vocab_size
    found = {}
    for n in range(1, length + 1):
        inner = [[token for token in range(vocab) if token != eos_id]] * (n - 1)
        rows = [list(row) for row in product(*inner, range(vocab)) if n == length or row[-1] == eos_id]
        ids = torch.tensor(rows)
        start = torch.full((len(rows), 1), 1) if both else src.expand(len(rows), -1)
        given = torch.cat([start, ids], dim=1)[:, :-1]
        logits = model(src.expand(len(rows), -1), given) if both else model(given)
        logs = logits.detach().double().log_softmax(dim=-1)[:, -n:].gather(-1, ids[..., None])[..., 0].sum(dim=1)
        found |= {tuple(row): float(total) / length_penalty(n, penalty) for row, total in zip(rows, logs, strict=True)}
    return found


@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_wide_beam_finds_the_best_of_all_sequences(architecture, penalty):
    model = small(vocab_size=5, architecture=architecture, positions="learned")
    src = torch.tensor([[3, 4, 2]])
    scores = every_sequence(model, src, 4, penalty)
    growths = list(beam(model, src, width=400, penalty=penalty, max_len=4))
    best = winner(growths)
    assert tuple(tokens_of(best)) == max(scores, key=scores.__getitem__)
    assert best[-1].score == pytest.approx(max(scores.values()), abs=1e-5)
    # Nothing was pruned, and each complete sequence has the score that a full pass gives it.
    branches = {branch.number: branch for growth in growths for branch in growth.branches}
    assert not [branch for branch in branches.values() if branch.fate == "pruned"]
    ended = [b for b in branches.values() if b.fate == "ended" or b.index == 3]
    assert len(ended) == len(scores)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_beam_of_one_is_greedy(seed, architecture):
    model = speaking(seed, architecture=architecture)
    growths = list(beam(model, SRC, width=1, max_len=9))
    assert tokens_of(winner(growths)) == written(model, SRC, max_len=9)[0].tolist()
    assert all(len(growth.branches) == 1 for growth in growths)


def test_equal_branches_stay_in_the_order_of_their_ids():
    model = speaking()
    with torch.no_grad():
        model.embedding.zero_()
        model.unembed_bias.zero_()
        model.unembed_bias[[5, 8]] = 3.0
    assert tokens_of(winner(list(beam(model, SRC, width=1, max_len=3)))) == [5, 5, 5]
    first = next(beam(model, SRC, width=3))
    assert tokens_of(first.branches) == [5, 8, 0]


@pytest.mark.parametrize(
    "choices",
    [{}, {"n_kv_heads": 1}, {"n_kv_heads": 2}, {"causal": False}, {"window": 3}, {"n_experts": 3, "n_active": 2}],
    ids=name_of,
)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_beams_and_cache_stay_in_step(architecture, positions, choices):
    """Each row's logits are those of a full pass over the very sequence that it stands for."""
    model = speaking(1, architecture=architecture, positions=positions, **choices)
    both = architecture == "encoder-decoder"
    growths = list(beam(model, SRC, width=3, max_len=6))
    branches = {branch.number: branch for growth in growths for branch in growth.branches}
    crossings = 0
    for before, growth in pairwise(growths):
        assert len(growth.logits) == len(before.kept)
        parents = [branches[number].parent for number in before.kept]
        crossings += len(set(parents)) < len(parents) or parents != sorted(parents, key=str)
        for row, number in enumerate(before.kept):
            branch, read = branches[number], []
            while branch is not None:
                read.insert(0, branch.token)
                branch = None if branch.parent is None else branches[branch.parent]
            given = torch.tensor([[1, *read] if both else [*SRC[0].tolist(), *read]])
            logits = model(SRC, given) if both else model(given)
            assert_close(growth.logits[row], logits[0, -1], atol=1e-5, rtol=1e-5)
    assert crossings, "the rows never changed places, so nothing was tested"


def test_a_beam_that_ends_gives_up_its_place():
    model = speaking(2)
    ended = 0
    for growth in beam(model, SRC, width=3, max_len=9):
        done = sum(branch.fate == "ended" for branch in growth.branches)
        assert len(growth.kept) + done + ended <= 3
        ended += done
        assert all(len([b for b in growth.branches if b.parent == each.parent]) <= 3 for each in growth.branches)


def test_a_total_is_the_sum_along_its_path_and_a_score_is_over_the_penalty():
    assert length_penalty(1, 0.6) == 1.0 and length_penalty(7, 1.0) == 2.0 and length_penalty(99, 0.0) == 1.0
    best = winner(list(beam(speaking(), SRC, width=4, penalty=0.6, max_len=7)))
    assert best[-1].total == pytest.approx(sum(branch.log_prob for branch in best))
    assert best[-1].score == pytest.approx(best[-1].total / ((5 + len(best)) / 6) ** 0.6)


def test_a_larger_penalty_lets_longer_sequences_win():
    """Two tokens of ln P −1 each against one of −1.5: −2 / (7/6)^α beats −1.5 once (7/6)^α is over 4/3."""
    assert -2 / length_penalty(2, 1.8) < -1.5 < -2 / length_penalty(2, 1.9)
    lengths = [len(winner(list(beam(speaking(2), SRC, width=6, penalty=p, max_len=12)))) for p in (-5.0, 0.0, 5.0)]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]


def test_a_beam_can_be_forced():
    growths = list(beam(speaking(), SRC, width=3, max_len=5, forced={0: 7, 1: 9}))
    assert tokens_of(growths[0].branches) == [7] and tokens_of(growths[1].branches) == [9]
    assert tokens_of(winner(growths))[:2] == [7, 9]
    assert len(growths[2].branches) == 3


def like_gpt2(theirs):
    """Return our decoder with the weights of a GPT-2."""
    size = theirs.config
    choices = {"d_model": size.n_embd, "n_heads": size.n_head, "d_ff": 4 * size.n_embd, "max_len": size.n_positions}
    choices |= {"positions": "learned", "norm_placement": "pre", "activation": "gelu_tanh", "embed_scale": False}
    model = small(vocab_size=size.vocab_size, architecture="decoder-only", attention_bias=True, **choices)
    names = {
        "embedding": "wte.weight",
        "positions.table": "wpe.weight",
        "decoder.final_norm.norm.gain": "ln_f.weight",
        "decoder.final_norm.norm.bias": "ln_f.bias",
    }
    parts = {
        "self_attn.W_QKV": "attn.c_attn.weight",
        "self_attn.b_QKV": "attn.c_attn.bias",
        "self_attn.W_O": "attn.c_proj.weight",
        "self_attn.b_O": "attn.c_proj.bias",
        "self_attn_join.norm.gain": "ln_1.weight",
        "self_attn_join.norm.bias": "ln_1.bias",
        "ffn_join.norm.gain": "ln_2.weight",
        "ffn_join.norm.bias": "ln_2.bias",
        "ffn.W_1": "mlp.c_fc.weight",
        "ffn.b_1": "mlp.c_fc.bias",
        "ffn.W_2": "mlp.c_proj.weight",
        "ffn.b_2": "mlp.c_proj.bias",
    }
    names |= {f"decoder.layers.{i}.{a}": f"h.{i}.{b}" for i in range(size.n_layer) for a, b in parts.items()}
    weights = theirs.transformer.state_dict()
    model.load_state_dict({ours: weights[name] for ours, name in names.items()})
    return model


def test_beams_of_fixed_length_are_those_of_transformers():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=19, n_positions=16, n_embd=12, n_layer=2, n_head=3, bos_token_id=1, eos_token_id=None
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():  # neither shall write the token that ours takes for padding
        theirs.transformer.ln_f.bias.normal_()
        theirs.transformer.wte.weight[0] = -9 * theirs.transformer.ln_f.bias
    model = like_gpt2(theirs)
    start = torch.tensor([[1, 7]])
    assert_close(model(start), theirs(start).logits, atol=1e-5, rtol=1e-5)
    for width in (2, 5):
        found = theirs.generate(
            start,
            attention_mask=torch.ones_like(start),
            num_beams=width,
            do_sample=False,
            max_new_tokens=8,
            length_penalty=0.0,
            pad_token_id=0,
            eos_token_id=None,
            output_scores=True,
            return_dict_in_generate=True,
        )
        ours = winner(list(beam(model, start, width=width, penalty=0.0, eos_id=-1, max_len=8)))
        assert tokens_of(ours) == found.sequences[0, 2:].tolist()
        assert ours[-1].total == pytest.approx(float(found.sequences_scores[0]), abs=1e-4)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"width": 0}, "a beam's width is 1 or more, but got 0"),
        ({"penalty": math.nan}, "a penalty is a finite number, but got nan"),
        ({"max_len": 0}, "max_len is 1 or more, but got 0"),
    ],
)
def test_what_no_beam_can_be_is_refused(rest, message):
    with pytest.raises(ValueError, match=message):
        next(beam(small(), SRC, **rest))
    with pytest.raises(ValueError, match="a beam grows from one source, but got 3"):
        next(beam(small(), MANY))


def test_the_pass_over_what_was_written_is_the_pass_that_wrote_it():
    """Attention and logits of step i are row i of one pass over the whole: what a page shows of a step."""
    model = speaking()
    steps = list(sampled(model, SRC, generator=seeded(), eos_id=-1, max_len=6))
    tokens = [int(step.token) for step in steps]
    trace = capture(model, SRC, torch.tensor([[1, *tokens[:-1]]]))
    assert_close(trace["logits"], torch.cat([step.logits for step in steps]), atol=1e-5, rtol=1e-5)
