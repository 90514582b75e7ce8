"""Shows its modules, parameters and functions in the ways there are."""

import inspect

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(16)
net = nn.Sequential(nn.Embedding(10, 8), nn.LSTM(8, 12, batch_first=True))
head = nn.Linear(12, 10)
opt = torch.optim.Adam([{"params": net.parameters()}, {"params": head.parameters(), "lr": 1e-2}], lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, [1e-3, 1e-2], total_steps=40)
print(net, head, opt, nn.CrossEntropyLoss())
tokens = torch.randint(10, (16, 9))
for step in range(40):
    logits = head(net(tokens[:, :-1])[0])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
    print(step, loss, logits.grad_fn.name(), scheduler.get_last_lr())
print(sorted(vars(net)), sorted(vars(opt)), sorted(vars(net[0].weight)), net[0].weight._backward_hooks)
print(
    list(net.state_dict()),
    [name for name, _ in net.named_modules()],
    loss.grad_fn.next_functions[0][0].name(),
)
print(F.cross_entropy.__name__, F.cross_entropy.__module__, inspect.signature(F.cross_entropy))
print(torch.Tensor.backward.__qualname__, inspect.signature(nn.Module.train), inspect.signature(torch.optim.Adam.step))
print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads(), torch.is_anomaly_enabled())
