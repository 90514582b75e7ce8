import pytest
import torch
from decoding_helpers import MODELS, ByPrefix, TinyGPT, all_texts, log_probability, plain_greedy, without_cache
from scipy import stats
from torch import nn

from gradlab.sampling import Draft, Lookup, TopK, generate, stream

WAYS = {
    "greedy": {},
    "sampled": {"temperature": 1.3, "top_k": 6, "top_p": 0.95, "min_p": 0.01},
    "penalised": {"repetition_penalty": 1.5},
    "ending": {"eos": [3, 4], "pad": 0},
    "sampled and ending": {"temperature": 1.0, "eos": 3},
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]().double().eval()


def seeds(way, rows):
    return {"seed": list(range(rows))} if "temperature" in WAYS[way] else {}


def test_greedy_takes_the_most_probable_token_each_time():
    for seed in range(20):
        model = ByPrefix(5, seed)
        text = generate(model, torch.tensor([[1, 2]]), 6, eos=[0])
        assert text[0, 2:].tolist() == plain_greedy(model, [1, 2], 6, eos=[0])


@pytest.mark.parametrize("way", WAYS)
def test_cached_decoding_equals_uncached(model, way):
    tokens = torch.randint(11, (4, 5))
    cached = generate(model, tokens, 12, **WAYS[way], **seeds(way, 4))
    assert torch.equal(generate(without_cache(model), tokens, 12, **WAYS[way], **seeds(way, 4)), cached)
    assert torch.equal(cached[:, :5], tokens)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cached", [True, False])
def test_prompts_of_different_lengths_give_what_each_gives_alone(model, way, cached):
    used = model if cached else without_cache(model)
    prompts = [torch.randint(11, (length,)) for length in (4, 1, 7, 2, 7)]
    together = generate(used, prompts, 9, **WAYS[way], **seeds(way, 5))
    for i, prompt in enumerate(prompts):
        seed = {"seed": [i]} if "temperature" in WAYS[way] else {}
        alone = generate(used, prompt[None], 9, **WAYS[way], **seed)[0]
        assert torch.equal(together[i, : len(alone)], alone)
        assert (together[i, len(alone) :] == (WAYS[way].get("pad", WAYS[way].get("eos", 0)))).all()
    assert together.shape[1] == max(
        len(generate(used, prompt[None], 9, **WAYS[way], **({"seed": [i]} if "temperature" in WAYS[way] else {}))[0])
        for i, prompt in enumerate(prompts)
    )


def test_a_matrix_with_lengths_is_a_list_of_prompts():
    model, prompts = TinyGPT(), [torch.tensor([1, 2, 3]), torch.tensor([4]), torch.tensor([5, 6])]
    matrix = torch.tensor([[1, 2, 3], [4, -100, 99], [5, 6, -7]])  # whatever stands behind the prompts
    for lengths in ([3, 1, 2], torch.tensor([3, 1, 2])):
        assert torch.equal(generate(model, matrix, 5, lengths=lengths), generate(model, prompts, 5))
    assert torch.equal(generate(model, [[1, 2, 3], [4], [5, 6]], 5), generate(model, prompts, 5))
    assert torch.equal(generate(model, torch.tensor([[4]], dtype=torch.int32), 5)[0], generate(model, [[4]], 5)[0])


@pytest.mark.parametrize("way", WAYS)
def test_streaming_gives_the_same_tokens(model, way):
    for prompts in (torch.randint(11, (3, 4)), [[1, 2, 3], [4], [5, 6]]):
        whole = generate(model, prompts, 7, **WAYS[way], **seeds(way, 3))
        columns = list(stream(model, prompts, 7, **WAYS[way], **seeds(way, 3)))
        shortest = min(map(len, prompts))
        assert torch.equal(torch.stack(columns, 1), whole[:, shortest:])


