/**
 * @file `library`: operators of one's own, and kernels for existing ones.
 *
 * The same door that the built-in operators use: a schema, a record, kernels per device. An operator
 * with a `meta` kernel can be traced; one with a `vjp` can be differentiated. Modelled on
 * `torch.library`.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from './dispatch/dispatcher.js';
import { type OpOverload, defineOp, getOp } from './op/op-overload.js';
import type { OpRecord, Vjp } from './op/op-record.js';
import { parseSchema } from './op/schema.js';

/** Kernel of a custom op: positional arguments in schema order, result as the schema says. */
export type KernelFunction = (...args: never[]) => unknown;

/** How gradients flow through a custom op. */
export interface AutogradFormula {
  /** Gradient per argument name, written in differentiable ops. */
  readonly vjp: Vjp;
  /** Tensor arguments and outputs ('out', 'out.1') whose values the vjp reads. */
  readonly saved?: readonly string[];
}

/** Operators of one namespace; see `library`. */
export interface Library {
  readonly namespace: string;
  /**
   * Registers an operator. The record may be left out or partial; `impl` and `autograd` add to it.
   *
   * @throws schema-parse, op-duplicate, invalid-argument
   */
  define(schema: string, record?: OpRecord): Library;
  /**
   * Registers a kernel for a device, which comes before any other; `meta` is the rule for FakeTensors and
   * must not read values.
   *
   * @param name operator name, with `.overload` unless it is the default one
   * @throws op-unknown
   */
  impl(name: string, device: 'cpu' | 'meta' | (string & {}), kernel: KernelFunction): Library;
  /** Registers the gradient formula of an operator. @throws op-unknown */
  autograd(name: string, formula: AutogradFormula): Library;
  /** The overload, for graphs and passes. @throws op-unknown */
  op(name: string): OpOverload;
  /** The operator as a function: positional arguments, defaults filled in. @throws op-unknown, schema-arguments */
  fn<F extends KernelFunction = (...args: unknown[]) => unknown>(name: string): F;
}

/**
 * Opens a namespace.
 *
 * @throws invalid-argument for a name that is not an identifier
 * @example
 * const lib = library('custom')
 *   .define('scale(Tensor self, float factor=2.0) -> Tensor')
 *   .impl('scale', 'cpu', (x: Tensor, factor: number) => x.mul(factor))
 *   .impl('scale', 'meta', (x: Tensor) => x.emptyLike())
 *   .autograd('scale', { vjp: ({ factor }, { grad }) => ({ self: grad.mul(factor) }) });
 * const scale = lib.fn<(x: Tensor, factor?: number) => Tensor>('scale');
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
  const self: Library = {
    namespace,
    define(schema, record = {}) {
      const text = qualified(namespace, schema);
      // The author of the schema hears of a mistake here, not when the operator is first called.
      parseSchema(text);
      defineOp(text, record).isCustom = true;
      return self;
    },
    impl(name, device, kernel) {
      const op = find(name);
      op.deviceKernels.set(device, kernel);
      op.isCustom = true;
      return self;
    },
    autograd(name, { vjp, saved }) {
      const op = find(name);
      op.record = { ...op.record, vjp, saved };
      op.isCustom = true;
      return self;
    },
    op: find,
    fn<F extends KernelFunction>(name: string) {
      const op = find(name);
      const formals = op.schema.args;
      const call = (...args: unknown[]): unknown =>
        callOp(
          op,
          args.length >= formals.length
            ? args
            : formals.map((_, i) => (args[i] === undefined ? defaultOf(op, i) : args[i])),
        );
      return call as unknown as F;
    },
  };
  return self;
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
