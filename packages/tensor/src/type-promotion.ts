/**
 * @file PyTorch's type promotion.
 *
 * Operands have three ranks: tensors with dimensions, 0-d tensors, numbers. A lower rank affects the
 * result only if its category (bool < integral < floating) is higher. @see torch.result_type
 */
import { isSymScalar, scalarKind, type ScalarKind, type ScalarLike } from '@tessera/shared';
import { DTYPES, type DType, itemSize } from './dtype.js';
import { defaultDType } from './default-dtype.js';
import { isTensor } from './tensor-factory.js';
import type { Tensor } from './tensor.js';

/** An operand of a pointwise op. */
export type Operand = Tensor | ScalarLike;

const INTEGRAL_ORDER: readonly DType[] = ['int8', 'int16', 'int32', 'int64'];
const RANK = { bool: 0, integral: 1, floating: 2 } as const;

/** Smallest dtype that both convert to. @throws dtype-unsupported */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b) return a;
  const [wa, wb] = [itemSize(a), itemSize(b)];
  const ca = RANK[DTYPES[a].category];
  const cb = RANK[DTYPES[b].category];
  if (ca !== cb) return ca > cb ? a : b;
  if (ca === 2) {
    if (wa === 2 && wb === 2) return 'float32';
    return wa > wb ? a : b;
  }
  if (a === 'uint8' || b === 'uint8') {
    const other = a === 'uint8' ? b : a;
    return other === 'int8' ? 'int16' : other;
  }
  return INTEGRAL_ORDER.indexOf(a) > INTEGRAL_ORDER.indexOf(b) ? a : b;
}

/** Default type of a number: whole numbers count as integers, as Python's literals do. */
export function numberType(value: ScalarLike): DType {
  return kindType(isSymScalar(value) ? value.kind : scalarKind(value));
}

/** Default type of numbers of a kind. */
export function kindType(kind: ScalarKind): DType {
  return kind === 'float' ? defaultDType() : kind === 'int' ? 'int64' : 'bool';
}

/** Result dtype of operands, given one by one or as a list. @see torch.result_type */
export function resultType(
  operands: Operand | readonly Operand[],
  ...more: readonly Operand[]
): DType {
  return promotedType<Operand>(
    Array.isArray(operands) ? operands : [operands, ...more],
    (operand) => (isTensor(operand) ? (operand.ndim > 0 ? 0 : 1) : 2),
    (operand) => (isTensor(operand) ? operand.dtype : numberType(operand)),
  );
}

/** Result dtype of operands of any kind, of which ranks and dtypes are known. */
export function promotedType<T>(
  operands: readonly T[],
  rankOf: (operand: T) => 0 | 1 | 2,
  dtypeOf: (operand: T) => DType,
): DType {
  const ranks: (DType | null)[] = [null, null, null];
  for (const operand of operands) {
    const rank = rankOf(operand);
    const dtype = dtypeOf(operand);
    ranks[rank] = ranks[rank] === null ? dtype : promoteTypes(ranks[rank]!, dtype);
  }
  let result: DType | null = null;
  for (const dtype of ranks) {
    if (dtype === null) continue;
    if (result === null) result = dtype;
    else if (RANK[DTYPES[dtype].category] > RANK[DTYPES[result].category]) result = dtype;
  }
  return result ?? defaultDType();
}

/** The dtype itself if floating, else the default float type. */
export function toFloating(dtype: DType): DType {
  return DTYPES[dtype].category === 'floating' ? dtype : defaultDType();
}
