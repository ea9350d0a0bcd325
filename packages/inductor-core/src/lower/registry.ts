/**
 * @file The registries of lowerings and decompositions, open to third parties.
 *
 * A lowering turns one operator into buffers and expressions. A decomposition is a lowering written in
 * terms of other operators; it is kept apart so that a backend or user can replace the one without the
 * other: a lowering, where there is one, wins.
 */
import type { Node } from '@tessera/graph';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import type { LoweredTensor } from './lowered-tensor.js';
import { type SymInt, TesseraError } from '@tessera/shared';
import type { Lowering } from './lowering.js';
import type { LoweringOf } from './typed-lowering.js';
import { type Shape, fixedShape } from './shape-math.js';

/** A number that is only known at run time. A lowering that computes with it as a number fails here, not silently. */
export class RuntimeScalar {
  constructor(
    readonly expr: Expr,
    readonly kind: 'float' | 'int' | 'bool',
  ) {}

  /** @throws lifted-scalar always */
  valueOf(): never {
    throw new TesseraError(
      'lifted-scalar',
      'A lowering needs the value of a number that is only known at run time.',
      {
        hints: ['Pass this argument as a constant; if it changes between calls, make it a tensor.'],
      },
    );
  }
}

/** An argument as a lowering sees it: in the order of the schema, defaults filled in. */
export type LoweredArg =
  | LoweredTensor
  | RuntimeScalar
  | number
  | boolean
  | string
  | null
  | undefined
  /** Only for lowerings in `takesSizes`. */
  | SymInt
  | readonly LoweredArg[];

/**
 * What a lowering returns: one tensor per return of the schema (null for one that is not computed), or
 * null to decline: then the reference kernel runs, where the backend has it.
 */
export type LoweredResult = LoweredTensor | readonly (LoweredTensor | null)[] | null;

/** What is known about the call. */
export interface LoweringCall {
  readonly node: Node;
  /** Full overload name, `aten::add.Tensor`. */
  readonly op: string;
  /** Recorded dtype of the first result. */
  readonly dtype: DType;
  /** Recorded sizes of the first result, as numbers. */
  readonly sizes: readonly number[];
  /** Recorded sizes of the first result, which may be symbolic. */
  readonly shape: Shape;
  /** Recorded dtype and sizes of every result; null for one that is not there. */
  readonly results: readonly (RecordedResult | null)[];
}

/** What the graph recorded about one result of a call. */
export class RecordedResult {
  constructor(
    readonly dtype: DType,
    /** Sizes, which may be symbolic. */
    readonly shape: Shape,
    /** Strides, which may be symbolic. */
    readonly layout: Shape,
  ) {}

  /** The sizes as numbers. */
  get sizes(): readonly number[] {
    return fixedShape(this.shape);
  }
}

/** Lowers one call, whose arguments were checked against the schema that the function names the types of. */
export type LoweringFn = {
  lower(lowering: Lowering, args: readonly LoweredArg[], call: LoweringCall): LoweredResult;
}['lower'];

/** What third parties registered, by operator. */
export const registeredLowerings: Map<string, LoweringFn> = new Map<string, LoweringFn>();
const decompositions = new Map<string, LoweringFn>();

/**
 * Registers (or replaces) the lowering of an operator, which sees the types that the operator's schema gives its
 * arguments; those of an operator that this package does not know are `LoweredArg`.
 *
 * @example
 * registerLowering('aten::trunc', (l, [self], call) => …);
 */
export function registerLowering<const Op extends string>(op: Op, fn: LoweringOf<Op>): void {
  registeredLowerings.set(op, fn);
}

/** Registers (or replaces) the decomposition of an operator; see `registerLowering`. */
export function registerDecomposition<const Op extends string>(op: Op, fn: LoweringOf<Op>): void {
  decompositions.set(op, fn);
}

/** What third parties registered for an operator, if anything. */
export function registeredLowering(op: string): LoweringFn | undefined {
  return registeredLowerings.get(op) ?? decompositions.get(op);
}

/** Operators with a registered lowering or decomposition. */
export function registeredOps(): string[] {
  return [...registeredLowerings.keys(), ...decompositions.keys()];
}
