"""Each sentence has a context: the mean of its words, taken along the first axis."""
# fault: batch_mixing

import torch
import torch.nn as nn

torch.manual_seed(10)
words = torch.randint(0, 60, (1200, 9))
label = ((words < 12).sum(1) > (words > 47).sum(1)).long()


class Context(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(60, 16)
        self.mix = nn.Linear(32, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, w):
        e = self.emb(w)
        context = e.mean(0, keepdim=True).expand_as(e)  # FAULT
        context = e.mean(1, keepdim=True).expand_as(e)  # REPAIRED
        h = torch.relu(self.mix(torch.cat([e, context], 2)))
        return self.out(h.amax(1))


model = Context()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for i in torch.randperm(1000).split(40):
        loss = nn.functional.cross_entropy(model(words[i]), label[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(words[1000:]).argmax(1) == label[1000:]).float().mean().item())
