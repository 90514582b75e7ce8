"""Kernels are compiled here for a GPU that is not here: what the interpreter takes, the compiler may refuse."""

import json
import os
import subprocess
import sys

import pytest

COMPILE = """
import json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from gradlab.kernels import linear_attention_triton as kernels

NUMBERS = {"Q", "K", "V", "X", "Y", "OUT", "DO", "DQ", "DK", "DV", "LOCAL", "BACK"}  # of the inputs' type
ABSENT = {"MASK", "PLACES", "TEXTS", "START"}

def compiled(name, constants):
    function = getattr(kernels, name)
    signature, values, attributes = {}, {}, {}
    for i, parameter in enumerate(function.params):
        absent = parameter.name in ABSENT or (parameter.name == "OMEGA" and constants["MAP"] != "exp")
        if parameter.is_constexpr or absent:
            signature[parameter.name], values[i,] = "constexpr", constants.get(parameter.name)
        elif parameter.name.isupper():
            signature[parameter.name] = "*bf16" if parameter.name in NUMBERS else "*fp32"
        else:
            signature[parameter.name] = "i32"
    source = ASTSource(function, signature, values, attributes)
    options = {"num_warps": constants["num_warps"], "num_stages": constants["num_stages"]}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)

for name, constants in json.load(sys.stdin):
    print(name, "wgmma" in compiled(name, constants).asm["ptx"], flush=True)
"""

ELU = {
    "D": 64, "DP": 64, "F": 64, "BF": 64, "E": 64, "EP": 64, "C": 64, "SEGMENT": 1024, "MAP": "elu", "SCALED": False,
    "MASKED": False, "FULL": True, "CAUSAL": True, "PACKED": False, "PRECISION": "bf16", "LEAST": 1e-29,
    "num_warps": 4, "num_stages": 2,
}  # fmt: skip
RANDOM = {**ELU, "MAP": "exp", "F": 256, "SCALED": True, "FULL": False, "B": 1024}
FLOAT32 = {**ELU, "PRECISION": "tf32x3", "num_warps": 8, "num_stages": 1}


DECODE = """
import contextlib
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from gradlab import kernels
from gradlab.errors import GradlabError
from gradlab.kernels import triton_language as language
from gradlab.models.language import TransformerLanguageModel
from gradlab.sampling import Lookup, captured, generate

POINTERS = {torch.bfloat16: "*bf16", torch.float32: "*fp32", torch.int64: "*i64"}

def compiled(call, function):
    signature, values, aligned = {}, {}, {}
    for i, name in enumerate(function.arg_names):
        value = call.keywords.get(name) if name in call.keywords else call.args[i]
        if name in call.keywords or value is None:
            signature[name], values[i,] = "constexpr", value
        else:
            tensor = isinstance(value, torch.Tensor)
            signature[name] = POINTERS[value.dtype] if tensor else {int: "i32", float: "fp32"}[type(value)]
            if not isinstance(value, float) and (value.data_ptr() if tensor else value) % 16 == 0:
                aligned[i,] = [["tt.divisibility", 16]]
    options = {name: value for name, value in call.keywords.items() if name not in function.arg_names}
    source = ASTSource(function, signature, values, aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)

torch.cuda.get_device_capability = lambda: (9, 0)
language.load_compiler()  # there is no driver here
kernels.run_on = lambda device: True
language._may_overlap = lambda: True
captured.is_worth = lambda device, tokens: tokens > 0
torch.manual_seed(0)
model = TransformerLanguageModel(16400, 32, dim=768, layers=1, heads=12, approximate="tanh").bfloat16().eval()
for rows, way in ((1, {}), (16, {}), (1, {"draft": Lookup(ahead=3)})):
    # Nothing is launched: where a kernel would write stands what stood there, NaN perhaps.
    with language.collecting() as launches, contextlib.suppress(GradlabError):
        generate(model, torch.randint(16400, (rows, 3)), 3, **way)
    for (function, *_), call in launches.items():
        assert "griddepcontrol.wait" in compiled(call, function).asm["ptx"]
    print(*sorted(function.__name__ for function, *_ in launches))
"""


def passes(constants):
    return [
        ("sums", {**constants, "BACKWARD": False}),
        ("sums", {**constants, "BACKWARD": True}),
        ("outputs", constants),
        ("gradients", constants),
    ]


@pytest.mark.parametrize(
    "kernels",
    [
        pytest.param(passes(ELU), id="elu"),
        pytest.param([*passes(RANDOM), ("scales", RANDOM)], id="random", marks=pytest.mark.slow),
        pytest.param(passes(FLOAT32), id="float32", marks=pytest.mark.slow),
        pytest.param(passes({**ELU, "CAUSAL": False}), id="both directions", marks=pytest.mark.slow),
    ],
)
def test_linear_attention(kernels):
    assert run(COMPILE, json.dumps(kernels)) == [f"{name} True" for name, _ in kernels]


def test_a_step_of_decoding_is_few_programs():
    """Each of them is compiled before the first token."""
    one, sixteen, guessed = run(DECODE)
    assert one.split() == ["_add_norm", "_affine", "_affine", "_affine", "_affine", "_attend", "_write_peak"]
    assert sixteen.split() == ["_add_norm", "_attend", "_product", "_write_peak"]
    assert guessed.split() == [
        "_add_norm",
        "_affine",
        "_affine",
        "_affine",
        "_attend",
    ]  # a library has the last product


def run(code, given=""):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", code], input=given, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()
