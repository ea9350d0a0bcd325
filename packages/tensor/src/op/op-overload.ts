/**
 * @file `OpOverload`: a registered operator, and the registry.
 *
 * An overload is what graphs call (`call_function` targets), guards match and backends lower. It is
 * identified by its object; `aten::add.Tensor` finds it.
 */
import { TesseraError, inspectsAs, nearestNames } from '@tessera/shared';
import type { ResultOf } from './named-results.js';
import type { GradsOf, NamedArgs, OnlyGradsOf, OpRecord, OpTag } from './op-record.js';
import { type Schema, readSchema } from './schema.js';
import type { SchemaArgs, SchemaResult } from './schema-types.js';

/** A kernel of a program. As a method's, its parameters may be narrower: the schema says what it is called with. */
export type DeviceKernel = { kernel(...args: readonly unknown[]): unknown }['kernel'];

/** A registered operator overload, whose calls return a `Result`. */
export class OpOverload<out Result = unknown> {
  /** For the type checker only: no such property exists. */
  declare readonly resultType: Result;
  readonly schema: Schema;
  /** Replaced only by `library().autograd`. */
  record: OpRecord;
  /** `aten::add.Tensor`; the overload is left out when it is `default`. */
  readonly qualifiedName: string;
  /** `aten.add.Tensor`, as FX prints it. */
  readonly displayName: string;
  readonly isMutable: boolean;
  readonly isView: boolean;
  /** Whether code of the program belongs to it: a kernel, a rule or a derivative. It may keep the tensors that it sees. */
  isCustom = false;
  /** Kernels registered per device by `library().impl`; they precede the record's own. */
  readonly deviceKernels: Map<string, DeviceKernel> = new Map();
  #argIndex: ReadonlyMap<string, number> | null = null;
  #tensorArgs: readonly number[] | null = null;

  constructor(schema: Schema, record: OpRecord) {
    this.schema = schema;
    this.record = record;
    this.qualifiedName = `${schema.namespace}::${schema.name}${schema.overload === 'default' ? '' : `.${schema.overload}`}`;
    this.displayName = `${schema.namespace}.${schema.name}.${schema.overload}`;
    this.isMutable = schema.isMutable;
    this.isView = record.view !== undefined;
  }

  /** Position of each argument by name. */
  get argIndex(): ReadonlyMap<string, number> {
    return (this.#argIndex ??= new Map(this.schema.args.map((arg, i) => [arg.name, i])));
  }

  /** Positions of arguments that hold tensors or lists of tensors. */
  get tensorArgs(): readonly number[] {
    return (this.#tensorArgs ??= this.schema.args.flatMap((arg, i) =>
      arg.type.base === 'Tensor' ? [i] : [],
    ));
  }

  /** Whether the record carries a tag. */
  hasTag(tag: OpTag): boolean {
    return this.record.tags?.includes(tag) ?? false;
  }

  /** Whether a call changes the sizes, strides or history of its tensor in place: a graph break. */
  changesLayout(args: readonly unknown[]): boolean {
    const { layoutOf, resizes } = this.record;
    return layoutOf !== undefined || resizes?.(this.bind(args)) === true;
  }

  /** Positional arguments as an object keyed by schema names. */
  bind(args: readonly unknown[]): NamedArgs {
    const named: NamedArgs = {};
    const formals = this.schema.args;
    for (let i = 0; i < formals.length; i++) named[formals[i]!.name] = args[i];
    return named;
  }

  toString(): string {
    return this.displayName;
  }
}

inspectsAs(OpOverload);

const registry = new Map<string, OpOverload>();

/**
 * Registers an operator. The functions of the record see the types that the schema gives their arguments.
 *
 * @throws op-duplicate; schema-parse, for the signature on first use
 */
export function defineOp<const S extends string, Grads extends GradsOf<SchemaArgs<S>>>(
  schema: S,
  record: OpRecord<SchemaArgs<S>, SchemaResult<S>, Grads> & OnlyGradsOf<SchemaArgs<S>, Grads>,
): OpOverload<SchemaResult<S>> {
  const op = new OpOverload<SchemaResult<S>>(readSchema(schema), record as OpRecord);
  if (registry.has(op.qualifiedName)) {
    throw new TesseraError('op-duplicate', `Operator ${op.qualifiedName} is already registered.`, {
      hints: ['Use another namespace, or register a kernel with library().impl().'],
    });
  }
  registry.set(op.qualifiedName, op);
  return op;
}

const ELSEWHERE =
  "Use what registers it, as bundlers drop the rest: '@tessera/nn', '@tessera/tensor/linalg' or '@tessera/tensor/fft'.";

/** The overload of a qualified name (`aten::add.Tensor`). @throws op-unknown */
export function getOp<const Name extends string>(qualifiedName: Name): OpOverload<ResultOf<Name>>;
export function getOp(qualifiedName: string): OpOverload {
  const op = registry.get(qualifiedName);
  if (op === undefined) {
    const near = nearestNames(qualifiedName, [...registry.keys()]);
    throw new TesseraError('op-unknown', `There is no operator ${qualifiedName}.`, {
      context: { name: qualifiedName },
      hints: [
        near.length > 0
          ? `Nearest names: ${near.join(', ')}.`
          : "Register it with library('namespace').define(schema).",
        ...(String(qualifiedName).startsWith('aten::') ? [ELSEWHERE] : []),
      ],
    });
  }
  return op;
}

/** The overload of a qualified name, or undefined. */
export function findOp(qualifiedName: string): OpOverload | undefined {
  return registry.get(qualifiedName);
}

/** All registered overloads in order of registration. */
export function allOps(): readonly OpOverload[] {
  return [...registry.values()];
}
