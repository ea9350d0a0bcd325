/**
 * @file `useSorting`: code of its own for what sorts on the CPU.
 */
import type { Tensor } from '@tessera/tensor';
import { wrapDim } from '@tessera/tensor/internal';
import { type OperatorCode, registerOperatorCode } from '../runtime/operator-code.js';
import { sortRows } from './run-rows.js';

/** Rows that are sorted along `dim`, the largest element first if the argument of a name says so. */
function sorting(op: string, largestFirst: string): OperatorCode {
  return (args, [values, indices]) => {
    const self = args['self'] as Tensor;
    const at = wrapDim(args['dim'] as number, self.ndim, op);
    return sortRows(self, at, args[largestFirst] === true, values, indices);
  };
}

/**
 * Gives `sort`, `argsort`, `msort` and `topk` WebAssembly of their own on the CPU. Node does it from the start; a page that sorts
 * much calls this, and others do not download it.
 */
export function useSorting(): void {
  const sort = sorting('sort', 'descending');
  registerOperatorCode('aten::sort', sort);
  registerOperatorCode('aten::sort.stable', sort);
  registerOperatorCode('aten::topk', sorting('topk', 'largest'));
}
