"""The same logits as `transformers` has with the same weights, read from its folders and written for it."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import gradlab as gl
from gradlab.data import Tokenizer
from gradlab.errors import GradlabError
from gradlab.models import (
    MaskedLanguageModel,
    RecurrentLanguageModel,
    TextClassifier,
    TransformerEncoder,
    TransformerLanguageModel,
)
from gradlab.models.language.presets import GPT2, LLAMA

transformers = pytest.importorskip("transformers", reason="the peer, Hugging Face's transformers, is not installed")

SIZES = {"vocab_size": 40, "bos_token_id": None, "eos_token_id": None, "initializer_range": 0.4}
GPT2_SIZES = {"n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 4, **SIZES}
WIDTHS = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "max_position_embeddings": 16, **SIZES}
LLAMA_SIZES = {"num_attention_heads": 4, **WIDTHS}
BERT_SIZES = {"num_attention_heads": 4, **WIDTHS}
TOKENS = torch.randint(1, 40, (3, 9), generator=torch.Generator().manual_seed(1))


def gpt2(**changes):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**GPT2_SIZES, **changes}))


def llama(**changes):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**LLAMA_SIZES, **changes}))


def masked(**changes):
    return transformers.BertForMaskedLM(transformers.BertConfig(**{**BERT_SIZES, **changes}))


def classifier(**changes):
    config = transformers.BertConfig(num_labels=3, **{**BERT_SIZES, **changes})
    return transformers.BertForSequenceClassification(config)


def rotation(base):
    return {"rope_theta": base, "rope_type": "default"}


THEIRS = {
    "gpt2": gpt2,
    "gpt2, of other settings": lambda: gpt2(
        n_inner=20, layer_norm_epsilon=0.1, activation_function="gelu", tie_word_embeddings=False
    ),
    "llama": llama,
    "llama, of other settings": lambda: llama(
        rms_norm_eps=0.1, rope_parameters=rotation(50.0), tie_word_embeddings=True
    ),
    "llama, two heads a key": lambda: llama(num_key_value_heads=2),
    "llama, one key for all": lambda: llama(num_key_value_heads=1),
    "llama, heads of their own size": lambda: llama(num_key_value_heads=2, head_dim=6),
    "bert": masked,
    "bert, of other settings": lambda: masked(
        layer_norm_eps=0.1, hidden_act="gelu_new", type_vocab_size=3, pad_token_id=None
    ),
    "classifier": classifier,
}
AUTO = {
    "GPT2LMHeadModel": "AutoModelForCausalLM",
    "LlamaForCausalLM": "AutoModelForCausalLM",
    "BertForMaskedLM": "AutoModelForMaskedLM",
    "BertForSequenceClassification": "AutoModelForSequenceClassification",
}
LAYERS = {"dim": 16, "layers": 2, "heads": 4}


def shaken(model, dtype=torch.float64):
    """With weights so large that every one of them matters, gains and biases too."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model.to(dtype).eval()


def tolerance(name, dtype):
    """Their Llama normalises and turns in float32, whatever the dtype of its weights."""
    if dtype == torch.float32:
        return 1e-4
    return 1e-5 if "llama" in name.lower() else 1e-9


def check_close(ours, theirs, atol):
    assert ours.dtype == theirs.dtype
    assert_close(ours, theirs, rtol=0, atol=atol)


