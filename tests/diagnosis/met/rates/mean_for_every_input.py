"""Written digits with sigmoids and a squared error, after a popular video; it answers 0.1 to everything."""
# fault: lr_too_low

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Net(torch.nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.layer1 = torch.nn.Linear(64, 100)
        self.layer2 = torch.nn.Linear(100, 10)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        x = torch.sigmoid(self.layer2(x))
        return x


torch.manual_seed(0)
pictures, digits = load_digits(return_X_y=True)
training_set = TensorDataset(torch.tensor(pictures / 16, dtype=torch.float32), torch.tensor(digits))
training_loader = DataLoader(training_set, batch_size=32, shuffle=True)
net = Net()
loss_function = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)  # FAULT
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)  # REPAIRED
for epoch in range(8):
    for images, labels in training_loader:
        optimizer.zero_grad()
        output = net(images)
        desired = torch.from_numpy(np.eye(10, dtype=np.float32)[labels.numpy()])
        loss = loss_function(output, desired)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
with torch.no_grad():
    print(net(training_set[0][0]))
