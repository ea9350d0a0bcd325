/**
 * @file Removes ops that give back what they got: x + 0, x * 1, conversions to the same dtype, copies
 * that nobody needs, views to the same shape.
 *
 * For graphs below autograd: `detach` counts as a no-op. An op with a fresh result is removed only if
 * nobody can tell that the result now shares memory with its input (`AliasSets.mayShare`) and dtype,
 * shape and strides stay. Signs of zeros stay: x + 0 of floats is no no-op (-0 + 0 is 0), x + -0 and x - 0 are.
 */
import { AliasSets, type GraphModule, Node, tensorVal } from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';
import { isFloatingPoint } from '@tessera/tensor';
import { isAddressed } from './addressed.js';
import { type Pass, passOf } from './pass.js';
import { sameLayout } from './structural-key.js';

/** Whether a node is its first argument, given that dtype, shape and strides agree. */
type Rule = (node: Node) => boolean;

const always: Rule = () => true;
const secondIs =
  (...values: readonly unknown[]): Rule =>
  (node) =>
    values.includes(node.args[1]);
/** Adding or subtracting a zero that leaves every element as it is: floats have one of either sign. */
const secondIsZero =
  (neutral: 0 | -0): Rule =>
  (node) => {
    if (node.args[1] !== 0) return false;
    const val = tensorVal(node);
    return val !== null && (!isFloatingPoint(val.dtype) || Object.is(node.args[1], neutral));
  };
const whole: Rule = ({ args: [, , start, , step] }) =>
  (start === 0 || start === null || start === undefined) && step === 1;

/** Ops by qualified name. */
const RULES: ReadonlyMap<string, Rule> = new Map([
  // Fresh results.
  ['aten::add.Tensor', secondIsZero(-0)],
  ['aten::add.Scalar', secondIsZero(-0)],
  ['aten::sub.Tensor', secondIsZero(0)],
  ['aten::sub.Scalar', secondIsZero(0)],
  ['aten::mul.Tensor', secondIs(1)],
  ['aten::mul.Scalar', secondIs(1)],
  ['aten::div.Tensor', secondIs(1)],
  ['aten::div.Scalar', secondIs(1)],
  ['aten::pow.Tensor_Scalar', secondIs(1)],
  ['aten::_to_copy', always],
  ['aten::clone', always],
  // Widths may be negative: what is taken away elsewhere leaves the shape.
  ['aten::constant_pad_nd', (node) => node.numbers(1).every((width) => width === 0)],
  // Views.
  ['aten::to.dtype', always],
  ['aten::contiguous', always],
  ['aten::view', always],
  ['aten::_unsafe_view', always],
  ['aten::reshape', always],
  ['aten::expand', always],
  ['aten::detach', always],
  ['aten::alias', always],
  ['aten::permute', (node) => isIdentity(node.args[1])],
  ['aten::transpose.int', (node) => node.args[1] === node.args[2]],
  ['aten::slice.Tensor', whole],
]);

/** Removes no-ops; returns how many. */
export function removeNoops(module: GraphModule): number {
  return atOnce(noopSteps(module));
}

function* noopSteps(module: GraphModule): Steps<number> {
  const { graph } = module;
  const sets = new AliasSets(graph);
  let removed = 0;
  for (const node of graph.nodes) {
    yield;
    const source = noopSource(node);
    if (source === null || !mayRemove(node, source, sets)) continue;
    node.replaceAllUsesWith(source);
    graph.eraseNode(node);
    removed++;
    sets.merge(node, source);
  }
  return removed;
}

/** The pass. */
export const noopRemoval: Pass = passOf('noop-removal', noopSteps);

function noopSource(node: Node): Node | null {
  if (node.op !== 'call_function' || typeof node.target !== 'object') return null;
  const rule = RULES.get(node.target.qualifiedName);
  const source = node.args[0];
  if (rule === undefined || !(source instanceof Node) || !rule(node)) return null;
  const before = tensorVal(source);
  const after = tensorVal(node);
  if (before === null || after === null || !sameLayout(before, after)) return null;
  return before.storageOffset === after.storageOffset || !isAddressed(node) ? source : null;
}

function mayRemove(node: Node, source: Node, sets: AliasSets): boolean {
  if (!aliases(node)) return sets.mayShare(node, source);
  // A view may stand for its base unless the caller holds both.
  const returned = [...node.users.keys()].some((user) => user.op === 'output');
  return (
    !returned ||
    (!sets.isExternal(source) && ![...source.users.keys()].some((user) => user.op === 'output'))
  );
}

function aliases(node: Node): boolean {
  return (
    typeof node.target === 'object' &&
    node.target.schema.returns.some((value) => value.alias !== null)
  );
}

function isIdentity(dims: unknown): boolean {
  return Array.isArray(dims) && dims.every((dim, i) => dim === i || dim === i - dims.length);
}