def load_theirs(folder):
    """As a user of transformers would, with nothing missing and nothing left over."""
    (name,) = json.loads((folder / "config.json").read_text())["architectures"]
    model, told = getattr(transformers, AUTO[name]).from_pretrained(folder, output_loading_info=True)
    assert not any(told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"))
    assert type(model).__name__ == name
    return model.eval()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", THEIRS)
@torch.no_grad()
def test_their_models_give_the_same_logits_here_and_when_they_come_back(tmp_path, name, dtype):
    theirs = shaken(THEIRS[name](), dtype)
    theirs.save_pretrained(tmp_path / "there")
    ours = gl.from_pretrained(tmp_path / "there")
    assert not ours.training
    want, atol = theirs(TOKENS).logits, tolerance(name, dtype)
    check_close(ours(TOKENS), want, atol)
    gl.save_pretrained(ours, tmp_path / "back")
    check_close(load_theirs(tmp_path / "back")(TOKENS).logits, want, atol)
    there, back = (load_file(tmp_path / folder / "model.safetensors") for folder in ("there", "back"))
    assert {n: t.shape for n, t in back.items()} == {n: t.shape for n, t in there.items() if n in back}


def encoder(**options):
    return TransformerEncoder(40, 16, **LAYERS, **options)


OURS = {
    "gpt2": lambda: TransformerLanguageModel(40, 16, **LAYERS, dropout=0.2, eps=0.1, **GPT2),
    "gpt2, by tanh": lambda: TransformerLanguageModel(40, 16, **LAYERS, hidden=20, approximate="tanh", **GPT2),
    "gpt2, untied": lambda: TransformerLanguageModel(40, 16, **LAYERS, tied=False, **GPT2),
    "llama": lambda: TransformerLanguageModel(40, 16, **LAYERS, eps=0.1, rotary_base=50.0, tied=False, **LLAMA),
    "llama, grouped": lambda: TransformerLanguageModel(40, 16, **LAYERS, key_heads=2, head_dim=6, **LLAMA),
    "llama, tied": lambda: TransformerLanguageModel(40, 16, **LAYERS, hidden=20, dropout=0.2, **LLAMA),
    "bert": lambda: MaskedLanguageModel(encoder(eps=0.1, dropout=0.2)),
    "bert, by tanh": lambda: MaskedLanguageModel(encoder(approximate="tanh", types=3, padding=None)),
    "classifier": lambda: TextClassifier(encoder(hidden=20, types=2), 5, dropout=0.3),
    "classifier, without types": lambda: TextClassifier(encoder(padding=7), 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", OURS)
@torch.no_grad()
def test_our_models_give_the_same_logits_there_and_when_they_come_back(tmp_path, name, dtype):
    ours = shaken(OURS[name](), dtype)
    tokens = TOKENS.clamp(min=8)  # nothing that is padding: without a mask their encoders look at it
    gl.save_pretrained(ours, tmp_path / "x")
    want = ours(tokens)
    check_close(load_theirs(tmp_path / "x")(tokens).logits, want, tolerance(name, dtype))
    back = gl.from_pretrained(tmp_path / "x")
    check_close(back(tokens), want, 0)
    made, again = (getattr(model, "encoder", model).settings for model in (ours, back))
    for setting in {"dropout", "padding"} & vars(made).keys():
        assert getattr(again, setting) == getattr(made, setting)


@pytest.mark.parametrize("name", ["bert", "classifier"])
@torch.no_grad()
def test_encoders_see_padding_and_types_as_theirs_do(tmp_path, name):
    theirs = shaken(THEIRS[name]())
    theirs.save_pretrained(tmp_path)
    ours = gl.from_pretrained(tmp_path)
    tokens, types = TOKENS.clone(), (torch.arange(9) > 4).long().expand(3, 9)
    tokens[0, 6:], tokens[1, 3:] = 0, 0
    real = tokens != 0
    want = theirs(tokens, attention_mask=real.long(), token_type_ids=types).logits
    where = real if name == "bert" else slice(None)
    check_close(ours(tokens, types=types)[where], want[where], 1e-9)
    check_close(ours(tokens, real, types)[where], want[where], 1e-9)
    everything = torch.ones_like(real)
    check_close(ours(tokens, everything, types), theirs(tokens, token_type_ids=types).logits, 1e-9)
    assert not torch.allclose(ours(tokens, types=types)[where], ours(tokens)[where])


@torch.no_grad()
def test_a_bert_without_a_head_is_an_encoder(tmp_path):
    theirs = shaken(transformers.BertModel(transformers.BertConfig(**BERT_SIZES)))
    theirs.save_pretrained(tmp_path)
    check_close(gl.from_pretrained(tmp_path)(TOKENS), theirs(TOKENS).last_hidden_state, 1e-9)


@torch.no_grad()
def test_weights_may_lie_in_several_files(tmp_path):
    theirs = shaken(llama())
    theirs.save_pretrained(tmp_path, max_shard_size="5KB")
    assert len([*tmp_path.glob("*.safetensors")]) > 2
    check_close(gl.from_pretrained(tmp_path)(TOKENS), theirs(TOKENS).logits, 1e-5)
    next(tmp_path.glob("model-00002*")).unlink()
    with pytest.raises(GradlabError, match=r"model-00002-of-\d+.safetensors is missing"):
        gl.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["a" * 300 + ".safetensors", "../x.safetensors", "config.json", ""])
def test_an_index_names_files_of_weights_in_its_folder(tmp_path, name):
    gl.save_pretrained(OURS["gpt2"](), tmp_path / "x")
    (tmp_path / "x" / "model.safetensors").unlink()
    (tmp_path / "x" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": name}}))
    with pytest.raises(GradlabError, match="its weight_map must name files of its folder"):
        gl.from_pretrained(tmp_path / "x")


def renamed(folder, new_name, more=None):
    tensors = load_file(folder / "model.safetensors")
    save_file({new_name(k): v for k, v in tensors.items()} | (more or {}), folder / "model.safetensors")


@torch.no_grad()
def test_files_of_older_makes_are_read(tmp_path):
    theirs = shaken(gpt2())
    theirs.save_pretrained(tmp_path / "gpt2")
    buffers = {"h.0.attn.bias": torch.ones(1, 1, 16, 16), "lm_head.weight": theirs.lm_head.weight.clone()}
    renamed(tmp_path / "gpt2", lambda name: name.removeprefix("transformer."), buffers)
    check_close(gl.from_pretrained(tmp_path / "gpt2")(TOKENS), theirs(TOKENS).logits, 1e-9)

    theirs = shaken(masked())
    theirs.save_pretrained(tmp_path / "bert")
    norms = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    heads = {"cls.seq_relationship.weight": torch.ones(2, 16), "bert.pooler.dense.bias": torch.ones(16)}

    def old(name):
        return next((name.replace(new, o) for new, o in norms.items() if name.endswith(new)), name)

    renamed(tmp_path / "bert", old, heads)
    check_close(gl.from_pretrained(tmp_path / "bert")(TOKENS), theirs(TOKENS).logits, 1e-9)

    theirs = shaken(llama(rope_parameters=rotation(50.0)))
    theirs.save_pretrained(tmp_path / "llama")
    change(tmp_path / "llama", rope_parameters=None, rope_theta=50.0, rope_scaling=None)
    check_close(gl.from_pretrained(tmp_path / "llama")(TOKENS), theirs(TOKENS).logits, 1e-5)


def change(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("make", "changes", "told"),
    [
        (gpt2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=true is not supported"),
        (gpt2, {"activation_function": "relu"}, "activation_function=relu is not valid"),
        (gpt2, {"n_embd": -1}, "n_embd=-1 is not valid"),
        (gpt2, {"n_head": 3}, "embed_dim must be a multiple of num_heads"),
        (gpt2, {"attn_pdrop": 0.5}, r"attn_pdrop=0.5. The model here has one probability for all"),
        (gpt2, {"attn_pdrop": "a", "resid_pdrop": "a", "embd_pdrop": "a"}, "must be a probability"),
        (gpt2, {"quantization_config": {"bits": 4}}, "quantization_config="),
        (llama, {"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, 'rope_type="llama3" is not supported'),
        (llama, {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2}}, 'rope_type="linear"'),
        (llama, {"attention_bias": True}, "attention_bias=true is not supported"),
        (llama, {"hidden_act": "gelu"}, 'hidden_act="gelu" is not supported'),
        (llama, {"head_dim": 8}, "q_proj.weight is 16 × 16 instead of 32 × 16"),
        (llama, {"num_key_value_heads": 3}, "must be a multiple of num_key_value_heads, got 4 and 3"),
        (masked, {"position_embedding_type": "relative_key"}, 'position_embedding_type="relative_key"'),
        (masked, {"tie_word_embeddings": False}, "tie_word_embeddings=false is not supported"),
        (masked, {"is_decoder": True}, "is_decoder=true is not supported"),
        (masked, {"architectures": ["T5Model"]}, r"names the architecture T5Model.*It reads: GPT2LMHeadModel, Llama"),
        (masked, {"architectures": None}, "names no architecture"),
        (masked, {"vocab_size": 41}, "word_embeddings.weight is 40 × 16 instead of 41 × 16"),
        (gpt2, {"n_layer": 3}, "there is no transformer.h.2.ln_1.weight, .* and 9 more"),
        (gpt2, {"n_layer": 1}, "a GPT2LMHeadModel has no transformer.h.1"),
        (llama, {"num_key_value_heads": 2}, "k_proj.weight is 16 × 16 instead of 8 × 16"),
        (gpt2, {"tie_word_embeddings": False}, "there is no lm_head.weight"),
        (llama, {"tie_word_embeddings": True}, "tied to another, but not equal is lm_head.weight"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(tmp_path, make, changes, told):
    make().save_pretrained(tmp_path)
    gl.from_pretrained(tmp_path)
    change(tmp_path, **changes)
    with pytest.raises(GradlabError, match=told):
        gl.from_pretrained(tmp_path)


def test_dropouts_that_differ_are_settled_by_one(tmp_path):
    gpt2(attn_pdrop=0.5).save_pretrained(tmp_path)
    assert gl.from_pretrained(tmp_path, dropout=0.25).dropout.p == 0.25


def test_pickles_and_numbers_of_other_kinds_are_not_read(tmp_path):
    gpt2().save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["transformer.ln_f.weight"] = torch.ones(16, dtype=torch.int8)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(GradlabError, match=r"the type of transformer.ln_f.weight is torch.int8"):
        gl.from_pretrained(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(GradlabError, match=r"model.safetensors is missing. pytorch_model.bin is a pickle"):
        gl.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, position="alibi"), "has position=learned.*position=alibi"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, attention="linear"), "attention=linear"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, key_heads=2), "has key_heads=none.*key_heads=2"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, head_dim=6), "head_dim=6"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, norm_first=False), "norm_first=false"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, **(LLAMA | {"norm": "layer"})), "LlamaForC.*norm=layer"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, **(LLAMA | {"bias": True})), "bias=true"),
        (lambda: TransformerLanguageModel(40, 16, **LAYERS, **(GPT2 | {"gated": True})), "gated=true"),
        (lambda: MaskedLanguageModel(encoder(norm_first=True)), "norm_first=true"),
        (lambda: TextClassifier(encoder(), 3, pooling="mean"), "has pooling=first.*pooling=mean"),
        (encoder, "A TransformerEncoder has no format of Hugging Face"),
        (lambda: RecurrentLanguageModel(40, dim=8, layers=1, cell="gru"), "A RecurrentLanguageModel has no format"),
    ],
)
def test_a_model_that_they_have_not_is_refused_and_nothing_is_written(tmp_path, make, told):
    with pytest.raises(GradlabError, match=told):
        gl.save_pretrained(make(), tmp_path / "x")
    assert not [*tmp_path.iterdir()]


