/**
 * @file Refusing dtypes that PyTorch has no kernel for.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES, type DType, type DTypeCategory } from '../dtype.js';
import type { OneResultRecord } from './pointwise-kernel.js';
import type { Tensor } from '../tensor.js';
import type { NamedArgs, OpRecord } from '../op/op-record.js';

const NAMES: Readonly<Record<DTypeCategory, string>> = {
  floating: 'floating-point tensors',
  integral: 'integer tensors',
  bool: 'bool tensors',
};

/** @throws dtype-unsupported for a tensor that holds no floats */
export function checkFloating(name: string, tensor: Tensor): void {
  check(name, tensor.dtype, ['floating']);
}

/** @throws dtype-unsupported for a tensor of bools */
export function checkNumbers(name: string, tensor: Tensor): void {
  check(name, tensor.dtype, NUMBERS);
}

function check(name: string, dtype: DType, allowed: readonly DTypeCategory[]): void {
  if (allowed.includes(DTYPES[dtype].category)) return;
  throw new TesseraError('dtype-unsupported', `"${name}" not implemented for '${dtype}'`, {
    context: { op: name, dtype },
    hints: [`${name} takes ${allowed.map((each) => NAMES[each]).join(' and ')}.`],
  });
}

/** @throws dtype-mismatch for an argument of another dtype */
export function checkDtype(op: string, name: string, tensor: Tensor, dtype: DType): void {
  if (tensor.dtype !== dtype)
    mismatch(
      `${op}(): expected dtype ${dtype} for \`${name}\` but got dtype ${tensor.dtype}`,
      dtype,
      // JavaScript has no 1.0: what was meant to be of floats is not.
      dtype === 'int64' ? "full([2], 1) holds integers: pass { dtype: 'float32' }." : undefined,
    );
}

function mismatch(message: string, dtype: DType, hint = `Convert it: x.to('${dtype}').`): never {
  throw new TesseraError('dtype-mismatch', message, { hints: [hint] });
}

/** @throws dtype-mismatch for a tensor of another type */
export function expectType(tensor: Tensor, dtype: DType): void {
  if (tensor.dtype !== dtype)
    mismatch(`expected scalar type ${dtype} but found ${tensor.dtype}`, dtype);
}

/**
 * The type of a norm's statistics: the one that its parameters share, which is the input's, or float32 beside halves.
 *
 * @throws dtype-mismatch
 */
export function statisticsType(
  { dtype }: Tensor,
  ...parameters: readonly (Tensor | null | undefined)[]
): DType {
  const given = parameters.filter((parameter) => parameter != null);
  const type = given[0]?.dtype ?? dtype;
  if (type !== dtype && (type !== 'float32' || DTYPES[dtype].itemSize !== 2))
    mismatch(
      `mixed dtype (CPU): ${type === 'float32' ? 'all inputs must share same datatype.' : 'expect parameter to have scalar type of float32'}`,
      dtype,
    );
  for (const parameter of given) expectType(parameter, type);
  return type;
}

/** What most arithmetic is defined for. */
export const NUMBERS: readonly DTypeCategory[] = ['floating', 'integral'];

/** The record of an op that exists only where the result is of one of these categories. */
export function restrictedTo<Args extends NamedArgs>(
  category: DTypeCategory | readonly DTypeCategory[],
  name: string,
  record: OneResultRecord<Args>,
): OneResultRecord<Args>;
export function restrictedTo<Args extends NamedArgs>(
  category: DTypeCategory | readonly DTypeCategory[],
  name: string,
  record: OpRecord<Args, never>,
): OpRecord<Args, never>;
export function restrictedTo<Args extends NamedArgs>(
  category: DTypeCategory | readonly DTypeCategory[],
  name: string,
  record: OpRecord<Args, never>,
): OpRecord<Args, never> {
  const allowed = typeof category === 'string' ? [category] : category;
  return {
    ...record,
    meta: (args) => {
      const metas = record.meta!(args);
      const { dtype } = Array.isArray(metas) ? metas[0] : metas;
      check(name, dtype, allowed);
      return metas;
    },
  };
}
