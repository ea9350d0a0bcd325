/**
 * @file `useSelection`: code of its own for what finds, counts and tells apart elements on the CPU.
 */
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import { cpuBackend } from '../backend.js';
import {
  FEW,
  bincountOf,
  maskedSelectOf,
  nonzeroOf,
  uniqueConsecutiveOf,
  uniqueOf,
} from './produce.js';

/** Makes the results of a call, by the arguments' names; null leaves it to others. */
type ProducingCode = { of(args: object): Tensor | Tensor[] | null }['of'];

const CODES: ReadonlyMap<string, ProducingCode> = new Map<string, ProducingCode>([
  ['aten::nonzero', nonzeroOf],
  ['aten::masked_select', maskedSelectOf],
  ['aten::bincount', bincountOf],
  ['aten::_unique', (args: Parameters<typeof uniqueOf>[0]) => uniqueOf(args)?.slice(0, 2) ?? null],
  ['aten::_unique2', uniqueOf],
  ['aten::unique_consecutive', uniqueConsecutiveOf],
]);

function produce(op: OpOverload, args: readonly unknown[]): Tensor | Tensor[] | null {
  const [self] = args;
  // Most calls are of few elements: what they cost is finding out whether there is code.
  if (isTensor(self) && self.numel < FEW) return null;
  return CODES.get(op.qualifiedName)?.(op.bind(args)) ?? null;
}

/**
 * Gives `nonzero`, `maskedSelect`, `bincount`, `unique` and `uniqueConsecutive` WebAssembly of their own on the CPU. Node does it
 * from the start; a page that calls them on many elements calls this, and others do not download it.
 */
export function useSelection(): void {
  cpuBackend.produce = produce;
}
