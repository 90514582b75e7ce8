"""Families of a user's own code: training scripts for `gradlab doctor`, modules for `gradlab verify --like`."""

import random
from pathlib import Path

from attempt import Attempt, argv
from damage import broken_bytes, value

_SCRIPT = """
import torch
from torch import nn
torch.manual_seed(0)
X, y = {data}
model = {model}
optimizer = {optimizer}
for step in range({steps}):
    {before}
    loss = {loss}
    optimizer.zero_grad()
    {backward}
    optimizer.step()
    {after}
{end}
"""
_SOUND = {
    "data": "torch.randn(16, 3), torch.arange(16) % 2",
    "model": "nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1)",
    "steps": "4",
    "before": "pass",
    "loss": "nn.functional.cross_entropy(model(X), y)",
    "backward": "loss.backward()",
    "after": "pass",
    "end": "print(loss.item())",
}
_STRANGE_MODEL = "type('M', (nn.Linear,), {{{}}})(3, 2)"
_OTHERS = {
    "data": ["torch.randn(0, 3), torch.arange(0)", "torch.full((16, 3), float('nan')), torch.arange(16) % 2",
             "torch.randn(16, 3).double(), torch.arange(16) % 2", "torch.eye(16, 3).to_sparse(), torch.arange(16) % 2",
             "torch.zeros(16, 3), torch.zeros(16).long()", "torch.randn(16, 3, device='meta'), torch.arange(16) % 2",
             "torch.randn(1, 3), torch.tensor([1])", "torch.randn(16, 3) * 1e30, torch.arange(16) % 2"],
    "model": ["nn.Linear(3, 2)", "nn.Linear(3, 2).double()", "nn.Sequential()", "nn.Linear(4, 2)",
              "nn.Linear(3, 2, device='meta')", "nn.LazyLinear(2)", "torch.compile(nn.Linear(3, 2), backend='eager')",
              "torch.jit.script(nn.Linear(3, 2))", _STRANGE_MODEL.format("'__repr__': lambda self: 1 / 0"),
              _STRANGE_MODEL.format("'__len__': lambda self: -1"),
              _STRANGE_MODEL.format("'__eq__': lambda a, b: 1 / 0"),
              _STRANGE_MODEL.format("'__hash__': None"), _STRANGE_MODEL.format("'__bool__': lambda self: 1 / 0"),
              _STRANGE_MODEL.format("'state_dict': None"), _STRANGE_MODEL.format("'modules': lambda self: None"),
              "type('\\x1b[31m', (nn.Linear,), {})(3, 2)",
              "nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(1.0), nn.Linear(3, 2))",
              "nn.DataParallel(nn.Linear(3, 2))", "nn.ParameterList([nn.Parameter(torch.ones(3, 2))])"],
    "optimizer": ["torch.optim.LBFGS(model.parameters())", "torch.optim.Adam(model.parameters(), lr=float('nan'))",
                  "torch.optim.SGD(model.parameters(), lr=-1)", "torch.optim.SGD([], lr=1)",
                  "torch.optim.SGD([X], lr=1)",
                  "torch.optim.SGD([{'params': [p]} for p in model.parameters()], lr=1e9)", "None",
                  "torch.optim.SparseAdam(model.parameters())", "torch.optim.AdamW(model.parameters(), foreach=True)",
                  "type('O', (torch.optim.SGD,), {'step': lambda self: None})(model.parameters(), lr=1)"],
    "steps": ["0", "1", "40"],
    "before": ["model.eval()", "X = X + 1", "torch.set_grad_enabled(False)", "X.zero_()",
               "import sys; sys.stdout.close()", "import sys; sys.stderr = None", "import os; os.chdir('/')",
               "model.requires_grad_(False)", "torch.set_default_dtype(torch.float64)", "import gc; gc.collect()",
               "import warnings; warnings.simplefilter('error')", "import sys; sys.argv.clear()",
               "model = nn.Linear(3, 2)",
               "import sys; sys.path.clear()", "import sys; sys.modules.pop('torch.nn', None)",
               "torch.use_deterministic_algorithms(True)",
               "import sys; sys.settrace(lambda *a: None)",
               "import threading; threading.Thread(target=lambda: model(X)).start()",
               "import sys; sys.setrecursionlimit(200)", "import random; random.seed(step)"],
    "loss": ["model(X).sum()", "model(X).sum() * float('nan')", "model(X)", "torch.zeros((), requires_grad=True)",
             "model(X).detach().sum()", "nn.functional.mse_loss(model(X), y)", "torch.tensor(0.0)", "'text'",
             "model(X).to(torch.complex64).sum()", "nn.functional.cross_entropy(model(X), y, reduction='none')",
             "model(X).sum() * 0", "torch.utils.checkpoint.checkpoint(model, X, use_reentrant=False).sum()",
             "torch.vmap(model)(X).sum()",
             "torch.func.functional_call(model, dict(model.named_parameters()), X).sum()"],
    "backward": ["pass", "loss.backward(); loss.backward()", "loss.backward(retain_graph=True); loss.backward()",
                 "torch.autograd.grad(loss, list(model.parameters()))", "loss.backward(torch.ones(16, 2))",
                 "loss.sum().backward(create_graph=True)",
                 "[p.register_hook(lambda g: None) for p in model.parameters()]; loss.backward()",
                 "optimizer.step(lambda: loss)"],
    "after": ["break", "raise SystemExit", "raise KeyboardInterrupt", "raise SystemExit('words')",
              "raise SystemExit(7)",
              "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()", "raise BaseException", "1 / 0",
              "raise GeneratorExit", "[p.data.fill_(float('inf')) for p in model.parameters()]", "del model, optimizer",
              "[setattr(p, 'grad', None) for p in model.parameters()]", "optimizer.param_groups.clear()",
              "optimizer.state.clear()", "loss.item = None", "def f(): f()\n    f()", "raise RecursionError",
              "raise MemoryError", "raise SystemExit(None)", "raise SystemExit(-1)",
              "raise Exception('\\ud800\\x1b[31m')"],
    "end": ["raise SystemExit(3)", "import atexit; atexit.register(print, 'x')", "del torch", "model = None", "",
            "import sys; sys.modules['torch'] = None", "import sys; sys.exit(loss)", "globals().clear()",
            "__name__ = 5",
            "import sys; sys.modules['__main__'] = None", "print('\\ud800')", "import os; os.remove(__file__)"],
}  # fmt: skip
_DOCTOR = [
    "--steps=2",
    "--live",
    "--html=p.html",
    "--json=p.json",
    "--exit-code=script",
    "--steps=0",
    "--html=.",
    "--json=no/x",
]


