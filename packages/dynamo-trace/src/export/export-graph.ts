/**
 * @file `exportGraph`: one standalone graph for a whole function, with the guards under which it holds.
 *
 * The function is captured once, in one graph. Tensors that arguments hold are its placeholders; all
 * others (parameters, captured tensors) become attributes of the GraphModule. Calling the result checks
 * the guards and runs the graph; the function's JavaScript is not needed any more.
 * Modelled on `torch._dynamo.export`.
 */
import { type Argument, Graph, GraphModule, type Node } from '@tessera/graph';
import { treeFlatten, treeUnflatten } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { CompiledFunction } from '../compiled-function.js';
import type { AnyFunction } from '../trace-options.js';
import type { Capture } from '../capture/capture.js';
import { TensorGuard } from '../guards/tensor-guard.js';
import { ExportedGraph, type ExportedInput, type ExportedLeaf, Wrapped } from './exported-graph.js';

/** A module, as far as exporting goes. */
export interface ExportableModule {
  readonly forward: AnyFunction;
  call(...args: never[]): unknown;
}

/**
 * Captures a function, or the forward of a module, on `args` as one graph.
 *
 * @throws trace-full-graph for a graph break, pure-side-effect for an effect that the graph would not have
 * @see torch.export, torch._dynamo.export
 */
export function exportGraph<F extends AnyFunction>(fn: F, args: Parameters<F>): ExportedGraph;
export function exportGraph<M extends ExportableModule>(
  module: M,
  args: Parameters<M['forward']>,
): ExportedGraph;
export function exportGraph(
  target: AnyFunction | ExportableModule,
  args: readonly unknown[],
): ExportedGraph {
  const isFunction = typeof target === 'function';
  const fn = isFunction ? target : (...inputs: never[]): unknown => target.call(...inputs);
  let exported: ExportedGraph | null = null;
  const compiled = new CompiledFunction(fn, {
    signature: isFunction ? target : target.forward,
    backend: (module) => (inputs) => module.forward(...inputs) as Tensor[],
    fullgraph: true,
    pure: true,
    dynamic: false,
    onCapture: (capture, segment, result) => {
      exported = build(capture, segment.graphModule, segment.inputs, segment.outputs, result);
    },
  });
  compiled.call(undefined, args);
  return exported!;
}

function build(
  capture: Capture,
  module: GraphModule,
  slots: readonly { readonly slot: number; readonly scalar: number }[],
  outputs: readonly number[],
  result: unknown,
): ExportedGraph {
  const { run } = capture;
  const { sources } = capture.options;
  const graph = new Graph();
  const copied = new GraphModule([], graph);
  const nodes = new Map<Node, Node>();
  const inputs: ExportedInput[] = [];
  const inputOf = new Map<number, number>();
  const copy = (node: Node): void => {
    nodes.set(
      node,
      graph.nodeCopy(node, (input): Argument => nodes.get(input)!),
    );
  };
  const placeholders = module.graph.nodes.filter((node) => node.op === 'placeholder');
  const lifted: [Node, Tensor][] = [];
  placeholders.forEach((node, i) => {
    const { slot } = slots[i]!;
    const tensor = run.slots[slot]!;
    const at = sources.isArgument(tensor) ? sources.locate(tensor) : null;
    if (at === null) {
      lifted.push([node, tensor]);
      return;
    }
    inputOf.set(slot, inputs.length);
    inputs.push({ root: at.root, source: at.source, guard: TensorGuard.of(tensor) });
    copy(node);
  });
  for (const [node, tensor] of lifted) {
    const attribute = graph.getAttr(copied.addAttribute('lifted', tensor));
    attribute.meta = { ...node.meta };
    nodes.set(node, attribute);
  }
  for (const node of module.graph.nodes) if (node.op !== 'placeholder') copy(node);
  copied.lint();
  const { leaves, spec } = treeFlatten(result);
  const template = leaves.map((leaf) => new Wrapped(leafOf(leaf, run.id, outputs, inputOf)));
  return new ExportedGraph(copied, inputs, sources.constants(), treeUnflatten(template, spec));
}

function leafOf(
  leaf: unknown,
  id: number,
  outputs: readonly number[],
  inputOf: ReadonlyMap<number, number>,
): ExportedLeaf {
  if (!isTensor(leaf) || leaf.traceOwner !== id) return { value: leaf };
  const output = outputs.indexOf(leaf.traceSlot);
  if (output >= 0) return { output };
  const input = inputOf.get(leaf.traceSlot);
  return input === undefined ? { value: leaf } : { input };
}