def test_streaming_reads_no_further_than_it_was_asked():
    calls = []

    def model(tokens):
        calls.append(tokens.shape[1])
        return torch.zeros(*tokens.shape, 3)

    columns = stream(model, torch.zeros(1, 2, dtype=torch.int64), 1000)
    assert not calls
    next(columns), next(columns)
    assert calls == [2, 3]


def test_a_model_with_a_cache_reads_each_token_once():
    class Counting(TinyGPT):
        def forward(self, tokens, *, cache=None):
            read.append(tokens.shape[1])
            return super().forward(tokens, cache=cache)

    read = []
    generate(Counting(), torch.ones(2, 6, dtype=torch.int64), 5)
    assert read == [6, 1, 1, 1, 1]


def test_rows_that_ended_are_padded_and_the_loop_ends_with_the_last():
    calls = []

    def count_up(tokens):
        calls.append(tokens.shape[1])
        return 9.0 * nn.functional.one_hot((tokens + 1) % 7, 7)

    tokens = torch.tensor([[1], [3], [4]])
    assert generate(count_up, tokens, 20, eos=5).tolist() == [[1, 2, 3, 4, 5], [3, 4, 5, 5, 5], [4, 5, 5, 5, 5]]
    assert calls == [1, 2, 3, 4]
    padded = generate(count_up, tokens, 20, eos=[5, 4], pad=0)
    assert padded.tolist() == [[1, 2, 3, 4], [3, 4, 0, 0], [4, 5, 0, 0]]


def test_an_end_token_in_the_prompt_ends_nothing():
    model = TinyGPT()
    free = generate(model, [[3, 3, 1], [3]], 4)
    absent = next(t for t in range(11) if t not in free[0, 3:].tolist() + free[1, 1:5].tolist())
    prompts = [[absent, absent, 1], [absent]]
    ended = generate(model, prompts, 4, eos=absent)
    assert ended.shape[1] >= 5


def test_each_row_has_its_own_number_of_new_tokens():
    model = TinyGPT()
    texts = generate(model, [[1], [1, 2, 3, 4]], 3, pad=9)
    assert texts.shape == (2, 7)
    assert texts[0, 4:].tolist() == [9, 9, 9]


def test_the_same_seed_gives_the_same_text_whatever_stands_beside_it():
    model, tokens = TinyGPT().double(), torch.randint(11, (6, 3))
    texts = generate(model, tokens, 20, temperature=1.0, seed=7)
    assert torch.equal(generate(model, tokens, 20, temperature=1.0, seed=7), texts)
    assert torch.equal(generate(model, tokens[:2], 20, temperature=1.0, seed=7), texts[:2])
    assert not torch.equal(generate(model, tokens, 20, temperature=1.0, seed=8), texts)
    same_prompt = generate(model, tokens[:1].expand(6, -1), 20, temperature=1.0, seed=7)
    assert len({tuple(row) for row in same_prompt.tolist()}) == 6
    torch.manual_seed(5)
    drawn = generate(model, tokens, 20, temperature=1.0)
    torch.manual_seed(5)
    assert torch.equal(generate(model, tokens, 20, temperature=1.0), drawn)


def test_texts_come_as_often_as_their_probability_says():
    model, count = ByPrefix(3, seed=1, scale=0.7), 4000
    texts = generate(model, torch.ones(count, 1, dtype=torch.int64), 3, temperature=1.0, eos=2, pad=0, seed=0)
    every = list(all_texts(3, 3, eos=[2]))
    expected = [count * 2.718281828459045 ** log_probability(model, [1], text) for text in every]
    seen = [tuple(row) for row in texts[:, 1:].tolist()]
    counts = [seen.count(text + (0,) * (3 - len(text))) for text in every]
    assert sum(counts) == count
    # By chance alone it would be lower once in 10,000 seeds.
    assert stats.chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("nearly", [{"temperature": 0.0}, {"temperature": 1e-4}, {"top_k": 1}, {"min_p": 1.0}])
def test_sampling_becomes_greedy_in_the_limit(nearly):
    model, tokens = TinyGPT().double(), torch.randint(11, (5, 3))
    assert torch.equal(generate(model, tokens, 10, **nearly), generate(model, tokens, 10))


