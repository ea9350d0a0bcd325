/**
 * @file Random programs as data: a function's statements, what it closes over, and three calls of it.
 *
 * The interpreter runs them, the printer writes them as TypeScript, the minimiser takes parts away.
 * Tensor names are `a0` (arguments), `t3` (locals) and `captured.w0`; number names are `n1` (locals),
 * `captured.k`, `captured.ks[0]` and `store.count`.
 */
import type { DType } from '@tessera/tensor';
import type { Indexing } from './indices.js';
import type { CallKind } from './language.js';
import type { ModuleEdit } from './module-edits.js';

/** What an operator is called with. */
export type Arg =
  | number
  | string
  | boolean
  | null
  | readonly Arg[]
  /** A tensor by name. */
  | { readonly t: string }
  /** A number by name. */
  | { readonly n: string }
  /** One size of a tensor. */
  | { readonly size: string; readonly dim: number }
  | { readonly options: Readonly<Record<string, Arg>> };

/** One statement. */
export type Stmt =
  | {
      /** `out = on.name(...args)`, or a function of the tensor package without `on`. */
      readonly do: 'op';
      readonly out: string;
      readonly on: string | null;
      readonly name: string;
      readonly args: readonly Arg[];
      /** Which part of the result. */
      readonly pick?: number | string;
      /** `out` exists already and is bound anew. */
      readonly rebind?: boolean;
    }
  /** out = of.sum().item(), which an async function awaits */
  | {
      readonly do: 'item';
      readonly out: string;
      readonly of: string;
      readonly waits?: boolean;
    }
  /** Something else may run; in an async function only. */
  | { readonly do: 'await' }
  | {
      readonly do: 'if';
      /** `above`: the sum of a tensor is read; else a number is compared. */
      readonly of: string;
      readonly above: number;
      readonly then: readonly Stmt[];
      readonly else: readonly Stmt[];
    }
  /** `while` names a tensor whose sum must stay under a bound. */
  | {
      readonly do: 'for';
      readonly index: string;
      readonly times: number | { readonly n: string };
      readonly while: { readonly of: string; readonly below: number } | null;
      readonly body: readonly Stmt[];
    }
  | { readonly do: 'noGrad' | 'enableGrad'; readonly body: readonly Stmt[] }
  /** of.sum().backward({ retainGraph: retain }) if it requires a gradient */
  | { readonly do: 'backward'; readonly of: string; readonly retain: boolean }
  /** out = the gradient of of.sum() by another tensor, or that tensor if there is none */
  | { readonly do: 'grad'; readonly out: string; readonly of: string; readonly by: string }
  /**
   * What happens to a tensor's gradient, if it requires one: it is scaled by a hook, or kept, or a hook calls the
   * function again.
   */
  | { readonly do: 'hook'; readonly of: string; readonly kind: 'scale' | 'retain' | 'again' }
  /** out = a custom autograd function of a tensor */
  | { readonly do: 'custom'; readonly out: string; readonly of: string }
  | { readonly do: 'module'; readonly out: string; readonly of: string }
  | { readonly do: 'step' }
  | { readonly do: 'clearGrad'; readonly of: string }
  /** Side effects on `store`. */
  | { readonly do: 'effect'; readonly kind: 'push'; readonly of: string }
  | { readonly do: 'effect'; readonly kind: 'set'; readonly of: string }
  | { readonly do: 'effect'; readonly kind: 'map'; readonly of: string }
  | { readonly do: 'effect'; readonly kind: 'count' | 'pop' }
  /** A tensor of `store`, or another if there is none. */
  | {
      readonly do: 'read';
      readonly out: string;
      readonly from: 'last' | 'list' | 'map';
      readonly otherwise: string;
    }
  /** captured.name = of */
  | { readonly do: 'capture'; readonly name: string; readonly of: string }
  | { readonly do: 'break' }
  /** A body whose `throw` is caught. */
  | { readonly do: 'caught'; readonly body: readonly Stmt[] }
  /** out = what ordinary JavaScript makes of a tensor */
  | { readonly do: 'call'; readonly out: string; readonly of: string; readonly kind: CallKind }
  /** out = what is read of a tensor at the captured indices */
  | { readonly do: 'indexed'; readonly out: string; readonly of: string; readonly kind: Indexing }
  /** out = an entry of the library, of two tensors */
  | {
      readonly do: 'library';
      readonly out: string;
      readonly of: string;
      readonly by: string;
      readonly text: string;
    }
  /** The module changes between training and evaluation. */
  | { readonly do: 'toggle' }
  /** out = a function under disable(): twice the tensor, or a second derivative */
  | {
      readonly do: 'disabled';
      readonly out: string;
      readonly of: string;
      readonly kind: 'doubled' | 'curvature';
    }
  | { readonly do: 'throw' }
  | { readonly do: 'return'; readonly of: readonly string[] };

/** A tensor to make: values, then views of them. */
export interface TensorSpec {
  readonly dtype: DType;
  readonly data: readonly number[];
  /** Methods called on the flat tensor, in order. */
  readonly views: readonly { readonly name: string; readonly args: readonly Arg[] }[];
  readonly requiresGrad: boolean;
  /** Where it is, if not on the CPU. */
  readonly device?: 'wgpu';
  /** A leaf, or the product of a leaf and 1. */
  readonly leaf: boolean;
}

