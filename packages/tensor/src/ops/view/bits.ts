/**
 * @file `viewDtype`: the bits of a tensor's elements as elements of another dtype.
 *
 * Memory of the CPU is bytes, so the result shares it. Graphs have no views of another dtype, so a capture breaks here;
 * other devices store some dtypes in other widths, and have no such view. No graph has the operator, so operators.ts,
 * which finds those of graphs by name, does not list it. @see torch.Tensor.view
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, type DType, isDType, itemSize } from '../../dtype.js';
import { defineOp } from '../../op/op-overload.js';
import { makeTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';

const viewDtypeOp = defineOp('aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)', {
  tags: ['data-dependent', 'non-differentiable'],
  decompose: ({ self, dtype }) => reinterpreted(self, dtype),
});

/** Sizes, strides and offset in elements of another width. @throws shape-mismatch */
function rescaled(self: Tensor, dtype: DType): [number[], number[], number] {
  const [from, to] = [itemSize(self.dtype), itemSize(dtype)];
  const sizes = [...self.sizes];
  const strides = [...self.strides];
  if (from === to) return [sizes, strides, self.storageOffset];
  const refuse = (what: string, must: string, got: string): never => {
    const names = [self.dtype, dtype].map((name) => DTYPES[name].scalarTypeName);
    throw new TesseraError(
      'shape-mismatch',
      `self.${what} ${must} to view ${names[0]} as ${names[1]} (different element sizes)${got}`,
      { hints: ['Call contiguous() first, or convert the values: x.to(dtype).'] },
    );
  };
  const last = sizes.length - 1;
  if (last < 0) refuse('dim()', 'cannot be 0', '');
  if (strides[last] !== 1) refuse('stride(-1)', 'must be 1', `, but got ${strides[last]}`);
  if (from > to) {
    const ratio = from / to;
    sizes[last]! *= ratio;
    for (let d = 0; d < last; d++) strides[d]! *= ratio;
    return [sizes, strides, self.storageOffset * ratio];
  }
  const ratio = to / from;
  const divided = (what: string, value: number): number =>
    value % ratio === 0
      ? value / ratio
      : refuse(what, `must be divisible by ${ratio}`, `, but got ${value}`);
  sizes[last] = divided('size(-1)', sizes[last]!);
  const offset = divided('storage_offset()', self.storageOffset);
  for (let d = 0; d < last; d++) strides[d] = divided(`stride(${d})`, strides[d]!);
  return [sizes, strides, offset];
}

function reinterpreted(self: Tensor, dtype: DType): Tensor {
  if (self.isFake)
    throw new TesseraError(
      'aot-unsupported',
      'viewDtype() reads memory as another dtype, which a functional graph cannot express.',
      { hints: ['Call it outside of what is traced.'] },
    );
  const [sizes, strides, offset] = rescaled(self, dtype);
  return makeTensor(self.storage, dtype, self.device, sizes, strides, offset);
}

/**
 * A tensor over the memory of `self`, whose bits are read as another dtype. Of another width, the last dimension grows or
 * shrinks. Has no gradient history. CPU only; a graph break inside a compiled function.
 *
 * @throws dtype-unsupported, shape-mismatch
 * @example viewDtype(tensor([1]), 'int32') // tensor([1065353216], dtype=int32)
 */
export function viewDtype(self: Tensor, dtype: DType): Tensor {
  if (!isDType(dtype)) itemSize(dtype);
  if (self.device !== 'cpu')
    throw new TesseraError(
      'dtype-unsupported',
      `viewDtype(): device '${self.device}' does not store dtypes as their bits.`,
      { hints: ['Fetch the values first: await download(x).'] },
    );
  return callOp(viewDtypeOp, [self, dtype]);
}
