"""Records what PyTorch's distributions compute: log probabilities with gradients, moments, entropies, divergences.

    python3 reference-distributions.py

Writes reference-distributions.json.gz beside this file (made with PyTorch 2.13, CPU).
"""

import gzip
import json
import pathlib

import torch
from torch import distributions as D

torch.manual_seed(9)


def data(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", ""), "values": [v if v == v and abs(v) != float("inf") else str(v) for v in tensor.detach().double().flatten().tolist()]}


def reals(*sizes):
    return torch.randn(*sizes)


def positives(*sizes):
    return torch.rand(*sizes) * 2 + 0.2


def shares(*sizes):
    return torch.rand(*sizes) * 0.8 + 0.1


def tril(*sizes):
    x = torch.randn(*sizes).tril(-1) * 0.5
    return x + torch.diag_embed(torch.rand(*sizes[:-1]) + 0.5)


PARAMETERS = {
    "Normal": lambda: [reals(3), positives(2, 3)],
    "LogNormal": lambda: [reals(3), positives(3) * 0.5],
    "Uniform": lambda: [reals(3), reals(3) + 4],
    "Exponential": lambda: [positives(2, 3)],
    "Laplace": lambda: [reals(3), positives(3)],
    "Gamma": lambda: [positives(3), positives(3)],
    "Chi2": lambda: [positives(3)],
    "Beta": lambda: [positives(3), positives(3)],
    "Dirichlet": lambda: [positives(2, 3)],
    "StudentT": lambda: [torch.tensor([0.5, 1.5, 4.0]), reals(3), positives(3)],
    "Poisson": lambda: [positives(3) * 3],
    "Bernoulli": lambda: {"probs": shares(3)},
    "Geometric": lambda: {"probs": shares(3)},
    "Binomial": lambda: {"total_count": torch.tensor([3.0, 5.0, 2.0]), "probs": shares(3)},
    "Categorical": lambda: {"probs": positives(2, 4)},
    "Multinomial": lambda: {"total_count": 5, "probs": positives(2, 3)},
    "MultivariateNormal": lambda: {"loc": reals(3), "scale_tril": tril(2, 3, 3)},
}


CONTINUOUS = ("Normal", "LogNormal", "Uniform", "Exponential", "Laplace", "Cauchy", "HalfCauchy", "HalfNormal", "Gumbel", "Weibull", "Pareto", "Kumaraswamy", "Gamma", "InverseGamma", "RelaxedBernoulli", "ContinuousBernoulli", "GeneralizedPareto")


def make(kind, parameters):
    cls = getattr(D, kind)
    return cls(**parameters) if isinstance(parameters, dict) else cls(*parameters)


def plain(parameters):
    one = lambda v: data(v) if torch.is_tensor(v) else v
    return {n: one(v) for n, v in parameters.items()} if isinstance(parameters, dict) else [one(v) for v in parameters]


def attempt(fn):
    try:
        return data(fn())
    except NotImplementedError:
        return None


def case(kind, parameters):
    tensors = [v for v in (parameters.values() if isinstance(parameters, dict) else parameters) if torch.is_tensor(v)]
    wanted = [t for t in tensors if t.is_floating_point() and t is not (parameters.get("total_count") if isinstance(parameters, dict) else None)]
    for t in wanted:
        t.requires_grad_()
    p = make(kind, parameters)
    value = p.sample((4,))
    log_prob = p.log_prob(value)
    grads = torch.autograd.grad(log_prob.sum(), wanted)
    out = {"kind": kind, "parameters": plain(parameters), "batchShape": list(p.batch_shape), "eventShape": list(p.event_shape), "value": data(value), "logProb": data(log_prob), "grads": [data(g) for g in grads]}
    if kind == "Wishart" and "scale_tril" in parameters:
        # cholesky_solve's gradient is not zero above the diagonal, which it does not read.
        out["grads"][-1] = data(grads[-1].tril())
    out["mean"] = attempt(lambda: p.mean)
    out["variance"] = attempt(lambda: p.variance)
    out["mode"] = attempt(lambda: p.mode)
    out["entropy"] = attempt(p.entropy)
    continuous = kind in CONTINUOUS
    out["cdf"] = attempt(lambda: p.cdf(value)) if continuous else None
    out["level"] = data(shares(*log_prob.shape)) if continuous else None
    out["icdf"] = attempt(lambda: p.icdf(torch.tensor(out["level"]["values"]).reshape(log_prob.shape))) if continuous else None
    return out


def probabilities(kind):
    return case(kind, PARAMETERS[kind]())


cases = [probabilities(kind) for kind in PARAMETERS]
for kind in ("Bernoulli", "Geometric", "Categorical"):
    parameters = PARAMETERS[kind]()
    cases.append(case(kind, {"logits": torch.randn_like(parameters["probs"])}))

pairs = [(k, k) for k in PARAMETERS if k not in ("StudentT", "Multinomial", "Chi2", "Uniform")]
pairs += [("Exponential", "Gamma"), ("Gamma", "Exponential"), ("Uniform", "Normal"), ("Exponential", "Normal"), ("Laplace", "Normal")]
divergences = []
for a, b in pairs:
    one, two = PARAMETERS[a](), PARAMETERS[b]()
    divergences.append({"p": a, "q": b, "first": plain(one), "second": plain(two), "kl": data(D.kl_divergence(make(a, one), make(b, two)))})
wide = [[torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0])], [torch.tensor([-1.0, 1.5]), torch.tensor([3.0, 4.0])]]
divergences.append({"p": "Uniform", "q": "Uniform", "first": plain(wide[0]), "second": plain(wide[1]), "kl": data(D.kl_divergence(D.Uniform(*wide[0]), D.Uniform(*wide[1])))})

