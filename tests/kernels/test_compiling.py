"""Kernels are compiled here for a GPU that is not here: what the interpreter takes, the compiler may refuse.

What does not fit into registers is spilled to memory, which shows in no result: it is an error here too.
"""

import json
import os
import subprocess
import sys

import pytest
import torch

from gradlab.kernels.group_norm import sizes_of

COMPILE = """
import json, re, subprocess, sys, tempfile
from importlib import import_module
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

UNEVEN = ("rows", "heads", "bend", "place", "places", "least", "turns")

def compiled(module, name, types, constants):
    function = getattr(import_module("gradlab.kernels." + module), name)
    signature, values, attributes = {}, {}, {}
    for i, parameter in enumerate(function.params):
        if parameter.is_constexpr or parameter.name in constants:
            signature[parameter.name], values[i,] = "constexpr", constants.get(parameter.name)
            continue
        signature[parameter.name] = types.get(parameter.name, "*fp32" if parameter.name.isupper() else "i32")
        if signature[parameter.name] != "fp32" and parameter.name not in UNEVEN:
            attributes[i,] = [["tt.divisibility", 16]]  # as sizes of models are
    source = ASTSource(function, signature, values, attributes)
    options = {"num_warps": constants["num_warps"], "num_stages": constants.get("num_stages", 3)}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)

def spilled(ptx):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        done = subprocess.run(
            [get_ptxas(90).path, "-v", "--gpu-name=sm_90a", file.name, "-o", "/dev/null"],
            capture_output=True, text=True, check=True,
        )
    return sum(map(int, re.findall(r"(\\d+) bytes spill", done.stderr)))

for row in json.load(sys.stdin):
    kernel = compiled(*row)
    ptx = kernel.asm["ptx"]
    print(json.dumps({"wgmma": "wgmma" in ptx, "shared": kernel.metadata.shared, "spilled": spilled(ptx)}), flush=True)
"""

SHARED = 227 * 1024  # bytes that a block of threads may have on sm_90
SPILLED = 16  # bytes: a register or two, which other versions of the compiler may find room for

ELU = {
    "D": 64, "DP": 64, "F": 64, "BF": 64, "E": 64, "EP": 64, "C": 64, "SEGMENT": 1024, "MAP": "elu", "SCALED": False,
    "MASKED": False, "FULL": True, "CAUSAL": True, "PACKED": False, "PRECISION": "bf16", "LEAST": 1e-29,
    "MASK": None, "PLACES": None, "TEXTS": None, "START": None, "OMEGA": None, "LOWEST": None,
    "num_warps": 4, "num_stages": 2,
}  # fmt: skip
RANDOM = {key: value for key, value in ELU.items() if key not in ("OMEGA", "LOWEST")} | {
    "MAP": "exp", "F": 256, "SCALED": True, "FULL": False, "B": 1024,
}  # fmt: skip
FLOAT32 = {**ELU, "PRECISION": "tf32x3", "num_warps": 8, "num_stages": 1}
INPUTS = dict.fromkeys(("Q", "K", "V", "X", "Y", "OUT", "DO", "DQ", "DK", "DV", "LOCAL", "BACK"), "*bf16")


def attention(name, constants):
    return "linear_attention_triton", name, INPUTS, constants


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
        attention("sums", {**constants, "BACKWARD": False}),
        attention("sums", {**constants, "BACKWARD": True}),
        attention("outputs", constants),
        attention("gradients", constants),
    ]


def tensors(names, kind):
    return dict.fromkeys(names.split(), f"*{kind}")


ROWS = tensors("x delta gain shift total weight bias y", "bf16") | {"eps": "fp32"}
FEW = {"EARLY": True, "num_warps": 4}
UPDATE = (
    tensors("gradients sums norms norm bad step factors decays multiples lr", "fp32")
    | tensors("facts counted", "i64")
    | tensors("owners", "i32")
)
DECIDE = {"CLIP": 1.0, "LOG_BETA1": -0.1, "LOG_BETA2": -0.001, "COUNTS": True, "PARAMETERS": 20, "ROWS": 32}
LAYER = (
    tensors("x gain shift total means scales later s dx parts", "fp32")
    | tensors("delta y dy ddelta h a da dh q k v together", "bf16")
    | tensors("seeds", "i64")
    | {"eps": "fp32", "keep": "fp32"}
)
ROW = {"DIM": 768, "BLOCK": 1024, "num_warps": 2}
HIDDEN = {"DIM": 3072, "BLOCK": 1024, "TANH": False, "num_warps": 4}
PIXELS = tensors("logits gradient", "bf16") | tensors("x y slope", "fp32")


def group_norm(kind, examples, channels, side):
    """Both passes over pictures of a U-Net, with the tiles that they have there."""
    pictures, size = torch.Size((examples, channels, side, side)), {"bf16": 2, "fp32": 4}[kind]
    types = tensors("x offset y dy dx", kind) | tensors("weight bias moments parts", "fp32")
    types |= {"eps": "fp32", "row": "i32"}
    constants = dict(sizes_of(pictures, 8, size, "silu")[1])
    return {
        f"group_norm, {name}, {kind}, {channels} channels": ("group_norm_triton", name, types, constants)
        for name in ("forward", "backward")
    }


