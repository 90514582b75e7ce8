import pytest
import torch
from jaxtyping import TypeCheckError
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import ALiBi, LearnedPosition, RelativePosition, RotaryPosition, SinusoidalPosition
from gradlab.nn.attention import MultiheadAttention, ScaledDotAttention

VECTORS = [
    LearnedPosition(20, 4),
    SinusoidalPosition(4),
    RotaryPosition(4),
    RotaryPosition(4, layout="halves"),
]


def test_the_code_is_defined_for_positions_beyond_the_number_of_entries():
    code = SinusoidalPosition(8)(torch.zeros(50, 8))
    assert_close(code.square().sum(-1), torch.full((50,), 4.0))
    assert torch.unique(code.round(decimals=4), dim=0).shape == (50, 8)


def test_a_rotation_turns_the_first_entry_towards_the_second():
    """The matrix of RoFormer; its transpose has the same laws, but is not what weights were trained with."""
    turned = RotaryPosition(4)(torch.tensor([[1.0, 0.0, 0.0, 1.0]]), offset=1)
    angle = torch.tensor([1.0, 0.01])
    wanted = torch.stack([angle[0].cos(), angle[0].sin(), -angle[1].sin(), angle[1].cos()])
    assert_close(turned[0], wanted)


def test_in_halves_pairs_are_far_apart():
    turned = RotaryPosition(4, layout="halves")(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), offset=1)
    one = torch.tensor(1.0)
    assert_close(turned[0], torch.stack([one.cos(), one * 0, one.sin(), one * 0]))


def test_rotated_values_would_not_be_the_same_when_all_positions_move():
    rotary, attend = RotaryPosition(4), ScaledDotAttention()
    q, k, v = torch.randn(3, 5, 4)
    moved = [attend(rotary(q, s), rotary(k, s), v) for s in (0, 7)]
    assert_close(*moved)
    with_values = [attend(rotary(q, s), rotary(k, s), rotary(v, s)) for s in (0, 7)]
    assert not torch.allclose(*with_values, atol=0.1)


def test_positions_can_be_given_one_by_one():
    rotary, x = RotaryPosition(4), torch.randn(2, 3, 5, 4)
    assert_close(rotary(x, torch.arange(7, 12)), rotary(x, 7))
    starts = torch.tensor([0, 7])[:, None, None] + torch.arange(5)
    assert_close(rotary(x, starts)[1], rotary(x[1], 7))


@pytest.mark.parametrize("position", VECTORS, ids=str)
def test_decoding_one_by_one_gives_what_all_at_once_gives(position):
    x = torch.randn(2, 9, 4)
    one_by_one = torch.cat([position(x[:, i : i + 1], i) for i in range(9)], 1)
    assert_close(one_by_one, position(x))


@pytest.mark.parametrize("position", VECTORS, ids=str)
def test_an_empty_sequence_and_one_in_pieces_of_memory(position):
    assert position(torch.zeros(2, 0, 4)).shape == (2, 0, 4)
    x = torch.randn(4, 9).T
    assert_close(position(x), position(x.contiguous()))


@pytest.mark.parametrize("position", VECTORS[1:], ids=str)
def test_far_positions_are_told_apart_in_bf16(position):
    """Position 1001 is 1000 in bf16."""
    x = torch.ones(2, 4, dtype=torch.bfloat16)
    wanted = position(x.float(), 1000)
    assert_close(position(x, 1000).float(), wanted, atol=0.01, rtol=0.01)
    assert (wanted[0] - wanted[1]).abs().max() > 0.3


def test_a_table_has_no_row_for_a_later_position():
    learned = LearnedPosition(10, 4)
    assert learned(torch.zeros(3, 4), 7).shape == (3, 4)
    for offset in (8, -1):
        with pytest.raises(GradlabError, match=f"positions {offset} to {offset + 2} must be within 0 to 9"):
            learned(torch.zeros(3, 4), offset)


SLOPES = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [2**-4, 2**-8, 2**-2],
    8: [2**-i for i in range(1, 9)],
    12: [2**-i for i in range(1, 9)] + [2 ** -(i + 0.5) for i in range(4)],
}


@pytest.mark.parametrize("heads", SLOPES)
def test_slopes_are_those_of_the_authors(heads):
    assert_close(ALiBi(heads).slopes, torch.tensor(SLOPES[heads]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_slopes_do_not_lose_digits_on_the_way_through_another_dtype(dtype):
    for heads in (12, 16, 20):
        alibi = ALiBi(heads)
        slopes = alibi.slopes
        assert torch.equal(alibi.to(dtype).slopes.float(), slopes)


def test_a_bias_for_positions_is_the_one_for_numbers():
    relative = RelativePosition(2, 3)
    torch.nn.init.normal_(relative.weight)
    for bias in (ALiBi(2), ALiBi(2, is_causal=True), relative):
        assert_close(bias(torch.arange(3, 7), torch.arange(7)), bias(4, 7))
        assert_close(bias(torch.arange(3, 7) + 50, torch.arange(7) + 50), bias(4, 7))
        assert bias(0, 7).shape == (2, 0, 7)


def test_a_table_of_distance_zero_has_one_number_for_each_head():
    relative = RelativePosition(2, 0)
    torch.nn.init.normal_(relative.weight)
    assert_close(relative(3, 4), relative.weight[:, :, None].expand(2, 3, 4))


def test_all_of_them_can_be_put_into_many_heads():
    x = torch.randn(2, 6, 8)
    for parts in ({"position": RotaryPosition(4)}, {"score_bias": ALiBi(2)}, {"score_bias": RelativePosition(2, 3)}):
        many = MultiheadAttention(8, num_heads=2, **parts)
        torch.nn.init.normal_(many.score_bias.weight) if hasattr(many.score_bias, "weight") else None
        whole = many(x, is_causal=True)
        assert whole.shape == x.shape
        assert_close(many(x[:, :4], is_causal=True), whole[:, :4])
        assert not torch.allclose(many(x.roll(2, 1)), many(x).roll(2, 1), atol=1e-3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RotaryPosition(3), "position.rotary: dim must be int ≥ 2 and a multiple of 2, got 3."),
        (lambda: SinusoidalPosition(0), "position.sinusoidal: dim must be int ≥ 2 and a multiple of 2, got 0."),
        (lambda: RotaryPosition(4, base=-1.0), "position.rotary: base must be float > 0, got -1.0."),
        (lambda: LearnedPosition(0, 4), "position.learned: max_length must be int ≥ 1, got 0."),
        (lambda: ALiBi(0), "position.alibi: num_heads must be int ≥ 1, got 0."),
        (lambda: RelativePosition(1, -1), "position.relative: max_distance must be int ≥ 0, got"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, said):
    with pytest.raises(GradlabError) as error:
        make()
    assert str(error.value).startswith(said)


def test_an_unknown_layout_is_refused():
    with pytest.raises((GradlabError, TypeCheckError), match="halves"):
        RotaryPosition(4, layout="half")
