"""Hidden tokens: how many, which, what stands there instead, and what the choice depends on."""

import pytest
import torch
from torch.testing import assert_close

from gradlab.data import hashing
from gradlab.data.text.masking import UNASKED, Masked
from gradlab.data.text.windows import WindowExamples, Windows

MASK, FIRST, VOCABULARY, LENGTH, CHOSEN = 1, 3, 50, 20, 4


@pytest.fixture
def masked(rng):
    tokens = torch.from_numpy(rng.integers(FIRST, VOCABULARY, size=60_000))
    windows = Windows(tokens, LENGTH)
    return Masked(windows=windows, chosen=CHOSEN, mask=MASK, first=FIRST, vocabulary=VOCABULARY)


def test_as_many_tokens_of_every_window_are_asked_for_and_those_not_asked_for_are_as_they_were(masked):
    x, y, plain = masked[:], masked.targets[:], masked.windows[:]
    asked = y != UNASKED
    assert (asked.sum(1) == CHOSEN).all()
    assert torch.equal(y[asked], plain[asked])
    assert torch.equal(x[~asked], plain[~asked])


def test_eight_in_ten_are_hidden_one_is_random_and_one_stays(masked):
    x, y, plain = masked[:], masked.targets[:], masked.windows[:]
    asked = y != UNASKED
    shares = [(x[asked] == MASK).double().mean(), (x[asked] == plain[asked]).double().mean()]
    # Of the random tokens one in 47 is what it was; 12,000 draws have standard errors of 0.004 and 0.003.
    assert_close(torch.stack(shares), torch.tensor([0.8, 0.1 + 0.1 / 47], dtype=torch.float64), atol=0.015, rtol=0)
    exchanged = x[asked & (x != plain) & (x != MASK)]
    assert exchanged.min() == FIRST
    assert exchanged.max() == VOCABULARY - 1


def test_every_place_is_chosen_as_often_as_others_and_neighbours_do_not_know_of_each_other(masked):
    asked = (masked.targets[:] != UNASKED).double()
    share = CHOSEN / LENGTH
    assert_close(asked.mean(0), torch.full((LENGTH,), share, dtype=torch.float64), atol=0.035, rtol=0)
    together = (asked[:, 1:] * asked[:, :-1]).mean()
    assert abs(together - share * (CHOSEN - 1) / (LENGTH - 1)) < 0.01


def test_rows_are_the_same_however_they_are_asked_for(masked):
    rows = torch.tensor([5, 2999 - 1, 0, 7])
    for part in (masked, masked.targets):
        assert torch.equal(part[rows], part[:][rows])
        assert torch.equal(part.index_select(0, rows), part[:][rows])
        assert torch.equal(part.subset(rows.numpy())[:], part[:][rows])
        assert torch.equal(part.subset(rows.numpy())[torch.tensor([3, 1])], part[:][rows[[3, 1]]])


def test_the_choice_is_a_function_of_seed_and_epoch_and_fixed_without_them(masked):
    def chosen(part):
        return part.targets[:] != UNASKED

    first = masked.for_epoch(0, 0)
    assert torch.equal(first[:], masked.for_epoch(0, 0)[:])
    share = CHOSEN / LENGTH
    for other in (masked.for_epoch(0, 1), masked.for_epoch(1, 0), masked):
        assert abs((chosen(first) & chosen(other)).double().mean() - share**2) < 0.01
    assert torch.equal(first.targets[:][chosen(first)], first.windows[:][chosen(first)])


def test_examples_hide_other_tokens_in_each_epoch_and_ask_for_those(masked):
    examples = WindowExamples.over(masked)
    later = examples.for_epoch(0, 3)
    x, y = later.inputs[:], later.targets[:]
    hidden = x == MASK
    assert (y[hidden] != UNASKED).all()
    assert not torch.equal(x, examples.inputs[:])


def test_the_hash_is_that_of_splitmix64():
    def published(z):
        wide = 2**64 - 1
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & wide
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & wide
        return z ^ (z >> 31)

    numbers = [0, 1, 2, 12345678901234567, 2**63 - 1, -1, -(2**63)]
    expected = [published(n % 2**64) >> 1 for n in numbers]
    assert hashing.mixed(torch.tensor(numbers)).tolist() == expected
