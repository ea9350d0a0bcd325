/**
 * @file Lowerings of views that do more than select and reshape: diagonals, windows, rolls, strided views.
 */
import { Node } from '@tessera/graph';
import { TesseraError, sizeSub } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { wrapDim } from '@tessera/tensor/internal';
import { intList } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { RuntimeScalar } from '../registry.js';
import { type LoweringCall } from '../registry.js';
import { mapDim, reshapeTensor } from './view-maps.js';
import { fixed, fixedShape, isDense, numelOf, type Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** The diagonal of a tensor, of the given shape. */
export function diagonalOf(
  l: Lowering,
  x: LoweredTensor,
  [offset, dim1, dim2]: readonly (number | RuntimeScalar)[],
  shape: Shape,
  op: string,
): LoweredTensor {
  const a = wrapDim(Number(dim1 ?? 0), x.shape.length, op);
  const b = wrapDim(Number(dim2 ?? 1), x.shape.length, op);
  const shift = Number(offset ?? 0);
  const vars = [...l.vars(shape)];
  const along = vars.pop()!;
  const coords = x.shape.map((_, d) =>
    d === a
      ? l.ir.add(along, l.ir.int(Math.max(-shift, 0)))
      : d === b
        ? l.ir.add(along, l.ir.int(Math.max(shift, 0)))
        : vars.shift()!,
  );
  return x.view(shape, coords);
}

const diagonal: LoweringOf<'aten::diagonal' | 'aten::diagonal_copy'> = (l, [x, ...where], call) =>
  diagonalOf(l, x, where, call.shape, call.op);

/** Windows of a dimension: a view with a new last dimension. */
const unfold: LoweringOf<'aten::unfold' | 'aten::unfold_copy'> = (
  l,
  [x, dimension, , step],
  call,
) => {
  if (x.shape.length === 0) return x.view(call.shape, []);
  const dim = wrapDim(Number(dimension), x.shape.length, call.op);
  const vars = [...l.vars(call.shape)];
  const within = vars.pop()!;
  return x.view(
    call.shape,
    vars.map((v, d) => (d === dim ? l.ir.add(l.ir.scale(v, Number(step)), within) : v)),
  );
};

const flip: LoweringOf<'aten::flip'> = (l, [x, dims], call) => {
  const flipped = new Set(intList(dims).map((d) => wrapDim(d, x.shape.length, call.op)));
  return x.view(
    x.shape,
    l
      .vars(x.shape)
      .map((v, d) =>
        flipped.has(d) && x.shape[d] !== 1 ? l.ir.sub(l.ir.size(sizeSub(x.shape[d]!, 1)), v) : v,
      ),
  );
};

const roll: LoweringOf<'aten::roll'> = (l, [x, shifts, dims], call) => {
  const by = intList(shifts);
  const over = intList(dims);
  if (over.length === 0) {
    const flat = rolled(l, reshapeTensor(l, x, [numelOf(x.shape)]), 0, by[0] ?? 0);
    return reshapeTensor(l, flat, x.shape);
  }
  return over.reduce(
    (value, dim, i) => rolled(l, value, wrapDim(dim, x.shape.length, call.op), by[i]!),
    x,
  );
};

function rolled(l: Lowering, x: LoweredTensor, dim: number, shift: number): LoweredTensor {
  const size = fixed(x.shape[dim]!);
  if (size <= 1) return x;
  const back = ((-shift % size) + size) % size;
  return mapDim(l, x, dim, size, (v) => l.ir.mod(l.ir.add(v, l.ir.int(back)), size));
}

const repeat: LoweringOf<'aten::repeat'> = (l, [x], call) => {
  const lead = call.shape.length - x.shape.length;
  const vars = l.vars(call.shape);
  return x.view(
    call.shape,
    x.shape.map((size, d) => (size === 1 ? l.ir.int(0) : l.ir.mod(vars[d + lead]!, size))),
  );
};

/** The first address of a strided view at which no element of its base lies; null: there is none. */
function strayAddress(
  base: { readonly sizes: readonly number[]; readonly strides: readonly number[] },
  start: number,
  size: readonly number[],
  strides: readonly number[],
): number | null {
  const reach = size.reduce((at, length, d) => at + (length - 1) * strides[d]!, start);
  const count = fixed(numelOf(size));
  if (count === 0 || (isDense(base.sizes, base.strides) && reach < fixed(numelOf(base.sizes))))
    return null;
  for (let i = 0; i < count; i++) {
    let address = start;
    for (let d = size.length - 1, rest = i; d >= 0; d--) {
      address += (rest % size[d]!) * strides[d]!;
      rest = Math.floor(rest / size[d]!);
    }
    // Where the lowering reads it.
    const found = base.sizes.reduce((at, length, d) => {
      const stride = base.strides[d]!;
      return length === 1 || stride === 0
        ? at
        : at + (Math.floor(address / stride) % length) * stride;
    }, 0);
    if (found !== address) return address;
  }
  return null;
}

/** A strided view needs memory to be a view of; its offset counts from that memory's start. */
const asStrided: LoweringOf<'aten::as_strided' | 'aten::as_strided_copy'> = (
  l,
  [x, size, stride, offset],
  call,
) => {
  const buffer = x.realize();
  const strides = intList(stride);
  // Where the memory begins in its storage may depend on sizes too.
  const base = { sizes: fixedShape(buffer.sizes), strides: fixedShape(buffer.strides) };
  const vars = l.vars(intList(size));
  const origin = buffer.input < 0 ? 0 : l.inputOffsets[buffer.input]!;
  const start = offset === null || offset === undefined ? storageOffset(call) : Number(offset);
  const refuse = (what: string): never => {
    throw new TesseraError('aot-unsupported', `${call.op}: the view ${what}.`, {
      hints: ['Pass the whole tensor into the compiled function and slice it there.'],
    });
  };
  if (start < origin)
    refuse(`starts at element ${start} of its storage, before its base (at ${origin})`);
  const stray = strayAddress(base, start - origin, intList(size), strides);
  if (stray !== null)
    refuse(`reads element ${origin + stray} of its storage, which is none of its base`);
  const flat = l.ir.add(
    l.ir.int(start - origin),
    ...vars.map((v, d) => l.ir.scale(v, strides[d]!)),
  );
  const whole = l.fromBuffer(buffer);
  return whole.view(
    call.shape,
    buffer.sizes.map((length, d) =>
      length === 1 ? l.ir.int(0) : l.ir.mod(l.ir.div(flat, buffer.strides[d]!), length),
    ),
  );
};

/** Where the viewed tensor itself begins in its storage. */
function storageOffset(call: LoweringCall): number {
  const self = call.node.args[0];
  const val = self instanceof Node ? self.meta.val : null;
  return isTensor(val) ? val.storageOffset : 0;
}

/** Lowerings by overload name. */
export const viewRearrangements: LoweringTable = lowerings({
  'aten::diagonal': diagonal,
  'aten::diagonal_copy': diagonal,
  'aten::unfold': unfold,
  'aten::unfold_copy': unfold,
  'aten::as_strided': asStrided,
  'aten::as_strided_copy': asStrided,
  'aten::flip': flip,
  'aten::roll': roll,
  'aten::repeat': repeat,
});
