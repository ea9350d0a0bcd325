/**
 * @file `InPlaceWrites`: writes of parts of inputs, as nodes that store the parts into the inputs' memory.
 *
 * What is lowered is lazy: an expression that loads from the memory would see new contents if it were computed after the
 * write. So a write first gives memory to all such values that are still needed. From then on nothing that is not in
 * memory reads the old contents; nor is there a check left that the program made before and that could refuse the write.
 * Later values read the buffer of the new contents, and the order of nodes is one in
 * which they may run; the scheduler keeps what was read before, before (fuse/dependency-graph.ts).
 */
import type { Argument, Node } from '@tessera/graph';
import { postorder } from '../ir/walk.js';
import type { Expr } from '../ir/expr.js';
import type { IrBuffer } from './ir-node.js';
import { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { canBePlaced, placedPart } from './ops/placed-part.js';
import { type PartialWrite, type PartialWrites, findPartialWrites } from './partial-writes.js';
import { addOverwrite } from './part-nodes.js';
import type { LoweredArg, LoweringCall } from './registry.js';

/** What became of a graph's nodes so far. */
type Values<V> = Map<Node, V | LoweredTensor | readonly (LoweredTensor | null)[]>;

/** What lowering a graph offers to its writes. */
export interface WriteHost<V> {
  readonly lowering: Lowering;
  readonly values: Values<V>;
  argsOf(node: Node): readonly Argument[];
  argument(arg: Argument): LoweredArg;
  tensor(node: Node): LoweredTensor;
  /** What a call is lowered with. */
  callOf(node: Node): LoweringCall;
  /** Lowers a view of another value than the graph says. */
  viewOf(view: Node, whole: LoweredTensor): LoweredTensor;
}

/** See the file header. */
export class InPlaceWrites<V> {
  private readonly found: PartialWrites;
  private readonly order: ReadonlyMap<Node, number>;

  constructor(
    private readonly host: WriteHost<V>,
    nodes: readonly Node[],
  ) {
    this.order = new Map(nodes.map((node, i) => [node, i]));
    this.found = findPartialWrites(nodes, {
      argsOf: (node) => host.argsOf(node),
      canPlace: (scatter) => canBePlaced(host.lowering, scatter),
    });
  }

  /** Lowers a node if it is part of a write; otherwise says so. */
  lower(node: Node): boolean {
    const { byScatter, made, done } = this.found;
    const write = byScatter.get(node);
    if (write !== undefined) this.write(write);
    else if (done.has(node)) this.host.values.set(node, this.host.values.get(node.input(1))!);
    return write !== undefined || done.has(node) || made.has(node);
  }

  private write({ base, scatter, steps }: PartialWrite): void {
    const { lowering: l } = this.host;
    const { op, node } = this.host.callOf(scatter);
    l.origin = { op: op.replace(/^.*::|\..*$/g, ''), node: node.name };
    const before = this.host.tensor(base).wholeBuffer!;
    this.keepOld(before, new Set([scatter, ...steps.map(({ after }) => after)]), scatter);
    const target = this.host.tensor(scatter.input());
    const args = this.host.argsOf(scatter).map((arg) => this.host.argument(arg));
    const { coords, sizes, value } = placedPart(l, target, args, this.host.callOf(scatter));
    const place = l.address(before, coords);
    const isElsewhere = (e: Expr): boolean =>
      e.kind === 'load' && e.buf === before.name && e.index !== place;
    let stored = value;
    if (postorder([value]).some(isElsewhere)) {
      const scratch = l.pointwise(sizes, value);
      scratch.realize();
      stored = scratch.expr;
    }
    const after = addOverwrite(l, before, sizes, stored, coords);
    const { now } = l.programOrder;
    if (now !== null) l.programOrder.noteWrite(after, now);
    this.setResults(l.fromBuffer(after), scatter, steps);
  }

  /** The new contents as the nodes between the scatter and the whole have them. */
  private setResults(whole: LoweredTensor, scatter: Node, steps: PartialWrite['steps']): void {
    let value = whole;
    for (let i = steps.length - 1; i >= 0; i--) {
      const { view, after } = steps[i]!;
      this.host.values.set(after, value);
      value = this.host.viewOf(view, value);
    }
    this.host.values.set(scatter, value);
  }

  /** Gives memory to what loads from a buffer and is needed after it is overwritten. */
  private keepOld(buffer: IrBuffer, own: ReadonlySet<Node>, scatter: Node): void {
    const { lowering: l, values } = this.host;
    const at = this.order.get(scatter)!;
    const reads = (value: LoweredTensor): boolean => l.buffersOf(value.expr).has(buffer.name);
    const decides = this.unmadeChecks();
    const keep = (value: LoweredTensor): LoweredTensor => {
      if (!value.isRealized && (reads(value) || decides(value))) value.realize();
      if (!reads(value)) return value;
      return l.fromBuffer(l.storeValue(value.expr, value.dtype, value.shape, value.layout));
    };
    for (const [node, value] of values) {
      const isNeeded = [...node.users.keys()].some(
        (user) => !own.has(user) && !this.found.done.has(user) && this.order.get(user)! > at,
      );
      if (!isNeeded) continue;
      if (value instanceof LoweredTensor) values.set(node, keep(value));
      else if (Array.isArray(value))
        values.set(
          node,
          value.map((item) => (item === null ? null : keep(item))),
        );
    }
  }

  /** Tells whether a value makes a check that precedes the write in the program and that no node makes yet. */
  private unmadeChecks(): (value: LoweredTensor) => boolean {
    const { nodes, programOrder } = this.host.lowering;
    const { now } = programOrder;
    let made: Set<number> | null = null;
    return (value) => {
      const places =
        now === null ? [] : programOrder.checksIn([value.expr]).filter((at) => at < now);
      if (places.length === 0) return false;
      made ??= new Set(nodes.flatMap((node) => programOrder.checksOf(node)));
      return places.some((at) => !made!.has(at));
    };
  }
}
