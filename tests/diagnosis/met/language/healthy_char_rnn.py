"""Names by a recurrent net, one name a step, after the tutorial: NLL, a hidden state, updates by hand."""

import torch
import torch.nn as nn

torch.manual_seed(7)
letters = "abcdefghij"
kinds = ["aabbcc", "ddeeff", "gghhij"]


class RNN(nn.Module):
    def __init__(self, n=10, hidden=32, out=3):
        super().__init__()
        self.hidden_size = hidden
        self.i2h, self.h2o = nn.Linear(n + hidden, hidden), nn.Linear(hidden, out)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, letter, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((letter, hidden), 1)))
        return self.softmax(self.h2o(hidden)), hidden


rnn, criterion, learning_rate = RNN(), nn.NLLLoss(), 0.01
current = 0.0
for it in range(1, 601):
    k = int(torch.randint(3, ()))
    name = [
        kinds[k][int(torch.randint(6, ()))] if torch.rand(()) < 0.7 else letters[int(torch.randint(10, ()))]
        for _ in range(5)
    ]
    hidden = torch.zeros(1, rnn.hidden_size)
    rnn.zero_grad()
    for c in name:
        line = torch.zeros(1, 10)
        line[0, letters.index(c)] = 1
        output, hidden = rnn(line, hidden)
    loss = criterion(output, torch.tensor([k]))
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    current += loss.item()
    if it % 150 == 0:
        print(it, current / 150)
        current = 0.0
