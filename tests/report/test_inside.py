"""A probe as values, tables and a page, for runs of every kind and for strangers' modules."""

import json
import math
import re

import numpy as np
import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.api import prepare
from gradlab.probes.tables import TextTable, visible
from gradlab.training import experiment

TEXT = "the cat sat on the mat and the dog sat on the log.\n" * 40
LANGUAGE = {"data.context": 12, "train.steps": 1, "train.batch_size": 4, "train.schedule": "constant"}
GPT = {"model.dim": 8, "model.layers": 2, "model.heads": 2}
RNN = {"model.dim": 8, "model.layers": 2}

RECIPES = {
    "digits-mlp": {"train.epochs": 1},
    "iris-softmax": {"train.epochs": 1},
    "diabetes-linear": {"train.epochs": 1},
    "curve-fitting": {"train.epochs": 1},
    "breast-cancer-logistic": {"train.epochs": 1},
    "counts-poisson": {"train.epochs": 1},
    "moons-mlp": {"train.epochs": 1, "model.batch_norm": True},
}
TEXTS = {
    "softmax": ("text-gpt", GPT),
    "linear": ("text-gpt", {**GPT, "model.attention": "linear", "model.position": "rotary"}),
    "alibi": ("text-gpt", {**GPT, "model.position": "alibi", "model.gated": True, "model.norm": "rms"}),
    "bpe": ("text-gpt", {**GPT, "data.tokenizer": "bpe", "data.vocabulary": 300}),
    "word": ("text-gpt", {**GPT, "data.tokenizer": "word"}),
    "rnn": ("text-lstm", {**RNN, "model.cell": "rnn"}),
    "lstm": ("text-lstm", RNN),
    "gru": ("text-lstm", {**RNN, "model.cell": "gru"}),
    "ngram": ("text-gpt", {"model": "ngram"}),
}


def train(recipe, values, out, data=None):
    """As `gl.train`, without a report."""
    return experiment.start(prepare(recipe, values, data=data), out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("probed")
    (made / "text.txt").write_text(TEXT)
    return made


@pytest.fixture(scope="module")
def texts(folder):
    made = {}

    def run(kind):
        if kind not in made:
            recipe, values = TEXTS[kind]
            made[kind] = train(recipe, {**values, **LANGUAGE}, folder / kind, folder / "text.txt")
        return made[kind]

    return run


def check_whole(probe, path):
    """Its JSON is JSON, its text has its tables, and its page fetches nothing."""
    json.dumps(probe.plain(), allow_nan=False)
    for table in probe.tables():
        assert table.title in str(probe)
    page = probe.to_html(path).read_text().partition("<script>")[0]  # without plotly.js, which has addresses in it
    assert probe.on in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    return page


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_kind_of_table_and_picture(recipe, tmp_path):
    run = train(recipe, RECIPES[recipe], tmp_path / "run")
    probe = gl.probe(run)
    assert probe.layers[-1].shape == (run.task.outputs,)
    assert sum(layer.parameters for layer in probe.layers) == run.finished["parameters"]
    assert all(layer.gradient is not None for layer in probe.layers)
    assert "Layer by layer" in check_whole(probe, tmp_path / "probe.html")
    x, y = run.dataset.validation.sample(32).inputs, run.dataset.validation.sample(32).targets
    total, count = run.task.loss(run.model(x), run.task.encode(y))
    assert probe.loss == pytest.approx((total / count).item(), rel=1e-5)


@pytest.mark.parametrize("kind", TEXTS)
def test_every_kind_of_language_model(kind, texts, tmp_path):
    run = texts(kind)
    probe = gl.probe(run, "the cat sat")
    text = " ".join if kind == "word" else "".join
    assert text(token.text for token in probe.tokens) == "the cat sat"
    bits = [token.bits for token in probe.tokens[1:]]
    assert probe.loss == pytest.approx(sum(bits) / len(bits) * math.log(2), rel=1e-4)
    page = check_whole(probe, tmp_path / "probe.html")
    assert "Surprise" in page
    assert bool(probe.recurrences) == (kind in ("rnn", "lstm", "gru")) == ("Over time" in page)
    assert ("Attention</h2>" in page) == (kind in ("softmax", "alibi", "bpe", "word"))
    assert page.index("Layer by layer</h2>") > max(page.find("Attention</h2>"), page.find("Over time</h2>"))
    assert ("<summary>Figures of all layers" in page) == (len(probe.layers) > 12), "a long table is folded"
    assert any("has no weights to show" in note for note in probe.notes) == (kind == "linear")
    on_split = gl.probe(run, split="test", examples=3)
    assert on_split.inputs.shape == (3, 12)
    json.dumps(on_split.plain(), allow_nan=False)


def test_convolutions_have_feature_maps(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.integers(0, 255, (60, 1, 12, 12)).astype(np.uint8), y=np.arange(60) % 3)
    run = train("npz", {"model": "lenet", "train.epochs": 1}, tmp_path / "run", tmp_path / "data.npz")
    probe = gl.probe(run, rng.integers(0, 255, (2, 1, 12, 12)).astype(np.uint8))
    assert [maps.maps.shape for maps in probe.feature_maps] == [(6, 12, 12), (16, 2, 2)]
    page = check_whole(probe, tmp_path / "probe.html")
    assert "Feature maps" in page
    assert page.count('alt="map ') == 22
    assert any("classes it predicts" in note for note in probe.notes)
    assert probe.loss > 0


def test_the_run_is_not_changed(texts, tmp_path):
    run = texts("lstm")
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    gl.probe(run, "the cat").to_html(tmp_path / "probe.html")
    assert all(torch.equal(value, before[name]) for name, value in run.model.state_dict().items())
    assert all(p.grad is None for p in run.model.parameters())
    assert not (run.path / "probe.html").exists()


def test_a_text_that_is_too_long_is_shown_from_its_end(texts):
    probe = gl.probe(texts("softmax"), TEXT[:40])
    assert "".join(token.text for token in probe.tokens) == TEXT[28:40]
    assert "the last 12" in probe.notes[0]
    longer = gl.probe(texts("alibi"), TEXT[:40])
    assert len(longer.tokens) == 40


def test_one_token_has_no_loss_but_a_future(texts, tmp_path):
    probe = gl.probe(texts("gru"), "t")
    assert probe.loss is None
    assert probe.following
    check_whole(probe, tmp_path / "probe.html")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [("", "empty"), ("the cät", "does not have the characters 'ä'"), (np.zeros(3), "is a language model: its input")],
)
def test_texts_that_cannot_be_read_are_told(texts, folder, inputs, words):
    run = texts("softmax")
    if "ä" in str(inputs):
        values = {**LANGUAGE, **GPT, "data.tokenizer": "char"}
        run = train("text-gpt", values, folder / "char", folder / "text.txt")
    with pytest.raises(gl.GradlabError, match=words):
        gl.probe(run, inputs)


