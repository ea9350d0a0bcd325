/**
 * @file The backward engine: runs nodes in reverse order of creation, iteratively.
 *
 * Dependencies are counted first; a ready node with the highest sequence number runs next, so gradients
 * are complete when a node runs. `createGraph` leaves grad mode on, so vjps record their own history.
 */
import { withAutocastSettings } from '../autocast/autocast-state.js';
import { PriorityQueue, TesseraError } from '@tessera/shared';
import { formatSizes, sameNumbers } from '../shape.js';
import {
  LibraryScope,
  isUnobserved,
  libraryScopes,
  outsideScopes,
  withScope,
} from '../memory/library-scope.js';
import { show } from '../memory/show.js';
import type { Tensor } from '../tensor.js';
import { withGradMode } from './grad-mode.js';
import { AccumulateGrad, holdGradient } from './accumulate-grad.js';
import { anomaly } from './anomaly-state.js';
import { applyAsCurrent } from './current-backward-node.js';
import { NeededOutputs } from './needed-outputs.js';
import type { Edge, GradNode } from './grad-node.js';
import type { GradientListener } from './gradient-listener.js';
import { addGradients, onesLike, sumToSize } from './gradient-ops.js';
import { gradEdge, requiresGrad, withoutHistory } from './history.js';
import { afterHook, replaced } from './hook-results.js';

/** What `runBackward` does with the results. */
export interface BackwardOptions {
  readonly retainGraph: boolean;
  readonly createGraph: boolean;
  /** Gradients wanted, instead of accumulation into `.grad`; null accumulates into all leaves. */
  readonly inputs: readonly Tensor[] | null;
  /** With `inputs`: also write them into `.grad` (backward({inputs})). */
  readonly accumulate: boolean;
  readonly allowUnused: boolean;
}

/** Fills in implicit gradients and checks shapes. @throws grad-non-scalar, no-grad-graph, shape-mismatch */
function rootGradients(
  roots: readonly Tensor[],
  gradOutputs: readonly (Tensor | null)[],
): Tensor[] {
  return roots.map((root, i) => {
    if (!requiresGrad(root))
      throw withoutHistory(
        `element ${i} of tensors does not require grad and does not have a grad_fn`,
      );
    const grad = gradOutputs[i];
    if (grad == null) {
      if (root.numel !== 1) {
        throw new TesseraError(
          'grad-non-scalar',
          `grad can be implicitly created only for scalar outputs, not for shape ${formatSizes(root.sizes)}`,
          {
            hints: ['Reduce to a scalar (loss.mean()), or pass the gradient of the output.'],
          },
        );
      }
      return withGradMode(false, () => onesLike(root));
    }
    if (!sameNumbers(grad.sizes, root.sizes)) {
      throw new TesseraError(
        'shape-mismatch',
        `Mismatch in shape: grad_output[${i}] has a shape of ${formatSizes(grad.sizes)} and output[${i}] has a shape of ${formatSizes(root.sizes)}.`,
        {
          hints: ['A gradient has the shape of its output.'],
        },
      );
    }
    holdGradient(grad);
    return grad;
  });
}

/** Number of edges into each node reachable from the roots. */
function countDependencies(roots: readonly GradNode[]): Map<GradNode, number> {
  const counts = new Map(roots.map((root) => [root, 0]));
  const stack = [...counts.keys()];
  while (stack.length > 0) {
    for (const edge of stack.pop()!.nextEdges) {
      if (edge === null) continue;
      const count = counts.get(edge.node);
      if (count === undefined) stack.push(edge.node);
      counts.set(edge.node, (count ?? 0) + 1);
    }
  }
  return counts;
}

/**
 * Runs backward from `roots`. Returns the gradients of `options.inputs` (null where unused), else [].
 *
 * @throws no-grad-graph, grad-non-scalar, backward-twice, inplace-version, invalid-argument
 */
export function runBackward(
  roots: readonly Tensor[],
  gradOutputs: readonly (Tensor | null)[],
  options: BackwardOptions,
): (Tensor | null)[] {
  // Library code that differentiates for itself.
  if (libraryScopes.open !== null) return differentiate(roots, gradOutputs, options);
  const scope = new LibraryScope();
  const outer = libraryScopes.backward;
  libraryScopes.backward ??= scope;
  // What is to be differentiated again is kept by its history.
  const open = options.createGraph || !isUnobserved() ? null : scope;
  try {
    const grads = withScope(open, () => differentiate(roots, gradOutputs, options));
    if (!options.accumulate) show(grads);
    scope.close();
    return grads;
  } finally {
    libraryScopes.backward = outer;
  }
}

