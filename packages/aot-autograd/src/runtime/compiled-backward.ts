/**
 * @file The backward node of a compiled function.
 *
 * Keeps exactly the values that the compiled backward graph reads, with the versions they had. The
 * backward graph is compiled when the first gradient arrives.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Edge,
  type GradMeta,
  GradNode,
  type Tensor,
  type TensorMeta,
  gradMode,
  holdGradient,
  isTensor,
  noGrad,
  setHistory,
  withoutModes,
  zeros,
} from '@tessera/tensor';
import type { CompiledGraph } from '../graph-compiler.js';
import type { GradientSource } from '../partition/partition.js';
import { CompiledDoubleBackward } from './double-backward.js';
import { withLayout } from './layout-copy.js';

/** What all calls of one compiled function share. */
export interface BackwardProgram {
  /** Compiles on first use. */
  readonly compiled: () => CompiledGraph;
  /** What the backward graph expects of each tangent. */
  readonly tangents: readonly TensorMeta[];
  /** Per gradient. */
  readonly gradients: readonly (GradientSource | null)[];
  /** Per gradient: the tangents it comes from; null for all of them. */
  readonly tangentsOf: readonly (readonly number[] | null)[];
}

/** See the file header. Output `i` of the node is the value of tangent `i`. */
export class CompiledFunctionBackward extends GradNode {
  private saved: readonly unknown[] | null;
  private readonly versions: readonly number[];

  constructor(
    private readonly program: BackwardProgram,
    edges: readonly (Edge | null)[],
    metas: readonly GradMeta[],
    saved: readonly unknown[],
  ) {
    super('CompiledFunctionBackward', edges, metas);
    this.saved = saved;
    this.versions = saved.map((value) => (isTensor(value) ? value.storage.version : 0));
  }

  override release(): void {
    this.saved = null;
  }

  override apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    const saved = this.checkedSaved();
    const inputs = withoutModes(() =>
      noGrad(() => [
        ...saved,
        ...this.program.tangents.map((meta, i) => tangentFor(grads[i], meta)),
      ]),
    );
    const outputs = withoutModes(() => noGrad(() => this.program.compiled()(inputs)));
    const results = this.program.gradients.map((source, i) => {
      if (source === null) return null;
      if (this.program.tangentsOf[i]?.every((tangent) => grads[tangent] == null) === true)
        return null;
      if (source.kind === 'output') return outputs[source.index] as Tensor;
      // A tangent that is a gradient too: the one that came in, with its history.
      if (source.index >= saved.length)
        return grads[source.index - saved.length] ?? (inputs[source.index] as Tensor);
      // A saved value that is a gradient too: others hold it, so no leaf may take its memory.
      const value = saved[source.index] as Tensor;
      holdGradient(value);
      return value;
    });
    if (gradMode.enabled) this.forbidDoubleBackward(results, grads);
    return results;
  }

  private checkedSaved(): readonly unknown[] {
    if (this.saved === null) {
      throw new TesseraError(
        'backward-twice',
        'Trying to backward through the graph a second time (CompiledFunctionBackward): saved tensors were freed by the first backward().',
        {
          hints: ['Pass retainGraph: true to the first backward() if you need a second.'],
        },
      );
    }
    this.saved.forEach((value, i) => {
      if (!isTensor(value) || value.storage.version === this.versions[i]) return;
      throw new TesseraError(
        'inplace-version',
        `one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of shape [${value.sizes.join(', ')}] that a compiled function saved for backward is at version ${value.storage.version}; expected version ${this.versions[i]} instead.`,
        { hints: ['Use the out-of-place op, or clone() the tensor before modifying it.'] },
      );
    });
    return this.saved;
  }

  /** With createGraph the results look differentiable; differentiating them is an error. */
  private forbidDoubleBackward(
    results: readonly (Tensor | null)[],
    grads: readonly (Tensor | null)[],
  ): void {
    const node = new CompiledDoubleBackward(results, [...this.nextEdges], grads);
    results.forEach((result, i) => {
      if (result !== null && !grads.includes(result)) setHistory(result, node, i);
    });
  }
}

/** A gradient as the backward graph expects it: zeros if none came, in the dtype and layout it was traced with. */
function tangentFor(grad: Tensor | null, meta: TensorMeta): Tensor {
  if (grad == null) return zeros([...meta.sizes], { dtype: meta.dtype, device: meta.device });
  return withLayout(grad, meta);
}
