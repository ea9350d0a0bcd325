"""Records what torch.special computes in float64, with derivatives.

    python3 reference-special.py

Writes reference-special.json beside this file (made with PyTorch 2.13, CPU).
"""

import json
import pathlib

import torch

S = torch.special
INF, NAN = float("inf"), float("nan")


def plain(values):
    return [v if v == v and abs(v) != INF else str(v) for v in values]


def case(name, args, wrt, numbers=()):
    """One call: `args` are lists of numbers or numbers, `wrt` the position that is differentiated, or None."""
    tensors = [torch.tensor(a, dtype=torch.float64) if isinstance(a, list) else a for a in args]
    if wrt is not None:
        tensors[wrt].requires_grad_(True)
    out = getattr(S, name)(*tensors)
    grad = None
    if wrt is not None:
        (found,) = torch.autograd.grad(out.sum(), tensors[wrt])
        grad = plain(found.tolist())
    return {"name": name, "args": [plain(a) if isinstance(a, list) else a for a in args], "value": plain(out.tolist()), "wrt": wrt, "grad": grad}


reals = [-40.0, -9.5, -3.0, -1.0, -0.3, 0.0, 0.2, 0.9, 2.5, 7.0, 12.0]
shares = [1e-20, 1e-8, 1e-3, 0.1, 0.2, 0.5, 0.7, 0.9, 0.999]
inside = [-1.0, -0.99, -0.6, -0.1, 0.0, 0.3, 0.77, 1.0, 1.4, 3.0]
a = [1e-3, 0.1, 0.5, 0.7, 1.0, 2.0, 2.0, 10.0, 10.0, 50.0, 200.0, 1e3, 1e3, 1e4, 1e6, 3.0]
x = [1e-3, 0.3, 0.4, 1.05, 1.0, 0.1, 5.0, 9.0, 30.0, 49.0, 230.0, 950.0, 1100.0, 1.001e4, 1e6, 1e-8]
edge_a = [0.0, 0.0, 1.0, INF, INF, 2.0, -1.0, 2.0, NAN]
edge_x = [0.0, 1.0, 0.0, 2.0, INF, INF, 1.0, -1.0, 1.0]
cases = [
    *(case(name, [reals], 0) for name in ("ndtr", "log_ndtr")),
    case("erfcx", [[-20.0, -5.0, -1.0, -0.1, 0.0, 1e-4, 0.4, 1.0, 3.0, 9.0, 50.0]], 0),
    case("erfcx", [[1e9, INF, -INF, NAN]], None),
    case("ndtri", [shares], 0),
    case("ndtri", [[1e-300, 0.0, 1.0, -0.1, 1.1, NAN]], None),
    case("entr", [[0.1, 0.5, 1.0, 3.0]], 0),
    case("entr", [[0.0, -1.0, NAN, INF]], None),
    case("xlog1py", [[0.0, 0.5, -2.0, 0.0], [0.3, 1.0, -0.5, 2.0]], 0),
    case("xlog1py", [[0.0, 0.5, -2.0, 3.0], [0.3, 1.0, -0.5, 2.0]], 1),
    case("xlog1py", [[0.0, 0.0, 0.0, 1.0, 0.0], [-1.0, -2.0, INF, -1.0, NAN]], None),
    case("zeta", [[2.0, 1.5, 3.0, 7.0, 2.0, 20.0], [1.0, 0.3, 12.0, 2.0, -1.5, 0.7]], 1),
    case("zeta", [[1.0, 0.5, 2.0, 2.5, NAN], [1.0, 1.0, -1.0, -1.5, 1.0]], None),
    case("multigammaln", [[1.6, 2.5, 7.0], 3], 0),
    case("multigammaln", [[0.6, 2.5], 1], 0),
    *(case(name, [a, x], 1) for name in ("gammainc", "gammaincc")),
    *(case(name, [edge_a, edge_x], None) for name in ("gammainc", "gammaincc")),
]
for kind in ("chebyshev_polynomial_%s", "shifted_chebyshev_polynomial_%s"):
    cases += [case(kind % letter, [inside, n], None) for letter in "tuvw" for n in (-1, 0, 1, 2, 5, 12)]
for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
    cases += [case(name, [inside, n], None) for n in (-1, 0, 1, 2, 5, 12)]
    cases.append(case(name, [[0.2, 0.4, 0.6, -0.4], [0.0, 3.0, -2.0, 4.0]], None))

path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(cases, separators=(",", ":")) + "\n")
print(len(cases), path.stat().st_size)
