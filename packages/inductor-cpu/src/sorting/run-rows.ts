/**
 * @file Calls of `order_rows` and `select_rows`: one module for each dtype, and rows of any layout.
 */
import { type Tensor, itemSize } from '@tessera/tensor';
import { ownFunction } from '../runtime/own-function.js';
import { withScratch } from '../runtime/with-scratch.js';
import { RECORD, SELECT_ROWS, type SelectRows, selectRows } from './select-rows.js';
import { ORDER_ROWS, type OrderRows, orderRows, scratchBytes } from './order-rows.js';

/** Memory beyond which a row is left to others. */
const MOST_BYTES = 2 ** 31;

/** What of a tensor says where its rows are. */
export type Row = Pick<Tensor, 'dtype' | 'sizes' | 'strides' | 'ndim' | 'storageOffset'> & {
  readonly storage: { readonly ptr: number };
};

/** A dimension besides that of the rows, with the distances in it in bytes, tensor by tensor. */
interface OtherDim {
  readonly size: number;
  readonly steps: readonly number[];
}

/** The dimensions besides `at`, as few as can be, the largest one last. */
function otherDims(tensors: readonly Row[], at: number): OtherDim[] {
  const dims: OtherDim[] = [];
  for (let d = tensors[0].ndim - 1; d >= 0; d--) {
    const size = tensors[0].sizes[d];
    if (d === at || size === 1) continue;
    const steps = tensors.map((t) => t.strides[d] * itemSize(t.dtype));
    const inner = dims.at(-1);
    if (inner !== undefined && steps.every((step, t) => step === inner.steps[t] * inner.size))
      dims[dims.length - 1] = { size: inner.size * size, steps: inner.steps };
    else dims.push({ size, steps });
  }
  return dims.sort((a, b) => a.size - b.size);
}

/** Calls `visit` for rows along dimension `at` of tensors: where the first ones are, how far apart in bytes, how many. */
function visitRows(
  tensors: readonly Row[],
  at: number,
  visit: (places: readonly number[], steps: readonly number[], rows: number) => void,
): void {
  const dims = otherDims(tensors, at);
  const inner = dims.pop() ?? { size: 1, steps: tensors.map(() => 0) };
  const step = (d: number, places: readonly number[]): void => {
    if (d === dims.length) {
      visit(places, inner.steps, inner.size);
      return;
    }
    for (let i = 0; i < dims[d].size; i++)
      step(
        d + 1,
        places.map((place, t) => place + i * dims[d].steps[t]),
      );
  };
  step(
    0,
    tensors.map((t) => t.storage.ptr + t.storageOffset * itemSize(t.dtype)),
  );
}

/** Runs with so many bytes of memory; gives false, and does not, where tensors are elsewhere or it is more than there can be. */
function withRows(tensors: readonly Row[], bytes: number, run: (scratch: number) => void): boolean {
  if (bytes > MOST_BYTES || tensors.some(({ storage }) => storage.ptr < 0)) return false;
  withScratch(bytes, run);
  return true;
}

/** How far the elements of a row are apart, in bytes. */
function stepOf({ strides, dtype }: Row, at: number): number {
  return (strides[at] ?? 1) * itemSize(dtype);
}

/**
 * Sorts rows along dimension `at`, and writes as many elements of each as `values` has room for. Gives false for rows that
 * need more memory than there can be.
 *
 * @throws out-of-memory, webassembly-forbidden
 */
export function sortRows(
  self: Row,
  at: number,
  largestFirst: boolean,
  values: Row,
  indices: Row,
): boolean {
  const tensors = [self, values, indices];
  const length = self.sizes[at] ?? 1;
  const { dtype } = self;
  return withRows(tensors, scratchBytes(length), (scratch) => {
    const run = ownFunction(`order ${dtype}`, () => orderRows(dtype));
    visitRows(tensors, at, (places, steps, rows) => {
      const call: OrderRows = {
        from: places[0],
        fromRow: steps[0],
        fromStep: stepOf(self, at),
        values: places[1],
        valuesRow: steps[1],
        valuesStep: stepOf(values, at),
        indices: places[2],
        indicesRow: steps[2],
        indicesStep: stepOf(indices, at),
        rows,
        length,
        wanted: values.sizes[at] ?? 1,
        flip: largestFirst ? -1 : 0,
        scratch,
      };
      run(...ORDER_ROWS.map((name) => call[name]));
    });
  });
}

/** A result of rows with the dimension along which they are, which it may have lost. */
function withDim(out: Row, at: number, ndim: number): Row {
  if (out.ndim === ndim) return out;
  const { dtype, storage, storageOffset } = out;
  const insert = (list: readonly number[], item: number): number[] => list.toSpliced(at, 0, item);
  const [sizes, strides] = [insert(out.sizes, 1), insert(out.strides, 0)];
  return { dtype, storage, storageOffset, ndim, sizes, strides };
}

/**
 * Writes the element of a rank in each row along dimension `at`, and unless `indices` is null its position; `rank` is as in `SELECT_ROWS`.
 * Gives false for rows that need more memory than there can be.
 *
 * @throws out-of-memory, webassembly-forbidden
 */
export function selectAlong(
  self: Row,
  at: number,
  rank: number,
  values: Row,
  indices: Row | null,
): boolean {
  const length = self.sizes[at] ?? 1;
  const { dtype } = self;
  const outs = indices === null ? [values] : [values, indices];
  const tensors = [self, ...outs.map((out) => withDim(out, at, self.ndim))];
  return withRows(tensors, RECORD * length, (scratch) => {
    const run = ownFunction(`select ${dtype}`, () => selectRows(dtype));
    visitRows(tensors, at, (places, steps, rows) => {
      const call: SelectRows = {
        from: places[0],
        fromRow: steps[0],
        fromStep: stepOf(self, at),
        values: places[1],
        valuesRow: steps[1],
        indices: places[2] ?? 0,
        indicesRow: steps[2] ?? 0,
        rows,
        length,
        rank,
        scratch,
      };
      run(...SELECT_ROWS.map((name) => call[name]));
    });
  });
}
