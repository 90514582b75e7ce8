"""An encoder and a decoder with an optimiser each; one of them was forgotten in the loop."""
# fault: optimizer_missing_params

import torch
from torch import nn, optim

torch.manual_seed(6)
data = torch.randn(1000, 4) @ torch.randn(4, 20)
data = torch.tanh(data / data.std(0))
encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))
decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))
encoder_optimizer = optim.Adam(encoder.parameters(), lr=3e-3)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(900).split(45):
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        loss = (decoder(encoder(data[i])) - data[i]).pow(2).mean()
        loss.backward()
        encoder_optimizer.step()  # REPAIRED
        decoder_optimizer.step()
    print(epoch, loss.item())
