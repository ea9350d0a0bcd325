/**
 * @file `grad`, `gradAndValue` and `jacrev`: derivatives of functions as functions, which compose with `vmap`.
 *
 * Modelled on `torch.func`. A gradient is taken with respect to arguments only. What the function reads besides
 * them, and arguments that take gradients outside, can be differentiated by the code around it: by an enclosing
 * derivative, or by `backward()`. Inside `vmap` every example gets arguments of its own, so shared parameters have
 * one gradient per example.
 */
import {
  type OptionNames,
  TesseraError,
  treeFlatten,
  treeMap,
  treeUnflatten,
  checkOptionNames,
  checkFunction,
} from '@tessera/shared';
import type { CreateGraph } from '../autograd/autograd-grad-op.js';
import { differentiate } from '../autograd/differentiate.js';
import { jacobianRows } from '../autograd/functional.js';
import { enableGrad, isGradEnabled, noGrad } from '../autograd/grad-mode.js';
import { zerosOf } from '../autograd/gradient-ops.js';
import { leafOf } from '../autograd/leaf-op.js';
import { callOp } from '../dispatch/dispatcher.js';
import { modes } from '../dispatch/modes.js';
import { getOp } from '../op/op-overload.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { outerHistoryOf } from './outer-history-op.js';
import { VmapMode } from './vmap-mode.js';

/** Options of the functions below. */
export interface DerivativeOptions {
  /** Which argument, or arguments, to differentiate with respect to (default 0). */
  readonly argnums?: number | readonly number[];
}

/** Options of `grad` and `gradAndValue`. */
export interface GradFunctionOptions extends DerivativeOptions {
  /** Whether `fn` returns `[value, aux]`, of which `aux` is passed on (default false). */
  readonly hasAux?: boolean;
}
const GRAD_FUNCTION: OptionNames<GradFunctionOptions> = { hasAux: true, argnums: true };

/** `fn` with the arguments to differentiate as leaves of their own. */
interface Prepared {
  readonly args: unknown[];
  readonly leaves: Tensor[];
  /** The gradients in the structure of the arguments. */
  rebuild(gradients: readonly Tensor[]): unknown;
  readonly createGraph: CreateGraph;
  /** Results, or what holds them, for the code around: with the history that they have there. */
  release<T>(results: T): T;
}

function invalid(name: string, message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', `${name}: ${message}`, { hints: [hint] });
}

/** @throws invalid-argument */
function prepare(
  name: string,
  args: readonly unknown[],
  argnums: number | readonly number[],
): Prepared {
  const numbers = typeof argnums === 'number' ? [argnums] : argnums;
  const own = [...args];
  const chosen = numbers.map((n) => {
    const at = n < 0 ? n + args.length : n;
    if (!(at in args))
      throw invalid(
        name,
        `Got argnum=${n}, but only ${args.length} positional inputs.`,
        'Count from 0.',
      );
    return { at, ...treeFlatten(args[at]) };
  });
  const given = chosen.flatMap(({ leaves }) => leaves);
  if (!given.every(isTensor))
    throw invalid(
      name,
      'an argument to differentiate holds something other than tensors.',
      'Name tensor arguments in argnums.',
    );
  const mode = modes.pre;
  // Under noGrad() nobody outside differentiates the results.
  const isFollowed = isGradEnabled();
  const followed = given.map((tensor) => isFollowed && tensor.requiresGrad);
  const leaves = given.map((tensor, i) => {
    const spread = mode instanceof VmapMode ? mode.spread(tensor) : tensor;
    return followed[i]! ? callOp(getOp('aten::alias'), [spread]) : leafOf(spread);
  });
  let next = 0;
  const take = (values: readonly unknown[], part: (typeof chosen)[number]): unknown =>
    treeUnflatten(values.slice(next, (next += part.leaves.length)), part.spec);
  for (const part of chosen) own[part.at] = take(leaves, part);
  return {
    args: own,
    leaves,
    createGraph: isFollowed && 'outer',
    release: <T>(results: T) =>
      treeMap((leaf) => {
        if (!isTensor(leaf)) return leaf;
        return isFollowed ? outerHistoryOf(leaf, leaves) : noGrad(() => leaf.detach());
      }, results) as T,
    rebuild: (gradients) => {
      next = 0;
      const parts = chosen.map((part) => take(gradients, part));
      return typeof argnums === 'number' ? parts[0] : parts;
    },
  };
}

/**
 * A function that computes `[gradient, value]` of `fn`; `[gradient, [value, aux]]` with `hasAux`.
 *
 * @throws grad-non-scalar unless `fn` returns a tensor of no dimensions; invalid-argument
 * @see torch.func.grad_and_value
 */
export function gradAndValue<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: GradFunctionOptions = {},
): (...args: A) => [gradient: A[0], value: R] {
  checkFunction('gradAndValue', fn);
  checkOptionNames('gradAndValue', options, GRAD_FUNCTION);
  return (...args) => {
    const { argnums = 0, hasAux = false } = options;
    const prepared = prepare('grad', args, argnums);
    const { leaves, createGraph, release } = prepared;
    return enableGrad(() => {
      const result = fn(...(prepared.args as A));
      const value: unknown = hasAux ? (result as unknown[])[0] : result;
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
export function grad<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions & { readonly hasAux: true },
): (...args: A) => [gradient: A[0], aux: unknown];
export function grad<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options?: GradFunctionOptions & { readonly argnums?: number },
): (...args: A) => A[0];
export function grad<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: GradFunctionOptions,
): (...args: A) => A[number][];
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

const ARGNUMS: OptionNames<{ readonly argnums?: number }> = { argnums: true };

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, row by row in reverse mode.
 *
 * @throws invalid-argument
 * @see torch.func.jacrev
 */
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: { readonly argnums?: number } = {},
): (...args: A) => Tensor {
  checkFunction('jacrev', fn);
  checkOptionNames('jacrev', options, ARGNUMS);
  return (...args) => {
    const { argnums = 0 } = options;
    if (!isTensor(args.at(argnums)))
      throw invalid(
        'jacrev',
        'the argument to differentiate is no tensor.',
        'Name a tensor in argnums.',
      );
    const { args: own, leaves, createGraph, release } = prepare('jacrev', args, argnums);
    return enableGrad(() => {
      const out = fn(...(own as A));
      const rowsOf = (value: unknown): Tensor =>
        jacobianRows('jacrev', value as Tensor, leaves, { createGraph, strict: false })[0]!;
      return release(treeMap(rowsOf, out)) as Tensor;
    });
  };
}
