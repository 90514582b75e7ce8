"""Hooks of every kind that a user can register, counted and shown."""

from collections import Counter

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

torch.manual_seed(11)
counts = Counter()
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
everywhere = register_module_forward_hook(lambda module, args, out: counts.update([type(module).__name__]))
stepped = register_optimizer_step_post_hook(lambda *args: counts.update(["any step"]))
model[0].register_forward_pre_hook(lambda module, args: (args[0] * 0.5,))
model[1].register_forward_hook(lambda module, args, out: out + 0.01)
model[2].register_full_backward_hook(lambda module, gi, go: (gi[0] * 0.9,))
model[0].weight.register_hook(lambda grad: grad.clamp(-0.5, 0.5))
model[2].bias.register_post_accumulate_grad_hook(lambda p: counts.update(["accumulated"]))
opt = torch.optim.SGD(model.parameters(), lr=0.2)
opt.register_step_pre_hook(lambda *args: counts.update(["before"]))
x, y = torch.randn(64, 4), torch.randint(2, (64,))
for step in range(50):
    out = model(x)
    out.register_hook(lambda grad: counts.update(["output"]))
    out.retain_grad()
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex(), out.grad.norm().item().hex())
everywhere.remove()
stepped.remove()
print(sorted(counts.items()))
print([len(m._forward_hooks) + len(m._forward_pre_hooks) + len(m._backward_hooks) for m in model])
