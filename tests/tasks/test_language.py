import math

import numpy as np
import pytest
import torch

from gradlab.data import Examples, Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.errors import GradlabError, NumericalError
from gradlab.models import NGram
from gradlab.models.language import TransformerLanguageModel
from gradlab.tasks import Language, compare, counted
from gradlab.tasks.counted import ngram_baselines
from gradlab.tasks.evaluation import evaluate
from gradlab.tasks.finite import check_losses


class Fixed(torch.nn.Module):
    """Gives each token the same probabilities everywhere."""

    def __init__(self, probabilities):
        super().__init__()
        self.logits = torch.tensor(probabilities).log()

    def forward(self, tokens):
        return self.logits.expand(*tokens.shape, -1)


def task(token_bytes=(1, 1, 2, 4)):
    return Language(Targets(tokens=4, token_bytes=list(token_bytes)))


def judged(probabilities, token_bytes=(1, 1, 2, 4)):
    windows = Windows(torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0]), length=2)
    return evaluate(Fixed(probabilities), task(token_bytes), Examples.of(windows, windows.targets))


def test_equal_probabilities_have_the_perplexity_of_the_vocabulary():
    figures = judged([0.25] * 4)
    assert figures["loss"] == pytest.approx(math.log(4))
    assert figures["perplexity"] == pytest.approx(4)


@pytest.mark.parametrize(("far", "expected"), [(900.0, math.exp(675)), (940.0, math.exp(705)), (1000.0, math.inf)])
def test_a_perplexity_that_is_no_float_is_infinite(far, expected):
    model, windows = Fixed([0.25] * 4), Windows(torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0]), length=2)
    model.logits = torch.tensor([0.0, -far, -far, -far])
    figures = evaluate(model, task(), Examples.of(windows, windows.targets))
    assert figures["loss"] == far * 3 / 4
    assert figures["perplexity"] == pytest.approx(expected)


def test_a_token_of_probability_0_has_an_infinite_perplexity_and_its_loss_is_refused():
    model, windows = Fixed([0.5, 0.25, 0.25, 0.0]), Windows(torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0]), length=2)
    split = Examples.of(windows, windows.targets)
    figures = evaluate(model, task(), split)
    assert figures["perplexity"] == figures["loss"] == figures["bits_per_byte"] == math.inf
    with pytest.raises(NumericalError, match=r"The loss is inf \(here\): so is that of row 1"):
        check_losses(figures, model, task(), split, "here")
    check_losses({"loss": 5.0, "perplexity": math.inf}, model, task(), split, "here")  # of it a finite loss is enough


def test_bits_per_byte_are_all_bits_over_all_bytes():
    # The targets are 1 2 3 0 1 2 3 0: two of each token, with 16 bytes together.
    figures = judged([0.25] * 4)
    assert figures["bits_per_byte"] == pytest.approx(8 * 2 / 16)
    uneven = judged([0.5, 0.25, 0.125, 0.125])
    assert uneven["bits_per_byte"] == pytest.approx((2 * 1 + 2 * 2 + 2 * 3 + 2 * 3) / 16)


def test_bits_per_byte_do_not_depend_on_the_tokenizer():
    rng = np.random.default_rng(0)
    text = rng.integers(2, size=4001)
    pairs = text[:-1].reshape(-1, 2) @ [2, 1]
    single, double = (Windows(torch.from_numpy(t), length=50) for t in (text[:-1], pairs))
    by_byte = evaluate(
        Fixed([0.3, 0.7]), Language(Targets(tokens=2, token_bytes=[1, 1])), Examples.of(single, single.targets)
    )
    both = [0.09, 0.21, 0.21, 0.49]
    by_pair = evaluate(
        Fixed(both), Language(Targets(tokens=4, token_bytes=[2] * 4)), Examples.of(double, double.targets)
    )
    assert by_pair["bits_per_byte"] == pytest.approx(by_byte["bits_per_byte"], rel=0.02)
    assert by_pair["perplexity"] > 1.5 * by_byte["perplexity"]


def test_where_the_bytes_are_not_known_there_are_no_bits_per_byte():
    assert set(judged([0.25] * 4, token_bytes=())) == {"loss", "perplexity"}


def examples(tokens, length=20):
    windows = Windows(torch.as_tensor(tokens), length)
    return WindowExamples.over(windows)


