/**
 * @file Arguments to differentiate with respect to, for derivatives of functions as functions.
 *
 * A derivative is taken with respect to arguments only. What the function reads besides them, and arguments that take
 * gradients outside, can be differentiated by the code around it: by an enclosing derivative, or by `backward()`.
 * Inside `vmap` every example gets arguments of its own, so shared parameters have one gradient per example.
 */
import { TesseraError, treeFlatten, treeMap, treeUnflatten } from '@tessera/shared';
import type { CreateGraph } from '../autograd/autograd-grad-op.js';
import { isGradEnabled, noGrad } from '../autograd/grad-mode.js';
import { leafOf } from '../autograd/leaf-op.js';
import { callOp } from '../dispatch/dispatcher.js';
import { modes } from '../dispatch/modes.js';
import { getOp } from '../op/op-overload.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { outerHistoryOf } from './outer-history-op.js';
import { VmapMode } from './vmap-mode.js';

/** `fn` with the arguments to differentiate as leaves of their own. */
export interface Prepared<A extends unknown[]> {
  readonly args: A;
  readonly leaves: Tensor[];
  /** The gradients in the structure of the arguments. */
  rebuild(gradients: readonly Tensor[]): unknown;
  readonly createGraph: CreateGraph;
  /** Results, or what holds them, for the code around: with the history that they have there. */
  release<T>(results: T): T;
}

/** An error of a derivative's arguments. */
export function invalid(name: string, message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', `${name}: ${message}`, { hints: [hint] });
}

/** How PyTorch names the calls that take a function with something beside its result. */
const CALLS: Readonly<Record<string, string>> = {
  grad: 'grad_and_value(f)(*args)',
  vjp: 'vjp(f, *primals)',
  jvp: 'jvp(f, primals, tangents)',
  jacrev: 'vjp(f, *primals)',
  jacfwd: 'jvp(f, primals, tangents)',
};

/** The result of a function, which with `hasAux` has something beside it. @throws invalid-argument */
export function withAux(
  name: string,
  result: unknown,
  hasAux: boolean,
): [value: unknown, aux?: unknown] {
  if (!hasAux) return [result];
  if (Array.isArray(result) && result.length === 2) return [result[0], result[1]];
  throw new TesseraError(
    'invalid-argument',
    `${CALLS[name]}: output of function f should be a tuple: (output, aux) if has_aux is True`,
    { hints: ['Return [output, aux], or leave hasAux out.'] },
  );
}

/** @throws invalid-argument */
export function prepare<A extends unknown[]>(
  name: string,
  args: A,
  argnums: number | readonly number[],
): Prepared<A> {
  const numbers = typeof argnums === 'number' ? [argnums] : argnums;
  const own: [...A] = [...args];
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
  const take = (values: readonly unknown[], part: (typeof chosen)[number]): A[number] =>
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
