"""Calls of functions of elements and of counts: PyTorch's own, with gradients. `python3 record/elements.py OUT`"""
import sys

import torch
from recorder import Recorder

torch.manual_seed(0)
r = Recorder()
NAN, INF = float("nan"), float("inf")

for dtype in (torch.float64, torch.float32):
    x = torch.randn(3, 4, 2, dtype=dtype)
    for dim in (0, 1, -1):
        r.call("aten::logcumsumexp", {"self": x, "dim": dim})
    r.call("aten::logcumsumexp", {"self": x * (500 if dtype == torch.float64 else 20), "dim": 1})
    r.call("aten::logcumsumexp", {"self": x.permute(2, 0, 1), "dim": 1})
    r.call("aten::logcumsumexp", {"self": torch.tensor(2.0, dtype=dtype), "dim": 0})
    special = torch.tensor([-INF, -INF, 1.0, 3.0, INF, 3.0, NAN, 2.0], dtype=dtype)
    r.call("aten::logcumsumexp", {"self": special, "dim": 0}, gradients=False)
    r.call("aten::logcumsumexp", {"self": torch.zeros(0, 2, dtype=dtype), "dim": 0})
    r.call("aten::clip", {"self": x, "min": -0.5, "max": 0.6})
    r.call("aten::clip", {"self": x, "min": None, "max": 0.6})
    r.call("aten::clip.Tensor", {"self": x, "min": torch.randn(2, dtype=dtype), "max": None})
    values = torch.tensor([0.0, 1.0, 2.5, 2.5, 4.0, -3.0, 7.0, NAN], dtype=dtype)
    r.call("aten::histc", {"self": values[:7], "bins": 4, "min": 0, "max": 4}, gradients=False)
    r.call("aten::histc", {"self": values[:7], "bins": 5, "min": 0, "max": 0}, gradients=False)
    r.call("aten::histc", {"self": values[:1], "bins": 3, "min": 0, "max": 0}, gradients=False)
    r.call("aten::histc", {"self": values[:0], "bins": 3, "min": 0, "max": 0}, gradients=False)
    weight = torch.arange(7, dtype=dtype)
    for density in (False, True):
        for given in (None, weight):
            r.call("aten::histogram.bin_ct", {"self": values[:7], "bins": 4, "range": None, "weight": given, "density": density}, gradients=False)
            r.call("aten::histogram.bin_ct", {"self": values[:7], "bins": 4, "range": [0.0, 3.0], "weight": given, "density": density}, gradients=False)
            edges = torch.tensor([-1.0, 0.0, 2.5, 4.0], dtype=dtype)
            r.call("aten::histogram.bins_tensor", {"self": values[:7], "bins": edges, "weight": given, "density": density}, gradients=False)
    r.inplace("aten::clip_", {"self": x.clone(), "min": -0.5, "max": 0.6})
    for sizes in ((3, 3), (2, 4), (7, 3), (8, 3), (9, 2), (3, 3, 3), (4, 0)):
        for wrap in (False, True):
            r.inplace("aten::fill_diagonal_", {"self": torch.zeros(*sizes, dtype=dtype), "fill_value": 3, "wrap": wrap})
    r.inplace("aten::fill_diagonal_", {"self": torch.zeros(3, 8, dtype=dtype).t(), "fill_value": 3, "wrap": True})

numbers = torch.tensor([1, 3, 3, 0, 6])
r.call("aten::bincount", {"self": numbers, "weights": None, "minlength": 0}, gradients=False)
r.call("aten::bincount", {"self": numbers.int(), "weights": None, "minlength": 9}, gradients=False)
r.call("aten::bincount", {"self": numbers[:0], "weights": None, "minlength": 3}, gradients=False)
for dtype in (torch.float32, torch.float64, torch.int64):
    r.call("aten::bincount", {"self": numbers, "weights": torch.tensor([1, 2, 3, 4, 5]).to(dtype), "minlength": 0}, gradients=False)

r.write(sys.argv[1])
