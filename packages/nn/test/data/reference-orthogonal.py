"""Records what PyTorch computes for orthogonal parametrizations.

    apt-get install python3-torch && /usr/bin/python3 reference-orthogonal.py

Writes reference-orthogonal.json.gz beside this file (made with PyTorch 1.13, CPU).
"""

import gzip
import json
import pathlib

import torch
from torch import nn
from torch.nn.utils import parametrizations

torch.manual_seed(11)


def data(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", ""), "values": tensor.detach().double().flatten().tolist()}


class Holder(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)


def case(kind, sizes, trivialization=True):
    """Where a weight starts, and what it is with its gradient after the free matrix has moved."""
    start = torch.randn(sizes, dtype=torch.float64)
    module = parametrizations.orthogonal(Holder(start.clone()), orthogonal_map=kind, use_trivialization=trivialization)
    holder = module.parametrizations.weight
    first = module.weight
    first_original = data(holder.original)
    with torch.no_grad():
        # The signs on the diagonal stay.
        holder.original.add_(0.3 * torch.randn(sizes, dtype=torch.float64).tril(-1) + 0.3 * torch.randn(sizes, dtype=torch.float64).triu(1))
    weight = module.weight
    cotangent = torch.randn_like(weight)
    weight.backward(cotangent)
    names = {"parametrizations.weight." + name: value for name, value in holder.state_dict().items()}
    return {
        "map": kind, "trivialization": trivialization, "start": data(start), "original": first_original, "first": data(first),
        "state": {name: data(value) for name, value in names.items()}, "weight": data(weight), "cotangent": data(cotangent),
        "grad": data(holder.original.grad)}


SIZES = ([4, 4], [5, 3], [3, 5], [2, 4, 3], [1, 1])
cases = [case(kind, sizes) for kind in ("matrix_exp", "cayley", "householder", None) for sizes in SIZES]
cases += [case(kind, sizes, False) for kind in ("matrix_exp", "cayley", "householder") for sizes in SIZES]

path = pathlib.Path(__file__).with_name("reference-orthogonal.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps({"torch": torch.__version__, "cases": cases}).encode())
print(path.name, path.stat().st_size, "bytes")
