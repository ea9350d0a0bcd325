/**
 * @file Values and the memory behind them, while a graph is made functional.
 *
 * In the old graph several values may be views of one memory, and ops write to it. In the new graph
 * values are pure; so each memory has a current value, and a view is computed from it again when it is
 * read after a write. A write through a view puts the new part into a new value of the whole.
 */
import { type Argument, type Node, mapArgument } from '@tessera/graph';
import { type OpOverload, type Tensor } from '@tessera/tensor';
import { hasInternalOverlap } from '@tessera/tensor/internal';
import type { Emitter } from './emitter.js';
import { geometryOf, hasInverse, inverseView, scatterByAddress } from './view-inverse.js';

/** One storage of the old graph. */
export interface Memory {
  /** The value that owns it. */
  readonly root: Value;
  /** Number of writes so far. */
  version: number;
  /** Place in the program of the last one. */
  writtenAt: number;
  /** The node of the new graph that must be updated in the end; null if the memory is the graph's own. */
  readonly input: Node | null;
}

/** How a value is made from its parent. */
export interface View {
  readonly parent: Value;
  readonly op: OpOverload;
  /** Arguments after self, with nodes of the new graph. */
  readonly args: readonly Argument[];
  /** Position in the result list of `op`, or null. */
  readonly index: number | null;
}

/** A tensor of the old graph. */
export class Value {
  readonly memory: Memory;
  /** The new node that holds it, as of `version`. */
  node: Node;
  private version: number;

  private constructor(
    /** Its layout in the old graph. */
    readonly val: Tensor,
    readonly view: View | null,
    node: Node,
    memory: Memory | null,
    input: Node | null,
  ) {
    this.memory = memory ?? { root: this, version: 0, writtenAt: 0, input };
    this.node = node;
    this.version = this.memory.version;
  }

  /** A value with memory of its own; `input` is the node to update if it is written. */
  static owner(val: Tensor, node: Node, input: Node | null = null): Value {
    return new Value(val, null, node, null, input);
  }

  /** A view of another value. */
  static view(val: Tensor, view: View, emitter: Emitter): Value {
    return new Value(
      val,
      view,
      applyView(emitter, view, read(view.parent, emitter)),
      view.parent.memory,
      null,
    );
  }

  get isStale(): boolean {
    return this.version !== this.memory.version;
  }

  /** Takes a node as the current one. */
  refresh(node: Node): void {
    this.node = node;
    this.version = this.memory.version;
  }
}

/** The node that holds a value now. */
export function read(value: Value, emitter: Emitter): Node {
  const stale: Value[] = [];
  for (let at: Value | null = value; at !== null && at.isStale; at = at.view?.parent ?? null)
    stale.push(at);
  // An owner is refreshed by every write, so what is stale is a view.
  for (const view of stale.reverse())
    view.refresh(applyView(emitter, view.view!, view.view!.parent.node));
  return value.node;
}

/** Gives a value new contents; every other value of the same memory sees them. */
export function write(value: Value, node: Node, emitter: Emitter): void {
  const written: { value: Value; node: Node }[] = [{ value, node }];
  if (isInvertible(value)) {
    let current = node;
    for (let at = value; at.view !== null; at = at.view.parent) {
      current = inverseView(emitter, at.view, read(at.view.parent, emitter), current);
      written.push({ value: at.view.parent, node: current });
    }
  } else {
    const { root } = value.memory;
    const whole = scatterByAddress(emitter, read(root, emitter), root.val, node, value.val);
    written.push({ value: root, node: whole });
  }
  value.memory.version++;
  value.memory.writtenAt = emitter.place;
  for (const entry of written) entry.value.refresh(entry.node);
}

/**
 * Whether each view on the way to the memory's owner can be undone alone: views between them that show
 * an element several times cannot, although what is written may be one element.
 */
function isInvertible(value: Value): boolean {
  for (let at = value; at.view !== null; at = at.view.parent) {
    if (!hasInverse(at.view.op) || hasInternalOverlap(at.val.sizes, at.val.strides)) return false;
  }
  return true;
}

/** Emits the view of a parent's current contents. */
function applyView(emitter: Emitter, view: View, parent: Node): Node {
  const { op, args, index } = view;
  if (op.qualifiedName === 'aten::as_strided') return strided(emitter, view, parent);
  // Contents may have other strides than the original had, which `view` does not forgive.
  if (op.schema.name === 'view')
    return emitter.reshape(parent, inferred(args[0] as number[], emitter.val(parent).numel));
  const result = emitter.emit(op, [parent, ...args]);
  return index === null ? result : emitter.getItem(result, index);
}

/** `as_strided` addresses memory: the parent must be laid out as it was, and the offset moves with it. */
function strided(emitter: Emitter, view: View, parent: Node): Node {
  const laidOut = emitter.restride(parent, view.parent.val);
  const [size, stride, offset] = geometryOf(view);
  const moved = emitter.val(laidOut).storageOffset - view.parent.val.storageOffset;
  return emitter.emit(view.op, [laidOut, size, stride, offset + moved]);
}

function inferred(sizes: readonly number[], numel: number): readonly number[] {
  const known = sizes.reduce((product, size) => (size < 0 ? product : product * size), 1);
  return sizes.map((size) => (size < 0 ? numel / known : size));
}

/** Arguments with old nodes replaced. */
export function mapArguments(args: readonly Argument[], fn: (node: Node) => Node): Argument[] {
  return args.map((arg) => mapArgument(arg, fn));
}