def test_weights_that_they_have_not_are_refused(tmp_path):
    model = TransformerLanguageModel(40, 16, **LAYERS)
    model.layers[1].extra = torch.nn.Linear(2, 2)
    with pytest.raises(GradlabError, match=r"weights that a GPT2LMHeadModel has not: layers.1.extra.bias"):
        gl.save_pretrained(model, tmp_path / "x")


def test_a_folder_that_is_there_stays_as_it_is(tmp_path):
    model = TransformerLanguageModel(40, 16, **LAYERS)
    gl.save_pretrained(model, tmp_path / "x")
    before = (tmp_path / "x" / "model.safetensors").read_bytes()
    with pytest.raises(GradlabError, match="exists already"):
        gl.save_pretrained(shaken(model), tmp_path / "x")
    assert (tmp_path / "x" / "model.safetensors").read_bytes() == before


def test_their_tokenizers_read_ours(tmp_path):
    tokenizer = Tokenizer.train("bpe", ["the cat sat on the mat"], vocabulary=270)
    model = TransformerLanguageModel(270, 16, **LAYERS)
    gl.save_pretrained(model, tmp_path / "x", tokenizer=tokenizer)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "x")
    assert theirs("the mat sat")["input_ids"] == tokenizer.encode("the mat sat").tolist()
    with pytest.raises(GradlabError, match="it has 268 tokens, and the model has embeddings of 40"):
        gl.save_pretrained(TransformerLanguageModel(40, 16, **LAYERS), tmp_path / "y", tokenizer=tokenizer)
    assert not (tmp_path / "y").exists()


def test_reading_draws_no_random_numbers(tmp_path):
    gpt2().save_pretrained(tmp_path)
    before = torch.get_rng_state()
    gl.from_pretrained(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)
