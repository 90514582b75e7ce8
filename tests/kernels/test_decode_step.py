"""A whole step of decoding by kernels, in Triton's interpreter, writes what the usual way writes."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

CODE = """
import torch
from gradlab.kernels import add_norm, decode_attention, peak
from gradlab.models.language import TransformerLanguageModel
from gradlab.sampling import Draft, Lookup, captured, generate

calls = set()
def counted(name, call):
    return lambda *a, **k: calls.add(name) or call(*a, **k)
for room, name in ((add_norm, "add_norm"), (add_norm, "add_norm_affine"), (add_norm, "affine"),
                   (decode_attention, "decode_attention"), (peak, "write_peak")):
    setattr(room, name, counted(name, getattr(room, name)))

for settings in ({}, {"approximate": "tanh"}, {"norm": "rms", "gated": True, "position": "rotary", "bias": False}):
    torch.manual_seed(0)
    model = TransformerLanguageModel(11, 32, dim=8, hidden=16, layers=2, heads=2, **settings).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    for rows, way in ((1, {}), (5, {}), (1, {"beam": 2, "eos": 2}), (3, {"beam": 2})):
        prompts = torch.randint(11, (rows, 5))
        captured.is_worth = lambda device, tokens: False
        wanted = generate(model, prompts, 7, **way)
        captured.is_worth = lambda device, tokens: True
        assert torch.equal(generate(model, prompts, 7, **way), wanted), (settings, rows, way)
for draft in (Draft(model, ahead=2), Lookup(ahead=5)):
    assert torch.equal(generate(model, prompts[:1], 7, draft=draft), generate(model, prompts[:1], 7))
    assert draft.acceptance.readings < 7
print(*sorted(calls))
"""


def test_kernels_write_the_same_texts():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr[-2000:]
    assert done.stdout.split() == ["add_norm", "add_norm_affine", "affine", "decode_attention", "write_peak"]
