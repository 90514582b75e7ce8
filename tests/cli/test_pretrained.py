"""`gradlab generate FOLDER` with models in the format of Hugging Face, and what is wrong with some."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_helpers import ForkServer, accept_changes, check_refused
from safetensors.torch import load_file, save_file

import gradlab as gl
from gradlab.cli.writer import Writer
from gradlab.data import Tokenizer
from gradlab.models import MaskedLanguageModel, TransformerEncoder, TransformerLanguageModel
from gradlab.models.language.presets import GPT2, LLAMA

TEXT = "the cat sat on the mat and the dog sat on the log.\n"
SIZES: dict[str, Any] = {"dim": 16, "layers": 1, "heads": 2}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train("char", [TEXT])


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    """A GPT-2 of random weights, with embeddings of more tokens than the tokenizer has."""
    torch.manual_seed(0)
    gl.save_pretrained(TransformerLanguageModel(40, 32, **SIZES, **GPT2), tmp_path / "gpt2", tokenizer=tokenizer)
    return tmp_path / "gpt2"


def generate(quick: ForkServer, folder: Path, *options: object, prompt: str = "the ") -> Any:
    return quick("generate", folder.name, "--prompt", prompt, "--max-tokens", 12, *options, cwd=folder.parent)


def change(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder: Path, changed: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = load_file(folder / "model.safetensors")
    changed(tensors)
    save_file(tensors, folder / "model.safetensors")


def test_a_folder_of_theirs_writes_like_a_run(quick: ForkServer, folder: Path) -> None:
    streamed, whole = generate(quick, folder).out, generate(quick, folder, "--no-stream").out
    assert streamed == whole
    assert streamed.startswith("the ")
    assert generate(quick, folder, "--seed", 1).out != streamed
    best, second = generate(quick, folder, "--beam", 3, "--n-best", 2, "--json").json["texts"]
    assert best["score"] >= second["score"]
    assert best["tokens"] == 12


@pytest.mark.slow  # for the seconds that loading transformers takes
def test_it_writes_what_transformers_writes(quick: ForkServer, folder: Path, tokenizer: Tokenizer) -> None:
    transformers = pytest.importorskip("transformers", reason="the peer is not installed")
    change(folder, eos_token_id=tokenizer.encode("s").tolist())
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    prompt = torch.from_numpy(tokenizer.encode("the "))[None]
    banned = list(range(len(tokenizer), 40))
    (row,) = model.generate(prompt, max_new_tokens=12, do_sample=False, pad_token_id=0, suppress_tokens=banned)
    want = tokenizer.decode(row[4:].tolist())
    (made,) = generate(quick, folder, "--temperature", 0, "--json").json["texts"]
    assert made == {"text": want, "tokens": len(row) - 4}


def test_a_text_ends_with_the_token_that_ends_it(quick: ForkServer, folder: Path, tokenizer: Tokenizer) -> None:
    whole = generate(quick, folder, "--json").json["texts"][0]
    change(folder, eos_token_id=tokenizer.encode(whole["text"][5]).tolist()[0])
    short = generate(quick, folder, "--json").json["texts"][0]
    assert short["text"] == whole["text"][: whole["text"].index(whole["text"][5]) + 1]
    assert short["tokens"] < whole["tokens"] == 12


def test_a_run_that_was_saved_writes_what_the_run_writes(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT * 60)
    small = [
        "model.dim=16",
        "model.layers=1",
        "model.heads=2",
        "data.context=32",
        "train.batch_size=8",
        "train.steps=5",
    ]
    asked = ["train", "text-gpt", "model=llama", "--data", "text.txt", *small, "train.schedule=constant"]
    ended = quick(*asked, "data.tokenizer=word", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    gl.save_pretrained(gl.load_run(tmp_path / "run"), tmp_path / "saved")
    written = [generate(quick, tmp_path / name, prompt="the cat").out for name in ("run", "saved")]
    assert written[0] == written[1]
    # Another tokenizer in either folder is not taken, be it too large or, where that is known, too small.
    for name, size in (("run", 3), ("run", 300), ("saved", 300)):
        other = Tokenizer.train("byte", ["a"]) if size == 300 else Tokenizer.train("char", ["ab"])
        other.save(tmp_path / name / "tokenizer.json")
        if name == "run":
            accept_changes(tmp_path / name)
        check_refused(
            generate(quick, tmp_path / name), "tokenizer.json does not fit the weights", f"{len(other)} tokens"
        )


def test_words_go_on_with_one_blank(tmp_path: Path) -> None:
    words = Tokenizer.train("word", [TEXT])
    prompt, (next_,) = words.encode("the cat").tolist(), words.encode("sat").tolist()
    writer = Writer(tmp_path, torch.nn.Identity(), words)
    assert [writer.decoding(prompt, text)(next_) for text in ("the cat", "the cat ")] == [" sat", "sat"]


def test_a_prompt_gets_the_special_tokens_of_the_tokenizer(quick: ForkServer, tmp_path: Path) -> None:
    import tokenizers

    torch.manual_seed(0)
    made = Tokenizer.train("char", [TEXT], special=["<bos>"])
    model = TransformerLanguageModel(len(made), 32, **SIZES, tied=False, **LLAMA)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    plain, marked = gl.save_pretrained(model, tmp_path / "plain", tokenizer=made), tmp_path / "marked"
    made.inner.post_processor = tokenizers.processors.TemplateProcessing(
        "<bos> $A", special_tokens=[("<bos>", made["<bos>"])]
    )
    gl.save_pretrained(model, marked, tokenizer=made)
    asked = torch.tensor([[made["<bos>"], *made.encode("the ").tolist()]])
    want = made.decode(gl.generate(model, asked, 12)[0, 5:].tolist())
    assert generate(quick, marked, "--temperature", 0).out == f"the {want}\n"
    assert generate(quick, plain, "--temperature", 0).out != f"the {want}\n"


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def cut_short(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def as_encoder(folder: Path) -> None:
    encoder = TransformerEncoder(40, 32, **SIZES)
    shutil.move(folder / "tokenizer.json", folder.parent)
    shutil.rmtree(folder)
    gl.save_pretrained(MaskedLanguageModel(encoder), folder)
    shutil.move(folder.parent / "tokenizer.json", folder)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: change(folder, architectures=["T5Model"]), ["T5Model", "It reads: GPT2LMHeadModel, Llama"]),
        (lambda folder: change(folder, n_embd=[]), ["config.json: n_embd= is not valid"]),
        (lambda folder: (folder / "config.json").write_text("{"), ["config.json is damaged"]),
        (lambda folder: (folder / "config.json").write_text("[]"), ["config.json is damaged"]),
        (without("config.json"), ["is not a run: it has no recipe.toml"]),
        (without("model.safetensors"), ["model.safetensors is missing"]),
        (cut_short, ["model.safetensors is damaged"]),
        (lambda folder: (folder / "model.safetensors").write_text("pickle"), ["model.safetensors is damaged"]),
        (
            lambda folder: change_weights(folder, lambda tensors: tensors.pop("transformer.ln_f.bias")),
            ["there is no transformer.ln_f.bias"],
        ),
        (
            lambda folder: change_weights(folder, lambda t: t.update({"transformer.ln_f.bias": torch.ones(3)})),
            ["the shape of transformer.ln_f.bias is 3 instead of 16"],
        ),
        (without("tokenizer.json"), ["tokenizer.json is missing", "tokenizer.save_pretrained"]),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), ["tokenizer.json is damaged"]),
        (
            lambda folder: Tokenizer.train("byte", ["a"]).save(folder / "tokenizer.json"),
            ["tokenizer.json does not fit the weights: it has 256 tokens, and the model has embeddings of 40"],
        ),
        (as_encoder, ["holds an encoder", "Give a language model"]),
    ],
)
def test_bad_folders_are_told(quick: ForkServer, folder: Path, spoil: Callable[[Path], None], told: list[str]) -> None:
    assert generate(quick, folder).code == 0
    spoil(folder)
    check_refused(generate(quick, folder), *told)


def test_a_run_of_an_encoder_does_not_write(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT * 60)
    small = [
        "model.dim=16",
        "model.layers=1",
        "model.heads=2",
        "data.context=16",
        "train.batch_size=8",
        "train.steps=2",
    ]
    asked = ["train", "text-bert", "--data", "text.txt", *small, "train.schedule=constant"]
    ended = quick(*asked, "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_refused(generate(quick, tmp_path / "run"), "neither writes nor draws: its task is masked")