function differentiate(
  roots: readonly Tensor[],
  gradOutputs: readonly (Tensor | null)[],
  options: BackwardOptions,
): (Tensor | null)[] {
  const grads = rootGradients(roots, gradOutputs);
  const run = (running = new BackwardRun(options, running));
  // Gradients are computed in the types of the forward ops, whatever scope is open now.
  try {
    return withAutocastSettings(null, () =>
      withGradMode(options.createGraph, () => run.run(roots, grads)),
    );
  } finally {
    running = run.outer;
    if (running === null) told = null;
  }
}

/** Runs code of the program that is given these tensors. */
function shown<R>(values: readonly unknown[], fn: () => R): R {
  show(values);
  return outsideScopes(fn);
}

/** The backward that is running, the innermost of several. */
export let running: BackwardRun | null = null;
/** Whom the outermost tells when it is done. */
let told: Set<Pick<GradientListener, 'finished'>> | null = null;

/** Tells a listener when the outermost backward that is running is done. */
export function tellAtEnd(listener: Pick<GradientListener, 'finished'>): void {
  (told ??= new Set()).add(listener);
}

/** One backward pass. */
export class BackwardRun {
  /** Every node in reach of the roots, with the number of edges into it that have brought nothing yet. */
  declare dependencies: Map<GradNode, number>;
  /** What has to run for chosen inputs; null for all of it. */
  needed: NeededOutputs | null = null;

  private readonly buffers = new Map<GradNode, (Tensor | null)[]>();
  /** Nodes whose gradients are complete, the one that was created last first. */
  private readonly ready = new PriorityQueue<GradNode>((a, b) => a.sequenceNr > b.sequenceNr);
  private readonly ran: GradNode[] = [];
  private wanted: Edge[] | null = null;
  private readonly captured: (Tensor | null)[] = [];
  /** By node, the positions of what is wanted of it. */
  private readonly capturesOf = new Map<GradNode, number[]>();

  constructor(
    private readonly options: BackwardOptions,
    /** The one that it runs inside of. */
    readonly outer: BackwardRun | null,
  ) {}

  run(roots: readonly Tensor[], grads: readonly Tensor[]): (Tensor | null)[] {
    const rootEdges = roots.map((root) => gradEdge(root)!);
    const rootNodes = rootEdges.map((edge) => edge.node);
    this.wanted = this.options.inputs?.map(wantedEdge) ?? null;
    this.wanted?.forEach((edge, slot) => {
      const list = this.capturesOf.get(edge.node) ?? [];
      list.push(slot);
      this.capturesOf.set(edge.node, list);
      this.captured[slot] = null;
    });
    this.needed = this.wanted === null ? null : new NeededOutputs(rootNodes, this.wanted);
    const dependencies = (this.dependencies = countDependencies(rootNodes));
    rootEdges.forEach((edge, i) => this.addGradient(edge, fitted(edge, grads[i]!, null, i)));
    for (const [node, count] of dependencies) if (count === 0) this.ready.push(node);
    for (let node = this.ready.pop(); node !== undefined; node = this.ready.pop()) {
      this.runNode(node);
      for (const edge of node.nextEdges) {
        if (edge === null) continue;
        const left = dependencies.get(edge.node)! - 1;
        dependencies.set(edge.node, left);
        if (left === 0) this.ready.push(edge.node);
      }
    }
    if (!this.options.retainGraph) {
      for (const node of this.ran) {
        node.release();
        node.released = true;
      }
    }
    this.finish();
    this.tellFinished();
    return this.captured;
  }

  /** Tells the listener of a leaf that has got its gradient. */
  private tell(node: GradNode): void {
    if (!(node instanceof AccumulateGrad)) return;
    const listener = node.leaf.autograd!.listener;
    if (listener === null) return;
    tellAtEnd(listener);
    outsideScopes(() => listener.arrived(node.leaf));
  }

  /** A backward inside another one (of a checkpointed part) leaves it to the outer one. */
  private tellFinished(): void {
    if (this.outer !== null || told === null) return;
    const listeners = told;
    told = null;
    for (const listener of listeners) outsideScopes(() => listener.finished());
  }

