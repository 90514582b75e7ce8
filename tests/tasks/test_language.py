import math

import numpy as np
import pytest
import torch

from gradlab.data import Examples, Targets
from gradlab.data.text.windows import Windows
from gradlab.errors import GradlabError
from gradlab.tasks import Language, evaluate


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
    return evaluate(Fixed(probabilities), task(token_bytes), windows, windows.targets)


def test_equal_probabilities_have_the_perplexity_of_the_vocabulary():
    figures = judged([0.25] * 4)
    assert figures["loss"] == pytest.approx(math.log(4))
    assert figures["perplexity"] == pytest.approx(4)


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
    by_byte = evaluate(Fixed([0.3, 0.7]), Language(Targets(tokens=2, token_bytes=[1, 1])), single, single.targets)
    both = [0.09, 0.21, 0.21, 0.49]
    by_pair = evaluate(Fixed(both), Language(Targets(tokens=4, token_bytes=[2] * 4)), double, double.targets)
    assert by_pair["bits_per_byte"] == pytest.approx(by_byte["bits_per_byte"], rel=0.02)
    assert by_pair["perplexity"] > 1.5 * by_byte["perplexity"]


def test_where_the_bytes_are_not_known_there_are_no_bits_per_byte():
    assert set(judged([0.25] * 4, token_bytes=())) == {"loss", "perplexity"}


def test_trigrams_are_what_it_is_compared_with():
    windows = Windows(torch.tensor([0, 1, 2, 3] * 50), length=20)
    examples = Examples(windows, windows.targets, np.arange(len(windows)))
    name, figures = task().compare(examples, examples)
    assert name == "counted trigrams"
    assert figures["perplexity"] < 1.5


def test_what_is_no_text_is_refused():
    with pytest.raises(GradlabError, match="needs text"):
        Language(Targets(classes=["a", "b"]))