more = [
    ("Binomial", {"total_count": torch.tensor(5.0), "probs": torch.tensor([0.0, 0.125, 0.5, 0.9, 1.0])}),
    ("Binomial", {"total_count": torch.tensor(7.0), "probs": torch.tensor([[0.25], [0.5]])}),
    ("Multinomial", {"total_count": 1, "probs": torch.tensor([0.2, 0.3, 0.5])}),
    ("Bernoulli", {"probs": torch.tensor([0.5, 0.25, 0.75])}),
    ("Dirichlet", [torch.tensor([[0.5, 0.25], [0.5, 2.0], [3.0, 2.0]])]),
    ("Beta", [torch.tensor([0.5, 0.5, 3.0]), torch.tensor([0.25, 2.0, 2.0])]),
    ("Gamma", [torch.tensor([0.5, 3.0]), torch.tensor([2.0, 2.0])]),
    ("Poisson", [torch.tensor([0.5, 3.0, 4.25])]),
]
cases += [case(kind, parameters) for kind, parameters in more]

families = [("Bernoulli", "Poisson"), ("Beta", "Exponential"), ("Beta", "Gamma"), ("Beta", "Normal"), ("Gamma", "Normal"), ("Normal", "Laplace"), ("Poisson", "Bernoulli"), ("Poisson", "Binomial")]
families += [(a, b) for a in ("Exponential", "Gamma") for b in ("Beta", "Uniform")]
families += [(a, b) for a in ("Laplace", "Normal") for b in ("Beta", "Exponential", "Gamma", "Uniform")]
given = [(a, PARAMETERS[a](), b, PARAMETERS[b]()) for a, b in families]
near = [torch.tensor([0.0, 0.25, 0.5]), torch.tensor([1.0, 0.75, 1.5])]
given += [("Uniform", near if b == "Beta" else [near[0] - (near[0] == 0.5).float(), near[1]], b, [positives(3) for _ in PARAMETERS[b]()]) for b in ("Beta", "Exponential", "Gamma")]
given += [("Beta", PARAMETERS["Beta"](), "Uniform", [torch.tensor([0.0, -1.0, 0.5]), torch.tensor([1.0, 2.0, 2.0])])]
for a, one, b, two in given:
    divergences.append({"p": a, "q": b, "first": plain(one), "second": plain(two), "kl": data(D.kl_divergence(make(a, one), make(b, two)))})

LATER = {
    "Cauchy": lambda: [reals(3), positives(2, 3)],
    "HalfCauchy": lambda: [positives(3)],
    "HalfNormal": lambda: [positives(3)],
    "Gumbel": lambda: [reals(3), positives(3)],
    "Weibull": lambda: [positives(3), positives(3) + 1],
    "Pareto": lambda: [positives(3), positives(3) + torch.tensor([0.0, 1.0, 2.5])],
    "Kumaraswamy": lambda: [positives(3), positives(3)],
    "InverseGamma": lambda: [positives(3) + torch.tensor([0.0, 1.0, 2.5]), positives(3)],
    "FisherSnedecor": lambda: [positives(3) * 3, positives(3) * 3 + torch.tensor([0.0, 2.0, 4.0])],
    "NegativeBinomial": lambda: {"total_count": torch.tensor([3.0, 5.0, 2.0]), "probs": shares(3)},
    "OneHotCategorical": lambda: {"probs": positives(2, 4)},
    "RelaxedBernoulli": lambda: {"temperature": torch.tensor(0.7), "probs": shares(3)},
    "RelaxedOneHotCategorical": lambda: {"temperature": torch.tensor(0.7), "probs": positives(2, 3)},
    "LogisticNormal": lambda: [reals(2, 3), positives(2, 3)],
}
PARAMETERS |= LATER
cases += [probabilities(kind) for kind in LATER]
for kind in ("NegativeBinomial", "OneHotCategorical", "RelaxedBernoulli", "RelaxedOneHotCategorical"):
    parameters = PARAMETERS[kind]()
    cases.append(case(kind, {**{n: v for n, v in parameters.items() if n != "probs"}, "logits": torch.randn_like(parameters["probs"])}))
