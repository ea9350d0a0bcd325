/**
 * @file `exportGraph`: one standalone graph for a whole function, with the guards under which it holds.
 *
 * The function is captured in one graph. Tensors that arguments hold are its placeholders; all others
 * (parameters, captured tensors) become attributes of the GraphModule. Calling the result checks the
 * guards and runs the graph; the function's JavaScript is not needed any more. With sizes that vary, the
 * function is captured on FakeTensors at several sizes, and what differs becomes expressions of symbols.
 * Modelled on `torch.export` and `torch._dynamo.export`.
 */
import {
  ExportedGraph,
  type ExportedInput,
  ExportedTensor,
  FakeConverter,
  Graph,
  GraphModule,
  type Node,
  type SizedTrace,
  ResultLeaf,
  isSymbolicShape,
  numbersIn,
  printSource,
  traceSizes,
} from '@tessera/graph';
import { treeFlatten, treeUnflatten } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { withPreDispatchMode } from '@tessera/tensor/internal';
import type { Backend } from '../backend.js';
import { refuseBreak } from '../breaks/report-break.js';
import type { Cursor } from '../cursor/cursor.js';
import { Recorder } from '../cursor/recorder.js';
import { DynamicShapes } from '../dynamic/dynamic-shapes.js';
import { SymbolTable } from '../dynamic/symbol-table.js';
import { finishSegment } from '../events/break.js';
import { seal } from '../events/return.js';
import { CallRoots } from '../guards/call-roots.js';
import { PureCursor } from '../pure/pure-cursor.js';
import { EntryPoint } from '../trace/entry-point.js';
import type { AnyFunction } from '../trace-options.js';
import type { Segment } from '../trace/segment.js';
import { Sources, identifierOf, isOfTracked } from '../guards/sources.js';
import { NOWHERE, walk } from '../guards/walk.js';
import { refuseObjects, sideEffect } from '../pure/side-effect.js';
import { type ExportOptions, dynamicInputs } from './dynamic-option.js';
import { sameExport } from './same-export.js';

/** A module, as far as exporting goes. */
export interface ExportableModule {
  readonly forward: AnyFunction;
  call(...args: never[]): unknown;
}

/**
 * Captures a function, or the forward of a module, on `args` as one graph. Nothing is computed: what the
 * function writes to tensors happens when the graph is called. Sizes are numbers but for
 * those that `options` or `markDynamic` declare to vary; to find out what depends on those, the function
 * runs several times, on FakeTensors.
 *
 * @throws trace-full-graph for a graph break; pure-side-effect for an effect that the graph would not
 *   have; constraint-violation for a declared size that cannot vary
 * @see torch.export, torch._dynamo.export
 */
export function exportGraph<F extends AnyFunction>(
  fn: F,
  args: Parameters<F>,
  options?: ExportOptions,
): ExportedGraph;
export function exportGraph<M extends ExportableModule>(
  module: M,
  args: Parameters<M['forward']>,
  options?: ExportOptions,
): ExportedGraph;
export function exportGraph(
  target: AnyFunction | ExportableModule,
  args: readonly unknown[],
  options: ExportOptions = {},
): ExportedGraph {
  const isFunction = typeof target === 'function';
  const fn = isFunction ? target : (...inputs: never[]): unknown => target.call(...inputs);
  const signature = isFunction ? target : target.forward;
  const { inputs, sizes } = dynamicInputs(signature, args, options);
  if (sizes.length === 0) return captureOnce({ fn, signature }, args, null).exported;
  const { leaves, spec } = treeFlatten(args);
  const tensors = inputs.map(({ tensor }) => tensor);
  const symbolic = inputs.map(({ dims }) => dims.some((dim) => dim >= 0));
  const { trace } = traceSizes<Captured>({
    inputs,
    sizes,
    suspects: ({ numbers }) => [...new Set([...numbersIn(signature), ...numbers])].slice(0, 16),
    trace: (fakes) => {
      const at = leaves.map((leaf) => (isTensor(leaf) ? fakes[tensors.indexOf(leaf)]! : leaf));
      const sized = treeUnflatten(at, spec);
      return captureOnce(
        { fn, signature },
        sized,
        fakes.filter((_, i) => symbolic[i]),
        fakes,
      );
    },
    difference: (a, b) => sameExport(a.exported, b.exported),
  });
  return withSymbolicGuards(trace.exported);
}

