"""Calls of linear algebra operators: PyTorch's own, with gradients. `python3 record/linalg.py OUT`"""
import sys

import torch
from recorder import Recorder

torch.manual_seed(0)
r = Recorder()
F32, F64 = torch.float32, torch.float64


def mat(*sizes, dtype=F64):
    return torch.randn(*sizes, dtype=dtype)


def square(*sizes, dtype=F64):
    """Well-conditioned square matrices."""
    n = sizes[-1]
    return mat(*sizes, n, dtype=dtype) + 2 * torch.eye(n, dtype=dtype)


def positive(*sizes, dtype=F64):
    a = mat(*sizes, sizes[-1], dtype=dtype)
    return a @ a.mT + torch.eye(sizes[-1], dtype=dtype)


def symmetric(*sizes, dtype=F64):
    a = mat(*sizes, sizes[-1], dtype=dtype)
    return a + a.mT


LSTSQ = "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)"


def lstsq(self, b, rcond, driver):
    """PyTorch leaves the solution where LAPACK had b, with gaps; only its values count."""
    found = torch.ops.aten.linalg_lstsq(self, b, rcond, driver=driver)
    return (found[0].mT.contiguous().mT, *found[1:])


SINGULAR = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], dtype=F64)

for dtype in (F64, F32):
    for sizes in ((3,), (1,), (0,), (2, 4), (2, 1, 3)):
        a = square(*sizes, dtype=dtype)
        n = sizes[-1]
        for op in ("linalg_inv", "inverse", "linalg_det", "det", "linalg_slogdet", "slogdet"):
            r.call(f"aten::{op}", {("self" if op in ("inverse", "det", "slogdet") else "A"): a})
        r.call("aten::linalg_inv_ex", {"A": a, "check_errors": False})
        r.call("aten::_linalg_det", {"A": a}, differentiable_outputs=[0])
        r.call("aten::linalg_solve", {"A": a, "B": mat(*sizes, 2, dtype=dtype), "left": True})
        r.call("aten::linalg_solve", {"A": a, "B": mat(*sizes[:-1], 2, n, dtype=dtype), "left": False})
        r.call("aten::linalg_solve_ex", {"A": a, "B": mat(*sizes, dtype=dtype), "left": True, "check_errors": True})
        r.call("aten::_linalg_solve_ex", {"A": a, "B": mat(*sizes, 3, dtype=dtype), "left": True, "check_errors": False}, differentiable_outputs=[0])
        p = positive(*sizes, dtype=dtype)
        for upper in (False, True):
            r.call("aten::linalg_cholesky", {"self": p, "upper": upper})
            r.call("aten::linalg_cholesky_ex", {"self": p, "upper": upper, "check_errors": False})
            if n > 0:
                factor = torch.linalg.cholesky(p, upper=upper)
                part = torch.triu if upper else torch.tril
                r.call("aten::cholesky_solve", {"self": mat(*sizes, 2, dtype=dtype), "input2": factor, "upper": upper}, read={"input2": part})
                r.call("aten::cholesky_inverse", {"self": factor, "upper": upper}, read={"self": part})
        s = symmetric(*sizes, dtype=dtype)
        for uplo in "LU":
            r.call("aten::linalg_eigh", {"self": s, "UPLO": uplo}, differentiable_outputs=[0])
            r.call("aten::linalg_eigvalsh", {"self": s, "UPLO": uplo})
        r.call("aten::_linalg_eigh", {"A": s, "UPLO": "L", "compute_v": True}, differentiable_outputs=[0])
        for power in (0, 1, 2, 3, 5, -1, -2):
            r.call("aten::linalg_matrix_power", {"self": a, "n": power})
        r.call("aten::matrix_power", {"self": a, "n": 2})
        if n > 0:
            for order in (None, 1, -1, 2, -2, float("inf")):
                r.call("aten::linalg_cond", {"self": a, "p": order})
            for name in ("fro", "nuc"):
                r.call("aten::linalg_cond.p_str", {"self": a, "p": name})
    for m, n in ((3, 3), (4, 2), (2, 4), (0, 3)):
        for batch in ((), (2,)):
            a = square(*batch, m, dtype=dtype) if m == n else mat(*batch, m, n, dtype=dtype)
            r.call("aten::linalg_lu_factor", {"A": a, "pivot": True})
            r.call("aten::linalg_lu_factor_ex", {"A": a, "pivot": True, "check_errors": False})
            r.call("aten::linalg_lu", {"A": a, "pivot": True})
            lu, pivots = torch.linalg.lu_factor(a)
            for data, perm in ((True, True), (False, True), (True, False)):
                r.call("aten::lu_unpack", {"LU_data": lu, "LU_pivots": pivots, "unpack_data": data, "unpack_pivots": perm})
            if m == 0:
                continue
            for driver in ("gels", "gelsd", None):
                r.call(LSTSQ, {"self": a, "b": mat(*batch, m, 2, dtype=dtype), "rcond": None, "driver": driver}, lstsq, differentiable_outputs=[0])
            r.call("aten::linalg_matrix_rank.atol_rtol_float", {"self": a, "atol": None, "rtol": None, "hermitian": False})
            r.call("aten::geqrf", {"self": a}, gradients=False)
            if m >= n:
                q, tau = torch.geqrf(a)
                r.call("aten::linalg_householder_product", {"input": q, "tau": tau})
    r.call("aten::linalg_cond", {"self": mat(3, 2, dtype=dtype), "p": None})
    r.call("aten::linalg_multi_dot", {"tensors": [mat(*s, dtype=dtype) for s in ((2, 3), (3, 4), (4, 2))]})
    r.call("aten::linalg_multi_dot", {"tensors": [mat(*s, dtype=dtype) for s in ((5,), (5, 4), (4, 3), (3, 6), (6,))]})
    r.call("aten::linalg_multi_dot", {"tensors": [mat(*s, dtype=dtype) for s in ((3,), (3,))]})
    r.call("aten::linalg_multi_dot", {"tensors": [mat(*s, dtype=dtype) for s in ((7, 2), (2, 6), (6, 3), (3,))]})
    for columns in (None, 2, 5):
        r.call("aten::linalg_vander", {"x": mat(2, 3, dtype=dtype), "N": columns})
    r.call("aten::linalg_vecdot", {"x": mat(2, 3, dtype=dtype), "y": mat(2, 3, dtype=dtype), "dim": -1})
    r.call("aten::linalg_vecdot", {"x": mat(2, 3, dtype=dtype), "y": mat(3, dtype=dtype).unsqueeze(0), "dim": 1})
    r.call("aten::linalg_vecdot", {"x": mat(2, 3, dtype=dtype), "y": mat(2, 3, dtype=dtype), "dim": 0})

