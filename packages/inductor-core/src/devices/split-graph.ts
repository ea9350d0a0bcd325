/**
 * @file `splitGraph`: a functional graph over several devices → steps, each a graph of one device.
 *
 * Every value that one step makes and another reads, and every result, has a slot; the inputs have the first ones.
 * A step of kind `host` holds copies to other devices and operators that are no part of a plan (`isHostNode`); it is run
 * operator by operator. Views are not handed over: each step makes its own from what they show.
 */
import type { DeviceType } from '@tessera/tensor';
import { Graph, GraphModule, Node, copyModule, tensorVal, writtenInputs } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { isDense } from '../lower/shape-math.js';
import { isFree } from './free-node.js';
import type { BetweenPlans } from './host-node.js';
import { isUpdate, ownResults } from './own-results.js';
import { type Run, scheduleDevices } from './schedule-devices.js';

/** One step: takes the values of some slots and fills others. */
export interface DeviceStep {
  readonly kind: 'subgraph' | 'host';
  /** Device of a subgraph; null for the host. */
  readonly device: DeviceType | null;
  readonly module: GraphModule;
  readonly reads: readonly number[];
  readonly fills: readonly number[];
  /** Slots that no later step reads and nobody else has. */
  readonly frees: readonly number[];
}

/** How an entry of the graph's output is made. */
export type SplitResult =
  | { readonly kind: 'slot'; readonly slot: number }
  | { readonly kind: 'value'; readonly value: unknown };

/** A split graph. */
export interface SplitGraph {
  readonly steps: readonly DeviceStep[];
  readonly slots: number;
  readonly results: readonly SplitResult[];
}

/** Splits a graph; `module` stays as it is. @throws device-mismatch, data-async-only, aot-unsupported, graph-lint */
export function splitGraph(
  module: GraphModule,
  betweenPlans: BetweenPlans = () => false,
): SplitGraph {
  const copy = copyModule(module);
  ownResults(copy.graph);
  return new Splitter(copy, betweenPlans).run();
}

class Splitter {
  private readonly slotOf = new Map<Node, number>();
  private readonly runOf = new Map<Node, Run>();
  private readonly nodes: readonly Node[];

  constructor(
    private readonly module: GraphModule,
    private readonly betweenPlans: BetweenPlans,
  ) {
    this.nodes = module.graph.nodes;
  }

  run(): SplitGraph {
    const { graph } = this.module;
    const runs = scheduleDevices(graph, this.betweenPlans);
    for (const run of runs) for (const node of run.nodes) this.runOf.set(node, run);
    for (const node of graph.placeholders) this.slotOf.set(node, this.slotOf.size);
    const inputs = this.slotOf.size;
    for (const run of runs)
      for (const node of run.nodes) if (this.isHandedOver(node)) this.addSlot(node);
    const steps = runs.map((run) => this.step(run));
    const results = this.results();
    const kept = new Set(
      results.flatMap((result) => (result.kind === 'slot' ? [result.slot] : [])),
    );
    return { steps: withFrees(steps, inputs, kept), slots: this.slotOf.size, results };
  }

  private addSlot(node: Node): void {
    const val = tensorVal(node);
    if (val === null || (!isDense(val.sizes, val.strides) && !this.isOnlyReturned(node)))
      throw unsupported(`'${node.name}' goes from one device's graph to another's`);
    this.slotOf.set(node, this.slotOf.size);
  }

  private isOnlyReturned(node: Node): boolean {
    return [...node.users.keys()].every((user) => user.op === 'output');
  }

  /** Whether another step, or the caller, needs the value; through views too. */
  private isHandedOver(node: Node): boolean {
    const stack = [node];
    for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
      for (const user of value.users.keys()) {
        if (isFree(user)) stack.push(user);
        else if (this.runOf.get(user) !== this.runOf.get(node)) return true;
      }
    }
    return false;
  }

  private step(run: Run): Omit<DeviceStep, 'frees'> {
    const graph = new Graph();
    graph.symbols = this.module.graph.symbols;
    const needed = this.closure(run);
    const copies = new Map<Node, Node>();
    const read: Node[] = [];
    for (const node of [...this.slotOf.keys()]) {
      if (!needed.has(node) || this.runOf.get(node) === run) continue;
      read.push(node);
      copies.set(node, this.input(graph, node));
    }
    graph.copyNodes(
      this.nodes.filter((node) => needed.has(node)),
      copies,
    );
    const filled = run.nodes.filter((node) => this.slotOf.has(node));
    graph.output(filled.map((node) => copies.get(node)!));
    const module = new GraphModule(this.module.attributes, graph);
    module.removeUnusedAttributes();
    return {
      kind: run.kind,
      device: run.device,
      module,
      reads: read.map((node) => this.slotOf.get(node)!),
      fills: filled.map((node) => this.slotOf.get(node)!),
    };
  }

  /** The nodes of a run, the views that they read, and what is handed over to them. */
  private closure(run: Run): Set<Node> {
    const needed = new Set<Node>(run.nodes);
    const stack = [...run.nodes];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      this.checkWrites(node);
      for (const input of node.allInputNodes()) {
        if (needed.has(input)) continue;
        needed.add(input);
        if (isFree(input)) stack.push(input);
      }
    }
    return needed;
  }

  /** An operator without functional form writes to a copy, which must be of its own step. */
  private checkWrites(node: Node): void {
    if (isUpdate(node) || typeof node.target !== 'object') return;
    for (const target of writtenInputs(node))
      if (this.runOf.get(target) !== this.runOf.get(node))
        throw unsupported(`'${node.name}' writes to what another device's graph computes`);
  }

  private input(graph: Graph, node: Node): Node {
    if (node.op === 'placeholder') return graph.nodeCopy(node, (input) => input);
    const input = graph.placeholder(node.name);
    input.meta = { val: node.meta.val };
    return input;
  }

  private results(): SplitResult[] {
    return this.module.graph.results.map((arg): SplitResult => {
      const slot = arg instanceof Node ? this.slotOf.get(arg) : undefined;
      return slot === undefined ? { kind: 'value', value: arg } : { kind: 'slot', slot };
    });
  }
}

/** Notes with each step the slots that it is the last to read. */
function withFrees(
  steps: readonly Omit<DeviceStep, 'frees'>[],
  inputs: number,
  kept: ReadonlySet<number>,
): DeviceStep[] {
  const later = new Set<number>(kept);
  return [...steps]
    .reverse()
    .map((step) => {
      const frees = step.reads.filter((slot) => slot >= inputs && !later.has(slot));
      for (const slot of frees) later.add(slot);
      return { ...step, frees };
    })
    .reverse();
}

function unsupported(what: string): TesseraError {
  return new TesseraError('aot-unsupported', `The graph cannot be split by device: ${what}.`, {
    hints: ['Move the tensors to one device before this computation.'],
  });
}