def test_any_module_can_be_looked_into(tmp_path):
    class Stranger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 8)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
            self.lstm = nn.LSTM(8, 6, bidirectional=True, batch_first=True)
            self.head = nn.Linear(12, 3)

        def forward(self, tokens):
            return self.head(self.lstm(self.encoder(self.embed(tokens)))[0][:, -1])

    model = Stranger()
    probe = gl.probe(model, torch.randint(9, (4, 7)), torch.tensor([0, 1, 2, 0]))
    assert len(probe.attention) == 2
    assert len(probe.recurrences) == 1
    page = check_whole(probe, tmp_path / "probe.html")
    assert "Stranger" in page
    assert "Attention" in page
    assert gl.probe(model, torch.randint(9, (4, 7)).numpy()).loss is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give it a batch"),
        ({"inputs": torch.zeros(2, 9)}, "cannot be called"),
        ({"inputs": torch.zeros(2, 3), "targets": torch.zeros(2, 2), "loss": "hinge"}, "no loss 'hinge'"),
    ],
)
def test_batches_that_do_not_fit_are_told(given, words):
    with pytest.raises(gl.GradlabError, match=words):
        gl.probe(nn.Linear(3, 2), **given)


def test_the_default_loss_follows_from_the_targets():
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    classes, numbers = torch.tensor([0, 1, 1, 0]), torch.randn(4, 2)
    assert gl.probe(model, x, classes).loss == pytest.approx(nn.functional.cross_entropy(model(x), classes).item())
    assert gl.probe(model, x, numbers).loss == pytest.approx(nn.functional.mse_loss(model(x), numbers).item())


def test_markup_in_names_and_tokens_is_text(tmp_path):
    model = nn.Sequential()
    model.add_module("<b>&", nn.Linear(3, 2))
    page = gl.probe(model, torch.randn(4, 3), loss=torch.sum).to_html(tmp_path / "probe.html").read_text()
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page


def test_a_page_that_cannot_be_written_is_told(tmp_path):
    probe = gl.probe(nn.Linear(3, 2), torch.randn(4, 3))
    with pytest.raises(gl.GradlabError, match="cannot be written"):
        probe.to_html(tmp_path / "nowhere" / "probe.html")


def test_numbers_that_are_none_stay_out_of_the_json(tmp_path):
    model = nn.Linear(3, 2)
    model.weight.data.fill_(math.nan)
    probe = gl.probe(model, torch.randn(4, 3), loss=torch.sum)
    assert probe.findings
    check_whole(probe, tmp_path / "probe.html")


def test_tables_are_cut_and_tokens_seen():
    assert visible(" a\tb\n") == "␣a⇥b↵"
    assert "… 3 more" in str(TextTable("title", ["a"], [["1"]], left_out=3))