KERNELS = {
    "layer, add_norm": ("layer", "_add_norm", LAYER, {**ROW, "DROP": True}),
    "layer, add": ("layer", "_add_norm", LAYER, {**ROW, "DROP": True, "y": None, "means": None, "scales": None}),
    "layer, add_norm_back": ("layer", "_add_norm_back", LAYER, {**ROW, "DROP": False}),
    "layer, add_norm_back, dropout": ("layer", "_add_norm_back", LAYER, {**ROW, "DROP": True, "num_warps": 4}),
    "layer, bend": ("layer", "_bend", LAYER, {**HIDDEN, "DROP": True}),
    "layer, bend_back": ("layer", "_bend_back", LAYER, {**HIDDEN, "DROP": True}),
    "layer, bend_back, tanh": ("layer", "_bend_back", LAYER, {**HIDDEN, "TANH": True, "DROP": False}),
    "layer, beside": ("layer", "_beside", LAYER, {"DIM": 768, "BLOCK": 1024, "num_warps": 4}),
    **group_norm("bf16", 256, 64, 28),
    **group_norm("fp32", 256, 192, 28),
    **group_norm("bf16", 256, 384, 7),
    "add_norm": ("add_norm", "_add_norm", ROWS, {"NORM": 1, "BLOCK": 1024, **FEW}),
    "add_norm, wide": ("add_norm", "_add_norm", ROWS, {"NORM": 2, "BLOCK": 4096, "shift": None, **FEW}),
    "add_norm_affine": (
        "add_norm",
        "_affine",
        ROWS,
        {"ERF": True, "NORM": 1, "OUTPUTS": 8, "INPUTS": 1024, "WHOLE": True, **FEW},
    ),
    "affine": (
        "add_norm",
        "_affine",
        ROWS,
        {"ERF": False, "NORM": 0, "OUTPUTS": 4, "INPUTS": 4096, "WHOLE": False, **FEW}
        | dict.fromkeys(("delta", "gain", "shift", "total")),
    ),
    "product": (
        "product",
        "_product",
        ROWS,
        {"ERF": False, "ROWS": 32, "OUTPUTS": 16, "INPUTS": 256, "STAGES": 4, **FEW},
    ),
    "peak": (
        "peak",
        "_write_peak",
        tensors("logits", "bf16") | tensors("page position chosen", "i64") | tensors("peaks", "fp32"),
        {"BLOCK": 8192, "EARLY": True, "num_warps": 16},
    ),
    "decode_attention": (
        "decode_attention",
        "_attend",
        tensors("q k v keys values out", "bf16") | tensors("place owners", "i64") | {"scale": "fp32"},
        {"DIM": 64, "BLOCK_DIM": 64, "BLOCK": 256, "EARLY": True, "num_warps": 8},
    ),
    "cross_entropy, held": (
        "cross_entropy",
        "_surprise",
        tensors("logits", "bf16") | tensors("targets", "i64") | tensors("losses", "fp32"),
        {"CLASSES": 50257, "COLUMNS": 50304, "BLOCK": 4096, "HELD": True, "num_warps": 16},
    ),
    "cross_entropy, read twice": (
        "cross_entropy",
        "_surprise",
        tensors("logits", "bf16") | tensors("targets", "i64") | tensors("losses", "fp32"),
        {"CLASSES": 100000, "COLUMNS": 100032, "BLOCK": 4096, "HELD": False, "num_warps": 16},
    ),
    "bernoulli": ("bernoulli", "_log_probability", PIXELS, {"ROWS": 4, "COLUMNS": 1024, "num_warps": 4}),
    "bernoulli, gradient": ("bernoulli", "_gradient", PIXELS, {"ROWS": 4, "COLUMNS": 1024, "num_warps": 4}),
    "small_update, squares": ("small_update", "add_squares", UPDATE, {"BLOCK": 1024, "num_warps": 4}),
    "small_update, decide": (
        "small_update",
        "decide",
        UPDATE,
        {**DECIDE, "WIDTH": 128, "MOST": 600, "BLOCK": 1024, "num_warps": 4},
    ),
    "small_update, adam": (
        "small_update",
        "adam",
        UPDATE,
        {"BETA1": 0.9, "BETA2": 0.999, "EPS": 1e-8, "APART": True, "BLOCK": 1024, "num_warps": 4},
    ),
}


def compiled(rows):
    return [json.loads(line) for line in run(COMPILE, json.dumps(rows))]


# Gradients of random features and in float32 have more numbers at once than there are registers.
@pytest.mark.parametrize(
    ("kernels", "spilled"),
    [
        pytest.param(passes(ELU), SPILLED, id="elu"),
        pytest.param([*passes(RANDOM), attention("scales", RANDOM)], 1024, id="random", marks=pytest.mark.slow),
        pytest.param(passes(FLOAT32), 4096, id="float32", marks=pytest.mark.slow),
        pytest.param(passes({**ELU, "CAUSAL": False}), SPILLED, id="both directions", marks=pytest.mark.slow),
    ],
)
def test_linear_attention(kernels, spilled):
    results = compiled(kernels)
    assert len(results) == len(kernels)
    assert all(result["wgmma"] for result in results)
    assert [result for result in results if not fits(result, spilled)] == []


def test_the_other_kernels_fit_into_registers_and_shared_memory():
    results = dict(zip(KERNELS, compiled([*KERNELS.values()]), strict=True))
    # Newer compilers read more rows ahead than there are registers for.
    most = {"layer, add_norm_back": 512}
    assert {name: result for name, result in results.items() if not fits(result, most.get(name, SPILLED))} == {}


def fits(result, spilled=SPILLED):
    return result["spilled"] <= spilled and result["shared"] <= SHARED


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