/** What is only recorded is never compiled. */
const NEVER_CALLED: Backend = () => () => [];

/** One capture. */
interface Captured extends SizedTrace {
  readonly exported: ExportedGraph;
  /** Numbers among the arguments and in the objects that the function used. */
  readonly numbers: readonly number[];
}

/**
 * Records a call of the function, of which nothing is computed.
 *
 * @param kept tensors that are inputs even if no operator reads them; null for a graph of fixed sizes
 * @param numbered the tensors whose numbers `placeholders` has
 */
function captureOnce(
  { fn, signature }: { readonly fn: AnyFunction; readonly signature: AnyFunction },
  args: readonly unknown[],
  kept: readonly Tensor[] | null,
  numbered: readonly Tensor[] = [],
): Captured {
  const name = fn.name === '' ? 'anonymous function' : fn.name;
  const roots = new CallRoots(fn, { signature }).named(undefined, args);
  const sources = new Sources(roots, true);
  const table = new SymbolTable();
  const entry = new EntryPoint();
  const record = ({ frame, segmentGradMode }: Cursor): Recorder =>
    new Recorder(
      frame,
      entry.numbering,
      { backend: NEVER_CALLED, fullgraph: true, functionName: name, sources, program: table },
      new DynamicShapes(table, frame, 0, false),
      segmentGradMode,
    );
  const cursor = new PureCursor({ name, sources, fullgraph: true }, entry, {
    name,
    table,
    roots: () => roots.map((root) => root.value),
    record,
    rebuild: record,
    onBreak: (reason) => refuseBreak(reason, name),
    entryAfter: () => entry,
    onDecline: () => undefined,
  });
  cursor.frame.begin();
  try {
    const result: unknown = withPreDispatchMode(cursor, () =>
      cursor.watching(() => fn(...(args as never[]))),
    );
    const recorder = (cursor.recorder ??= record(cursor));
    const segment = finishSegment(cursor, recorder);
    seal(cursor, result);
    const { exported, tensors } = build(cursor, segment, result, kept);
    const placeholders = tensors.map((tensor) => numbered.indexOf(tensor));
    return { exported, module: exported.graphModule, placeholders, numbers: numbersOf(cursor) };
  } finally {
    if (cursor.recorder !== null) dropGradients(cursor.recorder);
    cursor.frame.end();
  }
}

/** Takes back gradients that a recorded `backward()` gave to tensors from outside: they have no values. */
function dropGradients({ externals, frame }: Recorder): void {
  for (const [{ autograd }] of externals) {
    const grad = autograd?.grad;
    if (grad != null && frame.slotOf(grad) >= 0) autograd!.grad = null;
  }
}

/** Sizes at which the function may branch: integers in its arguments and in objects that it used. */
function numbersOf({ host, owners }: Cursor): number[] {
  const found: unknown[] = [];
  const primitive = (value: unknown): void => void found.push(value);
  for (const value of [...host.roots(), ...owners]) walk(value, NOWHERE, { primitive });
  return found.filter((n): n is number => Number.isInteger(n) && Number(n) > 1);
}

/** The exported graph with the guards of its symbolic inputs. */
function withSymbolicGuards(exported: ExportedGraph): ExportedGraph {
  const { graphModule, inputs, constants, result, duplicates } = exported;
  const guarded = graphModule.graph.placeholders.map((node, i): ExportedInput => {
    const input = inputs[i]!;
    const shape = node.meta.symbolicVal;
    if (shape === undefined || !('sizes' in shape) || !isSymbolicShape(shape)) return input;
    const { dtype, device, requiresGrad } = input.guard;
    return { ...input, guard: new ExportedTensor(dtype, device, shape, requiresGrad) };
  });
  graphModule.lint();
  return new ExportedGraph(graphModule, guarded, constants, result, duplicates);
}

