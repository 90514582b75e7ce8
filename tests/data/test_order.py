import torch
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data import permutation


@given(st.integers(0, 300), st.integers(0, 2**40), st.integers(0, 10**6))
def test_an_order_holds_every_example_once_and_depends_on_seed_and_epoch_alone(count, seed, epoch):
    first = permutation(count, seed, epoch)
    torch.rand(3)  # the global generator has no say in it
    assert torch.equal(permutation(count, seed, epoch), first)
    assert torch.equal(first.sort().values, torch.arange(count))


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    permutation(100, 1, 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_seeds_and_epochs_do_not_share_orders():
    orders = {tuple(permutation(50, seed, epoch).tolist()) for seed in range(8) for epoch in range(8)}
    assert len(orders) == 64