def scripts(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A training script that does what scripts should not, or that is none, under the doctor."""
    changed = {name: rng.choice(_OTHERS[name]) for name in rng.sample(list(_OTHERS), rng.choice([1, 1, 2, 3]))}
    content = _SCRIPT.format(**(_SOUND | changed)).encode()
    if rng.random() < 0.1:
        content = broken_bytes(rng, content)
    name = rng.choice(["s.py"] * 8 + ["s", "é.py", "s.ipynb", "-s.py"])
    (here / name).write_bytes(content)
    options = rng.sample(_DOCTOR, rng.choice([0, 0, 1, 2]))
    target = value(rng) if rng.random() < 0.03 else name
    module = rng.random() < 0.05
    return Attempt(
        f"script with {changed}", argv(["doctor", *options, *(["-m", "s"] if module else [target])]), runs_script=True
    )


_MODULE = """
import torch
from torch import nn
{head}

class Custom(nn.Module):
    def __init__(self, {arguments}):
        super().__init__()
        {body}

    def forward(self, x, *more):
        return {output}
"""
_SOUND_MODULE = {
    "head": "",
    "arguments": "dim=4",
    "body": "self.weight = nn.Parameter(torch.ones(dim))",
    "output": "x * self.weight",
}
_WRONG_MODULE = {
    "head": ["import nothing", "raise SystemExit(0)", "1 / 0", "import sys; sys.exit(0)",
             "import sys; sys.path.clear()",
             "raise KeyboardInterrupt", "raise BaseException('x')", "import sys; sys.modules['gradlab'] = None",
             "x = (",
             "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()", "nn.Module = 5", "print('\\x1b[31m')",
             "import os; os._exit(0)"],
    "arguments": ["", "*, dim", "dim, other", "*values", "**values", "dim: 'nothing' = 4"],
    "body": ["pass", "raise SystemExit(0)", "1 / 0", "self.weight = None", "self.weight = torch.ones(dim)",
             "self.weight = nn.Parameter(torch.ones(dim, dtype=torch.complex64))",
             "self.weight = nn.Parameter(torch.ones(0))",
             "self.weight = nn.Parameter(torch.ones(2**40))",
             "self.weight = nn.Parameter(torch.ones(dim, device='meta'))",
             "self.__class__.__repr__ = lambda self: 1 / 0",
             "self.weight = nn.Parameter(torch.full((dim,), float('nan')))"],
    "output": ["None", "'text'", "(x, x)", "x[:1]", "x.sum()", "x.detach()", "x * float('nan')", "1 / 0", "{}",
               "x.long()",
               "x.to_sparse()", "x.double()", "x.new_empty(0)", "self", "__import__('sys').exit(0)",
               "torch.empty(2**40)",
               "x.to('meta')", "torch.rand_like(x)", "x.mul_(2)", "torch.complex(x, x)"],
}  # fmt: skip
_BLOCKS = [
    "norm.rms",
    "norm.layer",
    "activation.relu",
    "linear",
    "attention.multihead",
    "nothing",
    "recurrent.lstm",
    "",
]


def modules(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A module that is not what it should be, checked against a block: never one that agrees."""
    changed = {name: rng.choice(_WRONG_MODULE[name]) for name in rng.sample(list(_WRONG_MODULE), rng.choice([1, 1, 2]))}
    content = _MODULE.format(**(_SOUND_MODULE | changed)).encode()
    if rng.random() < 0.1:
        content = broken_bytes(rng, content)
    (here / "m.py").write_bytes(content)
    name = rng.choice(
        ["m.py:Custom"] * 8 + ["m.py:Nothing", "m.py:", "m.py:torch", "m:Custom", "no.py:Custom", "m.py", value(rng)]
    )
    values = [rng.choice(["dim=4", "dim=0", "dim=-1", "dim=x", "nothing=1", "dim=10**30", "=", "dim"])] * rng.randrange(
        2
    )
    printed = ["--json"] * (rng.random() < 0.3)
    command = ["verify", name, f"--like={rng.choice(_BLOCKS)}", *values, "--cases=2", *printed]
    return Attempt(f"module with {changed}", argv(command), codes=(1, 2, 3, 4, 130))
