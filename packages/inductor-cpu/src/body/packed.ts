/**
 * @file Sixteen elements of 8 bits in one register: what four vectors of 32-bit lanes hold takes a quarter of the
 * instructions there.
 *
 * A value may be known in both forms. The bytes are the low ones of its lanes, and of a bool its mask; lanes are made
 * when something needs them. Sums and so on of low bytes are the low bytes of the sums, so an int8 that is added in 32
 * bits and wrapped again never leaves its byte.
 */
import type { Expr } from '@tessera/inductor-core';
import { itemSize, type DType } from '@tessera/tensor';
import { memory } from '../emit/code.js';
import type { BinaryVectorOp } from '../emit/instructions.js';
import { kindOf } from './element-kind.js';
import type { OpExpr } from './operator.js';
import type { Place } from './places.js';
import type { Lanes, Scope } from './scope.js';
import type { Value } from './value.js';
import type { Regs, VectorBuilder } from './vector-builder.js';

const bytesOf = new WeakMap<Value, Regs>();

/** Whether the elements of an iteration are the bytes of one register. */
export function fillsRegister(lanes: Lanes | undefined): boolean {
  return lanes?.across === lanes?.lane && lanes?.groups === 4 && lanes.active === 16;
}

/** A value whose lanes are made when something needs them. */
class PackedValue implements Value {
  readonly uniform = false;
  private lanes: Regs | undefined;

  constructor(
    readonly kind: Value['kind'],
    private readonly widen: () => Regs,
  ) {}

  get regs(): Regs {
    return (this.lanes ??= this.widen());
  }
}

/** A value in bytes; `widen` makes its lanes. */
export function packedValue(kind: Value['kind'], bytes: Regs, widen: () => Regs): Value {
  const value = new PackedValue(kind, widen);
  bytesOf.set(value, bytes);
  return value;
}

/** The bytes of a value that is known in them. */
export function packedBytes(value: Value): Regs | undefined {
  return bytesOf.get(value);
}

/** The lanes of bytes. */
function widenBytes(vb: VectorBuilder, [bytes]: Regs, signed: boolean): Regs {
  const sign = signed ? 's' : 'u';
  return [bytes].flatMap((from) =>
    (['low', 'high'] as const).flatMap((part) => {
      const half = vb.un(`i16x8.extend_${part}_i8x16_${sign}`, [from]);
      return [
        ...vb.un(`i32x4.extend_low_i16x8_${sign}`, half),
        ...vb.un(`i32x4.extend_high_i16x8_${sign}`, half),
      ];
    }),
  );
}

/** The bytes of lanes, whose values must fit. */
function narrowLanes(vb: VectorBuilder, regs: Regs, signed: boolean): Regs {
  const [a, b, c, d] = regs;
  const halves = vb.bin('i16x8.narrow_i32x4_s', [a, c], [b, d]);
  return vb.bin(`i8x16.narrow_i16x8_${signed ? 's' : 'u'}`, [halves[0]], [halves[1]]);
}

/** Consecutive elements of 8 bits; code for them goes to `level`. */
export function loadBytes(
  scope: Scope,
  vb: VectorBuilder,
  dtype: DType,
  { address, offset }: Place,
  level: number,
): Value {
  const bytes = scope.at(level, (): Regs => {
    const raw = [vb.let(memory('v128.load', offset, address()))];
    return dtype === 'bool' ? vb.bin('i8x16.ne', raw, vb.i32(0)) : raw;
  });
  const widen = (): Regs => widenBytes(vb, bytes, dtype !== 'uint8');
  return packedValue(kindOf(dtype), bytes, () => scope.at(level, widen));
}

/** Stores the low bytes of a value, known in bytes or not. */
export function storeBytes(
  vb: VectorBuilder,
  dtype: DType,
  { address, offset }: Place,
  value: Value,
): void {
  const bytes = bytesOf.get(value) ?? narrowLanes(vb, value.regs, dtype !== 'uint8');
  const [stored] = dtype === 'bool' ? vb.bin('v128.and', bytes, vb.i32(0x01010101)) : bytes;
  vb.f.do(memory('v128.store', offset, address(), stored));
}

