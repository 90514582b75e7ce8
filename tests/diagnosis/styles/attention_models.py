"""Transformers of torch, whose evaluation takes another path than their training; judged in between."""

import torch
from torch import nn

torch.manual_seed(19)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True, norm_first=False)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
embed, head = nn.Embedding(12, 16), nn.Linear(16, 12)
parameters = [*embed.parameters(), *encoder.parameters(), *head.parameters()]
opt = torch.optim.Adam(parameters, lr=2e-3)
tokens = torch.arange(10).repeat(24, 1).add(torch.randint(12, (24, 1))).remainder(12)
mask = nn.Transformer.generate_square_subsequent_mask(9)
for step in range(40):
    encoder.train()
    out = head(encoder(embed(tokens[:, :-1]), mask=mask, is_causal=True))
    loss = nn.functional.cross_entropy(out.transpose(1, 2), tokens[:, 1:])
    opt.zero_grad()
    loss.backward()
    total = nn.utils.clip_grad_norm_(parameters, 1.0)
    opt.step()
    print(step, loss.item().hex(), total.item().hex())
    if step % 8 == 7:
        encoder.eval()
        with torch.no_grad():
            print("judged", encoder(embed(tokens)).sum().item().hex())
        with torch.inference_mode():
            print("judged", encoder(embed(tokens[:3])).sum().item().hex())
