/**
 * @file The order of subgraphs: nodes in as few runs as possible, each of one device.
 *
 * A topological order is built run by run. A run takes every node of its device that can run, and what becomes
 * possible by that, until nothing is left; then the next device has its turn. For two devices no order has
 * fewer runs, if both are tried as the first. What the host does waits for nothing but its operands, so it is done
 * whenever a run ends.
 */
import { type DeviceType } from '@tessera/tensor';
import { type Graph, type Node, graphError } from '@tessera/graph';
import { orderedBefore } from './execution-order.js';
import { isFree } from './free-node.js';
import { type BetweenPlans, isHostNode } from './host-node.js';
import { deviceOf } from './node-device.js';

/** Nodes that run together: of one device, or by the host. In the order of the graph. */
export interface Run {
  readonly kind: 'subgraph' | 'host';
  /** Where its results are; null for the host, which may have to do with several devices. */
  readonly device: DeviceType | null;
  readonly nodes: readonly Node[];
}

/** What is the same for all orders. */
interface Facts {
  readonly nodes: readonly Node[];
  /** Device, or null for the host. */
  readonly place: ReadonlyMap<Node, DeviceType | null>;
  readonly after: ReadonlyMap<Node, readonly Node[]>;
  readonly waitsFor: ReadonlyMap<Node, number>;
  readonly position: ReadonlyMap<Node, number>;
}

/** Runs in an order in which they can run. @throws device-mismatch, data-async-only */
export function scheduleDevices(graph: Graph, betweenPlans: BetweenPlans): readonly Run[] {
  const facts = factsOf(graph, betweenPlans);
  const devices = new Set([...facts.place.values()].filter((place) => place !== null));
  let best: readonly Run[] = [];
  for (const first of devices) {
    const runs = runsFrom(first, [...devices], facts);
    if (best.length === 0 || runs.length < best.length) best = runs;
  }
  return devices.size > 0 ? best : runsFrom(null, [], facts);
}

function factsOf(graph: Graph, betweenPlans: BetweenPlans): Facts {
  const nodes = graph.nodes.filter((node) => node.op === 'call_function' && !isFree(node));
  for (const node of graph.nodes) {
    if (node.op === 'call_module')
      throw graphError(`Node '${node.name}' calls a submodule.`, 'Inline submodules first.');
    if (node.op === 'call_function' && isFree(node)) deviceOf(node);
  }
  const order = orderedBefore(graph);
  const after = new Map<Node, Node[]>(nodes.map((node) => [node, []]));
  const waitsFor = new Map<Node, number>();
  for (const node of nodes) {
    const before = new Set([...order.get(node)!, ...producersOf(node)]);
    for (const earlier of before) after.get(earlier)!.push(node);
    waitsFor.set(node, before.size);
  }
  const place = new Map(
    nodes.map((node) => {
      const device = deviceOf(node);
      return [node, isHostNode(node, betweenPlans) ? null : device];
    }),
  );
  return { nodes, place, after, waitsFor, position: new Map(nodes.map((node, i) => [node, i])) };
}

/** The nodes that compute what a node reads, behind views. */
function producersOf(node: Node): Set<Node> {
  const found = new Set<Node>();
  const stack = [...node.allInputNodes()];
  for (let input = stack.pop(); input !== undefined; input = stack.pop()) {
    if (isFree(input)) stack.push(...input.allInputNodes());
    else if (input.op === 'call_function') found.add(input);
  }
  return found;
}

function runsFrom(first: DeviceType | null, devices: readonly DeviceType[], facts: Facts): Run[] {
  const { place, after, position } = facts;
  const waits = new Map(facts.waitsFor);
  const ready = new Map<DeviceType | null, Node[]>(
    [null, ...devices].map((device) => [device, []]),
  );
  for (const node of facts.nodes)
    if (waits.get(node) === 0) ready.get(place.get(node)!)!.push(node);
  /** Takes what is ready at a place, and what becomes ready there. */
  const take = (where: DeviceType | null): Node[] => {
    const queue = ready.get(where)!;
    ready.set(where, []);
    for (let i = 0; i < queue.length; i++) {
      for (const next of after.get(queue[i]!)!) {
        const left = waits.get(next)! - 1;
        waits.set(next, left);
        if (left > 0) continue;
        const there = place.get(next)!;
        if (there === where) queue.push(next);
        else ready.get(there)!.push(next);
      }
    }
    return queue.sort((a, b) => position.get(a)! - position.get(b)!);
  };
  const runs: Run[] = [];
  const run = (where: DeviceType | null): void => {
    const nodes = take(where);
    if (nodes.length > 0)
      runs.push({ kind: where === null ? 'host' : 'subgraph', device: where, nodes });
  };
  run(null);
  for (let device = first; device !== null;) {
    run(device);
    run(null);
    const at = devices.indexOf(device);
    const others = [...devices.slice(at + 1), ...devices.slice(0, at + 1)];
    device = others.find((other) => ready.get(other)!.length > 0) ?? null;
  }
  return runs;
}
