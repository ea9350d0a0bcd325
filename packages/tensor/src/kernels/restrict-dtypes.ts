/**
 * @file Refusing dtypes that PyTorch has no kernel for.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES, type DTypeCategory } from '../dtype.js';
import type { OpRecord, TensorMeta } from '../op/op-record.js';

const NAMES: Readonly<Record<DTypeCategory, string>> = {
  floating: 'floating-point tensors',
  integral: 'integer tensors',
  bool: 'bool tensors',
};

/** The record of an op that exists only where the result is of one category. */
export function restrictedTo(category: DTypeCategory, name: string, record: OpRecord): OpRecord {
  return {
    ...record,
    meta: (args) => {
      const metas = record.meta!(args);
      const { dtype } = (Array.isArray(metas) ? metas[0] : metas) as TensorMeta;
      if (DTYPES[dtype].category !== category) {
        throw new TesseraError('dtype-unsupported', `"${name}" not implemented for '${dtype}'`, {
          context: { op: name, dtype },
          hints: [`${name} takes ${NAMES[category]}.`],
        });
      }
      return metas;
    },
  };
}
