"""Language models: trained, judged, resumed, and let write."""

import json
import re
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, gradlab

SMALL = ["model.dim=16", "model.layers=1", "data.context=16", "train.batch_size=8"]
GPT = [*SMALL, "model.heads=2", "train.steps=30", "train.schedule=constant"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("language")
    (made / "text.txt").write_text("the cat sat on the mat and the dog sat on the log.\n" * 60)
    return made


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    ended = gradlab("train", "text-gpt", "--data", "text.txt", *GPT, "--out", "gpt", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "gpt"


def test_a_text_becomes_a_run_with_its_tokenizer_and_a_report(run: Path) -> None:
    assert (run / "tokenizer.json").exists()
    report = (run / "report.html").read_text()
    assert "What it writes" in report
    assert "gradlab generate" in report


def test_the_figures_stand_beside_counted_trigrams(quick: ForkServer, run: Path, folder: Path) -> None:
    figures = quick("evaluate", "gpt", "--json", cwd=folder).json
    assert {"loss", "perplexity", "bits_per_byte"} <= set(figures)
    result = json.loads((run / "result.json").read_text())
    assert figures["baselines"] == result["baselines"]["test"]
    assert list(figures["baselines"]) == ["uniform", "counted trigrams"]
    assert figures["baselines"]["uniform"]["perplexity"] == pytest.approx(256, rel=1e-5)
    assert result["baseline"]["name"] == "counted trigrams"
    assert result["baseline"]["test"] == figures["baselines"]["counted trigrams"]
    shown = quick("evaluate", "gpt", "--split", "train", cwd=folder).out
    assert re.search(r"bits_per_byte +\d\.\d+ +8\.0000 +[01]\.\d+", shown)
    assert "baseline (counted trigrams), train" in " ".join(shown.split())
    assert re.search(r"uniform</dt><dd>256\..{,60}counted trigrams", (run / "report.html").read_text(), re.DOTALL)


def test_a_short_training_is_not_better_than_trigrams_and_says_so(run: Path) -> None:
    best = json.loads((run / "result.json").read_text())["best_baseline"]
    assert (best["metric"], best["baseline"], best["better"]) == ("perplexity", "counted trigrams", False)
    assert best["standard_error"] > 0
    assert "It is not better than counted trigrams: test perplexity" in (run / "report.html").read_text()


def test_epochs_stand_instead_of_the_steps_of_a_recipe(quick: ForkServer, folder: Path) -> None:
    """Text recipes have steps: epochs that were asked for must not be passed over in silence."""
    asked = ("train", "text-gpt", "--data", "text.txt", *SMALL, "model.heads=2", "train.epochs=2", "--json")
    assert quick(*asked, "--out", "epochs", cwd=folder).code == 0
    last = json.loads((folder / "epochs" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["epoch"] == 2


@pytest.mark.parametrize("recipe", ["text-lstm"])
@pytest.mark.parametrize("cell", ["rnn", "gru"])
def test_recurrent_models_train_too(quick: ForkServer, folder: Path, recipe: str, cell: str) -> None:
    options = ["train.steps=5", "train.schedule=constant", f"model.cell={cell}"]
    ended = quick("train", recipe, "--data", "text.txt", *SMALL, *options, "--out", cell, "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["perplexity"] > 1


def test_a_training_goes_on_and_ends_with_a_perplexity_that_is_infinite(quick: ForkServer, folder: Path) -> None:
    """A hidden state is bounded, so that huge weights have huge, finite losses."""
    huge = ["train.steps=6", "train.schedule=constant", "train.optimizer=adam", "train.lr=3000", "train.keep=last"]
    ended = quick("train", "text-lstm", "--data", "text.txt", *SMALL, *huge, "--out", "huge", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    lines = [json.loads(line) for line in (folder / "huge" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["loss"] > 710
    for figures in (ended.json["test"], lines[-1]):
        assert figures["perplexity"] is None
        assert figures["bits_per_byte"] > 1000
    assert re.search(r"perplexity +inf", quick("evaluate", "huge", cwd=folder).out)
    assert quick("report", "huge", cwd=folder).code == 0


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_every_kind_of_token(quick: ForkServer, folder: Path, kind: str) -> None:
    options = [f"data.tokenizer={kind}", "data.vocabulary=300", "data.context=8"]
    ended = quick("train", "text-gpt", "--data", "text.txt", *GPT, *options, "--out", kind, "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert ("bits_per_byte" in ended.json["test"]) == (kind != "word")
    written = quick("generate", kind, "--prompt", "the cat", "--max-tokens", 1, "--json", cwd=folder)
    assert written.code == 0, written.err


def test_counted_trigrams_are_a_run_too(quick: ForkServer, folder: Path) -> None:
    ended = quick("train", "pydoc-ngram", "--out", "ngram", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert 2 < ended.json["test"]["bits_per_byte"] < 3
    text = quick("generate", "ngram", "--prompt", "The ", "--max-tokens", 50, "--no-stream", cwd=folder).out
    assert text.startswith("The ")
    again = quick("evaluate", "ngram", "--json", cwd=folder).json
    assert again["perplexity"] == pytest.approx(ended.json["test"]["perplexity"])
    assert list(again["baselines"]) == ["uniform", "counted bigrams"]


def test_counting_is_told_as_one_pass_and_draws_no_curves(quick: ForkServer, folder: Path) -> None:
    asked = ["train", "text-gpt", "--data", "text.txt", "model=ngram"]
    told = quick(*asked, "train.steps=1", "train.schedule=constant", "--out", "counted", "--plain", cwd=folder).out
    assert "one pass over the training split, without gradients" in told
    assert "learning rate" not in told
    report = (folder / "counted" / "report.html").read_text()
    assert "for 1 epoch (1 step)" in report
    assert "Gradient norm" not in report
    assert "train sample" not in report
    check_refused(quick(*asked, "train.schedule=constant", cwd=folder), "learns all there is in 1 step")


def test_a_stopped_run_goes_on_to_the_same_bits(quick: ForkServer, folder: Path, run: Path) -> None:
    whole = ["train", "text-gpt", "--data", "text.txt", *GPT, "train.checkpoint_every=10"]
    assert quick(*whole, "--out", "whole", cwd=folder).code == 0
    assert quick(*whole, "--out", "half", cwd=folder).code == 0
    for step in (20, 30):
        for part in sorted((folder / "half" / "checkpoints").glob(f"step-*{step}")):
            for file in part.iterdir():
                file.unlink()
            part.rmdir()
    (folder / "half" / "result.json").unlink()
    assert quick("resume", "half", cwd=folder).code == 0
    last = [next((folder / name / "checkpoints").glob("step-*30")) for name in ("whole", "half")]
    assert (last[0] / "model.safetensors").read_bytes() == (last[1] / "model.safetensors").read_bytes()


@pytest.mark.parametrize("recipe", ["text-gpt", "text-lstm"])
def test_checkpoints_by_the_clock_change_no_bit(quick: ForkServer, folder: Path, recipe: str) -> None:
    """The warm-up is a tenth of the run by itself, so that so short a one needs no other schedule."""
    model = ["model.heads=2"] if recipe == "text-gpt" else []
    asked = ["train", recipe, "--data", "text.txt", *SMALL, *model, "train.steps=300", "train.checkpoints=99"]
    ends = {}
    for name, minutes in (("never", 1000), ("often", 0.0005)):
        ended = quick(*asked, f"train.checkpoint_minutes={minutes}", "--out", f"{recipe}-{name}", cwd=folder)
        assert ended.code == 0, ended.err
        run = folder / f"{recipe}-{name}"
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        saved = sorted(path.name for path in (run / "checkpoints").iterdir())
        weights = (run / "checkpoints" / saved[-1] / "model.safetensors").read_bytes()
        ends[name] = saved, weights, [{**line, "seconds": 0} for line in lines]
    assert ends["never"][0] == ["step-00000300"]
    assert len(ends["often"][0]) > 2
    assert ends["never"][1:] == ends["often"][1:]


def test_the_same_seed_writes_the_same_text_streamed_or_not(quick: ForkServer, run: Path, folder: Path) -> None:
    asked = ["generate", "gpt", "--prompt", "the ", "--max-tokens", 10, "--temperature", 0.8, "--top-k", 20]
    streamed, whole = quick(*asked, cwd=folder).out, quick(*asked, "--no-stream", cwd=folder).out
    assert streamed == whole
    assert streamed.startswith("the ")
    assert quick(*asked, "--seed", 1, cwd=folder).out != streamed
    (made,) = quick(*asked, "--json", cwd=folder).json["texts"]
    assert f"the {made['text']}\n" == streamed


def test_a_beam_search_shows_its_best_and_its_tree(quick: ForkServer, run: Path, folder: Path) -> None:
    asked = ["generate", "gpt", "--prompt", "the ", "--max-tokens", 3, "--beam", 3]
    shown = quick(*asked, "--n-best", 2, "--json", cwd=folder).json["texts"]
    assert shown[0]["score"] >= shown[1]["score"]
    tree = quick(*asked, "--tree", cwd=folder).out
    assert tree.startswith("START\n")
    assert re.search(r"├─ '.' −\d+\.\d ●", tree)


def test_a_prompt_may_be_a_file(quick: ForkServer, run: Path, folder: Path) -> None:
    (folder / "begin.txt").write_text("the dog")
    out = quick("generate", "gpt", "--prompt-file", "begin.txt", "--max-tokens", 3, "--no-stream", cwd=folder).out
    assert out.startswith("the dog")


@pytest.mark.parametrize("how", [["--temperature", 0], ["--beam", 2], ["--seed", 3]], ids=str)
def test_it_goes_on_beyond_its_context(quick: ForkServer, run: Path, folder: Path, how: list[object]) -> None:
    """The context is 16 tokens."""
    asked = ["generate", "gpt", "--prompt", "the ", *how, "--json"]
    short, long = (quick(*asked, "--max-tokens", n, cwd=folder) for n in (12, 60))
    assert long.code == 0, long.err
    (first,), (text,) = short.json["texts"], long.json["texts"]
    assert text["tokens"] == 60
    if "--beam" not in how:
        assert text["text"].startswith(first["text"])


def test_of_a_prompt_longer_than_the_context_it_sees_the_end(quick: ForkServer, run: Path, folder: Path) -> None:
    """The last 9 to 16 tokens: with 17 of them, those from the ninth on."""
    asked = ["--max-tokens", 5, "--temperature", 0, "--json"]
    long = quick("generate", "gpt", "--prompt", "xxxxxxxx the cat ", *asked, cwd=folder)
    short = quick("generate", "gpt", "--prompt", " the cat ", *asked, cwd=folder)
    assert long.json["texts"] == short.json["texts"]
    assert "The prompt has 17 tokens, and the model sees at most 16 at a time" in long.err
    assert short.err == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--prompt", ""], "The prompt is empty"),
        (["--prompt", "a", "--max-tokens", "0"], "max_new_tokens"),
        (["--prompt", "a", "--max-tokens", "-3"], "max_new_tokens"),
        (["--prompt", "a", "--beam", "0"], "beam"),
        (["--prompt", "a", "--temperature", "-1"], "temperature"),
        (["--prompt", "a", "--top-k", "0"], "top_k"),
        (["--prompt", "a", "--top-p", "1.5"], "top_p"),
        (["--prompt", "a", "--top-p", "0"], "top_p"),
        (["--prompt", "a", "--beam", "2", "--temperature", "1"], "A beam search draws nothing"),
        (["--prompt", "a", "--tree"], "give --beam K too"),
        (["--prompt", "a", "--prompt-file", "b"], "choose one"),
        (["--prompt-file", "absent.txt"], "absent.txt cannot be read"),
    ],
)
def test_bad_input_is_told(quick: ForkServer, run: Path, folder: Path, arguments: list[str], told: str) -> None:
    check_refused(quick("generate", "gpt", *arguments, cwd=folder), told)


def test_text_that_cannot_be_learned_from_is_told(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "short.txt").write_text("one\ntwo\nthree\n" * 3)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("1,2")
    (tmp_path / "latin.txt").write_bytes(b"gr\xfc\xdfe\n" * 10)
    for name, told in {
        "empty.txt": "is empty",
        "short.txt": "too short",
        "latin.txt": "latin.txt is not UTF-8: byte 2 (from 0) is 0xfc",
        "tables": "has no file in it that ends in .txt",
        "absent.txt": "neither a file nor a folder",
    }.items():
        check_refused(quick("train", "text-gpt", "--data", name, "--out", "x", cwd=tmp_path), told)
        assert not (tmp_path / "x").exists()


def test_tasks_and_data_that_do_not_fit_are_told(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("train", "digits-mlp", "task=language", "--out", "x", cwd=tmp_path), "holds no text")
    check_refused(quick("train", "pydoc-gpt", "task=classify", "--out", "x", cwd=tmp_path), "is text")
    for recipe in ("pydoc-gpt", "docstrings-bag"):
        ended = quick("train", recipe, "model=mlp", "--out", "x", cwd=tmp_path)
        check_refused(ended, "model=mlp takes arrays of numbers", "are texts of up to")
    check_refused(quick("train", "pydoc-gpt", "model=bert", "--out", "x", cwd=tmp_path), "use task=masked")
    assert not (tmp_path / "x").exists()


def test_a_language_model_does_not_predict_and_others_do_not_write(quick: ForkServer, run: Path, folder: Path) -> None:
    check_refused(quick("predict", "gpt", "1,2", cwd=folder), "use gradlab generate")
    assert quick("train", "iris-softmax", "--out", "iris", "--json", cwd=folder).code == 0
    check_refused(quick("generate", "iris", "--prompt", "a", cwd=folder), "neither writes nor draws")


def test_unknown_characters_of_a_prompt_are_told(quick: ForkServer, folder: Path) -> None:
    asked = ["train", "text-gpt", "--data", "text.txt", *SMALL, "model.heads=2", "data.tokenizer=char"]
    short = ["train.steps=1", "train.schedule=constant"]
    assert quick(*asked, *short, "--out", "letters", "--json", cwd=folder).code == 0
    check_refused(quick("generate", "letters", "--prompt", "the ⊕", cwd=folder), "'⊕'")


def test_temperature_zero_is_the_likeliest_token_each_time(quick: ForkServer, run: Path, folder: Path) -> None:
    asked = ["generate", "gpt", "--prompt", "the ", "--max-tokens", 8, "--temperature", 0]
    texts = {quick(*asked, "--seed", seed, cwd=folder).out for seed in (0, 1)}
    assert len(texts) == 1


@pytest.mark.slow
def test_studies_of_a_text(quick: ForkServer, run: Path, folder: Path) -> None:
    asked = ["train", "text-gpt", "--data", "text.txt", *GPT, "train.steps=3"]
    assert quick(*asked, "--find-lr", "--out", "rates", "--json", cwd=folder).code == 0
    points = quick(*asked, "--curve", "--out", "curve", "--json", cwd=folder).json["points"]
    assert [p["examples"] for p in points] == sorted({p["examples"] for p in points})
    assert points[0]["train"]["perplexity"] > 1
    varied = quick(*asked, "--vary", "train.lr=1e-3,1e-2", "--out", "varied", "--json", cwd=folder)
    assert varied.code == 0, varied.err
    swept = quick("sweep", *asked[1:], "train.lr=1e-3,1e-2", "--trials", 2, "--out", "swept", "--json", cwd=folder)
    assert swept.code == 0, swept.err
    check_refused(quick(*asked, "--folds", 3, "--out", "folds", cwd=folder), "--seeds 5")
    seeds = quick(*asked, "--seeds", 2, "--out", "seeds", "--json", cwd=folder).json
    assert seeds["spread"]["perplexity"]["mean"] > 1


def test_a_language_model_is_checked_before_it_is_trained(quick: ForkServer, folder: Path) -> None:
    asked = ["train", "text-gpt", "--data", "text.txt", *GPT, "train.lr=1e-2", "train.steps=60", "--check"]
    ended = quick(*asked, "--out", "checked", "--plain", cwd=folder)
    assert ended.code == 0, ended.out + ended.err
    for name in ("initial loss", "by heart", "inputs matter"):
        assert re.search(f"passed +[^\n]*{name}", ended.out), ended.out
