"""Records calls that PyTorch makes, in the form that `pnpm oracle --file` reads: F.json beside F.safetensors.

A call is an operator by its schema name with its arguments; results and, for floating-point arguments, the gradients
that autograd gives for random cotangents are stored with it. Operators that PyTorch has under another signature are
recorded under ours, with a function that computes them.
"""
import json
import struct

import torch

DTYPES = {
    torch.float32: "float32", torch.float64: "float64", torch.int64: "int64", torch.int32: "int32",
    torch.int16: "int16", torch.bool: "bool", torch.uint8: "uint8",
}
STORED = {"float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "int16": "I16", "bool": "BOOL", "uint8": "U8"}


def bound(op):
    """The operator with arguments by name: `self` cannot be passed as a keyword."""
    def call(**named):
        formals = op._schema.arguments
        given = [named[each.name] for each in formals if not each.kwarg_only and each.name in named]
        return op(*given, **{each.name: named[each.name] for each in formals if each.kwarg_only and each.name in named})
    return call


class Recorder:
    def __init__(self):
        self.cases = []
        self.tensors = {}

    def store(self, tensor):
        name = f"t{len(self.tensors)}"
        self.tensors[name] = tensor.detach().clone().contiguous()
        entry = {"tensor": name, "dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape)}
        if not tensor.is_contiguous():
            entry["stride"] = list(tensor.stride())
        return entry

    def value(self, value):
        if isinstance(value, torch.Tensor):
            return self.store(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, float):
            return {"float": str(value)}
        return value

    def call(self, schema, args, compute=None, gradients=True, differentiable_outputs=None, read=None):
        """Records one call. `schema` is 'aten::name.overload(...)' or the name alone, for PyTorch's own.

        `read` maps arguments to the function of what is read of them: PyTorch gives gradients to the rest, too.
        """
        name = schema.split("(")[0]
        namespace, rest = name.split("::")
        base, _, overload = rest.partition(".")
        if compute is None:
            op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
            compute = bound(op)
            schema = str(op._schema)
        leaves = []

        def leaf(value, at):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and gradients:
                copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
                leaves.append((at, copy.requires_grad_()))
                return copy
            return value

        live = {}
        for key, value in args.items():
            if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
                live[key] = [leaf(item, (key, i)) for i, item in enumerate(value)]
            else:
                live[key] = leaf(value, (key, None))
        out = compute(**live)
        outs = list(out) if isinstance(out, tuple) else [out]
        entry = {
            "op": f"{namespace}.{base}.{overload or 'default'}",
            "schema": schema,
            "args": {key: self.value(value) for key, value in args.items()},
            "out": [self.value(each) for each in outs],
        }
        roots = [
            i for i, each in enumerate(outs)
            if isinstance(each, torch.Tensor) and each.requires_grad
            and (differentiable_outputs is None or i in differentiable_outputs)
        ]
        if leaves and roots:
            seeds = {i: torch.randn_like(outs[i]) for i in roots}
            try:
                found = torch.autograd.grad(
                    [outs[i] for i in roots], [each for _, each in leaves], [seeds[i] for i in roots], allow_unused=True)
            except (IndexError, RuntimeError) as error:
                # A fault of this version of PyTorch: only the results are recorded.
                print(name, str(error).split(":")[0])
                self.cases.append(entry)
                return
            entry["grad_out"] = [self.store(seeds[i]) if i in seeds else None for i in range(len(outs))]
            entry["grad_in"] = [
                {"arg": key, "index": index, "grad": None if g is None else self.store((read or {}).get(key, lambda x: x)(g).contiguous())}
                for ((key, index), _), g in zip(leaves, found)
            ]
        self.cases.append(entry)

    def inplace(self, schema, args):
        """Records an in-place call without gradients, and what it left in `self`."""
        name = schema.split("(")[0].split("::")[1]
        base, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, base), overload or "default")
        stored = {key: self.value(value) for key, value in args.items()}
        out = bound(op)(**args)
        self.cases.append({
            "op": f"aten.{base}.{overload or 'default'}", "schema": str(op._schema), "args": stored,
            "out": [self.value(out)], "args_after": {"self": self.value(args["self"])},
        })

    def write(self, path):
        header, parts, at = {}, [], 0
        for name, tensor in self.tensors.items():
            data = tensor.numpy().tobytes()
            header[name] = {
                "dtype": STORED[DTYPES[tensor.dtype]], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
            parts.append(data)
            at += len(data)
        text = json.dumps(header).encode()
        with open(f"{path}.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
        with open(f"{path}.json", "w") as file:
            json.dump({"torch": torch.__version__, "cases": self.cases}, file)
        print(f"{path}: {len(self.cases)} calls")
