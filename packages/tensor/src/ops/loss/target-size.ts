/**
 * @file Targets of another size than the input: some losses refuse them, others broadcast and warn, as PyTorch's.
 */
import { TesseraError, userFrame } from '@tessera/shared';
import { formatSizes, sameNumbers } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';

/** Texts of warnings, with their places; forgotten when there are many: programs with sizes that change tell of each. */
const warned = new Set<string>();
const MOST_WARNINGS = 1000;
// Bound before a tracer watches the console.
const warn: (text: string) => void = /* @__PURE__ */ console.warn.bind(console);

/** `target`; where its size is another than the input's this warns, once for each place and pair of sizes. */
export function comparedTo(input: Tensor, target: Tensor): Tensor {
  // What is no tensor the operator refuses.
  if (!isTensor(input) || !isTensor(target) || sameNumbers(input.sizes, target.sizes))
    return target;
  const text =
    `Using a target size (${formatSizes(target.sizes)}) that is different to the input size (${formatSizes(input.sizes)}). ` +
    'This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.';
  const place = userFrame() ?? '';
  const key = `${place} ${text}`;
  if (!warned.has(key)) {
    if (warned.size >= MOST_WARNINGS) warned.clear();
    warned.add(key);
    warn(place === '' ? text : `${text}\n  at ${place}`);
  }
  return target;
}

/** @throws shape-mismatch for a target that would have to be broadcast */
export function checkTargetSize(input: Tensor, target: Tensor): void {
  // What is no tensor the operator refuses.
  if (!isTensor(input) || !isTensor(target) || sameNumbers(input.sizes, target.sizes)) return;
  throw new TesseraError(
    'shape-mismatch',
    `Target size (${formatSizes(target.sizes)}) must be the same as input size (${formatSizes(input.sizes)})`,
    { hints: ['Input and target have the same shape: reshape or squeeze() one of them.'] },
  );
}
