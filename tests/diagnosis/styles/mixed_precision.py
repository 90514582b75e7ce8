"""Autocast in both half precisions on the CPU; float16 with a scaler that meets an overflow."""

import torch
from torch import nn

torch.manual_seed(1)
data = torch.randn(128, 10)
labels = (data[:, :5].sum(1) > data[:, 5:].sum(1)).long()

for dtype in (torch.bfloat16, torch.float16):
    model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=8, enabled=dtype is torch.float16)
    for step in range(50):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=dtype):
            loss = nn.functional.cross_entropy(model(data), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print(dtype, step, loss.item().hex(), norm.item().hex(), scaler.get_scale())
