/**
 * @file Grids and combinations of coordinates: broadcast_tensors, meshgrid, cartesian_prod, combinations, triangles.
 */
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import { broadcastShapes, contiguousStrides } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import {
  PLACEMENT,
  type TensorOptions,
  finish,
  NO_OPTIONS,
  checkedDtype,
  zeros,
} from '../factory/factory.js';
import { indexSelect } from '../indexing/select.js';
import { toDevice } from './copy.js';
import { stack } from './join.js';
import { flatten, transpose } from '../view/dims.js';
import { expand, reshape, view } from '../view/view.js';

/** Numbering of a grid's first two dimensions: rows first as matrices have it, or columns first. */
type GridIndexing = 'ij' | 'xy';

const broadcastOp = defineOp('aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]', {
  decompose: ({ tensors: list }) => {
    const sizes = broadcastShapes(
      list.map((tensor) => tensor.sizes),
      'broadcast_tensors',
    );
    return list.map((tensor) => expand(tensor, sizes));
  },
});

function grids(tensors: readonly Tensor[], indexing: string): Tensor[] {
  if (tensors.length === 0 || (indexing !== 'ij' && indexing !== 'xy'))
    throw new TesseraError(
      'invalid-argument',
      tensors.length === 0
        ? 'meshgrid expects a non-empty TensorList'
        : `torch.meshgrid: indexing must be one of "xy" or "ij", but received: ${indexing}`,
      { hints: ["Pass vectors, and 'ij' or 'xy'."] },
    );
  const odd = tensors.find((x) => x.ndim > 1 || x.dtype !== tensors[0]!.dtype);
  if (odd !== undefined)
    throw new TesseraError(
      'shape-mismatch',
      odd.ndim > 1
        ? `torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ${odd.ndim}D`
        : 'torch.meshgrid expects all tensors to have the same dtype',
      { hints: ['Pass vectors of one dtype.'] },
    );
  const sizes = tensors.map((x) => x.numel);
  return tensors.map((x, i) => {
    const shape = sizes.map((_, d) => (d === i ? x.numel : 1));
    const grid = expand(view(x, shape), sizes);
    return indexing === 'xy' && tensors.length >= 2 ? transpose(grid, 0, 1) : grid;
  });
}

const meshgridOp: OpOverload<Tensor[]> = withOverloads(
  defineOp('aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]', {
    decompose: ({ tensors, indexing }) => grids(tensors, indexing),
  }),
  defineOp('aten::meshgrid(Tensor[] tensors) -> Tensor[]', {
    decompose: ({ tensors }) => grids(tensors, 'ij'),
  }),
);

const cartesianOp = defineOp('aten::cartesian_prod(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors: list }) => {
    const odd = list.find((x) => x.ndim !== 1);
    if (odd !== undefined)
      throw new TesseraError(
        'shape-mismatch',
        `Expect a 1D vector, but got shape [${odd.sizes.join(', ')}]`,
        {
          hints: ['Flatten it first.'],
        },
      );
    if (list.length === 1) return list[0];
    return stack(
      grids(list, 'ij').map((grid) => flatten(grid)),
      1,
    );
  },
});

/** Positions of all combinations, one after another: a factory, so that graphs hold no constants. */
const positionsOp = defineOp(
  'tessera::combination_positions(int n, int r, bool with_replacement) -> Tensor',
  {
    tags: ['factory'],
    meta: ({ n, r, with_replacement }) => ({
      sizes: [combinationCount(n, r, with_replacement) * r],
      strides: [1],
      dtype: 'int64',
      device: 'cpu',
    }),
    kernel: ({ n, r, with_replacement }, [out]) =>
      writeNumbers(out!, combinationsOf(n, r, with_replacement)),
  },
);

/** n choose r, or n + r - 1 choose r with repeats. */
function combinationCount(n: number, r: number, repeats: boolean): number {
  const from = repeats ? n + r - 1 : n;
  if (r > from) return 0;
  let count = 1;
  for (let i = 1; i <= r; i++) count = (count * (from - r + i)) / i;
  return Math.round(count);
}

function combinationsOf(n: number, r: number, repeats: boolean): number[] {
  const out: number[] = [];
  const chosen = Array.from({ length: r }, (_, i) => (repeats ? 0 : i));
  const last = (i: number): number => (repeats ? n - 1 : n - r + i);
  if (combinationCount(n, r, repeats) === 0) return out;
  for (;;) {
    out.push(...chosen);
    let i = r - 1;
    while (i >= 0 && chosen[i] === last(i)) i--;
    if (i < 0) return out;
    chosen[i]!++;
    for (let j = i + 1; j < r; j++) chosen[j] = chosen[j - 1]! + (repeats ? 0 : 1);
  }
}

