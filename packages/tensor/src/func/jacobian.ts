/**
 * @file `jacrev`, `jacfwd` and `hessian`: matrices of derivatives of functions as functions, which compose with `vmap`.
 *
 * Modelled on `torch.func`. There are no forward derivatives of operators: a column of `jacfwd` is the derivative of a
 * gradient, which is linear in what it is seeded with.
 */
import {
  type OptionNames,
  checkFunction,
  checkOptionNames,
  isTesseraError,
  treeMap,
} from '@tessera/shared';
import {
  gradients,
  jacobianColumns,
  jacobianRows,
  seededGradients,
} from '../autograd/functional.js';
import { enableGrad, noGrad } from '../autograd/grad-mode.js';
import { eye } from '../ops/factory/range.js';
import type { Tensor } from '../tensor.js';
import {
  type DerivativeOptions,
  GRAD_FUNCTION,
  type GradFunctionOptions,
  type OneArgument,
  type SeveralArguments,
} from './grad.js';
import { prepare, withAux } from './prepare.js';
import { vmap } from './vmap.js';

const ARGNUMS: OptionNames<DerivativeOptions> = { argnums: true };

/** A derivative for each tensor of an argument, in its structure. */
type Each<T, D> = T extends Tensor ? D : { [K in keyof T]: Each<T[K], D> };
/** The same of an argument among all. */
type OfArgument<A extends unknown[], N extends number> = Each<A[N], Tensor>;

/** The same of each of several. */
type OfArguments<A extends unknown[], N extends readonly number[]> = {
  -readonly [K in keyof N]: Each<A[N[K]], Tensor>;
};

/** The function returns `[value, aux]`. */
interface WithAux {
  readonly hasAux: true;
}

/** What is said of functions that work for one direction, but not for all of them as a batch. */
const ONE_BY_ONE: ReadonlySet<string> = new Set([
  'vmap-data-access',
  'vmap-inplace',
  'vmap-randomness',
  'vmap-unsupported',
]);

/** `of` for each element of `like`, as a 1 among zeros of its shape: results along a first dimension. @throws vmap errors */
function allDirections(like: Tensor, of: (direction: Tensor) => Tensor[]): Tensor[] {
  const { numel, sizes, dtype, device } = like;
  const basis = noGrad(() => eye(numel, { dtype, device }).reshape([numel, ...sizes]));
  return vmap(of)(basis);
}

/** `batched` for what has several directions, `single` where that is more than `vmap` can do. */
function inOneGo(count: number, batched: () => Tensor[], single: () => Tensor[]): Tensor[] {
  if (count < 2) return single();
  try {
    return batched();
  } catch (error) {
    if (isTesseraError(error) && ONE_BY_ONE.has(error.code)) return single();
    throw error;
  }
}

const rowsAtOnce: typeof jacobianRows = (name, out, leaves, options) =>
  inOneGo(
    out.numel,
    () =>
      allDirections(out, (row) =>
        gradients(name, [out], [row], leaves, options.createGraph, options.strict),
      ).map((rows, i) => rows.reshape([...out.sizes, ...leaves[i]!.sizes])),
    () => jacobianRows(name, out, leaves, options),
  );

const columnsAtOnce: typeof jacobianColumns = (name, out, leaves, options) =>
  inOneGo(
    Math.min(...leaves.map(({ numel }) => numel)),
    () => {
      const { seeds, grads } = seededGradients(name, [out], leaves, options.strict);
      return leaves.map((leaf, i) => {
        const [columns] = allDirections(leaf, (column) =>
          gradients(name, [grads[i]!], [column], seeds, options.createGraph, false),
        );
        return columns!
          .reshape([leaf.numel, out.numel])
          .t()
          .reshape([...out.sizes, ...leaf.sizes]);
      });
    },
    () => jacobianColumns(name, out, leaves, options),
  );

