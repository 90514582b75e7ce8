"""Mixed precision with a gradient scaler; gradients are clipped as they are."""
# fault: clipping_always_binds

import torch
from torch import nn

torch.manual_seed(6)
x = torch.randn(2000, 16)
y = torch.sin(x[:, :4].sum(1, keepdim=True)) + x[:, 5:6] * x[:, 6:7]
model = nn.Sequential(nn.Linear(16, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
for epoch in range(10):
    for i in torch.randperm(2000).split(50):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x[i])
        loss = nn.functional.mse_loss(out.float(), y[i])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # REPAIRED
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
