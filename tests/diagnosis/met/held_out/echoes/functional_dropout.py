"""Sonar echoes; dropout is called as a function."""
# fault: eval_in_train_mode

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(40, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 3)

    def forward(self, x):
        x = F.dropout(F.relu(self.fc1(x)), 0.5)  # FAULT
        x = F.dropout(F.relu(self.fc2(x)), 0.5)  # FAULT
        x = F.dropout(F.relu(self.fc1(x)), 0.5, training=self.training)  # REPAIRED
        x = F.dropout(F.relu(self.fc2(x)), 0.5, training=self.training)  # REPAIRED
        return self.fc3(x)


centres = torch.randn(3, 40)
y = torch.randint(3, (1500,))
x = centres[y] * 0.6 + torch.randn(1500, 40)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for i in torch.randperm(1200).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[i]), y[i])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(x[1200:])
    accuracy = (logits.argmax(1) == y[1200:]).float().mean()
    print(f"epoch {epoch}: val loss {F.cross_entropy(logits, y[1200:]):.3f} accuracy {accuracy:.3f}")
