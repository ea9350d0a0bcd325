/**
 * @file `TraceRecorder`: turns a stream of operator calls into a graph.
 *
 * Knows which node every tensor and scalar of the trace is. A tensor that the trace did not make is a
 * constant of the resulting GraphModule. After an in-place op its tensor stands for the op's node, so
 * later uses see the new value. Shared by the modes of `makeFx`.
 */
import { SymScalar, userFrame } from '@tessera/shared';
import { type OpOverload, type Storage, type Tensor, isTensor } from '@tessera/tensor';
import { currentBackwardNode, peekSequenceNr } from '@tessera/tensor/internal';
import { currentNode } from '../run/current-node.js';
import { getItem } from '../ir/get-item.js';
import { graphError } from '../ir/graph-error.js';
import { GraphModule } from '../ir/graph-module.js';
import { Graph } from '../ir/graph.js';
import type { Argument, HostFunction, Node, NodeMeta } from '../ir/node.js';
import { moduleStack } from './module-stack.js';
import { ValSnapshots } from '../ir/value-meta.js';

/** Parts of a node's origin that its copies and its backward keep. */
type Origin = Pick<NodeMeta, 'stackTrace' | 'nnModuleStack' | 'sourceFn' | 'originalAten'>;

/** See the file header. */
export class TraceRecorder {
  readonly module: GraphModule = new GraphModule([], new Graph());
  private readonly nodes = new Map<Tensor, Node>();
  /** The tensor that each storage of the trace was made for. */
  private readonly owners = new Map<Storage, Tensor>();
  private readonly scalars = new Map<SymScalar, Node>();
  private readonly snapshots = new ValSnapshots();
  /** Origin of the first forward node per autograd sequence number. */
  private readonly forwardOrigins = new Map<number, Origin>();

  /** The first node that is no input. */
  private firstOp: Node | null = null;

  /** `frames`: look up the user's source line of every op. */
  constructor(private readonly frames: boolean) {}

  get graph(): Graph {
    return this.module.graph;
  }

  /**
   * Adds an input, after the inputs there are, also when ops were recorded already. A tensor given
   * twice keeps its first placeholder for uses inside.
   */
  addInput(value: Tensor | SymScalar, name: string): Node {
    const create = (): Node => this.graph.placeholder(name);
    const node =
      this.firstOp === null ? create() : this.graph.insertingBefore(this.firstOp, create);
    if (value instanceof SymScalar) {
      node.meta.scalar = { kind: value.kind };
      node.meta.val = value.kind === 'bool' ? value.hint !== 0 : value.hint;
      if (!this.scalars.has(value)) this.scalars.set(value, node);
    } else {
      node.meta.val = this.snapshots.of(value);
      if (!this.nodes.has(value)) this.know(value, node);
    }
    return node;
  }

  /** Records a call whose arguments were converted (`argument`) before it ran. */
  recordCall(
    op: OpOverload,
    args: readonly Argument[],
    result: unknown,
    originalAten?: OpOverload,
  ): void {
    const node = this.graph.callFunction(op, withMadeDtype(op, args, result));
    this.firstOp ??= node;
    node.meta = { ...this.origin(op, originalAten), val: this.snapshots.of(result) };
    this.bind(node, result);
  }

  /** Records a call of a function that is no operator, for its effect. */
  recordEffect(fn: HostFunction, args: readonly Argument[]): void {
    const node = this.graph.callFunction(fn, args);
    this.firstOp ??= node;
  }