r.call("aten::linalg_vander", {"x": torch.tensor([1, 2, 3]), "N": None}, gradients=False)
# Matrices without an inverse; the gradient that this version of PyTorch gives their determinants is 0, which is wrong.
for a in (SINGULAR, SINGULAR.t().contiguous(), torch.zeros(2, 2, dtype=F64)):
    r.call("aten::linalg_det", {"A": a}, gradients=False)
    r.call("aten::linalg_lu_factor_ex", {"A": a, "pivot": True, "check_errors": False}, gradients=False)
    for tolerance in (None, 1e-3):
        r.call("aten::linalg_matrix_rank.atol_rtol_float", {"self": a, "atol": tolerance, "rtol": None, "hermitian": False})
        r.call("aten::linalg_matrix_rank.atol_rtol_float", {"self": a + a.mT, "atol": None, "rtol": tolerance, "hermitian": True})
r.call("aten::linalg_matrix_rank.atol_rtol_tensor", {"input": SINGULAR, "atol": torch.tensor([1.0, 5.0, 9.0], dtype=F64), "rtol": None, "hermitian": False}, gradients=False)
r.call("aten::linalg_matrix_rank", {"self": SINGULAR, "tol": 2.0, "hermitian": False})
r.call("aten::linalg_cond", {"self": torch.stack([SINGULAR, torch.eye(3, dtype=F64)]), "p": 1}, gradients=False)
# Not column by column in memory, and not in one piece.
r.call("aten::linalg_inv", {"A": square(3).mT})
r.call("aten::linalg_solve", {"A": square(2, 3), "B": mat(3, 2), "left": True})
r.call("aten::linalg_solve", {"A": square(3), "B": mat(4, 3, 2), "left": True})
r.call("aten::linalg_cholesky", {"self": positive(2, 3).mT, "upper": False})
r.call("aten::linalg_lu_factor", {"A": mat(3, 2, 4).permute(1, 2, 0), "pivot": True})
for upper in (False, True):
    r.call("aten::cholesky_solve", {"self": mat(2, 3, 2), "input2": torch.linalg.cholesky(positive(3), upper=upper), "upper": upper}, read={"input2": torch.triu if upper else torch.tril})

r.write(sys.argv[1])
