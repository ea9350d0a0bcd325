/**
 * @file What a lowering sees, by the operator that it lowers: the types of its arguments, read from the operator's schema.
 *
 * `LoweringOf<'aten::glu'>` takes `[self: LoweredTensor, dim: number | RuntimeScalar]`. The schemas are those of
 * generated/operator-schemas.ts, which a test of testkit compares with the registry. What may stand for what is as
 * eager's check of arguments has it; for graphs that were not traced `checkOperands` sees to it.
 */
import type { SymInt, SymScalar } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { SchemaKernel } from '@tessera/tensor/internal';
import type { OperatorSchemas, PointwiseSchemas } from './generated/operator-schemas.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type {
  LoweredArg,
  LoweredResult,
  LoweringCall,
  LoweringFn,
  RuntimeScalar,
} from './registry.js';
import type { Lowering } from './lowering.js';

/** An operand of a pointwise operator. */
export type Operand = LoweredTensor | RuntimeScalar | SymInt | number | boolean;

/**
 * The value of an argument, by what eager gets for it: a number may be one of run time. `One` is what comes for a single
 * tensor, `Whole` what comes for a number.
 */
type Lowered<T, One, Whole> = unknown extends T
  ? LoweredArg
  : T extends Tensor
    ? One
    : T extends number
      ? Whole
      : T extends boolean
        ? boolean | RuntimeScalar
        : T extends SymScalar
          ? RuntimeScalar
          : T extends readonly boolean[]
            ? T
            : T extends readonly (infer Item)[]
              ? readonly Lowered<Item, LoweredTensor, Whole>[]
              : T;

/** The same for every argument, in order. */
type LoweredList<Args extends readonly unknown[], One, Whole> = {
  readonly [At in keyof Args]: Lowered<Args[At], One, Whole>;
};

type LoweredAs<Op extends string, Whole> = Op extends keyof PointwiseSchemas
  ? LoweredList<Parameters<SchemaKernel<PointwiseSchemas[Op]>>, Operand, Whole>
  : Op extends keyof OperatorSchemas
    ? LoweredList<Parameters<SchemaKernel<OperatorSchemas[Op]>>, LoweredTensor, Whole>
    : readonly LoweredArg[];

/** An operator whose schema the type checker knows. */
export type KnownOperator = keyof PointwiseSchemas | keyof OperatorSchemas;

/** Arguments of an operator as its lowering sees them, in order, defaults filled in. */
export type LoweredArgs<Op extends string> = LoweredAs<Op, number | RuntimeScalar>;

/** The lowering of an operator; of one that is not known, with arguments of which nothing is. */
export type LoweringOf<Op extends string> = (
  lowering: Lowering,
  args: LoweredArgs<Op>,
  call: LoweringCall,
) => LoweredResult;

/** The same for operators in `takesSizes`: numbers may be symbolic sizes. */
export type SizedLoweringOf<Op extends string> = (
  lowering: Lowering,
  args: LoweredAs<Op, number | SymInt | RuntimeScalar>,
  call: LoweringCall,
) => LoweredResult;

/** Lowerings by the names of their operators, while it is known which is whose. */
export type Lowerings = { readonly [Op in KnownOperator]?: LoweringOf<Op> };

/** Lowerings by name, for a graph's operators: its arguments were checked against their schemas. */
export type LoweringTable = Readonly<Record<string, LoweringFn>>;

/** A table whose lowerings see the arguments of their operators. */
export function lowerings(table: Lowerings): LoweringTable {
  return table;
}
