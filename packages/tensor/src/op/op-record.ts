/**
 * @file `OpRecord`: everything the system knows about an operator, as one declaration.
 *
 * Schema strings name arguments as PyTorch does; the functions of a record receive them by those names
 * in one object, whose type `defineOp` reads from the schema. A record has a `kernel` (with `meta`) or a
 * `decompose`, never both.
 */
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import type { CellKind } from '../ops/recurrent/cell.js';
import type { Tensor } from '../tensor.js';

/** What a tensor looks like without its values. Sizes and strides in elements. */
export interface TensorMeta {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly dtype: DType;
  readonly device: DeviceType;
}

/** A view's layout on the storage of its base; `offset` in elements from the start of the storage. */
export interface ViewMeta {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/**
 * Arguments by schema name, of an operator that is not known: the values were checked against its schema.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- nothing is known about the schema
export type NamedArgs = Record<string, any>;

/** Words that arguments called so hold, where every operator that has one means the same. Packages add theirs. */
export interface SchemaWords {
  kind: CellKind;
}

/** A gradient, or how to compute it if it is needed; null for none. */
export type GradResult = Tensor | null | undefined | (() => Tensor | null);

/** What a vjp sees besides the arguments. */
export interface VjpContext<Name extends string = string> {
  /** Gradient of the first output (zeros if only others received one). */
  readonly grad: Tensor;
  /** Gradients per output; null where none arrived. */
  readonly grads: readonly (Tensor | null)[];
  /** Outputs; readable if the record's `saved` names them. */
  readonly out: Tensor;
  readonly outs: readonly Tensor[];
  /** Whether the gradient of an argument is wanted; for list arguments, whether any element's is. */
  needs(name: Name): boolean;
}

/** Gradients by the names of arguments that may hold tensors. */
export type GradsOf<Args extends NamedArgs = NamedArgs> = {
  readonly [
    Name in keyof Args as [Extract<Args[Name], Tensor | readonly (Tensor | null)[]>] extends [never]
      ? never
      : Name
  ]?: GradResult | readonly GradResult[];
};

/**
 * Makes a gradient of something that is no argument an error, which TypeScript would not look for: to be
 * intersected with the record that the gradients `Grads` were inferred from.
 */
export type OnlyGradsOf<Args, Grads> = [Exclude<keyof Grads, keyof Args>] extends [never]
  ? unknown
  : // A vjp that computes its names says nothing about them.
    string extends keyof Grads
    ? unknown
    : { readonly vjp: `no argument: ${Exclude<keyof Grads, keyof Args> & string}` };

/** What a record can keep for its vjp: tensor arguments and outputs. */
export type SavedName<Args extends NamedArgs = NamedArgs> =
  (keyof Args & string) | 'out' | `out.${number}`;

/** Hints for passes and code generators. */
export type OpTag =
  /** Output element depends on the input elements at the same broadcast position. */
  | 'pointwise'
  | 'reduction'
  /** Draws random numbers: never merged, folded or removed when its generator state matters. */
  | 'random'
  /** Does something besides computing its results: never removed, merged, reordered or run again. */
  | 'effect'
  /** Starts something that goes on while others run: as soon as its operands are there. */
  | 'starts'
  /** Waits for what was started: as late as its readers permit, whatever other effects there are. */
  | 'waits'
  /** Output shape depends on values: a graph break. */
  | 'data-dependent'
  /** Makes a tensor from no tensor. */
  | 'factory'
  /** All output elements are one number: in place it may be written over itself, as to expanded tensors. */
  | 'uniform'
  /** Output values are unspecified. */
  | 'uninitialized'
  /** Expensive library-like op (matmul, conv): never recomputed. */
  | 'compute-intensive'
  /** Gradients do not flow through it (comparisons, argmax). */
  | 'non-differentiable';

/** What no function returns: it makes TypeScript see a tuple in `return [values, indices]`. */
type TupleHint = [never];

/** See the file header. */
export interface OpRecord<
  in Args extends NamedArgs = NamedArgs,
  out Result = unknown,
  out Grads extends GradsOf<Args> = GradsOf<Args>,
> {
  readonly tags?: readonly OpTag[];
  /** Shape, stride, dtype rule: one meta per output. Runs on FakeTensors; must not read values. */
  readonly meta?: (args: Args) => TensorMeta | readonly TensorMeta[];
  /** For views: the layout on the storage of `self`; replaces meta and kernel. */
  readonly view?: (args: Args) => ViewMeta | readonly ViewMeta[];
  /** Reference CPU kernel: fills `outs`, allocated from `meta`. */
  readonly kernel?: (args: Args, outs: readonly Tensor[]) => void;
  /** Whether the kernel may be given its first argument as its first output: compilers then do so. */
  readonly kernelInPlace?: boolean;
  /** Kernel that makes its own outputs (data-dependent shapes). */
  readonly produce?: (args: Args) => Tensor | Tensor[];
  /** What to await instead of a data-dependent op on devices that are read asynchronously, as code. */
  readonly awaited?: string;
  /** The op in terms of others (CompositeImplicitAutograd). */
  readonly decompose?: (args: Args) => Result | TupleHint;
  /**
   * A primitive op in terms of others, for compilers, which then need no code of their own for it: below autograd, so
   * that the record's vjp stays (CompositeExplicitAutograd). Laid out as `meta` says; null leaves the call as it is.
   */
  readonly expand?: (args: Args) => Result | TupleHint | null;
  /**
   * Vector-Jacobian product: gradient per argument name. List arguments return an array. Written in
   * differentiable ops, so that double backward works. Broadcast inputs need no care: the engine sums
   * a gradient to its input's shape and casts it to its dtype.
   */
  readonly vjp?: (args: Args, context: VjpContext<keyof Args & string>) => Grads;
  /** Numbers of the floating-point outputs that gradients do not flow through, as saved statistics. */
  readonly constantOutputs?: readonly number[];
  /**
   * Tensor arguments whose values the vjp reads, and outputs: 'out' for all, 'out.1' for one. Others
   * arrive as shape-only FakeTensors, which must not be operands of ops.
   */
  readonly saved?: readonly SavedName<Args>[];
  /**
   * The same, but only if the gradient of an argument is wanted: `{ other: ['self'] }` keeps self if the
   * gradient of other is wanted. For vjps that compute each gradient on its own.
   */
  readonly savedFor?: Readonly<Record<string, readonly SavedName<Args>[]>>;
  /** The functional overload that this in-place op is derived from. */
  readonly inplaceOf?: string;
  /** The view whose layout this in-place op gives to `self` (`t_`: `aten::t`). */
  readonly layoutOf?: string;
  /** Whether a call of the in-place form gives `self` the result's size, which tracers cannot follow. */
  readonly resizes?: (args: Args) => boolean;
}

/** The derivative of an operator with these arguments; see `OpRecord`. */
export type Vjp<Args extends NamedArgs = NamedArgs> = NonNullable<OpRecord<Args>['vjp']>;

/** Whether a record's vjp reads an argument, given which gradients are wanted. */
export function readsArgument(
  record: OpRecord,
  name: string,
  wants: (argument: string) => boolean,
): boolean {
  if (record.saved?.includes(name) === true) return true;
  for (const argument in record.savedFor)
    if (record.savedFor[argument]!.includes(name) && wants(argument)) return true;
  return false;
}
