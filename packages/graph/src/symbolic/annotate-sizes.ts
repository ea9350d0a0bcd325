/**
 * @file `annotateSizes`: the sizes of all values of a graph for given sizes, as expressions of symbols.
 *
 * A graph captured for one call says of its inputs and integer arguments which expressions they are
 * (`meta.symbolicVal`, `meta.symbolicArgs`). What its values are follows by running it on FakeTensors at
 * other sizes. It is for reading: nothing is compiled from it, and a value that follows no expression
 * found keeps its numbers.
 */
import {
  type Size,
  SizeFitter,
  SymInt,
  SymScalar,
  compileSize,
  freeSymbols,
} from '@tessera/shared';
import { Storage, type Tensor, callOp, isTensor } from '@tessera/tensor';
import {
  gradMode,
  makeTensor,
  storageExtent,
  withFakeTensors,
  withoutModes,
  storageBytes,
} from '@tessera/tensor/internal';
import type { Graph } from '../ir/graph.js';
import { type Argument, Node } from '../ir/node.js';
import { singleShape } from '../ir/value-meta.js';
import { symbolValues, withSymbols } from './symbol-places.js';
import { mapSymbols } from './symbolic-argument.js';
import { type SymbolicShape, fittedShape } from './symbolic-shape.js';

/** Sizes tried, as what to add to and multiply the example with. */
const TRIED: readonly (readonly [add: number, times: number])[] = [
  [1, 1],
  [2, 1],
  [3, 1],
  [0, 2],
  [0, 3],
  [5, 1],
  [0, 5],
  [1, 4],
  [7, 2],
];
/** Runs that must have worked for expressions to be believed. */
const RUNS_NEEDED = 3;

type Values = ReadonlyMap<Node, unknown>;

const annotated = new WeakMap<Graph, number>();

/** Sets `meta.symbolicVal` of the nodes of a captured graph with symbolic inputs. */
export function annotateSizes(graph: Graph): void {
  if (graph.symbols !== null || annotated.get(graph) === graph.revision) return;
  annotated.set(graph, graph.revision);
  const symbols = [...symbolValues(graph)];
  if (symbols.length === 0 || !isKnown(graph)) return;
  const at = (values: readonly number[]): ((size: Size) => number) => {
    const indices = new Map(symbols.map(([symbol], i) => [symbol, i]));
    return (size) => compileSize(size, (symbol) => indices.get(symbol)!)(values);
  };
  const hints = symbols.map(([, value]) => value);
  const runs: { readonly sizes: readonly number[]; readonly values: Values }[] = [];
  for (const [n, [add, times]] of TRIED.entries()) {
    const sizes = hints.map((hint, i) => hint * times + (add === 0 ? 0 : add + ((n * i) % 3)));
    const values = runFake(graph, at(sizes));
    if (values !== null) runs.push({ sizes, values });
  }
  const example = runFake(graph, at(hints));
  if (example === null || runs.length < RUNS_NEEDED) return;
  const all = [{ sizes: hints, values: example }, ...runs];
  const fitter = new SizeFitter(
    symbols.map(([size], i) => ({ size, at: all.map((run) => run.sizes[i]) })),
  );
  for (const node of graph.nodes) {
    if (node.op !== 'call_function') continue;
    const shape = fittedShape(
      fitter,
      all.map(({ values }) => values.get(node)),
    );
    if (shape !== null) node.meta.symbolicVal = shape;
  }
}

/** Whether every symbol of the graph has a value, and every value an example. */
function isKnown(graph: Graph): boolean {
  const values = symbolValues(graph);
  return graph.nodes.every((node) => {
    if (node.op === 'call_module') return false;
    const shape = node.meta.symbolicVal;
    const sizes = shape !== undefined && 'sizes' in shape ? [...shape.sizes, ...shape.strides] : [];
    const symbolic: Size[] = sizes.filter((size) => size !== null);
    for (const arg of node.meta.symbolicArgs ?? [])
      mapSymbols(arg, (size) => (symbolic.push(size), size));
    return freeSymbols(...symbolic).every((symbol) => values.has(symbol));
  });
}

/** Runs the graph on fakes; null where it does not work at these sizes. */
function runFake(graph: Graph, evaluate: (size: Size) => number): Values | null {
  const values = new Map<Node, unknown>();
  const storages = new Map<Storage, Storage>();
  const saved = gradMode.enabled;
  try {
    withoutModes(() =>
      withFakeTensors(() => {
        for (const node of graph.nodes) values.set(node, runNode(node, values, storages, evaluate));
      }),
    );
    return values;
  } catch {
    return null;
  } finally {
    gradMode.enabled = saved;
  }
}

function runNode(
  node: Node,
  values: Values,
  storages: Map<Storage, Storage>,
  evaluate: (size: Size) => number,
): unknown {
  const { op, target } = node;
  const { val, scalar, symbolicArgs } = node.meta;
  if (op === 'output') return null;
  if (typeof target === 'string') {
    if (scalar !== undefined) return new SymScalar(Number(val), scalar.kind, node.name);
    return isTensor(val)
      ? fakeOf(val, singleShape(node.meta.symbolicVal), storages, evaluate)
      : val;
  }
  const load = (arg: Argument): unknown => {
    if (arg instanceof Node) return values.get(arg);
    if (arg instanceof SymInt) return evaluate(arg);
    return Array.isArray(arg) ? arg.map(load) : arg;
  };
  const args = node.args.map((arg, i) => load(withSymbols(arg, symbolicArgs?.[i])));
  return typeof target === 'object' ? callOp(target, args) : target(...args);
}

function fakeOf(
  val: Tensor,
  shape: SymbolicShape | undefined,
  storages: Map<Storage, Storage>,
  evaluate: (size: Size) => number,
): Tensor {
  const sizes = shape?.sizes.map(evaluate) ?? val.sizes;
  const strides =
    shape?.strides.map((stride, i) => (stride === null ? val.strides[i] : evaluate(stride))) ??
    val.strides;
  const extent = val.storageOffset + storageExtent(sizes, strides);
  const bytes = storageBytes(val.device, val.dtype, extent);
  let storage = storages.get(val.storage);
  if (storage === undefined || storage.nbytes < bytes)
    storages.set(val.storage, (storage = Storage.fake(val.device, bytes)));
  const fake = makeTensor(storage, val.dtype, val.device, sizes, strides, val.storageOffset);
  fake.requiresGradFlag = val.requiresGradFlag;
  return fake;
}
