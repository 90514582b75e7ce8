import pytest
import torch
from decoding_helpers import MODELS, TinyGPT
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn.attention.cache import LayerCache, StaticCache
from gradlab.nn.recurrent.cache import StateCache
from gradlab.sampling.models import Cache, Shortened


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]().double().eval()


@torch.no_grad()
def test_cached_equals_uncached_in_any_portions(model):
    tokens = torch.randint(11, (3, 12))
    cache = model.new_cache(3, 12)
    parts = [model(part, cache=cache) for part in tokens.split([5, 1, 2, 4], 1)]
    assert cache.length == 12
    assert_close(torch.cat(parts, 1), model(tokens))


@torch.no_grad()
def test_rows_can_change_places_grow_and_shrink(model):
    tokens = torch.randint(11, (3, 8))
    for rows in ([2, 0, 0], [1], [0, 0, 1, 1, 2, 2]):
        cache = model.new_cache(3, 12)
        model(tokens[:, :5], cache=cache)
        cache.reorder(torch.tensor(rows))
        after = model(tokens[rows, 5:], cache=cache)
        assert_close(after, model(tokens[rows])[:, 5:])


@torch.no_grad()
def test_going_back_leaves_what_came_before(model):
    tokens = torch.randint(11, (2, 10))
    cache = model.new_cache(2, 12)
    for part in (tokens[:, :4], tokens[:, 4:5], tokens[:, 5:8]):
        model(part, cache=cache)
    cache.truncate(6)
    assert cache.length <= 6
    other = torch.cat([tokens[:, :6], torch.randint(11, (2, 4))], 1)
    assert_close(model(other[:, cache.length :], cache=cache)[:, -4:], model(other)[:, -4:])
    cache.truncate(0)
    assert cache.length == 0
    assert_close(model(tokens, cache=cache), model(tokens))


def test_a_state_goes_back_to_the_newest_it_remembers():
    cache = StateCache(remembered=3)
    for i in range(5):
        cache.update(torch.full((2, 1), float(i)), steps=2)
    cache.truncate(9)
    assert (cache.length, cache.state[0].item()) == (8, 3.0)
    cache.truncate(8)
    assert cache.length == 8
    cache.truncate(5)
    assert (cache.length, cache.state) == (0, None)


def test_a_state_of_rows_that_changed_places_is_not_gone_back_behind():
    cache = StateCache()
    cache.update(torch.tensor([[1.0], [2.0]]), steps=1)
    cache.update(torch.tensor([[3.0], [4.0]]), steps=1)
    cache.reorder(torch.tensor([1, 1]))
    assert cache.state.tolist() == [[4.0], [4.0]]
    cache.truncate(1)
    assert (cache.length, cache.state) == (0, None)


def test_a_state_can_have_any_structure():
    cache = StateCache(batch_axis=1)
    cache.update({"a": torch.arange(6.0).view(2, 3), "b": [(torch.arange(3.0)[None],)]}, steps=1)
    cache.reorder(torch.tensor([2, 2, 0, 1]))
    assert cache.state["a"].tolist() == [[2, 2, 0, 1], [5, 5, 3, 4]]
    assert cache.state["b"][0][0].tolist() == [[2, 2, 0, 1]]


def test_keys_are_written_in_place_and_given_as_views():
    cache = LayerCache(6)
    keys, values = cache.append(torch.randn(2, 3, 2, 4), torch.randn(2, 3, 2, 5))
    more, _ = cache.append(torch.randn(2, 3, 1, 4), torch.randn(2, 3, 1, 5))
    assert more.data_ptr() == keys.data_ptr()
    assert_close(more[..., :2, :], keys)
    assert (more.shape, values.shape) == ((2, 3, 3, 4), (2, 3, 2, 5))


def test_too_many_positions_or_other_rows_are_told():
    cache = StaticCache(1, 3)[0]
    cache.append(torch.zeros(2, 1, 2, 4), torch.zeros(2, 1, 2, 4))
    with pytest.raises(GradlabError, match=r"A cache for 3 positions has no room for 4\."):
        cache.append(torch.zeros(2, 1, 2, 4), torch.zeros(2, 1, 2, 4))
    assert cache.length == 2
    with pytest.raises(GradlabError, match=r"A cache of 2 rows got keys of 1\."):
        cache.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
    with pytest.raises(GradlabError, match="StaticCache: num_layers must be int ≥ 1, got 0"):
        StaticCache(0, 3)


def test_both_are_what_decoding_wants():
    caches: list[Cache] = [StaticCache(2, 3), StateCache()]
    assert all(isinstance(cache, Shortened) for cache in caches)
    assert len(TinyGPT().new_cache(1, 4)) == 2
