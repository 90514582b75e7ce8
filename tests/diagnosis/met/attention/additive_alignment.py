"""Additive attention with a squeezed score, after a bidirectional encoder."""
# fault: wrong_softmax_dim

import torch
import torch.nn as nn

torch.manual_seed(4)
tokens = torch.randint(1, 30, (1000, 12))
tokens[torch.arange(1000), torch.randint(12, (1000,))] = 0
where = (tokens == 0).float().argmax(1)
label = (tokens.roll(-1, 1)[torch.arange(1000), where] % 3).long()


class Bahdanau(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.rnn = nn.LSTM(16, size // 2, bidirectional=True, batch_first=True)
        self.W, self.v = nn.Linear(size, size), nn.Linear(size, 1, bias=False)
        self.fc = nn.Linear(size, 3)

    def forward(self, t):
        h, _ = self.rnn(self.emb(t))
        score = self.v(torch.tanh(self.W(h))).squeeze(2)
        alpha = torch.softmax(score, dim=0)  # FAULT
        alpha = torch.softmax(score, dim=1)  # REPAIRED
        context = torch.bmm(alpha.unsqueeze(1), h).squeeze(1)
        return self.fc(context)


model = Bahdanau()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(10):
    for i in torch.randperm(900).split(50):
        loss = loss_fn(model(tokens[i]), label[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(tokens[900:]).argmax(1) == label[900:]).float().mean().item())