/** What an argument is in one call. */
export type ArgSpec =
  | { readonly kind: 'new'; readonly tensor: TensorSpec }
  /** The tensor of the call before. */
  | { readonly kind: 'again' }
  /** Another argument of this call, or a view of it. */
  | {
      readonly kind: 'alias';
      readonly of: number;
      readonly views: TensorSpec['views'];
    }
  /** A value kept from earlier calls, or a view of it; a tensor of its own where none is kept. */
  | {
      readonly kind: 'kept';
      readonly in: KeptIn;
      readonly views: TensorSpec['views'];
      readonly otherwise: TensorSpec;
    };

/** Where a value that an earlier call left behind is kept: what the store holds, or a result of the call before. */
export type KeptIn = 'last' | 'list' | 'map' | number;

/** One call. */
export interface CallSpec {
  readonly args: readonly ArgSpec[];
  /** Numbers that the function closes over. */
  readonly k: number;
  readonly ks: readonly number[];
  /** Captured tensors that are replaced before the call. */
  readonly replace: Readonly<Record<string, TensorSpec>>;
  /** Arguments of the call before that are set to zero before anything else. */
  readonly overwrite: readonly number[];
  /** Changes of the module. */
  readonly edits: readonly ModuleEdit[];
  /** Nobody looks at what the store keeps after this call. */
  readonly unseen: boolean;
  /** Whether `throw` statements throw. */
  readonly fail: boolean;
  readonly training: boolean;
  /** The module's first parameter takes no gradient. */
  readonly frozen: boolean;
  /** Learning rate. */
  readonly lr: number;
  /** The call happens without gradients. */
  readonly noGrad: boolean;
  /** What the caller of an async function does while it waits for the first time. */
  readonly meanwhile: MeanwhileKind | null;
  /** How the outputs are differentiated after the call; null if they are not. */
  readonly backward: BackwardKind | null;
}

/**
 * The sum of all outputs; the first alone; one after the other, with `retainGraph` or without; or the sum by `grad()`
 * for all leaves.
 */
export const BACKWARDS = ['sum', 'first', 'each', 'retained', 'grad'] as const;

/** One of `BACKWARDS`. */
export type BackwardKind = (typeof BACKWARDS)[number];

/** Reads the first argument, writes to it, or calls the function once more. */
export const MEANWHILES = ['read', 'write', 'call'] as const;

/** One of `MEANWHILES`. */
export type MeanwhileKind = (typeof MEANWHILES)[number];

/** Modules that programs use, each from [n, 3] to [n, 3]. */
export const NETS = ['linear', 'mlp', 'batchNorm', 'layerNorm', 'dropout'] as const;

/** Modules with a list of children, which change between calls. */
export const LISTS = ['sequential', 'chain'] as const;

/** A module's name. */
export type NetKind = (typeof NETS)[number] | (typeof LISTS)[number];

/** A random program. */
export interface Program {
  readonly seed: number;
  readonly net: NetKind | null;
  readonly optimizer: 'sgd' | 'momentum' | 'adam' | null;
  /** How arguments are passed. */
  readonly form: 'positional' | 'record' | 'list';
  /** Whether `store` is an argument or closed over. */
  readonly storeIsArgument: boolean;
  readonly dynamic: boolean | null;
  /** Whether functions and modules of the library are called. */
  readonly library: boolean;
  readonly async: boolean;
  readonly captured: Readonly<Record<string, TensorSpec>>;
  readonly body: readonly Stmt[];
  readonly calls: readonly CallSpec[];
  /** How often the last call is made again to see whether memory grows; 0 for programs that keep something. */
  readonly repeats: number;
}

/** A call without anything special: what tests and the generator begin with. */
export const PLAIN_CALL: CallSpec = {
  args: [],
  k: 1,
  ks: [],
  replace: {},
  overwrite: [],
  edits: [],
  unseen: false,
  fail: false,
  training: true,
  frozen: false,
  lr: 0.1,
  noGrad: false,
  meanwhile: null,
  backward: null,
};

/** The statements inside a statement, a list for each of its bodies. */
export function bodiesOf(stmt: Stmt): readonly (readonly Stmt[])[] {
  if (stmt.do === 'if') return [stmt.then, stmt.else];
  return 'body' in stmt ? [stmt.body] : [];
}

/** A call whose tensors are others; names are `a0` and `captured.w0`, as in statements. */
export function withEachTensor(
  call: CallSpec,
  change: (name: string, spec: TensorSpec) => TensorSpec,
): CallSpec {
  const args = call.args.map((arg, i): ArgSpec => {
    if (arg.kind === 'new') return { ...arg, tensor: change(`a${i}`, arg.tensor) };
    return arg.kind === 'kept' ? { ...arg, otherwise: change(`a${i}`, arg.otherwise) } : arg;
  });
  const replace = Object.fromEntries(
    Object.entries(call.replace).map(([name, spec]) => [name, change(`captured.${name}`, spec)]),
  );
  return { ...call, args, replace };
}

/** A statement with other bodies. */
export function withBodies(stmt: Stmt, bodies: readonly (readonly Stmt[])[]): Stmt {
  if (stmt.do === 'if') return { ...stmt, then: bodies[0]!, else: bodies[1]! };
  return 'body' in stmt ? { ...stmt, body: bodies[0]! } : stmt;
}
