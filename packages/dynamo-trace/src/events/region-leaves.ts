/**
 * @file The leaves of a region's inputs, as `treeFlatten` gives them, without the structure.
 */
import { treeFlatten } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { type RegionInputs } from '@tessera/tensor/internal';

/** Tensors and primitives: whatever else there is, the general walk decides. */
function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null || isTensor(value);
}

/** Leaves in flattening order. */
export function regionLeaves(inputs: RegionInputs): unknown[] {
  const leaves: unknown[] = [];
  for (const key in inputs) {
    const value = inputs[key];
    if (isLeaf(value)) leaves.push(value);
    else if (!Array.isArray(value)) return treeFlatten(inputs).leaves;
    else {
      for (let i = 0; i < value.length; i++) {
        if (!isLeaf(value[i])) return treeFlatten(inputs).leaves;
        leaves.push(value[i]);
      }
    }
  }
  return leaves;
}
