"""The kernels of linear attention beside its formula written out, in float64."""

import math

import pytest
import torch
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from gradlab.kernels.linear_attention import linear_attention
from gradlab.kernels.linear_attention_gpu import _attend as attend_by_kernels
from gradlab.kernels.linear_attention_gpu import _gradients as gradients_by_kernels
from gradlab.kernels.triton_language import collecting
from gradlab.nn.attention import LinearAttention, MultiheadAttention, PerformerAttention

pytestmark = pytest.mark.usefixtures("poisoned")

MAPS = ["elu", "relu", "identity", "exp"]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def drawn(n, m=None, *, batch=1, heads=2, dim=16, values=16, dtype=torch.float32, size=1.0, seed=0):
    """Queries, keys and values in rows that lie apart, with NaN between them and behind the last."""
    generator = torch.Generator().manual_seed(seed)

    def rows(length, width):
        room = torch.full((batch, length + 3, heads, width + 5), torch.nan)
        room[:, :length, :, :width] = size * torch.randn(batch, length, heads, width, generator=generator)
        return room.to(DEVICE, dtype)[:, :length, :, :width].transpose(1, 2)

    return [rows(n, dim), rows(m or n, dim), rows(m or n, values)]


def written_out(q, k, v, mask=None, *, feature_map, omega=None, is_causal=False, lengths=None):
    q, k, v = (x.double() for x in (q, k, v))

    def phi(x):
        if feature_map == "exp":
            x = x * x.shape[-1] ** -0.25
            return torch.exp(x @ omega.double().T - x.square().sum(-1, keepdim=True) / 2) / math.sqrt(len(omega))
        return {"elu": lambda x: torch.nn.functional.elu(x) + 1, "relu": torch.relu, "identity": lambda x: x}[
            feature_map
        ](x)

    weights = phi(q) @ phi(k).mT
    sees = torch.ones(weights.shape[-2:], dtype=torch.bool, device=q.device)
    if is_causal:
        sees = sees.tril()
    if lengths is not None:
        text = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths)).to(q.device)
        sees = sees & (text[:, None] == text)
    weights = weights * sees
    if mask is not None:
        weights = weights * mask[:, None, None]
    divisor = weights.sum(-1, keepdim=True)
    return weights @ v / torch.where(divisor == 0, 1, divisor)


def directions(feature_map, dim=16, count=40):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, dim, generator=generator).to(DEVICE) if feature_map == "exp" else None