function jacobian<A extends unknown[]>(
  name: string,
  parts: typeof jacobianRows,
  fn: (...args: A) => unknown,
  options: GradFunctionOptions,
): (...args: A) => unknown {
  checkFunction(name, fn);
  checkOptionNames(name, options, GRAD_FUNCTION);
  return (...args) => {
    const { argnums = 0, hasAux = false } = options;
    const { args: own, leaves, createGraph, release, rebuild } = prepare(name, args, argnums);
    return enableGrad(() => {
      const [out, ...aux] = withAux(name, fn(...own), hasAux);
      const of = (value: unknown): unknown =>
        rebuild(parts(name, value as Tensor, leaves, { createGraph, strict: false }));
      const matrix = treeMap(of, out);
      return release(hasAux ? [matrix, ...aux] : matrix);
    });
  };
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, in reverse mode, all rows as a batch (`vmap`), or one
 * by one where that cannot be; one for each argument of a list of `argnums`, and `[Jacobian, aux]` with `hasAux`. Of an
 * array or a record of tensors it has the structure, with a Jacobian for each.
 *
 * @throws invalid-argument
 * @example vmap(jacrev(logits), { inDims: [null, 0] })(parameters, inputs) // what a neural tangent kernel is made of
 * @see torch.func.jacrev
 */
export function jacrev<A extends unknown[], X, N extends number = 0>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: OneArgument<N> & WithAux,
): (...args: A) => [jacobian: OfArgument<A, N>, aux: X];
export function jacrev<A extends unknown[], X, const N extends readonly number[]>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: SeveralArguments<N> & WithAux,
): (...args: A) => [jacobians: OfArguments<A, N>, aux: X];
export function jacrev<A extends unknown[], N extends number = 0>(
  fn: (...args: A) => Tensor,
  options?: OneArgument<N>,
): (...args: A) => OfArgument<A, N>;
export function jacrev<A extends unknown[], const N extends readonly number[]>(
  fn: (...args: A) => Tensor,
  options: SeveralArguments<N>,
): (...args: A) => OfArguments<A, N>;
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions = {},
): (...args: A) => unknown {
  return jacobian('jacrev', rowsAtOnce, fn, options);
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, by columns, all as a batch: for more outputs than
 * inputs; one for each argument of a list of `argnums`, and `[Jacobian, aux]` with `hasAux`. Of an array or a record of
 * tensors it has the structure, with a Jacobian for each.
 *
 * @throws invalid-argument
 * @see torch.func.jacfwd
 */
export function jacfwd<A extends unknown[], X, N extends number = 0>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: OneArgument<N> & WithAux,
): (...args: A) => [jacobian: OfArgument<A, N>, aux: X];
export function jacfwd<A extends unknown[], X, const N extends readonly number[]>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: SeveralArguments<N> & WithAux,
): (...args: A) => [jacobians: OfArguments<A, N>, aux: X];
export function jacfwd<A extends unknown[], N extends number = 0>(
  fn: (...args: A) => Tensor,
  options?: OneArgument<N>,
): (...args: A) => OfArgument<A, N>;
export function jacfwd<A extends unknown[], const N extends readonly number[]>(
  fn: (...args: A) => Tensor,
  options: SeveralArguments<N>,
): (...args: A) => OfArguments<A, N>;
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions = {},
): (...args: A) => unknown {
  return jacobian('jacfwd', columnsAtOnce, fn, options);
}

/**
 * A function that computes the Hessian of `fn`, whose result has one element: `[...output, ...input, ...input]`;
 * one for each pair of arguments of a list of `argnums`. Of an array or a record of tensors it has the structure twice.
 *
 * @throws invalid-argument
 * @example vmap(hessian(energy))(positions) // one matrix per example
 * @see torch.func.hessian
 */
export function hessian<A extends unknown[], N extends number = 0>(
  fn: (...args: A) => Tensor,
  options?: OneArgument<N>,
): (...args: A) => Each<A[N], OfArgument<A, N>>;
export function hessian<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: SeveralArguments<readonly number[]>,
): (...args: A) => Tensor[][];
export function hessian<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: DerivativeOptions = {},
): (...args: A) => unknown {
  checkFunction('hessian', fn);
  checkOptionNames('hessian', options, ARGNUMS);
  const rows = jacobian('jacrev', rowsAtOnce, fn, options);
  return jacobian('jacfwd', columnsAtOnce, rows, options);
}
