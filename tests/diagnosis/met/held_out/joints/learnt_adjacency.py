"""A graph convolution whose edges come from the features: joints of a hand, six gestures."""
# fault: broken_graph

import torch
import torch.nn as nn


class AdaptiveGraphConv(nn.Module):
    def __init__(self, c_in, c_out, c_embed=8):
        super().__init__()
        self.phi = nn.Linear(c_in, c_embed)
        self.theta = nn.Linear(c_in, c_embed)
        self.fc = nn.Linear(c_in, c_out)
        self.own = nn.Linear(c_in, c_out)

    def forward(self, x):
        adjacency = torch.softmax(self.phi(x) @ self.theta(x).transpose(1, 2) / 8**0.5, dim=-1)
        adjacency = adjacency.detach()  # FAULT
        return torch.relu(self.fc(adjacency @ x) + self.own(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.g1, self.g2 = AdaptiveGraphConv(3, 32), AdaptiveGraphConv(32, 32)
        self.classify = nn.Linear(32, 6)

    def forward(self, joints):
        return self.classify(self.g2(self.g1(joints)).mean(dim=1))


torch.manual_seed(1)
prototypes = torch.randn(6, 21, 3)
label = torch.randint(0, 6, (1200,))
joints = prototypes[label] + 0.7 * torch.randn(1200, 21, 3)
train_x, test_x, train_y, test_y = joints[:1000], joints[1000:], label[:1000], label[1000:]
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(12):
    net.train()
    order = torch.randperm(1000)
    for at in range(0, 1000, 50):
        rows = order[at : at + 50]
        loss = loss_fn(net(train_x[rows]), train_y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean()
    print(f"{epoch}: loss {loss:.3f}, test accuracy {accuracy:.2f}")
