/**
 * @file The backward node of an operator: runs its record's vjp.
 */
import { TesseraError } from '@tessera/shared';
import type { OpOverload } from '../op/op-overload.js';
import { type GradsOf, type NamedArgs, type VjpContext, readsArgument } from '../op/op-record.js';
import type { Storage } from '../memory/storage.js';
import { sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { backwardTwice } from './backward-twice.js';
import { type Edge, type GradMeta, GradNode } from './grad-node.js';
import { castTo, sumToSize, zerosOf } from './gradient-ops.js';
import { SavedMeta, SavedTensor } from './saved-tensor.js';

type SavedValue = unknown;

/** Where each edge's gradient comes from: argument name, and position within a list argument. */
interface EdgeSource {
  readonly name: string;
  readonly index: number;
}

/** PyTorch's name of a node: `aten::max_pool2d_with_indices` → `MaxPool2DWithIndicesBackward0`. */
function backwardName(op: OpOverload): string {
  const words = op.schema.name.replace(/_forward$/, '');
  return `${words.replace(/(?:^|_|\d)[a-z]/g, (start) => start.toUpperCase()).replaceAll('_', '')}Backward0`;
}

function pack(value: unknown, keep: boolean): SavedValue {
  if (isTensor(value)) return keep ? new SavedTensor(value) : new SavedMeta(value);
  if (Array.isArray(value)) return value.map((item) => pack(item, keep));
  return value;
}

function unpack(value: SavedValue, node: string): unknown {
  if (value instanceof SavedTensor) return value.unpack(node);
  if (value instanceof SavedMeta) return value.unpack();
  if (Array.isArray(value)) return value.map((item) => unpack(item, node));
  return value;
}

function storagesOf(value: SavedValue): Storage[] {
  if (Array.isArray(value)) return value.flatMap(storagesOf);
  return value instanceof SavedTensor ? value.storages : [];
}

/** What a vjp sees: zeros for a gradient that did not arrive are made when it asks for them. */
class VjpValues implements VjpContext {
  constructor(
    readonly grads: readonly (Tensor | null)[],
    readonly outs: readonly Tensor[],
    readonly needs: (name: string) => boolean,
    private readonly metas: readonly GradMeta[],
  ) {}

  get grad(): Tensor {
    return this.grads[0] ?? zerosOf(this.metas[0]!);
  }

  get out(): Tensor {
    return this.outs[0]!;
  }
}

/** See the file header. */
export class OpNode extends GradNode {
  private savedArgs: SavedValue[] | null;
  private savedOuts: (SavedTensor | SavedMeta)[] | null = null;
  private savesTensors = false;
  private readonly sources: readonly EdgeSource[];
  private readonly targets: readonly GradMeta[];

  private constructor(
    readonly op: OpOverload,
    args: readonly unknown[],
    edges: readonly (Edge | null)[],
    sources: readonly EdgeSource[],
    targets: readonly GradMeta[],
    outMetas: readonly GradMeta[],
  ) {
    super(backwardName(op), edges, outMetas);
    const wants = (name: string): boolean =>
      sources.some((source, i) => source.name === name && edges[i] !== null);
    this.savedArgs = args.map((arg, i) => {
      const { name, type } = op.schema.args[i]!;
      const keep = readsArgument(op.record, name, wants);
      // A number in place of a tensor is a tensor too: PyTorch wraps it.
      if (keep && type.base === 'Tensor' && arg != null) this.savesTensors = true;
      return pack(arg, keep);
    });
    this.sources = sources;
    this.targets = targets;
  }

  /** Builds the node before the op runs. `edgeOf` gives the edge of a tensor input, or null. */
  static make(
    op: OpOverload,
    args: readonly unknown[],
    outMetas: readonly GradMeta[],
    edgeOf: (tensor: Tensor) => Edge | null,
  ): OpNode {
    const edges: (Edge | null)[] = [];
    const sources: EdgeSource[] = [];
    const targets: GradMeta[] = [];
    const visit = (value: unknown, name: string, index: number): void => {
      if (!isTensor(value)) return;
      edges.push(edgeOf(value));
      sources.push({ name, index });
      targets.push({ sizes: value.sizes, dtype: value.dtype, device: value.device });
    };
    for (const i of op.tensorArgs) {
      const name = op.schema.args[i]!.name;
      const arg = args[i];
      if (Array.isArray(arg)) arg.forEach((item, j) => visit(item, name, j));
      else visit(arg, name, -1);
    }
    return new OpNode(op, args, edges, sources, targets, outMetas);
  }

  /** Position of the edge of argument `name`, or -1. */
  edgeIndex(name: string): number {
    return this.sources.findIndex((source) => source.name === name);
  }

  /** Tells the node its outputs, once the op ran. */
  setOutputs(outs: readonly Tensor[]): void {
    const saved = this.op.record.saved ?? [];
    const all = saved.includes('out');
    this.savedOuts = outs.map((out, i) => {
      if (!all && !saved.includes(`out.${i}`)) return new SavedMeta(out);
      this.savesTensors = true;
      return new SavedTensor(out, this, i);
    });
  }

  override get runsProgram(): boolean {
    return this.op.isCustom;
  }

  override get keepsTensors(): boolean {
    return this.savesTensors;
  }

  override savedStorages(): Storage[] {
    return [...(this.savedArgs ?? []), ...(this.savedOuts ?? [])].flatMap(storagesOf);
  }

  override release(): void {
    if (!this.savesTensors) return;
    this.savedArgs = null;
    this.savedOuts = null;
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    if (this.savedArgs === null) throw backwardTwice(this.name);
    const vjp = this.op.record.vjp;
    if (vjp === undefined) {
      throw new TesseraError(
        'derivative-missing',
        `The derivative of ${this.op.qualifiedName} is not defined.`,
        {
          context: { op: this.op.qualifiedName },
          hints: ['Detach its input.'],
        },
      );
    }
    const named: NamedArgs = {};
    this.op.schema.args.forEach(
      (formal, i) => (named[formal.name] = unpack(this.savedArgs![i], this.name)),
    );
    const outs = (this.savedOuts ?? []).map((out) => out.unpack(this.name));
    const results = vjp(named, this.context(grads, outs));
    return this.sources.map((source, i) => this.collect(results, source, i));
  }

  private context(grads: readonly (Tensor | null)[], outs: readonly Tensor[]): VjpContext {
    const needs = (name: string): boolean =>
      this.sources.some((source, i) => source.name === name && this.nextEdges[i] !== null);
    return new VjpValues(grads, outs, needs, this.inputMetas);
  }

  private collect(results: GradsOf, source: EdgeSource, edge: number): Tensor | null {
    if (this.nextEdges[edge] === null) return null;
    const entry = results[source.name];
    const result = Array.isArray(entry) ? entry[source.index] : entry;
    const grad = typeof result === 'function' ? result() : (result ?? null);
    if (grad === null) return null;
    const target = this.targets[edge]!;
    const shaped = sameNumbers(grad.sizes, target.sizes) ? grad : sumToSize(grad, target.sizes);
    return shaped.dtype === target.dtype ? shaped : castTo(shaped, target.dtype);
  }
}