const combinationsOp = defineOp(
  'aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor',
  {
    decompose: ({ self, r, with_replacement }) => {
      if (self.ndim !== 1 || !(r >= 0))
        throw new TesseraError(
          'invalid-argument',
          self.ndim === 1
            ? `Expect a non-negative number, but got ${r}`
            : `Expect a 1D vector, but got shape [${self.sizes.join(', ')}]`,
          { hints: ['Pass a vector and how many elements to choose.'] },
        );
      if (r === 0) return zeros([0], { dtype: self.dtype, device: self.device });
      // They are listed one after another: other devices get a copy.
      const positions = callOp(positionsOp, [self.numel, r, with_replacement]);
      const picked = indexSelect(self, 0, toDevice(positions, self.device));
      return reshape(picked, [picked.numel / r, r]);
    },
  },
);

/** Defines `tril_indices` or `triu_indices`: [2, N] rows and columns of a triangle, row by row. */
function defineTriangle(name: string, isLower: boolean): OpOverload<Tensor> {
  /** The columns of row `i`: from the first to before the last. */
  const columnsOf = (i: number, col: number, offset: number): [number, number] => {
    const edge = Math.min(col, Math.max(0, i + offset + (isLower ? 1 : 0)));
    return isLower ? [0, edge] : [edge, col];
  };
  return defineOp(
    `aten::${name}(int row, int col, int offset=0, *, ScalarType? dtype=4, ${PLACEMENT}) -> Tensor`,
    {
      tags: ['factory'],
      meta: ({ row, col, offset, dtype, device }) => {
        if (!(row >= 0) || !(col >= 0))
          throw new TesseraError(
            'invalid-argument',
            `${name}: row and col must be non-negative, got ${row} and ${col}`,
            { hints: ['Give the size of the matrix.'] },
          );
        let count = 0;
        for (let i = 0; i < row; i++) {
          const [from, to] = columnsOf(i, col, offset);
          count += to - from;
        }
        const sizes = [2, count];
        return {
          sizes,
          strides: contiguousStrides(sizes),
          // 4 is PyTorch's number of int64.
          dtype: typeof dtype === 'string' ? dtype : 'int64',
          device: device ?? 'cpu',
        };
      },
      kernel: ({ row, col, offset }, [out]) => {
        const count = out!.sizes[1]!;
        const positions = new Int32Array(2 * count);
        for (let i = 0, at = 0; i < row; i++) {
          const [from, to] = columnsOf(i, col, offset);
          for (let j = from; j < to; j++, at++) {
            positions[at] = i;
            positions[at + count] = j;
          }
        }
        writeNumbers(out!, positions);
      },
    },
  );
}

const trilIndicesOp = defineTriangle('tril_indices', true);
const triuIndicesOp = defineTriangle('triu_indices', false);

/** All tensors expanded to their common shape. @throws shape-mismatch */
export function broadcastTensors(tensors: readonly Tensor[]): Tensor[] {
  return callOp(broadcastOp, [tensors]);
}

const INDEXING: OptionNames<{ indexing?: GridIndexing }> = { indexing: true };

/** The coordinates of a grid: one tensor per vector, each of the shape of the grid. @throws shape-mismatch, invalid-argument */
export function meshgrid(
  tensors: readonly Tensor[],
  options?: { indexing?: GridIndexing },
): Tensor[] {
  checkOptionNames('meshgrid', options, INDEXING);
  return callOp(meshgridOp, [tensors, options?.indexing ?? 'ij']);
}

/** All tuples with one element of each vector, one per row. @throws shape-mismatch */
export function cartesianProd(tensors: readonly Tensor[]): Tensor {
  return callOp(cartesianOp, [tensors]);
}

/** Options of `combinations`. */
export interface CombinationsOptions {
  /** Whether an element may be chosen more than once (default false). */
  readonly withReplacement?: boolean;
}
const COMBINATIONS: OptionNames<CombinationsOptions> = { withReplacement: true };

/** All choices of r elements of a vector, one per row. @throws invalid-argument */
export function combinations(self: Tensor, r = 2, options?: CombinationsOptions): Tensor {
  checkOptionNames('combinations', options, COMBINATIONS);
  return callOp(combinationsOp, [self, r, options?.withReplacement ?? false]);
}

/** Rows and columns of the lower triangle of a matrix, [2, N]. @throws invalid-argument */
export function trilIndices(
  row: number,
  col: number,
  offset = 0,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(trilIndicesOp, [
      row,
      col,
      offset,
      checkedDtype(options),
      null,
      options.device ?? null,
      null,
    ]),
    options,
  );
}

/** Rows and columns of the upper triangle of a matrix, [2, N]. @throws invalid-argument */
export function triuIndices(
  row: number,
  col: number,
  offset = 0,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(triuIndicesOp, [
      row,
      col,
      offset,
      checkedDtype(options),
      null,
      options.device ?? null,
      null,
    ]),
    options,
  );
}
