/**
 * @file Hooks on the gradients of several tensors: one call per backward pass, of all of them or of the first.
 *
 * Each tensor gets a hook of its own. Which of them a pass reaches is what its engine knows when the first arrives.
 */
import { TesseraError, checkFunction, checkOptionNames } from '@tessera/shared';
import { checkTensors } from '../check-tensors.js';
import type { Tensor } from '../tensor.js';
import { type BackwardRun, running, tellAtEnd } from './engine.js';
import type { Edge, HookHandle } from './grad-node.js';
import { gradEdge } from './history.js';

/** Called once per backward pass with the gradients of all tensors; null for those that the pass does not reach. */
export type MultiGradHook = (grads: readonly (Tensor | null)[]) => void;

/** Called once per backward pass with the first gradient that is known. */
export type AnyGradHook = (grad: Tensor) => void;

/** When a hook on several gradients is called. */
export interface MultiGradHookOptions {
  /** `all` (default): once the gradients of all tensors that the pass reaches are known; `any`: at the first one. */
  readonly mode?: 'all' | 'any';
}

/**
 * Calls `hook` once in every backward pass that computes gradients of any of `tensors`. It does not replace them.
 * With `mode: 'any'` tensors that take no gradient are passed over.
 *
 * Inside a compiled function it is a hook on each of the tensors, see `Tensor.registerHook`.
 *
 * @throws invalid-argument for another mode; no-grad-graph, in mode `all`, for a tensor that takes no gradient
 * @see torch.autograd.graph.register_multi_grad_hook
 * @example
 * const handle = registerMultiGradHook([a, b, c], (grads) => {
 *   console.log(grads.map((grad) => grad !== null));
 * });
 * loss.backward();
 * handle.remove();
 */
export function registerMultiGradHook(
  tensors: readonly Tensor[],
  hook: MultiGradHook,
  options?: MultiGradHookOptions & { readonly mode?: 'all' },
): HookHandle;
export function registerMultiGradHook(
  tensors: readonly Tensor[],
  hook: AnyGradHook,
  options: MultiGradHookOptions & { readonly mode: 'any' },
): HookHandle;
export function registerMultiGradHook(
  tensors: readonly Tensor[],
  hook: MultiGradHook | AnyGradHook,
  options: MultiGradHookOptions = {},
): HookHandle {
  checkOptionNames('registerMultiGradHook', options, { mode: true });
  checkFunction('registerMultiGradHook', hook);
  if (!Array.isArray(tensors))
    throw new TesseraError('invalid-argument', 'registerMultiGradHook() takes a list of tensors.', {
      hints: ['Write registerMultiGradHook([a, b], (grads) => …).'],
    });
  for (const tensor of tensors) checkTensors('registerMultiGradHook', { tensor });
  const { mode = 'all' } = options;
  if (mode !== 'all' && mode !== 'any')
    throw new TesseraError(
      'invalid-argument',
      `Expects mode to be one of ('all', 'any') but got ${String(mode)}`,
      { hints: ["Write { mode: 'any' }, or leave it out."] },
    );
  const handles = takesAll(hook, mode) ? onAll(tensors, hook) : onAny(tensors, hook);
  return {
    remove() {
      for (const handle of handles) handle.remove();
    },
  };
}

/** The mode says what a hook takes. */
function takesAll(_hook: MultiGradHook | AnyGradHook, mode: string): _hook is MultiGradHook {
  return mode === 'all';
}

/** What has arrived in a pass. */
interface Arrived {
  readonly grads: (Tensor | null)[];
  /** Gradients that are still to come. */
  left: number;
}

function onAll(tensors: readonly Tensor[], hook: MultiGradHook): HookHandle[] {
  const edges: (Edge | null)[] = [];
  const passes = new WeakMap<BackwardRun, Arrived>();
  const begin = (run: BackwardRun): Arrived => {
    const left = edges.filter((edge) => edge !== null && reaches(run, edge)).length;
    const pass: Arrived = { grads: tensors.map(() => null), left };
    passes.set(run, pass);
    // A node may have passed nothing on: then it is not called for those that it leads to.
    tellAtEnd({
      finished() {
        if (pass.left > 0) hook(pass.grads);
      },
    });
    return pass;
  };
  return tensors.map((tensor, i) => {
    const handle = tensor.registerHook((grad) => {
      const run = running!;
      const pass = passes.get(run) ?? begin(run);
      pass.grads[i] = grad;
      if (--pass.left === 0) hook(pass.grads);
    });
    // The history that the tensor has now, as its hook does.
    edges.push(gradEdge(tensor));
    return handle;
  });
}

function onAny(tensors: readonly Tensor[], hook: AnyGradHook): HookHandle[] {
  const passes = new WeakSet<BackwardRun>();
  const first = (grad: Tensor): void => {
    const run = running!;
    if (passes.has(run)) return;
    passes.add(run);
    hook(grad);
  };
  return tensors
    .filter((tensor) => tensor.requiresGrad)
    .map((tensor) => tensor.registerHook((grad) => first(grad)));
}

/** Whether a pass computes the gradient that flows along an edge. @see torch._C._will_engine_execute_node */
function reaches({ dependencies, needed }: BackwardRun, edge: Edge): boolean {
  return dependencies.has(edge.node) && (needed === null || needed.isWanted(edge));
}
