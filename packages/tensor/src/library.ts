/**
 * @file `library`: operators of one's own, and kernels for existing ones.
 *
 * The same door that the built-in operators use: a schema, a record, kernels per device. An operator
 * with a `meta` kernel can be traced; one with a `vjp` can be differentiated. Modelled on
 * `torch.library`.
 */
import { TesseraError, checkFunction } from '@tessera/shared';
import { addKernel } from './dispatch/custom-kernel.js';
import { callOp } from './dispatch/dispatcher.js';
import { functionalForm } from './op/functional-form.js';
import { type OpOverload, defineOp, getOp } from './op/op-overload.js';
import type { GradsOf, NamedArgs, OnlyGradsOf, OpRecord, SavedName, Vjp } from './op/op-record.js';
import type {
  SchemaArgs,
  SchemaFunction,
  SchemaKernel,
  SchemaName,
  SchemaResult,
} from './op/schema-types.js';
import { parseSchema } from './op/schema.js';

/** Kernel of a custom op: positional arguments in schema order, result as the schema says. */
export type KernelFunction = (...args: never[]) => unknown;

/** How gradients flow through a custom op. */
export interface AutogradFormula<
  Args extends NamedArgs = NamedArgs,
  Grads extends GradsOf<Args> = GradsOf<Args>,
> {
  /** Gradient per argument name, written in differentiable ops. */
  readonly vjp: NonNullable<OpRecord<Args, unknown, Grads>['vjp']>;
  /** Tensor arguments and outputs ('out', 'out.1') whose values the vjp reads. */
  readonly saved?: readonly SavedName<Args>[];
}

/** Schemas by operator name, of the operators that a chain of `define` calls made. */
type Schemas = Readonly<Record<string, string>>;

/** Schema of an operator; `string`, of which nothing is known, for one that was not defined in this chain. */
type SchemaOf<Ops extends Schemas, Name extends string> = Name extends keyof Ops
  ? Ops[Name]
  : string;

type KernelOf<S extends string> = string extends S ? KernelFunction : SchemaKernel<S>;

/**
 * Operators of one namespace; see `library`. Kernels and formulas of operators that were defined in the same
 * chain of calls see the types of their arguments.
 */
export interface Library<Ops extends Schemas = Record<never, never>> {
  readonly namespace: string;
  /**
   * Registers an operator. The record may be left out or partial; `impl` and `autograd` add to it.
   *
   * @throws schema-parse, op-duplicate, invalid-argument
   */
  define<const S extends string, Grads extends GradsOf<SchemaArgs<S>>>(
    schema: S,
    record?: OpRecord<SchemaArgs<S>, SchemaResult<S>, Grads> & OnlyGradsOf<SchemaArgs<S>, Grads>,
  ): Library<Ops & Readonly<Record<SchemaName<S>, S>>>;
  /**
   * Registers a kernel for a device, which comes before any other; `meta` is the rule for FakeTensors and
   * must not read values.
   *
   * @param name operator name, with `.overload` unless it is the default one
   * @throws op-unknown, invalid-argument
   */
  impl<Name extends string>(
    name: Name,
    device: 'cpu' | 'meta' | (string & {}),
    kernel: KernelOf<SchemaOf<Ops, Name>>,
  ): Library<Ops>;
  /** Registers the gradient formula of an operator. @throws op-unknown, invalid-argument */
  autograd<Name extends string, Grads extends GradsOf<SchemaArgs<SchemaOf<Ops, Name>>>>(
    name: Name,
    formula: AutogradFormula<SchemaArgs<SchemaOf<Ops, Name>>, Grads> &
      OnlyGradsOf<SchemaArgs<SchemaOf<Ops, Name>>, Grads>,
  ): Library<Ops>;
  /** The overload, for graphs and passes. @throws op-unknown */
  op(name: string): OpOverload;
  /** The operator as a function: positional arguments, defaults filled in. @throws op-unknown, schema-arguments */
  fn<Name extends keyof Ops & string>(name: Name): SchemaFunction<Ops[Name]>;
  fn<F extends KernelFunction = (...args: unknown[]) => unknown>(name: string): F;
}

