/**
 * @file From samples to a batch.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, fromTypedArray, isTensor, stack, tensor } from '@tessera/tensor';
import { checkList } from '../module/check-child.js';

/** What `defaultCollate` makes of samples of a type. */
export type Collated<T> = T extends Tensor | ArrayBufferView | number | bigint | boolean
  ? Tensor
  : T extends string
    ? string[]
    : T extends readonly unknown[]
      ? { -readonly [K in keyof T]: Collated<T[K]> }
      : T extends object
        ? { [K in keyof T]: Collated<T[K]> }
        : never;

function describe(value: unknown): string {
  return value === null ? 'null' : isTensor(value) ? 'Tensor' : typeof value;
}

/**
 * Batches samples: tensors and typed arrays are stacked, numbers and booleans become a tensor, arrays and
 * records are batched item by item, strings are listed.
 *
 * @throws structure-mismatch for samples that are not alike
 * @see torch.utils.data.default_collate
 */
export function defaultCollate<T>(samples: readonly T[]): Collated<T> {
  checkList('defaultCollate', samples, '[a, b]');
  return collate(samples) as Collated<T>;
}

function collate(samples: readonly unknown[]): unknown {
  const [first] = samples;
  const alike = samples.every((sample) => describe(sample) === describe(first));
  if (!alike)
    mismatch(`samples of different types: ${[...new Set(samples.map(describe))].join(', ')}`);
  if (samples.every(isTensor)) return stack(samples);
  if (ArrayBuffer.isView(first))
    return stack(
      (samples as (Float32Array & ArrayBufferView)[]).map((array) =>
        fromTypedArray(array, [array.length]),
      ),
    );
  switch (typeof first) {
    case 'number':
    case 'bigint':
    case 'boolean':
      // As in PyTorch, whole numbers become int64 and others the default float.
      return tensor(
        samples as number[],
        typeof first === 'number' && samples.every(Number.isInteger) ? { dtype: 'int64' } : {},
      );
    case 'string':
      return [...samples];
    case 'object':
      break;
    default:
      mismatch(`samples of type ${describe(first)}, which cannot be batched`);
  }
  if (first === null) mismatch('null, which cannot be batched');
  if (Array.isArray(first)) {
    const lists = samples as unknown[][];
    if (lists.some((list) => list.length !== first.length)) mismatch('lists of different lengths');
    return first.map((_, i) => collate(lists.map((list) => list[i])));
  }
  const records = samples as Record<string, unknown>[];
  const keys = Object.keys(first);
  if (
    records.some(
      (record) => Object.keys(record).length !== keys.length || !keys.every((key) => key in record),
    )
  )
    mismatch('records with different keys');
  return Object.fromEntries(
    keys.map((key) => [key, collate(records.map((record) => record[key]))]),
  );
}

function mismatch(what: string): never {
  throw new TesseraError('structure-mismatch', `defaultCollate: a batch has ${what}.`, {
    hints: ['Make the samples alike, or give the DataLoader a collate function of your own.'],
  });
}
