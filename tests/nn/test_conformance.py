"""What every block promises, whatever it computes: dtypes, compiling, checkpointing, torch.func, errors, its cost."""

import inspect
import re

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from gradlab.nn.blocks import Shape, ShapeError, blocks, costs
from gradlab.verification import examples

NAMES = sorted(blocks)
MODULES = [name for name in NAMES if isinstance(blocks[name], type)]
# PyTorch cannot compile its fused recurrent kernels without a break; their docstrings say so, and their cells compile.
BREAKS_THE_GRAPH = {"recurrent.rnn", "recurrent.lstm", "recurrent.gru"}
# Numbers drawn in one dtype are not those drawn in another.
DRAWS = {"init.uniform", "init.normal", "init.xavier", "init.he", "init.orthogonal"}


def made(name, dtype=torch.float32):
    """The block of an example, its inputs in a dtype, and the letters of its cost."""
    torch.manual_seed(0)
    found = examples[name]()
    block = blocks[name](**found.settings) if isinstance(blocks[name], type) else blocks[name]
    if isinstance(block, nn.Module):
        block.to(dtype).eval()
    inputs = [x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x for x in found.inputs]
    return block, inputs, found.sizes


def tensors(value):
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in tensors(v)] if isinstance(value, (tuple, list)) else []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_results_have_the_dtype_of_the_inputs_and_nearly_the_same_values(name, dtype):
    block, inputs, _ = made(name, dtype)
    wanted_block, wanted_inputs, _ = made(name)
    wide = {torch.bfloat16: 0.06, torch.float64: 1e-4}[dtype]
    for got, wanted in zip(tensors(block(*inputs)), tensors(wanted_block(*wanted_inputs)), strict=True):
        if wanted.is_floating_point():
            assert got.dtype == dtype
        if wanted.is_floating_point() and name not in DRAWS:
            scale = wanted.abs().max().item()
            assert_close(got.float(), wanted, rtol=wide, atol=wide * max(scale, 1e-3))


@pytest.mark.parametrize("name", sorted(set(NAMES) - BREAKS_THE_GRAPH))
def test_it_compiles_to_one_graph(name):
    torch._dynamo.reset()
    block, inputs, _ = made(name)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for got, wanted in zip(tensors(compiled(*inputs)), tensors(block(*inputs)), strict=True):
        assert_close(got, wanted)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the compiler uses what it warns of
@pytest.mark.parametrize("name", sorted(set(NAMES) - BREAKS_THE_GRAPH))
def test_it_compiles_to_machine_code(name):
    torch._dynamo.reset()
    block, inputs, _ = made(name)
    compiled = torch.compile(block, fullgraph=True)
    torch.manual_seed(0)
    wanted = tensors(block(*copied(inputs)))
    torch.manual_seed(0)
    for got, value in zip(tensors(compiled(*copied(inputs))), wanted, strict=True):
        if name not in DRAWS:  # the compiler has random numbers of its own
            assert_close(got, value, rtol=1e-4, atol=1e-5)


def copied(inputs):
    return [x.clone() if isinstance(x, Tensor) else x for x in inputs]


@pytest.mark.filterwarnings(
    "ignore:There is a performance drop"
)  # torch maps fused attention by a loop, and its fused LSTM cell not at all
@pytest.mark.parametrize("name", sorted(set(NAMES) - BREAKS_THE_GRAPH - DRAWS - {"recurrent.lstm_cell"}))
def test_it_can_be_mapped_over_one_more_axis(name):
    block, inputs, _ = made(name, torch.float64)
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
    if not places:
        pytest.skip("it is given no tensor")
    more = [torch.stack([x, x.flip(-1) if x.ndim else x]) if i in places else x for i, x in enumerate(inputs)]
    mapped = torch.vmap(block, in_dims=tuple(0 if i in places else None for i in range(len(inputs))))(*more)
    for row in (0, 1):
        wanted = block(*(x[row] if i in places else x for i, x in enumerate(more)))
        for got, value in zip(tensors(mapped), tensors(wanted), strict=True):
            assert_close(got[row], value)


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_the_same_with_checkpointing(name):
    block, inputs, _ = made(name, torch.float64)
    leaves = [x.requires_grad_() for x in inputs if isinstance(x, Tensor) and x.is_floating_point()]
    leaves += list(block.parameters())

    def gradients(call):
        outputs = [t for t in tensors(call(*inputs)) if t.requires_grad]
        return torch.autograd.grad([t.sum() for t in outputs], leaves, allow_unused=True) if outputs else ()

    kept = gradients(lambda *args: checkpoint(block, *args, use_reentrant=False))
    assert_close(kept, gradients(block))


