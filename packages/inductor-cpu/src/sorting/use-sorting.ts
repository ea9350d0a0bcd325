/**
 * @file `useSorting`: code of its own for what sorts on the CPU.
 */
import type { Tensor } from '@tessera/tensor';
import { wrapDim } from '@tessera/tensor/internal';
import { type OperatorCode, registerOperatorCode } from '../runtime/operator-code.js';
import { MEDIAN, NANMEDIAN } from './select-rows.js';
import { type Row, selectAlong, sortRows } from './run-rows.js';

/** So few elements are left to the reference kernels, which begin sooner. */
const FEW = 64;

/** Arguments of operators along a dimension. */
interface Along {
  readonly self: Tensor;
  readonly dim: number;
}

/** Rows that are sorted along `dim`, the largest element first if the argument of a name says so. */
function sorting(
  op: string,
  largestFirst: 'descending' | 'largest',
): OperatorCode<Along & Partial<Record<'descending' | 'largest', boolean>>> {
  return (args, [values, indices]) => {
    const { self } = args;
    const at = wrapDim(args.dim, self.ndim, op);
    return sortRows(self, at, args[largestFirst] === true, values, indices);
  };
}

/** Elements of a rank along `dim`. */
function choosing(
  op: string,
  rankOf: (args: { readonly k: number }) => number,
): OperatorCode<Along & { readonly k: number }> {
  return (args, [values, indices]) => {
    const { self } = args;
    if (self.ndim === 0 || self.numel < FEW) return false;
    return selectAlong(self, wrapDim(args.dim, self.ndim, op), rankOf(args), values, indices);
  };
}

/** The element of a rank of all, as of one row. */
function choosingOfAll(rank: number): OperatorCode<{ readonly self: Tensor }> {
  return ({ self }, [value]) => {
    const { dtype, numel, storage, storageOffset } = self;
    if (numel < FEW || !self.isContiguous()) return false;
    const row: Row = { dtype, storage, storageOffset, ndim: 1, sizes: [numel], strides: [1] };
    return selectAlong(row, 0, rank, value, null);
  };
}

/**
 * Gives `sort`, `argsort`, `msort`, `topk`, `kthvalue`, `median` and `nanmedian` WebAssembly of their own on the CPU. Node does it from the start; a page that sorts
 * much calls this, and others do not download it.
 */
export function useSorting(): void {
  const sort = sorting('sort', 'descending');
  registerOperatorCode('aten::sort', sort);
  registerOperatorCode('aten::sort.stable', sort);
  registerOperatorCode('aten::topk', sorting('topk', 'largest'));
  const kthvalue = choosing('kthvalue', ({ k }) => k - 1);
  registerOperatorCode('aten::kthvalue', kthvalue);
  for (const [name, rank] of [
    ['median', MEDIAN],
    ['nanmedian', NANMEDIAN],
  ] as const) {
    registerOperatorCode(`aten::${name}`, choosingOfAll(rank));
    registerOperatorCode(
      `aten::${name}.dim`,
      choosing(name, () => rank),
    );
  }
}
