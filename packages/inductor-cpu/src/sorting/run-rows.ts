/**
 * @file Calls of `order_rows`: one module for each dtype, and rows of any layout.
 */
import { type DType, type Tensor, cpuHeap, itemSize } from '@tessera/tensor';
import { assembleModule } from '../emit/assemble-module.js';
import { makeModule } from '../runtime/make-module.js';
import { ORDER_ROWS, type OrderRows, orderRows, scratchBytes } from './order-rows.js';

/** Pages of 64 KiB that a 32-bit memory can have. */
const MAX_PAGES = 65536;
/** Memory beyond which a row is left to others. */
const MOST_BYTES = 2 ** 31;

type Run = (...args: readonly number[]) => void;

const loaded = new Map<DType, Run>();

/** The code of a dtype, made at its first use. @throws webassembly-forbidden */
function codeOf(dtype: DType): Run {
  const known = loaded.get(dtype);
  if (known !== undefined) return known;
  const { memory, shared } = cpuHeap();
  const f = orderRows(dtype);
  const bytes = assembleModule({
    memory: { minPages: 1, maxPages: MAX_PAGES, shared },
    functions: [f],
  });
  const { exports } = new WebAssembly.Instance(makeModule(bytes), { env: { memory } });
  const run = exports[f.name] as Run;
  loaded.set(dtype, run);
  return run;
}

/** A dimension besides that of the rows, with the distances in it in bytes, tensor by tensor. */
interface OtherDim {
  readonly size: number;
  readonly steps: readonly number[];
}

/** The dimensions besides `at`, as few as can be, the largest one last. */
function otherDims(tensors: readonly Tensor[], at: number): OtherDim[] {
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

/**
 * Sorts rows along dimension `at`, and writes as many elements of each as `values` has room for. Gives false for rows that
 * need more memory than there can be.
 *
 * @throws out-of-memory, webassembly-forbidden
 */
export function sortRows(
  self: Tensor,
  at: number,
  largestFirst: boolean,
  values: Tensor,
  indices: Tensor,
): boolean {
  const tensors = [self, values, indices];
  if (tensors.some(({ storage }) => storage.ptr < 0)) return false;
  const length = self.sizes[at] ?? 1;
  const bytes = scratchBytes(length);
  if (bytes > MOST_BYTES) return false;
  const run = codeOf(self.dtype);
  const dims = otherDims(tensors, at);
  const inner = dims.pop() ?? { size: 1, steps: [0, 0, 0] };
  const steps = tensors.map((t) => (t.strides[at] ?? 1) * itemSize(t.dtype));
  const heap = cpuHeap();
  const scratch = heap.alloc(bytes);
  const visit = (d: number, places: readonly number[]): void => {
    if (d < dims.length) {
      for (let i = 0; i < dims[d].size; i++)
        visit(
          d + 1,
          places.map((place, t) => place + i * dims[d].steps[t]),
        );
      return;
    }
    const call: OrderRows = {
      from: places[0],
      fromRow: inner.steps[0],
      fromStep: steps[0],
      values: places[1],
      valuesRow: inner.steps[1],
      valuesStep: steps[1],
      indices: places[2],
      indicesRow: inner.steps[2],
      indicesStep: steps[2],
      rows: inner.size,
      length,
      wanted: values.sizes[at] ?? 1,
      flip: largestFirst ? -1 : 0,
      scratch,
    };
    run(...ORDER_ROWS.map((name) => call[name]));
  };
  try {
    visit(
      0,
      tensors.map((t) => t.storage.ptr + t.storageOffset * itemSize(t.dtype)),
    );
  } finally {
    heap.free(scratch);
  }
  return true;
}
