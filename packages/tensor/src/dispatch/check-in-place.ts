/**
 * @file What in-place operators refuse: results that `self` cannot hold, and memory that they would read and write.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES } from '../dtype.js';
import type { OpOverload } from '../op/op-overload.js';
import type { TensorMeta } from '../op/op-record.js';
import {
  formatSizes,
  hasInternalOverlap,
  isContiguous,
  isDense,
  numelOf,
  sameNumbers,
} from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';

/** Whether `self` can hold a result of `op`. @throws shape-mismatch, dtype-mismatch, inplace-overlap */
export function checkInPlace(
  op: OpOverload,
  self: Tensor,
  meta: Pick<TensorMeta, 'sizes' | 'dtype'>,
): void {
  const name = op.schema.name;
  if (!sameNumbers(self.sizes, meta.sizes)) {
    throw new TesseraError(
      'shape-mismatch',
      `${name}: output with shape ${formatSizes(self.sizes)} doesn't match the broadcast shape ${formatSizes(meta.sizes)}`,
      {
        context: { op: op.qualifiedName },
        hints: [
          `Use the out-of-place ${functionalName(op)}(), or make self of shape ${formatSizes(meta.sizes)}.`,
        ],
      },
    );
  }
  const rank = { bool: 0, integral: 1, floating: 2 };
  if (
    rank[DTYPES[self.dtype].category] < rank[DTYPES[meta.dtype].category] &&
    functionalName(op) !== 'copy'
  ) {
    throw new TesseraError(
      'dtype-mismatch',
      `${name}: result type ${meta.dtype} can't be cast to the desired output type ${self.dtype}`,
      {
        hints: [
          `Use the out-of-place ${functionalName(op)}(), or convert self first: x.to('${meta.dtype}').`,
        ],
      },
    );
  }
  if (
    !op.hasTag('uniform') &&
    !isContiguous(self.sizes, self.strides) &&
    hasInternalOverlap(self.sizes, self.strides)
  ) {
    refuseOverlap(
      name,
      'more than one element of the written-to tensor refers',
      'The tensor is expanded or overlaps itself: x = x.clone().',
    );
  }
}

function functionalName(op: OpOverload): string {
  return op.schema.name.replace(/_$/, '');
}

/** Operators whose result is computed before anything is written; `compute-intensive` ones are others. */
const WHOLE = /^(fill|masked_fill|masked_scatter|index_fill)$/;
/** Operators that write in the order of an index, and so cannot even read what they write. */
const BY_INDEX = /^(put|scatter|index_(add|copy|put|reduce))/;

/**
 * Whether another argument may share memory with `self` in another layout; `functional` is what is computed in place.
 *
 * @throws inplace-overlap where it does so in part
 * @see PyTorch's assert_no_partial_overlap and assert_no_overlap
 */
export function checkOverlap(
  functional: OpOverload,
  self: Tensor,
  args: readonly unknown[],
): boolean {
  const { name } = functional.schema;
  let found = false;
  for (let i = 1; i < args.length; i++) {
    const arg = args[i];
    if (!isTensor(arg) || arg.storage !== self.storage) continue;
    const is = overlapOf(self, arg);
    if (is === 'all' ? BY_INDEX.test(name) : is === 'part')
      if (!functional.hasTag('compute-intensive') && !WHOLE.test(name))
        refuseOverlap(
          `${name}_`,
          'some elements of the input tensor and the written-to tensor refer',
          'Give it a copy of what it reads: clone().',
        );
    if (is !== 'all') found = true;
  }
  return found;
}

/** Which elements of a tensor are also those of another with the same memory; null where that is none, or not known. */
function overlapOf(a: Tensor, b: Tensor): 'all' | 'part' | null {
  const same = sameNumbers(a.strides, b.strides);
  if (same && a.storageOffset === b.storageOffset && sameNumbers(a.sizes, b.sizes)) return 'all';
  const dense = isDense(a.sizes, a.strides) && isDense(b.sizes, b.strides);
  if (!dense || a.numel === 0 || b.numel === 0) return null;
  const [start, end] = bytesOf(a);
  const [first, last] = bytesOf(b);
  if (start === first && end === last) return same ? 'all' : 'part';
  return start < last && first < end ? 'part' : null;
}

/** Where the elements of a dense tensor are in its memory. */
function bytesOf({ sizes, storageOffset, dtype }: Tensor): [number, number] {
  const { itemSize } = DTYPES[dtype];
  return [storageOffset * itemSize, (storageOffset + numelOf(sizes)) * itemSize];
}

function refuseOverlap(name: string, which: string, hint: string): never {
  throw new TesseraError(
    'inplace-overlap',
    `${name}: unsupported operation: ${which} to a single memory location. Please clone() the tensor before performing the operation.`,
    { hints: [hint] },
  );
}
