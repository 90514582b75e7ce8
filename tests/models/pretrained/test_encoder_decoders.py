"""Marian and T5 give the logits and the translations of `transformers`, read from its folders and written for it."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.models import models
from gradlab.models.language.settings import TransformerSizes
from gradlab.models.seq2seq import Conditioned, EncoderDecoderModel, transformer_seq2seq
from gradlab.models.seq2seq.presets import GATED, MARIAN, RELU, T5
from gradlab.registry import Part
from gradlab.sampling import Beam, beam_search, generate
from gradlab.specs import Pair, Tokens

transformers = pytest.importorskip("transformers", reason="the peer, Hugging Face's transformers, is not installed")

STACKS = {"encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}
HEADS = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
MARKS = {"pad_token_id": 39, "decoder_start_token_id": 39, "eos_token_id": 3, "forced_eos_token_id": 3}
MARIAN_SIZES = {"vocab_size": 40, "d_model": 16, "max_position_embeddings": 20, **STACKS, **HEADS, **MARKS}
BUCKETS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
T5_STACKS = {"num_layers": 2, "num_decoder_layers": 3, "d_ff": 24, "num_heads": 4, "d_kv": 6}
T5_SIZES = {"vocab_size": 40, "d_model": 16, "eos_token_id": 3, **T5_STACKS, **BUCKETS}


def marian(**changes):
    model = transformers.MarianMTModel(transformers.MarianConfig(**{**MARIAN_SIZES, **changes}))
    model.final_logits_bias.normal_()
    return model


def t5(**changes):
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{**T5_SIZES, **changes}))
    if changes.get("tie_word_embeddings") is False:  # the library ties them unless a file says otherwise
        model.lm_head.weight = torch.nn.Parameter(torch.empty(40, 16))
    return model


THEIRS = {
    "marian": marian,
    "marian, of other settings": lambda: marian(scale_embedding=True, activation_function="swish", dropout=0.3),
    "marian, two vocabularies": lambda: marian(share_encoder_decoder_embeddings=False, decoder_vocab_size=44),
    "t5": t5,
    "t5, of other settings": lambda: t5(layer_norm_epsilon=0.1, num_decoder_layers=None, dropout_rate=0.3),
    "t5 1.1": lambda: t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "t5, gated by SiLU": lambda: t5(feed_forward_proj="gated-silu"),
}
PAIR = Pair(Tokens(20, 40), Tokens(20, 40), shared=True)
SIZES = {"dim": 16, "layers": 2, "heads": 4, "hidden": 24, "decoder_layers": 3}
OURS = {
    "marian": lambda: transformer_seq2seq(PAIR, **SIZES, **MARIAN, dropout=0.2, padding=7, start=8, end=9),
    "marian, two vocabularies": lambda: transformer_seq2seq(
        Pair(Tokens(20, 40), Tokens(12, 30)), **SIZES, **MARIAN, activation=Part("relu"), output_bias=True
    ),
    "t5": lambda: transformer_seq2seq(PAIR, **SIZES, **T5, **RELU, head_dim=6, dropout=0.2, eps=0.1, start=8),
    "t5 1.1": lambda: transformer_seq2seq(PAIR, **SIZES, **T5, **GATED, buckets=8, max_distance=9),
    "t5, tied but not scaled": lambda: transformer_seq2seq(PAIR, **SIZES, **T5, **{**RELU, "output_scaled": False}),
}


def shaken(model, dtype=torch.float64):
    """With weights so large that every one of them matters, gains and biases too; but for tables of sines."""
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:
            torch.nn.init.normal_(parameter, std=0.4)
    return model.to(dtype).eval()


def padding_of(model):
    return model.config.pad_token_id if hasattr(model, "config") else model.encoder.settings.padding


def batch(padding):
    """Sources of unequal lengths, and targets."""
    drawn = torch.Generator().manual_seed(1)
    source, target = torch.randint(8, 30, (3, 16), generator=drawn), torch.randint(8, 30, (3, 14), generator=drawn)
    source[0, 9:], source[1, 4:] = padding, padding
    return source, target


def logits_of(theirs, source, target):
    real = (source != padding_of(theirs)).long()
    return theirs(input_ids=source, attention_mask=real, decoder_input_ids=target).logits


def load_theirs(folder):
    (name,) = json.loads((folder / "config.json").read_text())["architectures"]
    model, told = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
    assert not any(told[kind] for kind in ("unexpected_keys", "mismatched_keys", "error_msgs"))
    assert all("embed_positions" in key for key in told["missing_keys"])
    return model.eval()


def tolerance(name, dtype):
    """Their T5 normalises in float32, whatever the dtype of its weights."""
    if dtype == torch.float32:
        return 1e-4
    return 1e-9 if "marian" in name else 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", THEIRS)
@torch.no_grad()
def test_their_models_give_the_same_logits_here_and_when_they_come_back(tmp_path, name, dtype):
    theirs = shaken(THEIRS[name](), dtype)
    theirs.save_pretrained(tmp_path / "there")
    ours = gl.from_pretrained(tmp_path / "there")
    assert isinstance(ours, EncoderDecoderModel)
    assert not ours.training
    source, target = batch(padding_of(theirs))
    want, atol = logits_of(theirs, source, target), tolerance(name, dtype)
    assert_close(ours(source, target), want, rtol=0, atol=atol)
    gl.save_pretrained(ours, tmp_path / "back")
    back = load_theirs(tmp_path / "back")
    assert_close(logits_of(back, source, target), want, rtol=0, atol=atol)
    there, again = (load_file(tmp_path / folder / "model.safetensors") for folder in ("there", "back"))
    assert {n: t.shape for n, t in again.items()} == {n: t.shape for n, t in there.items()}
    for setting in ("pad_token_id", "eos_token_id", "dropout", "dropout_rate", "attention_dropout"):
        assert getattr(back.config, setting, None) == getattr(theirs.config, setting, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", OURS)
@torch.no_grad()
def test_our_models_give_the_same_logits_there_and_when_they_come_back(tmp_path, name, dtype):
    ours = shaken(OURS[name](), dtype)
    gl.save_pretrained(ours, tmp_path / "x")
    theirs, back = load_theirs(tmp_path / "x"), gl.from_pretrained(tmp_path / "x")
    source, target = batch(padding_of(ours))
    want = ours(source, target)
    assert_close(logits_of(theirs, source, target), want, rtol=0, atol=tolerance(name, dtype))
    assert_close(back(source, target), want, rtol=0, atol=0)
    made, again = ours.decoder.settings, back.decoder.settings
    assert (again.padding, again.dropout, again.end) == (made.padding, made.dropout, made.end)
    assert again.start == (made.padding if made.start is None else made.start)
    assert (back.encoder.embedding is back.decoder.embedding) == (ours.encoder.embedding is ours.decoder.embedding)


@pytest.mark.parametrize("name", THEIRS)
@torch.no_grad()
def test_padding_changes_nothing(tmp_path, name):
    shaken(THEIRS[name]()).save_pretrained(tmp_path)
    ours = gl.from_pretrained(tmp_path)
    padding = padding_of(ours)
    source, target = batch(padding)
    together = ours(source, target)
    for row, length in enumerate((9, 4, 16)):
        alone = ours(source[row : row + 1, :length], target[row : row + 1])
        assert_close(together[row : row + 1], alone)


@pytest.mark.parametrize("name", ["marian", "marian, two vocabularies", "t5", "t5 1.1"])
@torch.no_grad()
def test_decoding_with_caches_is_decoding_without(tmp_path, name):
    shaken(THEIRS[name]()).save_pretrained(tmp_path)
    ours = gl.from_pretrained(tmp_path)
    source, target = batch(padding_of(ours))
    whole, conditioned = ours(source, target), Conditioned(ours, source)
    cache = conditioned.new_cache(3, 14)
    steps = [conditioned(part, cache=cache) for part in target.split([1, 1, 5, 1, 6], 1)]
    assert_close(torch.cat(steps, 1), whole)
    rows = torch.tensor([2, 2, 0])
    cache.own.truncate(9)
    cache.reorder(rows)
    assert_close(conditioned(target[rows, 9:], cache=cache), whole[rows, 9:])


def lively(make, seed):
    """A model whose gains are near 1, so that its texts tend to differ from source to source."""
    torch.manual_seed(seed)
    model = make()
    for name, parameter in model.named_parameters():
        if "norm" in name or name.endswith("bias"):
            torch.nn.init.normal_(parameter, mean=float(name.endswith("norm.weight")), std=0.2)
        elif "embed_positions" not in name:
            table = name.endswith(("shared.weight", "embed_tokens.weight", "lm_head.weight"))
            torch.nn.init.normal_(parameter, std=2.0 if table else 0.8)  # logits above their bias
    return model.double().eval()


def up_to_its_end(tokens):
    """Behind it they fill up with another token where padding is 0."""
    ends = torch.isin(tokens, torch.tensor(ENDS)).long()
    assert not ends[:, 0].any()
    return tokens.masked_fill(ends.cumsum(1) > ends, -1)


ENDS = [4, 9, 14, 19, 24, 29, 34]  # none of which begins a text


SEARCHES = [(1, 1.0, "count"), (3, 1.0, "count"), (3, 1.0, "estimate"), (4, 0.3, "count"), (5, 2.0, "estimate")]


def searched(theirs, ours, source):
    """What both find for each of the searches, up to its end."""
    own = ours.decoder.settings
    marks = {"decoder_start_token_id": own.start, "eos_token_id": ENDS, "pad_token_id": own.padding}
    # Their cache has as many layers as the encoder, also where the decoder has more.
    shared = {"max_new_tokens": 10, "do_sample": False, "forced_eos_token_id": None, "use_cache": False, **marks}
    shared["attention_mask"] = (source != own.padding).long()
    prompts, options = torch.full((len(source), 1), own.start), {"eos": ENDS, "pad": own.padding}
    for size, penalty, stop in SEARCHES:
        beams = {"num_beams": size, "length_penalty": penalty, "early_stopping": stop == "count"} if size > 1 else {}
        want = theirs.generate(source, **shared, **beams)
        if size == 1:
            found = generate(Conditioned(ours, source), prompts, 10, **options)
        else:
            beam = Beam(size, length_penalty=penalty, stop=stop)
            found = beam_search(Conditioned(ours, source), prompts, 10, beam, **options).tokens[:, 0]
        yield up_to_its_end(found), up_to_its_end(want)


@pytest.mark.parametrize("name", ["marian", "marian, two vocabularies", "t5", "t5 1.1"])
@pytest.mark.parametrize("seeds", [1, pytest.param(8, marks=pytest.mark.slow)])
@torch.no_grad()
def test_beam_searches_find_what_theirs_find(tmp_path, name, seeds):
    seen = []
    for seed in range(seeds):
        theirs = lively(THEIRS[name], seed)
        theirs.save_pretrained(tmp_path / str(seed))
        ours = gl.from_pretrained(tmp_path / str(seed))
        source, lengths = torch.randint(8, 30, (8, 16)), torch.randint(3, 17, (8, 1))
        source[torch.arange(16) >= lengths] = padding_of(ours)
        for found, want in searched(theirs, ours, source):
            assert torch.equal(found, want)
            seen += want.tolist()
    # Something was compared: texts that differ and, over several models, some that end and some that do not.
    assert len({*map(tuple, seen)}) > 3 * seeds
    assert seeds == 1 or 0 < sum(row[-1] == -1 for row in seen) < len(seen)


@torch.no_grad()
def test_files_of_older_makes_are_read(tmp_path):
    """With copies of what is tied, and tables of sines."""
    theirs = shaken(marian())
    theirs.save_pretrained(tmp_path / "marian")
    table = theirs.model.shared.weight
    halves = ("model.encoder.embed", "model.decoder.embed")
    copies = {name: table.clone() for name in ("lm_head.weight", *(f"{half}_tokens.weight" for half in halves))}
    sines = {f"{half}_positions.weight": torch.zeros(20, 16) for half in halves}
    tensors = load_file(tmp_path / "marian" / "model.safetensors")
    save_file({**tensors, **copies, **sines}, tmp_path / "marian" / "model.safetensors")
    source, target = batch(39)
    assert_close(gl.from_pretrained(tmp_path / "marian")(source, target), logits_of(theirs, source, target))

    theirs = shaken(t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False))
    theirs.save_pretrained(tmp_path / "t5")
    path = tmp_path / "t5" / "config.json"
    config = json.loads(path.read_text())
    del config["scale_decoder_outputs"]  # which older files tell by their ties alone
    path.write_text(json.dumps(config | {"tie_word_embeddings": False}))
    source, target = batch(0)
    got = gl.from_pretrained(tmp_path / "t5")(source, target)
    assert_close(got, logits_of(theirs, source, target), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "changes", "told"),
    [
        (marian, {"decoder_attention_heads": 2}, "the same attention_heads in encoder and decoder"),
        (marian, {"decoder_ffn_dim": 8}, "the same ffn_dim in encoder and decoder"),
        (marian, {"activation_function": "tanh"}, "activation_function=tanh is not valid"),
        (marian, {"tie_word_embeddings": False}, "tie_word_embeddings=false is not supported"),
        (marian, {"decoder_layers": 4}, "there is no model.decoder.layers.3"),
        (marian, {"vocab_size": 41}, "model.shared.weight is 40 × 16 instead of 41 × 16"),
        (marian, {"share_encoder_decoder_embeddings": False}, "there is no model.encoder.embed_tokens.weight"),
        (t5, {"feed_forward_proj": "gated-tanh"}, "feed_forward_proj=gated-tanh is not valid"),
        (t5, {"d_kv": 8}, r"SelfAttention.q.weight is 24 × 16 instead of 32 × 16"),
        (t5, {"feed_forward_proj": "gated-gelu"}, r"there is no encoder.block.0.layer.1.DenseReluDense.wi_0.weight"),
        (t5, {"relative_attention_num_buckets": 10}, "relative_attention_bias.weight is 8 × 4 instead of 10 × 4"),
        (t5, {"relative_attention_max_distance": 1}, "max_distance=1 must be above"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(tmp_path, make, changes, told):
    make().save_pretrained(tmp_path)
    gl.from_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(GradlabError, match=told):
        gl.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: transformer_seq2seq(PAIR, **SIZES), "nearest is MarianMTModel, which has sinusoids=table"),
        (lambda: transformer_seq2seq(PAIR, **SIZES, **(MARIAN | {"norm_first": True})), "norm_first=true"),
        (lambda: transformer_seq2seq(PAIR, **SIZES, **(MARIAN | {"key_heads": 2})), "key_heads=2"),
        (lambda: transformer_seq2seq(PAIR, **SIZES, **MARIAN, activation=Part("tanh")), "its MLPs have Tanh"),
        (lambda: transformer_seq2seq(PAIR, **SIZES, **(T5 | {"norm": "layer"})), "T5ForCond.*norm=layer"),
        (lambda: transformer_seq2seq(PAIR, **SIZES, **T5, gated=True, activation=Part("gelu")), "GELU by tanh alone"),
        (
            lambda: transformer_seq2seq(Pair(Tokens(9, 40), Tokens(9, 40)), **SIZES, **T5),
            "which has shared=true, and this model has shared=false",
        ),
        (lambda: models["seq2seq-rnn"](PAIR, 40, settings=_recurrent()), "A EncoderDecoderModel has no format"),
    ],
)
def test_a_model_that_they_have_not_is_refused_and_nothing_is_written(tmp_path, make, told):
    with pytest.raises(GradlabError, match=told):
        gl.save_pretrained(make(), tmp_path / "x")
    assert not [*tmp_path.iterdir()]


def _recurrent():
    from gradlab.models.seq2seq import RecurrentSettings

    return RecurrentSettings(dim=8, hidden=8)


@pytest.mark.parametrize(("name", "knobs"), [("marian", {}), ("t5", {}), ("t5", {"gated": True})])
def test_what_is_trained_by_a_recipe_can_be_written(tmp_path, name, knobs):
    model = models[name](PAIR, 40, sizes=TransformerSizes(dim=16, layers=2, heads=4), **knobs)
    source, target = batch(0)
    loss = torch.nn.functional.cross_entropy(model(source, target).flatten(0, 1), target.flatten().flip(0))
    assert 3 < loss < 6  # about log 40: no token is preferred yet
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    gl.save_pretrained(model.eval(), tmp_path / "x")
    assert_close(logits_of(load_theirs(tmp_path / "x"), source, target), model(source, target), rtol=0, atol=1e-4)
