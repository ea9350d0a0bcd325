"""Records what PyTorch's transforms of distributions compute, and distributions of what they transform.

    python3 reference-transforms.py

Writes reference-transforms.json beside this file (made with PyTorch 2.13, CPU).
"""

import json
import pathlib

import torch
from torch import distributions as D
from torch.distributions import constraints as C

torch.manual_seed(4)
T = D.transforms


def data(tensor):
    return {"shape": list(tensor.shape), "values": [float(f"{v:.9g}") if v == v and abs(v) != float("inf") else str(v) for v in tensor.detach().double().flatten().tolist()]}


v = torch.tensor
# As written in TypeScript, so that the test reads both from one place.
SPELLINGS = {
    "exp": T.ExpTransform(),
    "power": T.PowerTransform(v(1.5)),
    "sigmoid": T.SigmoidTransform(),
    "softplus": T.SoftplusTransform(),
    "tanh": T.TanhTransform(),
    "affine": T.AffineTransform(v([1.0, -2.0, 0.5]), v([2.0, -0.5, 3.0])),
    "affineEvent": T.AffineTransform(0.5, -2.0, event_dim=1),
    "cdf": T.CumulativeDistributionTransform(D.Normal(0.3, 1.2)),
    "compose": T.ComposeTransform([T.AffineTransform(0.1, 0.7), T.SigmoidTransform(), T.PowerTransform(v(2.0))]),
    "composeVectors": T.ComposeTransform([T.AffineTransform(0.1, 0.7), T.StickBreakingTransform()]),
    "independent": T.IndependentTransform(T.ExpTransform(), 1),
    "inverse": T.ExpTransform().inv,
    "reshape": T.ReshapeTransform((3,), (3, 1)),
    "stickBreaking": T.StickBreakingTransform(),
    "softmax": T.SoftmaxTransform(),
    "abs": T.AbsTransform(),
    "lowerCholesky": T.LowerCholeskyTransform(),
}


def attempt(fn):
    try:
        return data(fn())
    except NotImplementedError:
        return None


cases = []
for name, transform in SPELLINGS.items():
    x = torch.randn(2, 3, 3) if name == "lowerCholesky" else torch.randn(2, 3)
    if name in ("power", "inverse"):
        x = x.exp()
    x.requires_grad_()
    y = transform(x)
    weights = torch.randn_like(y)
    (grad,) = torch.autograd.grad((y * weights).sum(), x)
    cases.append({
        "name": name, "x": data(x), "y": data(y), "weights": data(weights), "grad": data(grad),
        "inverse": data(transform.inv(y)), "logAbsDetJacobian": attempt(lambda: transform.log_abs_det_jacobian(x, y)),
        "domain": transform.domain.event_dim, "codomain": transform.codomain.event_dim, "bijective": transform.bijective,
        "forwardShape": list(transform.forward_shape(x.shape)), "inverseShape": list(transform.inverse_shape(y.shape)),
    })

normal = D.Normal(v([0.1, -0.4, 0.7]), v([0.5, 1.0, 1.5]))
BUILT = {
    "logNormal": (normal, ["exp"]),
    "squashed": (normal, ["affineNumbers", "tanh"]),
    "falling": (normal, ["falling", "sigmoid"]),
    "probabilities": (normal, ["stickBreaking"]),
    "reshaped": (normal, ["reshape"]),
    "event": (normal, ["affineEvent"]),
    "vectors": (D.MultivariateNormal(torch.zeros(3), torch.eye(3)), ["exp"]),
    "widened": (D.Normal(v(0.0), v(1.0)), ["affine"]),
}
SPELLINGS["affineNumbers"] = T.AffineTransform(0.2, 1.5)
SPELLINGS["falling"] = T.AffineTransform(0.2, -1.5)
built = []
for name, (base, names) in BUILT.items():
    d = D.TransformedDistribution(base, [SPELLINGS[n] for n in names])
    value = d.sample((2,))
    level = torch.rand(2, 3) * 0.8 + 0.1
    simple = name in ("logNormal", "squashed", "falling", "widened")
    wide = d.expand((4, *d.batch_shape))
    built.append({
        "name": name, "transforms": names, "batchShape": list(d.batch_shape), "eventShape": list(d.event_shape), "value": data(value),
        "logProb": data(d.log_prob(value)), "cdf": data(d.cdf(value)) if simple else None, "level": data(level),
        "icdf": data(d.icdf(level)) if simple else None, "expanded": [list(wide.batch_shape), list(wide.event_shape), list(wide.sample((5,)).shape)],
    })

CONSTRAINTS = {
    "real": C.real, "realVector": C.real_vector, "positive": C.positive, "nonnegative": C.nonnegative, "unitInterval": C.unit_interval,
    "greaterThan": C.greater_than(1.0), "greaterThanEq": C.greater_than_eq(-2.0), "lessThan": C.less_than(3.0), "interval": C.interval(-1.0, 4.0),
    "halfOpenInterval": C.half_open_interval(0.5, 2.0), "simplex": C.simplex, "lowerCholesky": C.lower_cholesky, "independent": C.independent(C.positive, 2),
}
onto = []
for name, constraint in CONSTRAINTS.items():
    x = torch.randn(2, 3, 3)
    onto.append({"name": name, "x": data(x), "bijectTo": attempt(lambda: D.biject_to(constraint)(x)), "transformTo": data(D.transform_to(constraint)(x))})

path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"cases": cases, "built": built, "onto": onto}, separators=(",", ":")) + "\n")
print(path.stat().st_size)
