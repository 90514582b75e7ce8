import torch
from torch import nn


class SAGEConv(nn.Module):
    def __init__(self, in_channels, out_channels, aggr="mean"):
        super().__init__()
        self.aggr = aggr
        self.lin_l = nn.Linear(in_channels, out_channels)
        self.lin_r = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index[0], edge_index[1]
        index = dst.unsqueeze(-1).expand(-1, x.size(-1))
        agg = x.new_zeros(x.shape)
        if self.aggr == "max":
            agg = agg.scatter_reduce(0, index, x[src], "amax", include_self=False)
        else:
            agg = agg.scatter_add(0, index, x[src])
            if self.aggr == "mean":
                count = torch.bincount(dst, minlength=x.size(0)).clamp(min=1).unsqueeze(-1)
                agg = agg / count
        return self.lin_l(agg) + self.lin_r(x)