def check(inputs, mask=None, *, tolerance=3e-5, **options):
    """Outputs and gradients, relative to the size of each."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    outputs, _ = linear_attention(*inputs, mask, **options)
    wanted = written_out(*inputs, mask, **options)
    incoming = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(2)).to(outputs)
    found = [outputs, *torch.autograd.grad(outputs, inputs, incoming)]
    right = [wanted, *torch.autograd.grad(wanted, inputs, incoming.double())]
    for ours, theirs in zip(found, right, strict=True):
        assert (ours.double() - theirs).norm() <= tolerance * (theirs.norm() + 1)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("n", [1, 63, 64, 65])
def test_outputs_and_gradients(n, feature_map, is_causal):
    q, k, v = drawn(n)
    if feature_map == "identity":  # else divisors may be next to nothing
        q, k = q.abs() + 0.1, k.abs() + 0.1
    check([q, k, v], feature_map=feature_map, omega=directions(feature_map), is_causal=is_causal)


def test_many_segments():
    check(drawn(1000, heads=1), feature_map="elu", is_causal=True)


def test_whole_chunks_that_do_not_fill_their_segment():
    check(drawn(192, batch=2), feature_map="elu", is_causal=True)
    check(drawn(64, 192), feature_map="elu")


def test_random_features_of_many_segments_and_blocks():
    check(drawn(300, heads=1, size=2.0), feature_map="exp", omega=directions("exp", count=100), is_causal=True)


@pytest.mark.parametrize("is_causal", [False, True])
def test_sizes_that_are_no_powers_of_two(is_causal):
    check(drawn(70, batch=2, dim=20, values=36), feature_map="elu", is_causal=is_causal)


def test_heads_of_256():
    check(drawn(40, heads=1, dim=256, values=256), feature_map="elu", is_causal=True)


def test_other_keys_than_queries():
    check(drawn(70, 130), feature_map="elu")
    check(drawn(130, 70), feature_map="exp", omega=directions("exp"))


@pytest.mark.parametrize("feature_map", ["elu", "relu", "exp"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_masked_keys_take_no_part(feature_map, is_causal):
    mask = torch.rand(2, 150, generator=torch.Generator().manual_seed(3)) < 0.6
    mask[0, :70] = False  # no key at all for the first queries
    check(
        drawn(150, batch=2),
        mask.to(DEVICE),
        feature_map=feature_map,
        omega=directions(feature_map),
        is_causal=is_causal,
    )


@pytest.mark.parametrize("feature_map", ["elu", "exp"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_packed_texts_do_not_see_each_other(feature_map, is_causal):
    lengths = [1, 63, 65, 171]
    omega = directions(feature_map)
    check(drawn(300), feature_map=feature_map, omega=omega, is_causal=is_causal, lengths=lengths)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 2e-2), (torch.float16, 5e-3)], ids=str)
@pytest.mark.parametrize("feature_map", ["elu", "exp"])
def test_half_precision(feature_map, dtype, tolerance):
    inputs = drawn(130, dtype=dtype)
    check(inputs, feature_map=feature_map, omega=directions(feature_map), is_causal=True, tolerance=tolerance)


def test_large_keys_neither_overflow_nor_show_what_comes_later():
    """A later key that is far larger than all before it changes no bit of earlier outputs."""
    q, k, v = drawn(200, heads=1)
    omega = directions("exp")
    outputs, _ = linear_attention(q, k, v, feature_map="exp", omega=omega, is_causal=True)
    louder = k.clone()
    louder[:, :, 150:] *= 60
    others, _ = linear_attention(q, louder, v, feature_map="exp", omega=omega, is_causal=True)
    assert torch.equal(outputs[:, :, :150], others[:, :, :150])
    assert others.isfinite().all()
    assert not torch.equal(outputs, others)


@pytest.mark.parametrize("feature_map", ["elu", "exp"])
def test_a_state_is_gone_on_from(feature_map):
    inputs, omega = drawn(200), directions(feature_map)
    whole, last = linear_attention(*inputs, feature_map=feature_map, omega=omega, is_causal=True)
    state, parts = None, []
    for rows in (slice(0, 70), slice(70, 71), slice(71, 200)):
        some = [x[:, :, rows] for x in inputs]
        part, state = linear_attention(*some, feature_map=feature_map, omega=omega, is_causal=True, state=state)
        parts.append(part)
    assert_close(torch.cat(parts, 2), whole, atol=1e-5, rtol=1e-4)
    for ours, theirs in zip(state, last, strict=True):
        assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_states_of_packed_texts_are_those_of_each():
    inputs, lengths = drawn(100), [30, 70]
    _, states = linear_attention(*inputs, feature_map="exp", omega=directions("exp"), is_causal=True, lengths=lengths)
    for i, rows in enumerate((slice(0, 30), slice(30, 100))):
        some = [x[:, :, rows] for x in inputs]
        _, state = linear_attention(*some, feature_map="exp", omega=directions("exp"), is_causal=True)
        for ours, theirs in zip(states, state, strict=True):
            assert_close(ours[i], theirs[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "block",
    [LinearAttention(), PerformerAttention(16, 20), PerformerAttention(16, 20, form="cosh")],
    ids=["linear", "positive", "cosh"],
)
@pytest.mark.parametrize("is_causal", [False, True])
def test_blocks_take_the_kernels_and_mean_the_same(block, is_causal):
    block, inputs = block.to(DEVICE), drawn(90, batch=2)
    mask = torch.rand(2, 1, 1, 90, generator=torch.Generator().manual_seed(3)) < 0.7
    wanted = block.double()(*(x.double() for x in inputs), mask.to(DEVICE), is_causal=is_causal)
    assert_close(block.float()(*inputs, mask.to(DEVICE), is_causal=is_causal).double(), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("block", [LinearAttention(), PerformerAttention(16, 20)], ids=["linear", "performer"])
@torch.no_grad()
def test_steps_go_on_where_the_kernel_ended(block, monkeypatch):
    block, inputs = block.to(DEVICE), drawn(80)
    whole = block(*inputs, is_causal=True)
    _, state = block.advance(*(x[:, :, :79] for x in inputs))
    monkeypatch.setattr("gradlab.nn.attention.linear.takes", lambda *tensors: False)  # by PyTorch
    output, _ = block.step(*(x[:, :, 79] for x in inputs), state)
    assert_close(output, whole[:, :, 79], atol=1e-5, rtol=1e-4)


def test_it_is_deterministic():
    inputs = [x.detach().requires_grad_() for x in drawn(130)]

    def gradients():
        outputs, _ = linear_attention(*inputs, is_causal=True)
        return torch.autograd.grad(outputs.square().sum(), inputs)

    assert all(map(torch.equal, gradients(), gradients()))


def test_torch_knows_the_operator():
    from gradlab.kernels.linear_attention_gpu import _attend_op

    inputs = [x.detach().requires_grad_() for x in drawn(40, heads=1)]
    torch.library.opcheck(
        _attend_op,
        (*inputs, None, None, None, None, "elu", True, False, None),
        test_utils=("test_schema", "test_faketensor"),
    )


def test_it_compiles_without_a_break():
    block, inputs = LinearAttention(), [x.detach().requires_grad_() for x in drawn(40, heads=1)]
    compiled = torch.compile(lambda q, k, v: block(q, k, v, is_causal=True), fullgraph=True, backend="aot_eager")
    wanted, found = block(*inputs, is_causal=True), compiled(*inputs)
    assert_close(found, wanted)
    for ours, theirs in zip(
        torch.autograd.grad(found.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs), strict=True
    ):
        assert_close(ours, theirs)


def gradients(outputs, inputs):
    return torch.autograd.grad(outputs.float().square().sum(), inputs)


def test_it_is_exported_as_one_operator():
    class Causal(torch.nn.Module):
        def forward(self, q, k, v):
            return linear_attention(q, k, v, is_causal=True)[0]

    inputs = tuple(drawn(40, heads=1))
    program = torch.export.export(Causal(), inputs)
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert called.count("gradlab.linear_attention.default") == 1
    assert_close(program.module()(*inputs), Causal()(*inputs))


def test_it_is_recomputed_by_checkpointing():
    inputs = [x.detach().requires_grad_() for x in drawn(70)]

    def outputs(*inputs):
        return linear_attention(*inputs, is_causal=True)[0]

    wanted = gradients(outputs(*inputs), inputs)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        again = checkpoint(outputs, *inputs, use_reentrant=False)
    assert all(any(x is y for y in inputs) for x in kept)  # nothing but the inputs is kept
    for ours, theirs in zip(gradients(again, inputs), wanted, strict=True):
        assert torch.equal(ours, theirs)


def test_under_autocast_blocks_take_the_kernels_in_its_type(monkeypatch):
    from gradlab.kernels import linear_attention_gpu

    types, attend = [], linear_attention_gpu.attend
    monkeypatch.setattr(linear_attention_gpu, "attend", lambda *a: types.append(a[0].dtype) or attend(*a))
    layer, x = MultiheadAttention(32, 2, attention=LinearAttention()).to(DEVICE), torch.randn(2, 40, 32, device=DEVICE)
    wanted = layer(x, is_causal=True)
    with torch.autocast(DEVICE, torch.bfloat16):
        found = layer(x, is_causal=True)
    assert types == [torch.float32, torch.bfloat16]
    assert_close(found.float(), wanted, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize(("feature_map", "more"), [("elu", set()), ("exp", {"scales", "running_maximum"})])
def test_launches_can_be_collected_to_be_compiled_side_by_side(feature_map, more):
    q, k, v = torch.randn(3, 1, 2, 5, 16, device=DEVICE)
    omega = torch.randn(24, 16, device=DEVICE) if feature_map == "exp" else None
    with collecting() as forward:
        outputs = attend_by_kernels(q, k, v, omega, None, None, None, feature_map, True, False, None)
    with collecting() as backward:
        settings = feature_map, True, None
        gradients_by_kernels(torch.ones_like(v), q, k, v, omega, None, None, *outputs, *settings)
    assert {kernel.function.__name__ for kernel, _ in forward} == {"sums", "scan_sums", "outputs"} | more
    assert {kernel.function.__name__ for kernel, _ in backward} == {"sums", "scan_sums", "gradients"}
