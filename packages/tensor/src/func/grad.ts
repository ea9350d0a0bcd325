/**
 * @file `grad` and `gradAndValue`: gradients of functions as functions, which compose with `vmap`. Modelled on `torch.func`.
 */
import { type OptionNames, TesseraError, checkFunction, checkOptionNames } from '@tessera/shared';
import { differentiate } from '../autograd/differentiate.js';
import { enableGrad, noGrad } from '../autograd/grad-mode.js';
import { zerosOf } from '../autograd/gradient-ops.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { prepare, withAux } from './prepare.js';

/** Options of the functions below. */
export interface DerivativeOptions {
  /** Which argument, or arguments, to differentiate with respect to (default 0). */
  readonly argnums?: number | readonly number[];
}

/** Options of `grad`, `gradAndValue`, `jacrev` and `jacfwd`. */
export interface GradFunctionOptions extends DerivativeOptions {
  /** Whether `fn` returns `[value, aux]`, of which `aux` is passed on (default false). */
  readonly hasAux?: boolean;
}
export const GRAD_FUNCTION: OptionNames<GradFunctionOptions> = { argnums: true, hasAux: true };

/** One argument: its gradient. */
export interface OneArgument<N extends number> {
  readonly argnums?: N;
}

/** Several arguments: a gradient for each. */
export interface SeveralArguments<N extends readonly number[]> {
  readonly argnums: N;
}

/** Those of the arguments that a list names. */
type Named<A extends unknown[], N extends readonly number[]> = {
  -readonly [K in keyof N]: A[N[K]];
};

/**
 * A function that computes `[gradient, value]` of `fn`; `[gradient, [value, aux]]` with `hasAux`.
 *
 * @throws grad-non-scalar unless `fn` returns a tensor of no dimensions; invalid-argument
 * @see torch.func.grad_and_value
 */
export function gradAndValue<A extends unknown[], R, N extends number = 0>(
  fn: (...args: A) => R,
  options?: GradFunctionOptions & OneArgument<N>,
): (...args: A) => [gradient: A[N], value: R];
export function gradAndValue<A extends unknown[], R, const N extends readonly number[]>(
  fn: (...args: A) => R,
  options: GradFunctionOptions & SeveralArguments<N>,
): (...args: A) => [gradients: Named<A, N>, value: R];
export function gradAndValue<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: GradFunctionOptions,
): (...args: A) => [gradient: unknown, value: R];
export function gradAndValue<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: GradFunctionOptions = {},
): (...args: A) => [gradient: unknown, value: R] {
  checkFunction('gradAndValue', fn);
  checkOptionNames('gradAndValue', options, GRAD_FUNCTION);
  return (...args) => {
    const { argnums = 0, hasAux = false } = options;
    const prepared = prepare('grad', args, argnums);
    const { leaves, createGraph, release } = prepared;
    return enableGrad(() => {
      const result = fn(...prepared.args);
      const [value] = withAux('grad', result, hasAux);
      checkScalar(value);
      const found = value.requiresGrad
        ? differentiate({
            outputs: [value],
            gradOutputs: [null],
            inputs: leaves,
            // What comes along shares the graph of the value.
            retainGraph: hasAux,
            createGraph,
          })
        : [];
      const gradients = leaves.map((leaf, i) => found[i] ?? noGrad(() => zerosOf(leaf)));
      return release([prepared.rebuild(gradients), result]);
    });
  };
}

/** @throws grad-non-scalar */
function checkScalar(value: unknown): asserts value is Tensor {
  if (isTensor(value) && value.ndim === 0) return;
  throw new TesseraError(
    'grad-non-scalar',
    `Expected the function given to grad to return a scalar tensor, got ${isTensor(value) ? `tensor with ${value.ndim} dims` : typeof value}.`,
    { hints: ['Reduce the result: loss.sum(), loss.mean().', 'Or use jacrev().'] },
  );
}

/**
 * A function that computes the gradient of `fn` with respect to its first argument, or those in `argnums`.
 *
 * Arguments may be tensors, arrays or records of tensors; the gradient has their structure.
 *
 * @throws grad-non-scalar, invalid-argument
 * @example vmap(grad(loss), { inDims: [null, 0, 0] })(parameters, inputs, targets) // per-example gradients
 * @see torch.func.grad
 */
export function grad<A extends unknown[], X, N extends number = 0>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: OneArgument<N> & { readonly hasAux: true },
): (...args: A) => [gradient: A[N], aux: X];
export function grad<A extends unknown[], X, const N extends readonly number[]>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: SeveralArguments<N> & { readonly hasAux: true },
): (...args: A) => [gradients: Named<A, N>, aux: X];
export function grad<A extends unknown[], N extends number = 0>(
  fn: (...args: A) => Tensor,
  options?: OneArgument<N> & { readonly hasAux?: false },
): (...args: A) => A[N];
export function grad<A extends unknown[], const N extends readonly number[]>(
  fn: (...args: A) => Tensor,
  options: SeveralArguments<N> & { readonly hasAux?: false },
): (...args: A) => Named<A, N>;
export function grad<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions,
): (...args: A) => unknown;
export function grad<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions = {},
): (...args: A) => unknown {
  checkFunction('grad', fn);
  checkOptionNames('grad', options, GRAD_FUNCTION);
  const both = gradAndValue(fn, options);
  return (...args) => {
    const [gradient, value] = both(...args);
    return options.hasAux === true ? [gradient, (value as unknown[])[1]] : gradient;
  };
}
