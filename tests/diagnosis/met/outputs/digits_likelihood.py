"""Recognise handwritten digits with a small multilayer perceptron."""

# fault: softmax_before_ce
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
images, digits = load_digits(return_X_y=True)
tr_x, te_x, tr_y, te_y = train_test_split(images / 16.0, digits, test_size=0.25, random_state=0)
loader = DataLoader(TensorDataset(torch.tensor(tr_x).float(), torch.tensor(tr_y)), batch_size=50, shuffle=True)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 48)
        self.fc2 = nn.Linear(48, 32)
        self.fc3 = nn.Linear(32, 10)
        self.out = nn.Softmax(dim=1)  # FAULT
        self.out = nn.LogSoftmax(dim=1)  # REPAIRED

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(self.fc3(x))


model = Classifier()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(12):
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        hits = model(torch.tensor(te_x).float()).argmax(1) == torch.tensor(te_y)
    model.train()
    print(epoch, round(running / len(loader), 3), "test accuracy", round(hits.float().mean().item(), 3))