def test_it_is_compared_with_equal_probabilities_and_with_trigrams():
    text = examples([0, 1, 2, 3] * 50)
    uniform, trigrams = compare(task().baselines(text, Fixed([0.25] * 4)), task(), text).items()
    assert (uniform[0], trigrams[0]) == ("uniform", "counted trigrams")
    assert uniform[1]["perplexity"] == pytest.approx(4)
    assert trigrams[1]["perplexity"] < 1.5


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (1, ["uniform"]),
        (2, ["uniform", "counted unigrams"]),
        (3, ["uniform", "counted bigrams"]),
        (5, ["uniform", "counted trigrams"]),
    ],
)
def test_counted_ngrams_are_compared_with_shorter_ones(order, names):
    baselines = task().baselines(examples([0, 1, 2, 3] * 50), NGram(4, order))
    assert list(baselines) == names
    assert [baseline.order for baseline in baselines.values()][1:] == [min(3, order - 1)] * (order > 1)


def test_of_a_long_text_pieces_from_its_beginning_to_its_end_are_counted(monkeypatch):
    monkeypatch.setattr(counted, "_COUNTED", 400)
    monkeypatch.setattr(counted, "_PIECE", 100)
    text = torch.tensor([0] * 300 + [1] * 300 + [2] * 300 + [3] * 300)
    assert "counted unigrams" in ngram_baselines(text[:400], 4, order=1)
    (_, model) = ngram_baselines(text, 4, order=1).values()
    assert model.counts.tolist() == [100, 100, 100, 100]
    assert list(ngram_baselines(text, 4, order=1)) == ["uniform", "counted unigrams of 400 tokens"]


def test_what_is_no_text_is_refused():
    with pytest.raises(GradlabError, match="needs text"):
        Language(Targets(classes=["a", "b"]))


def gpt(kind=TransformerLanguageModel, tied=True):
    torch.manual_seed(0)
    return kind(vocabulary=70, context=8, dim=16, layers=2, heads=2, tied=tied)


class Doubled(TransformerLanguageModel):
    def forward(self, tokens):
        return 2 * super().forward(tokens)


def minimised(model, batch, kind=Language):
    return kind(Targets(tokens=70)).objectives()["loss"].loss(model, batch)


def slopes(model, batch):
    total, count = minimised(model, batch)
    return total / count, torch.autograd.grad(total / count, list(model.parameters()))


def tokens_of_a_batch():
    tokens = torch.randint(70, (3, 9), generator=torch.Generator().manual_seed(1))
    return {"inputs": tokens[:, :-1], "targets": tokens[:, 1:]}


@pytest.mark.parametrize("tied", [True, False])
def test_the_last_product_and_the_loss_together_train_as_they_do_apart(monkeypatch, tied):
    model, batch = gpt(tied=tied), tokens_of_a_batch()
    apart = slopes(model, batch)
    monkeypatch.setattr(Language, "_pays", lambda self, tokens: True)
    together = slopes(model, batch)
    assert "LinearCrossEntropy" in repr(minimised(model, batch)[0].grad_fn)
    torch.testing.assert_close(together, apart)


@pytest.mark.parametrize("case", ["a forward of its own", "a hook", "weights", "a loss of its own"])
def test_who_looks_at_the_logits_has_them(monkeypatch, case):
    monkeypatch.setattr(Language, "_pays", lambda self, tokens: True)
    model, batch, kind = gpt(Doubled if case == "a forward of its own" else TransformerLanguageModel), {}, Language
    seen = []
    if case == "a hook":
        model.register_forward_hook(lambda module, inputs, logits: seen.append(logits.shape))
    if case == "weights":
        batch = {"weights": torch.ones(3)}
    if case == "a loss of its own":
        kind = type("Own", (Language,), {"training_loss": lambda self, output, target: (output.square().sum(), 1)})
    total, _ = minimised(model, {**tokens_of_a_batch(), **batch}, kind)
    assert "LinearCrossEntropy" not in repr(total.grad_fn)
    assert len(seen) == (case == "a hook")


def test_a_large_vocabulary_on_a_gpu_pays():
    on_the_cpu = torch.zeros(1, 1, dtype=torch.int64)
    assert not Language(Targets(tokens=50257))._pays(on_the_cpu)
