/**
 * @file Constant folding: what depends on attributes alone is computed now.
 *
 * Runs the reference kernels (whatever device the attribute is on). Never folds random or uninitialised
 * ops, values that depend on run-time scalars or symbolic sizes, attributes that the graph writes, or results of factory
 * ops alone (a code generator makes those better itself). Results above a size limit stay computed, and so do views that
 * repeat elements, with all that follows: they cost nothing, and how often is a size of something else.
 */
import {
  type Argument,
  type GraphModule,
  Node,
  getItem,
  holdsSymbol,
  isImpure,
  AliasSets,
  type HostFunction,
} from '@tessera/graph';
import { type Tensor, callOp, isTensor, noGrad } from '@tessera/tensor';
import { numelOf, withoutModes } from '@tessera/tensor/internal';
import type { Pass } from './pass.js';

/** Limits of constant folding. */
export interface ConstantFoldingOptions {
  /** Results with more elements stay computed at run time; default 2²². */
  readonly maxElements?: number;
  /** Which attributes may be taken as constant; default all tensors. */
  readonly isConstant?: (path: string, value: Tensor) => boolean;
}

interface Folded {
  readonly value: unknown;
  /** Whether it depends on an attribute, not only on factory ops. */
  readonly fromAttribute: boolean;
}

/** Folds constants; returns how many nodes became attributes. */
export function foldConstants(module: GraphModule, options: ConstantFoldingOptions = {}): number {
  const { maxElements = 2 ** 22, isConstant = () => true } = options;
  const { graph } = module;
  if (!graph.nodes.some((node) => node.op === 'get_attr')) return 0;
  const sets = new AliasSets(graph);
  const folded = new Map<Node, Folded>();
  for (const node of graph.nodes) {
    const result =
      node.op === 'get_attr'
        ? attribute(module, node, isConstant)
        : evaluate(node, folded, maxElements);
    if (result !== null && !sets.isWritten(node)) folded.set(node, result);
  }
  let replaced = 0;
  for (const [node, { value, fromAttribute }] of folded) {
    if (node.op === 'get_attr' || !fromAttribute || !isTensor(value)) continue;
    const usedOutside = [...node.users.keys()].some((user) => !folded.has(user));
    if (!usedOutside || sets.escapes(node)) continue;
    const path = module.addAttribute('_folded', value);
    const constant = graph.insertingBefore(node, () => graph.getAttr(path));
    constant.meta = { ...node.meta };
    node.replaceAllUsesWith(constant);
    replaced++;
  }
  return replaced;
}

/** The pass with its limits. */
export function constantFolding(options: ConstantFoldingOptions = {}): Pass {
  return { name: 'constant-folding', run: (module) => foldConstants(module, options) > 0 };
}

/** Whether elements are there several times. */
function repeats({ sizes, strides }: Tensor): boolean {
  return strides.some((stride, d) => stride === 0 && sizes[d]! > 1);
}

function attribute(
  module: GraphModule,
  node: Node,
  isConstant: (path: string, value: Tensor) => boolean,
): Folded | null {
  const path = node.path;
  const value = module.getAttribute(path);
  if (!isTensor(value) || value.isFake || value.isLazy || !isConstant(path, value)) return null;
  return { value, fromAttribute: true };
}

function evaluate(
  node: Node,
  folded: ReadonlyMap<Node, Folded>,
  maxElements: number,
): Folded | null {
  if (node.op !== 'call_function' || isImpure(node)) return null;
  if (node.args.some((arg) => holdsSymbol(arg))) return null;
  const { target } = node;
  const inputs = node.allInputNodes().map((input) => folded.get(input));
  if (inputs.includes(undefined)) return null;
  const fromAttribute = inputs.some((input) => input?.fromAttribute);
  if (target === getItem) return { value: run(getItem, node, folded), fromAttribute };
  if (typeof target !== 'object' || target.hasTag('uninitialized')) return null;
  if (inputs.length === 0 && !target.hasTag('factory')) return null;
  if (elementsOf(node) > maxElements) return null;
  const value = withoutModes(() =>
    noGrad(() => run((...args) => callOp(target, args), node, folded)),
  );
  return isTensor(value) && repeats(value) ? null : { value, fromAttribute };
}

function elementsOf(node: Node): number {
  const { val } = node.meta;
  if (isTensor(val)) return numelOf(val.sizes);
  if (!Array.isArray(val)) return 0;
  return val.reduce((sum, item) => sum + (item === null ? 0 : numelOf(item.sizes)), 0);
}

function run(fn: HostFunction, node: Node, folded: ReadonlyMap<Node, Folded>): unknown {
  const value = (arg: Argument): unknown => {
    if (arg instanceof Node) return folded.get(arg)!.value;
    return Array.isArray(arg) ? arg.map(value) : arg;
  };
  return fn(...node.args.map(value));
}