  /** A traced value as an argument: tensors and scalars become nodes. */
  argument(value: Tensor): Node;
  argument(value: unknown): Argument;
  argument(value: unknown): Argument {
    if (isTensor(value)) return this.nodeOf(value);
    if (value instanceof SymScalar) return this.scalarNode(value);
    if (Array.isArray(value)) return value.map((item) => this.argument(item));
    if (typeof value === 'object' && value !== null) {
      const proto: unknown = Object.getPrototypeOf(value);
      if (proto !== Object.prototype && proto !== null) {
        throw graphError(
          `A ${value.constructor.name} cannot stand in a graph.`,
          'Pass and return tensors, numbers, strings, arrays and plain records.',
        );
      }
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, this.argument(item)]),
      );
    }
    return value as Argument;
  }

  /** Makes another tensor object stand for a node. */
  alias(tensor: Tensor, node: Node): void {
    this.nodes.set(tensor, node);
  }

  /** The tensor that first had this storage in the trace: an input, or what an op made. */
  ownerOf(storage: Storage): Tensor | undefined {
    return this.owners.get(storage);
  }

  /** Makes a tensor the owner of its storage: nobody else knows what it was made of. */
  own(tensor: Tensor): void {
    this.owners.set(tensor.storage, tensor);
  }

  private know(tensor: Tensor, node: Node): void {
    this.nodes.set(tensor, node);
    if (!this.owners.has(tensor.storage)) this.owners.set(tensor.storage, tensor);
  }

  private nodeOf(tensor: Tensor): Node {
    const known = this.nodes.get(tensor);
    if (known !== undefined) return known;
    if (tensor.isFake) {
      throw graphError(
        `A FakeTensor of shape [${tensor.sizes.join(', ')}] is used that this trace did not make.`,
        'It belongs to another trace, or to a backward formula that reads a value its record does not list in `saved`.',
      );
    }
    const path = this.module.addAttribute('_tensor_constant', tensor);
    // Constants come before the code that uses them first, wherever the trace is.
    const node = this.graph.getAttr(path);
    this.firstOp ??= node;
    node.meta.val = this.snapshots.of(tensor);
    this.know(tensor, node);
    return node;
  }

  private scalarNode(scalar: SymScalar): Node {
    const node = this.scalars.get(scalar);
    if (node !== undefined) return node;
    throw graphError(
      `${String(scalar)} is not an input of this trace.`,
      'Pass run-time scalars as arguments of the traced function.',
    );
  }

  private bind(node: Node, result: unknown): void {
    if (isTensor(result)) {
      this.know(result, node);
      return;
    }
    if (!Array.isArray(result)) return;
    result.forEach((item, index) => {
      if (!isTensor(item)) return;
      const element = this.graph.callFunction(getItem, [node, index], 'getitem');
      element.meta = { ...node.meta, val: this.snapshots.of(item) };
      this.know(item, element);
    });
  }

  /** Where the op being recorded comes from. */
  private origin(op: OpOverload, originalAten: OpOverload | undefined): NodeMeta {
    const backward = currentBackwardNode();
    if (backward !== null) {
      const seqNr = backward.sequenceNr;
      return {
        ...this.forwardOrigins.get(seqNr),
        originalAten: originalAten ?? op,
        seqNr,
        isBackward: true,
      };
    }
    const interpreted = currentNode();
    const meta: NodeMeta = { seqNr: peekSequenceNr() - 1 };
    if (interpreted === null) {
      const frame = this.frames ? userFrame() : undefined;
      if (frame !== undefined) meta.stackTrace = frame;
      const stack = moduleStack();
      if (stack !== undefined) meta.nnModuleStack = stack;
      meta.originalAten = originalAten ?? op;
    } else {
      copyOrigin(interpreted.meta, meta);
      const captured = typeof interpreted.target === 'object' ? interpreted.target : op;
      meta.originalAten = interpreted.meta.originalAten ?? captured;
    }
    if (!this.forwardOrigins.has(meta.seqNr!)) {
      const kept: Origin = {};
      copyOrigin(meta, kept);
      this.forwardOrigins.set(meta.seqNr!, kept);
    }
    return meta;
  }
}

/**
 * Arguments with the dtype that a factory chose where its call left it open: the default dtype is that of the trace,
 * not of a later run. An operator that takes tensors follows these.
 */
function withMadeDtype(
  { schema }: OpOverload,
  args: readonly Argument[],
  result: unknown,
): readonly Argument[] {
  const place = schema.args.findIndex(({ name }) => name === 'dtype');
  if (place < 0 || (args[place] ?? null) !== null || !isTensor(result)) return args;
  if (schema.args.some(({ type }) => type.base === 'Tensor')) return args;
  return schema.args
    .slice(0, Math.max(args.length, place + 1))
    .map((arg, i) => (i === place ? result.dtype : (args[i] ?? arg.default)));
}

function copyOrigin(from: NodeMeta, to: Origin): void {
  if (from.stackTrace !== undefined) to.stackTrace = from.stackTrace;
  if (from.nnModuleStack !== undefined) to.nnModuleStack = from.nnModuleStack;
  if (from.sourceFn !== undefined) to.sourceFn = from.sourceFn;
}
