"""Writes the files that torch-checkpoint.test.ts reads, and what they hold, with PyTorch 1.13 (Debian's python3-torch).

    python3 write.py        writes *.pt and expected.json beside this file
"""
import argparse
import json
import os
import warnings

import torch

warnings.filterwarnings("ignore")
folder = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(0)
expected = {}


def path(name):
    return os.path.join(folder, name + ".pt")


def describe(value):
    return {
        "dtype": str(value.dtype).replace("torch.", ""),
        "shape": list(value.shape),
        "stride": list(value.stride()),
        "values": value.detach().to(torch.float64).flatten().tolist()
        if not value.dtype.is_complex
        else None,
    }


def save(name, value, tensors, **options):
    torch.save(value, path(name), **options)
    expected[name] = {key: describe(tensor) for key, tensor in tensors.items()}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.tied = torch.nn.Linear(3, 2, bias=False)
        self.tied.weight = self.fc.weight

    def forward(self, x):
        return self.norm(self.fc(x))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net(torch.randn(4, 3)).sum().backward()
optimizer.step()

save("state-dict", net.state_dict(), net.state_dict())
save("protocol-4", net.state_dict(), net.state_dict(), pickle_protocol=4)

training = {
    "epoch": 3,
    "model": net.state_dict(),
    "optimizer": optimizer.state_dict(),
    "best": 0.25,
    "name": "a run",
    "flags": [True, None, False],
    "size": torch.Size([2, 3]),
    "device": torch.device("cpu"),
    "dtype": torch.float16,
    "large": 2**80,
    "negative": -5,
}
moments = {
    f"optimizer.state.{i}.{key}": value
    for i, state in optimizer.state_dict()["state"].items()
    for key, value in state.items()
}
save("training", training, {**{f"model.{k}": v for k, v in net.state_dict().items()}, **moments})

numbers = [0.0, 1.0, 2.0, 3.0]
dtypes = {
    name: torch.tensor(numbers).to(getattr(torch, name))
    for name in "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
}
save("dtypes", dtypes, dtypes)

base = torch.arange(24.0)
grid = base.view(4, 6)
views = {
    "whole": base,
    "grid": grid,
    "transposed": grid.t(),
    "row": grid[2],
    "corner": grid[1:3, 4:],
    "repeated": base[5:6].expand(3, 2),
    "empty": torch.empty(0, 3),
    "scalar": torch.tensor(7, dtype=torch.int64),
    "image": torch.arange(8.0).view(1, 2, 2, 2).contiguous(memory_format=torch.channels_last),
}
save("views", views, views)

marked = torch.nn.Parameter(torch.ones(2))
marked.note = "kept by nobody"
parameters = [torch.nn.Parameter(torch.zeros(2)), marked, torch.ones(1, requires_grad=True)]
save("parameters", parameters, {str(i): value for i, value in enumerate(parameters)})
save("single", torch.eye(2), {"": torch.eye(2)})


class Calls:
    def __reduce__(self):
        return (os.system, ("echo called",))


# Files that are refused.
torch.save(net.state_dict(), path("old-format"), _use_new_zipfile_serialization=False)
torch.save(torch.nn.Linear(2, 1), path("whole-module"))
torch.save({"weight": torch.ones(1), "args": argparse.Namespace(lr=0.1)}, path("namespace"))
torch.save({"weight": torch.ones(1), "x": Calls()}, path("calls"))
torch.jit.save(torch.jit.script(torch.nn.Identity()), path("script"))

with open(os.path.join(folder, "expected.json"), "w") as file:
    json.dump(expected, file, indent=1, allow_nan=False)
    file.write("\n")