  private runNode(node: GradNode): void {
    const buffer = this.buffers.get(node);
    this.buffers.delete(node);
    if (buffer === undefined) return;
    const grads = this.needed === null ? buffer : this.chosen(node, buffer, this.needed);
    if (grads === null) return;
    this.runHooks(node, grads);
    for (const slot of this.capturesOf.get(node) ?? [])
      this.captured[slot] = grads[this.wanted![slot]!.index] ?? null;
    const leading = this.needed === null ? grads : this.needed.leadingOn(node, grads);
    if (leading === null) return;
    this.ran.push(node);
    const results = this.apply(node, leading);
    this.tell(node);
    node.nextEdges.forEach((edge, i) => {
      const grad = results[i];
      if (edge !== null && grad != null) this.addGradient(edge, fitted(edge, grad, node, i));
    });
  }

  /** Of what arrived at a node, what is wanted itself or leads to something; null if nothing. */
  private chosen(
    node: GradNode,
    buffer: readonly (Tensor | null)[],
    needed: NeededOutputs,
  ): (Tensor | null)[] | null {
    const grads = buffer.map((grad, index) => (needed.isWanted({ node, index }) ? grad : null));
    return grads.some((grad) => grad !== null) ? grads : null;
  }

  private apply(node: GradNode, buffer: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    let grads = buffer;
    for (const hook of [...(node.nodePreHooks ?? [])])
      grads = replaced(
        node,
        grads,
        shown([grads], () => hook(grads)),
      );
    const isWanted = this.needed?.isWanted ?? null;
    const run = (): readonly (Tensor | null)[] => applyAsCurrent(node, grads, isWanted);
    const apply = node.runsProgram ? () => shown([grads], run) : run;
    let results = anomaly.active === null ? apply() : anomaly.active.apply(node, apply);
    for (const hook of [...(node.nodeHooks ?? [])])
      results = replaced(
        node,
        results,
        shown([results, grads], () => hook(results, grads)),
      );
    return results;
  }

  private runHooks(node: GradNode, buffer: (Tensor | null)[]): void {
    for (const [index, hooks] of node.preHooks ?? []) {
      for (const hook of [...hooks]) {
        const grad = buffer[index];
        if (grad != null) buffer[index] = shown([grad], () => afterHook(hook, grad));
      }
    }
    for (const [index, tensor] of node.retained ?? []) {
      const grad = buffer[index];
      if (grad != null) tensor.accumulateGrad(grad);
    }
  }

  private addGradient(edge: Edge, grad: Tensor): void {
    let buffer = this.buffers.get(edge.node);
    if (buffer === undefined)
      this.buffers.set(edge.node, (buffer = edge.node.inputMetas.map(() => null)));
    const have = buffer[edge.index];
    buffer[edge.index] = have == null ? grad : addGradients(have, grad, false);
  }

  private finish(): void {
    this.captured.forEach((grad, i) => {
      if (grad === null && !this.options.allowUnused) {
        throw new TesseraError(
          'no-grad-graph',
          `One of the differentiated Tensors (input ${i}) appears to not have been used in the graph.`,
          {
            hints: ['Set allowUnused: true if this is the desired behavior.'],
          },
        );
      }
      if (!this.options.accumulate || grad === null) return;
      const { node } = this.wanted![i]!;
      if (node instanceof AccumulateGrad) {
        node.apply([grad]);
        this.tell(node);
      } else this.options.inputs![i]!.accumulateGrad(grad);
    });
  }
}

/**
 * A gradient in the shape of the result that it is for, which may have been laid out anew without recording.
 *
 * @param from the node that returned it as number `at`; null for that of a root
 * @throws shape-mismatch
 */
function fitted({ node, index }: Edge, grad: Tensor, from: GradNode | null, at: number): Tensor {
  const { sizes } = node instanceof AccumulateGrad ? node.leaf : node.inputMetas[index]!;
  if (sameNumbers(grad.sizes, sizes)) return grad;
  const lead = grad.sizes.length - sizes.length;
  const fits = lead >= 0 && sizes.every((size, d) => size === 1 || size === grad.sizes[lead + d]);
  if (fits) return sumToSize(grad, sizes);
  // A leaf of a traced program knows itself what it has become.
  if (node.standsForLeaf || from?.standsForLeaf === true) return grad;
  throw new TesseraError(
    'shape-mismatch',
    `${from === null ? '' : `Function ${from.name} returned an `}invalid gradient at index ${at} - got ${formatSizes(grad.sizes)} but expected shape compatible with ${formatSizes(sizes)}`,
    {
      hints: ['Use the form that returns a view.'],
    },
  );
}

function wantedEdge(input: Tensor, index: number): Edge {
  const edge = gradEdge(input);
  if (edge === null)
    throw withoutHistory(
      `One of the differentiated Tensors (input ${index}) does not require grad`,
    );
  return edge;
}