/**
 * Opens a namespace.
 *
 * @throws invalid-argument for a name that is not an identifier
 * @example
 * const lib = library('custom')
 *   .define('scale(Tensor self, float factor=2.0) -> Tensor')
 *   .impl('scale', 'cpu', (x, factor) => x.mul(factor))
 *   .impl('scale', 'meta', (x) => x.emptyLike())
 *   .autograd('scale', { vjp: ({ factor }, { grad }) => ({ self: grad.mul(factor) }) });
 * const scale = lib.fn('scale'); // (x: Tensor, factor?: number) => Tensor
 */
export function library(namespace: string): Library {
  if (!/^[A-Za-z_]\w*$/.test(namespace)) {
    throw new TesseraError(
      'invalid-argument',
      `'${namespace}' cannot be a namespace of operators.`,
      { hints: ['Use letters, digits and underscores.'] },
    );
  }
  const find = (name: string): OpOverload =>
    getOp(`${namespace}::${name.replace(/\.default$/, '')}`);
  // What each call knows about the schemas is known to the type `Library` alone.
  const self = {
    namespace,
    define(schema: string, record: OpRecord = {}): unknown {
      const text = qualified(namespace, schema);
      // The author of the schema hears of a mistake here, not when the operator is first called.
      parseSchema(text);
      const op = defineOp(text, record);
      op.isCustom = true;
      // Plans name it: a process that loads one has the operator and may never compile it.
      if (op.isMutable && record.inplaceOf === undefined) functionalForm(op);
      return self;
    },
    impl(name: string, device: string, kernel: KernelFunction): unknown {
      checkFunction('impl', kernel);
      addKernel(find(name), device, kernel);
      return self;
    },
    autograd(name: string, { vjp, saved }: AutogradFormula): unknown {
      checkFunction('vjp', vjp);
      const op = find(name);
      op.record = { ...op.record, vjp: namesChecked(op, vjp), saved };
      op.isCustom = true;
      return self;
    },
    op: find,
    fn(name: string): KernelFunction {
      const op = find(name);
      const formals = op.schema.args;
      return (...args: unknown[]): unknown =>
        callOp(
          op,
          args.length >= formals.length
            ? args
            : formals.map((_, i) => (args[i] === undefined ? defaultOf(op, i) : args[i])),
        );
    },
  };
  return self as Library;
}

/** A formula whose gradients are those of arguments. */
function namesChecked(op: OpOverload, vjp: Vjp): Vjp {
  return (args, context) => {
    const grads = vjp(args, context);
    for (const name in grads) {
      const names = op.schema.args.map((formal) => formal.name);
      if (names.includes(name)) continue;
      throw new TesseraError(
        'schema-arguments',
        `The formula of ${op.qualifiedName} gives a gradient for '${name}', which is no argument of it.`,
        { hints: [`Its arguments are: ${names.join(', ')}.`] },
      );
    }
    return grads;
  };
}

function defaultOf(op: OpOverload, index: number): unknown {
  const formal = op.schema.args[index]!;
  if (formal.hasDefault) return formal.default;
  throw new TesseraError(
    'schema-arguments',
    `${op.qualifiedName} needs the argument '${formal.name}'.`,
    { hints: [`Schema: ${op.schema.text}`] },
  );
}

/** The schema with the namespace in front. @throws invalid-argument if it names another one */
function qualified(namespace: string, schema: string): string {
  const given = /^\s*(\w+)::/.exec(schema);
  if (given === null) return `${namespace}::${schema.trim()}`;
  if (given[1] !== namespace) {
    throw new TesseraError(
      'invalid-argument',
      `library('${namespace}') cannot define '${schema}': it belongs to namespace '${given[1]}'.`,
      { hints: [`Open library('${given[1]}'), or leave the namespace out.`] },
    );
  }
  return schema;
}