def test_nothing_is_cut_by_limits_that_let_all_pass():
    model, tokens = TinyGPT().double(), torch.randint(11, (5, 3))
    plain = generate(model, tokens, 10, temperature=1.0, seed=1)
    assert torch.equal(generate(model, tokens, 10, top_k=11, top_p=1.0, min_p=0.0, seed=1), plain)


def test_filters_of_ones_own_are_taken():
    model, tokens = TinyGPT(), torch.randint(11, (3, 3))
    without_five = generate(model, tokens, 20, filters=[lambda logits, context: logits.index_fill(1, FIVE, -1e9)])
    assert not (without_five[:, 3:] == 5).any()
    assert torch.equal(
        generate(model, tokens, 9, filters=[TopK(2)], temperature=1.0, seed=0),
        generate(model, tokens, 9, top_k=2, seed=0),
    )


FIVE = torch.tensor([5])


def test_models_that_give_an_object_with_logits_are_read():
    class Output:
        def __init__(self, logits):
            self.logits, self.loss = logits, None

    model, tokens = TinyGPT(), torch.randint(11, (3, 3))
    assert torch.equal(generate(lambda t: Output(model(t)), tokens, 6), generate(model, tokens, 6))


def test_tokens_are_given_as_one_block_of_memory():
    model, tokens = TinyGPT(), torch.randint(11, (3, 3))

    def flat(tokens):
        return model(tokens.view(-1).view(tokens.shape))

    for way in ({}, {"beam": 2}):
        assert torch.equal(generate(flat, tokens, 6, **way), generate(model, tokens, 6, **way))


def test_dropout_is_off_meanwhile_and_every_part_is_left_as_it_was():
    model, tokens = TinyGPT(dropout=0.5), torch.randint(11, (3, 3))
    model.layers[0].eval()
    modes = [part.training for part in model.modules()]
    texts = generate(model, tokens, 8)
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(generate(model.eval(), tokens, 8), texts)
    model.train()
    columns = stream(model, tokens, 8)
    next(columns)
    columns.close()
    assert model.training


@pytest.mark.parametrize("way", [{}, {"beam": 2}, {"draft": Lookup()}, {"temperature": 1.0, "seed": 0}])
def test_texts_can_be_trained_on(way):
    model, tokens = TinyGPT(), torch.randint(11, (3, 3))
    texts = generate(model, tokens, 5, **way)
    model(texts).sum().backward()
    assert model.embedding.weight.grad is not None
    assert not torch.is_inference_mode_enabled()


def test_models_run_in_inference_mode():
    modes = []

    def model(tokens):
        modes.append(torch.is_inference_mode_enabled())
        return torch.zeros(*tokens.shape, 3)

    for way in ({}, {"beam": 2}, {"draft": Lookup()}, {"temperature": 1.0}):
        generate(model, [[1]], 3, **way)
    list(stream(model, [[1]], 3))
    assert len(modes) > 12
    assert all(modes)


def test_between_two_steps_the_caller_can_train():
    model, tokens = TinyGPT(), torch.randint(11, (3, 3))
    for column in stream(model, tokens, 3):
        assert not torch.is_inference_mode_enabled()
        model(column[:, None]).sum().backward()


def test_filters_are_given_float32_or_wider():
    seen = set()

    def look(logits, context):
        seen.add(logits.dtype)
        return logits

    for way in ({}, {"temperature": 1.0}, {"beam": 2}, {"draft": Lookup()}):
        generate(TinyGPT().bfloat16(), torch.randint(11, (2, 3)), 3, filters=[look], **way)
        assert seen == {torch.float32}


def test_bfloat16_models_are_decoded():
    model, tokens = TinyGPT().bfloat16(), torch.randint(11, (3, 3))
    for way in ({}, {"temperature": 1.0}, {"beam": 2}, {"draft": Draft(model)}):
        assert generate(model, tokens, 5, **way).shape == (3, 8)