/** Instructions right for low bytes, whatever is above them; those of bools are on masks. */
const INTEGERS: Readonly<Record<string, BinaryVectorOp>> = {
  add: 'i8x16.add',
  sub: 'i8x16.sub',
  and: 'v128.and',
  or: 'v128.or',
  xor: 'v128.xor',
};
const BOOLS: Readonly<Record<string, BinaryVectorOp>> = {
  add: 'v128.or',
  mul: 'v128.and',
  and: 'v128.and',
  or: 'v128.or',
  xor: 'v128.xor',
  maximum: 'v128.or',
  minimum: 'v128.and',
  eq: 'i8x16.eq',
  ne: 'i8x16.ne',
  // True is the mask -1.
  lt: 'i8x16.gt_s',
  le: 'i8x16.ge_s',
  gt: 'i8x16.lt_s',
  ge: 'i8x16.le_s',
};
const ORDERED: Readonly<Record<string, string>> = {
  maximum: 'max',
  minimum: 'min',
  lt: 'lt',
  le: 'le',
  gt: 'gt',
  ge: 'ge',
};

/** The dtype of bytes that an expression holds, be it in 32 bits. */
function byteType(expr: Expr | undefined): DType | undefined {
  if (expr === undefined || itemSize(expr.dtype) === 1) return expr?.dtype;
  const from = expr.kind === 'op' && expr.op === 'cast' ? expr.args[0]! : expr;
  return itemSize(from.dtype) === 1 ? from.dtype : undefined;
}

/** The instruction of an operation on two operands. */
function instructionOf({ op: name, args: [a, b] }: OpExpr): BinaryVectorOp | undefined {
  if (a!.dtype === 'bool') return BOOLS[name];
  const type = byteType(a);
  if (type === undefined || type === 'bool' || type !== byteType(b)) return INTEGERS[name];
  if (name === 'eq' || name === 'ne') return `i8x16.${name}`;
  return Object.hasOwn(ORDERED, name)
    ? (`i8x16.${ORDERED[name]!}_${type === 'uint8' ? 'u' : 's'}` as BinaryVectorOp)
    : INTEGERS[name];
}

/** Products of the even bytes and of the odd ones, each in 16 bits. */
function product(vb: VectorBuilder, a: Regs, b: Regs): Regs {
  const low = vb.i32(0x00ff00ff);
  const odd = vb.bin('i16x8.mul', vb.shift('i16x8.shr_u', a, 8), vb.bin('v128.andnot', b, low));
  return vb.select(low, vb.bin('i16x8.mul', a, b), odd);
}

/** The bytes of an operation's result, if few instructions make them of those of its operands. */
export function packedOperation(
  vb: VectorBuilder,
  expr: OpExpr,
  args: readonly Value[],
): Regs | undefined {
  const fits = (arg: Value): boolean =>
    bytesOf.has(arg) || (arg.uniform && (arg.kind === 'i32' || arg.kind === 'bool'));
  if (!args.some((arg) => bytesOf.has(arg)) || !args.every(fits)) return undefined;
  const bytes = (i: number): Regs => bytesOf.get(args[i]!) ?? vb.bytes([0], args[i]!.regs);
  const { op: name, dtype } = expr;
  const [first, second] = expr.args;
  const isBool = first!.dtype === 'bool';
  if (name === 'where') return vb.select(bytes(0), bytes(1), bytes(2));
  if (name === 'not') return vb.un('v128.not', bytes(0));
  if (name === 'neg' && !isBool) return vb.un('i8x16.neg', bytes(0));
  if (name === 'abs' && byteType(first) === 'int8') return vb.un('i8x16.abs', bytes(0));
  if (name === 'square' && !isBool) return product(vb, bytes(0), bytes(0));
  if (name === 'mul' && !isBool) return product(vb, bytes(0), bytes(1));
  if (name === 'cast') {
    if (dtype === 'bool')
      return itemSize(first!.dtype) === 1 ? vb.bin('i8x16.ne', bytes(0), vb.i32(0)) : undefined;
    if (itemSize(dtype) !== 1 && dtype !== 'int32') return undefined;
    return isBool ? vb.bin('v128.and', bytes(0), vb.i32(0x01010101)) : bytes(0);
  }
  const instruction = second === undefined ? undefined : instructionOf(expr);
  return instruction === undefined ? undefined : vb.bin(instruction, bytes(0), bytes(1));
}
