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
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], input=json.dumps(kernels), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [f"{name} True" for name, _ in kernels]