@pytest.mark.parametrize("name", MODULES)
def test_it_is_a_function_of_its_parameters_for_torch_func(name):
    block, inputs, _ = made(name, torch.float64)
    values = dict(block.named_parameters())

    def total(values):
        return sum(t.sum() for t in tensors(torch.func.functional_call(block, values, tuple(inputs))))

    def by_autograd():
        result = total(values)
        if not result.requires_grad:
            return {key: torch.zeros_like(value) for key, value in values.items()}
        found = torch.autograd.grad(result, list(values.values()), allow_unused=True)
        return {k: torch.zeros_like(values[k]) if g is None else g for k, g in zip(values, found, strict=True)}

    if values:
        assert_close(torch.func.grad(total)(values), by_autograd())


def matrix_times_vector(matrix, vector, **_):
    return 2 * matrix[0] * matrix[1]


def fused_recurrent_layer(sequence, weight_ih, weight_hh, *_, **__):
    """What oneDNN runs for a layer of an LSTM in float32: both matrices for each step of each example."""
    steps, batch, _ = sequence
    return 2 * steps * batch * (weight_ih[0] * weight_ih[1] + weight_hh[0] * weight_hh[1])


def fused_attention(query, key, value, *_, **__):
    batch, heads, n, d = query
    return 2 * batch * heads * n * key[2] * (d + value[3])


COUNTED = {
    torch.ops.aten.mv: matrix_times_vector,
    torch.ops.aten.mkldnn_rnn_layer: fused_recurrent_layer,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: fused_attention,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_flops_that_are_stated_are_those_counted(name):
    block, inputs, sizes = made(name)
    assert costs[name]["Memory"]
    with FlopCounterMode(display=False, custom_mapping=COUNTED) as counter:
        block(*inputs)
    stated = costs[name]["FLOPs"].split(",")[0]
    if stated.startswith("O("):
        assert counter.get_total_flops() == 0, "what is a product of matrices is counted, not estimated"
    else:
        code = stated.replace("·", "*").replace("²", "**2").replace("³", "**3")
        assert eval(code, {}, dict(sizes)) == counter.get_total_flops()


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_shape_is_told_in_one_line(name):
    block, inputs, _ = made(name)
    function = type(block).forward if isinstance(block, nn.Module) else block
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    tried = 0
    for i, (parameter, value) in enumerate(zip(parameters, inputs, strict=False)):
        shape = Shape.of(parameter.annotation)
        if shape is None or not isinstance(value, Tensor):
            continue
        for place, axis in shape.places:
            if axis.attribute or axis.size is not None:
                larger = torch.cat([value, value.narrow(place, 0, 1)], place)
                with pytest.raises(ShapeError, match=f"^{re.escape(name)}: {parameter.name} must have shape") as error:
                    block(*inputs[:i], larger, *inputs[i + 1 :])
                assert "\n" not in str(error.value)
                assert str(tuple(larger.shape)) in str(error.value)
                tried += 1
    fixed = "{self." in str([Shape.of(p.annotation) for p in parameters])
    assert tried or not fixed


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_has_an_equation_and_an_example(name):
    doc = inspect.getdoc(blocks[name])
    assert "$$" in doc
    assert ">>> " in doc


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_of_the_signature_has_its_shape(name):
    function = blocks[name].forward if isinstance(blocks[name], type) else blocks[name]
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        assert parameter.annotation is not Tensor, f"{parameter.name} has no shape"
    assert signature.return_annotation is not Tensor