/** The recorded graph as one that stands alone, and the tensors that are its inputs; `kept` as for `captureOnce`. */
function build(
  cursor: Cursor,
  { graphModule: module, inputs: read, outputs }: Segment,
  result: unknown,
  kept: readonly Tensor[] | null,
): { exported: ExportedGraph; tensors: readonly Tensor[] } {
  const { frame } = cursor;
  const { sources } = cursor.recorder!.options;
  const { leaves, spec } = treeFlatten(result);
  refuseObjects(leaves);
  /** Tensors that the graph needs, with their placeholders in the recorded one. */
  const needed = new Map<Tensor, Node | null>();
  module.graph.placeholders.forEach((node, i) => {
    const { slot, scalar } = read[i]!;
    if (scalar >= 0) refuseUpdate();
    needed.set(frame.slots[slot]!, node);
  });
  // Sizes are read from inputs, so their tensors are inputs even where no operator uses them; results are those of the call.
  for (const tensor of [...(kept ?? []), ...leaves.filter(isTensor)])
    if (!needed.has(tensor) && !outputs.includes(frame.slotOf(tensor))) needed.set(tensor, null);
  const graph = new Graph();
  const copied = new GraphModule([], graph);
  const nodes = new Map<Node, Node>();
  const fakes = new FakeConverter();
  const provide = (tensor: Tensor, own: Node): Node => {
    const node = needed.get(tensor)!;
    own.meta = node === null ? { val: fakes.convert(tensor) } : { ...node.meta };
    if (node !== null) nodes.set(node, own);
    return own;
  };
  const inputs: ExportedInput[] = [];
  const tensors = [...needed.keys()].filter(
    (tensor) => sources.isArgument(tensor) || kept?.includes(tensor) === true,
  );
  for (const tensor of tensors) {
    const { root, source } = sources.locate(tensor)!;
    const name = printSource(source);
    provide(tensor, graph.placeholder(identifierOf(name))).meta.source = name;
    inputs.push({ root, source, guard: ExportedTensor.of(tensor) });
  }
  const attributes = new Map<Tensor, Node>();
  for (const tensor of needed.keys())
    if (!tensors.includes(tensor)) {
      const own = graph.getAttr(copied.addAttribute('lifted', tensor));
      attributes.set(tensor, provide(tensor, own));
    }
  graph.copyNodes(module.graph.nodes, nodes);
  const returned = [...graph.results];
  // Integers of the result may be sizes: the graph returns them, so they are found like its arguments.
  const template = leaves.map((leaf) => {
    if (isTensor(leaf)) {
      const output = outputs.indexOf(frame.slotOf(leaf));
      if (output >= 0) return new ResultLeaf({ output });
      const input = tensors.indexOf(leaf);
      if (input >= 0) return new ResultLeaf({ input });
      returned.push(attributes.get(leaf)!);
    } else if (kept === null || !Number.isSafeInteger(leaf)) {
      return new ResultLeaf({ value: leaf });
    } else returned.push(leaf as number);
    return new ResultLeaf({ output: returned.length - 1 });
  });
  graph.outputNode!.args = [returned];
  copied.lint();
  // Other places where arguments hold these tensors: the graph is for such arguments alone.
  const duplicates = sources.tensors.flatMap(({ tensor, place }) => {
    const input = tensors.indexOf(tensor);
    const isNew = input >= 0 && !isOfTracked(place.source) && place !== sources.locate(tensor);
    return isNew ? [{ ...place, input }] : [];
  });
  return {
    exported: new ExportedGraph(
      copied,
      inputs,
      sources.constants(),
      treeUnflatten(template, spec),
      duplicates,
    ),
    tensors,
  };
}

/** A number of a trusted region, which it computes on the host each time: a graph has none. */
function refuseUpdate(): never {
  throw sideEffect(
    'exportGraph: the function updates an object by numbers that change with every call, as step() of an optimizer does.',
    [
      'Export what computes the loss or the gradients; an optimizer steps outside.',
      'compile() keeps whole training steps.',
    ],
  );
}