cases.append(case("LogisticNormal", [torch.tensor(0.3), torch.tensor(0.8)]))
for kind in ("Cauchy", "HalfNormal", "Gumbel", "Pareto", "OneHotCategorical"):
    one, two = PARAMETERS[kind](), PARAMETERS[kind]()
    divergences.append({"p": kind, "q": kind, "first": plain(one), "second": plain(two), "kl": data(D.kl_divergence(make(kind, one), make(kind, two)))})



def definite(*sizes):
    factor = tril(*sizes)
    return factor @ factor.mT


LATEST = [
    ("VonMises", [reals(3), positives(2, 3) * 3]),
    ("VonMises", [reals(2), torch.tensor([1e-3, 40.0])]),
    ("LKJCholesky", [3, positives(2)]),
    ("LKJCholesky", [2, torch.tensor(1.0)]),
    ("Wishart", {"df": positives(2) + 4, "covariance_matrix": definite(3, 3)}),
    ("Wishart", {"df": torch.tensor(5.3), "precision_matrix": definite(2, 3, 3)}),
    ("Wishart", {"df": torch.tensor([2.5, 5.0]), "scale_tril": tril(2, 2)}),
    ("MultivariateNormal", {"loc": reals(3), "covariance_matrix": definite(2, 3, 3)}),
    ("MultivariateNormal", {"loc": reals(2, 3), "precision_matrix": definite(3, 3)}),
]
cases += [case(kind, parameters) for kind, parameters in LATEST]

NEWEST = {
    "ContinuousBernoulli": lambda: {"probs": shares(3)},
    "GeneralizedPareto": lambda: [reals(3), positives(3), torch.tensor([0.3, -0.5, 0.6])],
    "LowRankMultivariateNormal": lambda: [reals(3), reals(2, 3, 2), positives(3)],
}
PARAMETERS |= NEWEST
cases += [probabilities(kind) for kind in NEWEST]
cases.append(case("ContinuousBernoulli", {"logits": torch.tensor([-3.0, 0.001, 0.7])}))
cases.append(case("ContinuousBernoulli", {"probs": torch.tensor([0.5, 0.4995, 0.25])}))
cases.append(case("GeneralizedPareto", [torch.tensor(0.5), positives(2), torch.tensor(0.0)]))

tails = ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Laplace", "Normal", "Pareto")
# PyTorch's masks of infinite ones do not broadcast.
flat = lambda parameters: {n: v[-1] if v.dim() > 1 else v for n, v in parameters.items()} if isinstance(parameters, dict) else [v[-1] if v.dim() > 1 else v for v in parameters]
known = {(a.__name__, b.__name__) for a, b in D.kl._KL_REGISTRY} - {(d["p"], d["q"]) for d in divergences}
for a, b in sorted(known):
    if a in tails and b in (*tails, "Uniform"):
        one, two = flat(PARAMETERS[a]()), flat(PARAMETERS[b]())
        divergences.append({"p": a, "q": b, "first": plain(one), "second": plain(two), "kl": data(D.kl_divergence(make(a, one), make(b, two)))})
inside = [torch.tensor([0.1, 0.25, 0.0]), torch.tensor([0.9, 0.75, 1.0])]
outside = [torch.tensor([-1.0, 0.25, -0.5]), torch.tensor([1.5, 2.0, 3.0])]
edges = [("Uniform", inside, b, PARAMETERS[b]()) for b in ("ContinuousBernoulli", "Gumbel")]
edges += [("Uniform", [inside[0] + 1.0, inside[1] + 2.0], "Pareto", [torch.tensor([0.5, 1.3, 1.0]), positives(3)])]
edges += [("ContinuousBernoulli", PARAMETERS["ContinuousBernoulli"](), "Uniform", outside), ("HalfCauchy", [torch.tensor([0.5, 2.0])], "HalfCauchy", [torch.tensor([1.0, 0.3])])]
low, full = "LowRankMultivariateNormal", "MultivariateNormal"
edges += [(a, PARAMETERS[a](), b, PARAMETERS[b]()) for a, b in ((low, low), (low, full), (full, low))]
for a, one, b, two in edges:
    divergences.append({"p": a, "q": b, "first": plain(one), "second": plain(two), "kl": data(D.kl_divergence(make(a, one), make(b, two)))})

path = pathlib.Path(__file__).with_name("reference-distributions.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps({"torch": torch.__version__, "cases": cases, "divergences": divergences}).encode())
print(path.name, path.stat().st_size, "bytes")
