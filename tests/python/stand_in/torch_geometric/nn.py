import torch


class GCNConv(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(outputs))
        self.lin = torch.nn.Linear(inputs, outputs, bias=False)


class SAGEConv(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.lin_l = torch.nn.Linear(inputs, outputs)
        self.lin_r = torch.nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        sums = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])
        counts = torch.bincount(edges[1], minlength=len(x)).clamp(min=1)
        return self.lin_l(sums / counts[:, None]) + self.lin_r(x)


class GATConv(torch.nn.Module):
    def __init__(self, inputs, outputs, heads=1):
        super().__init__()
        self.att_src = torch.nn.Parameter(torch.zeros(1, heads, outputs))
        self.att_dst = torch.nn.Parameter(torch.zeros(1, heads, outputs))
        self.bias = torch.nn.Parameter(torch.zeros(heads * outputs))
        self.lin = torch.nn.Linear(inputs, heads * outputs, bias=False)
