/**
 * @file `lintGraph`: the rules of the graph IR, checked.
 *
 * Runs after every pass in tests. Rules: names are unique identifiers; a node's arguments belong to the
 * same graph and come before it; `users` is exact; placeholders come first; there is one output and it
 * is last; arguments of an operator fit its schema in number and kind; attribute paths exist.
 */
import { SymInt } from '@tessera/shared';
import type { OpOverload } from '@tessera/tensor';
import type { SchemaArgument } from '@tessera/tensor/internal';
import { graphError } from './graph-error.js';
import type { Graph } from './graph.js';
import { type Argument, Node } from './node.js';
import { holdsSymbol } from '../symbolic/symbolic-argument.js';

/** Looks up an attribute of the owning module. */
export interface AttributeSource {
  hasAttribute(path: string): boolean;
}

/** Checks a graph. @throws graph-lint */
export function lintGraph(graph: Graph, attributes?: AttributeSource): void {
  const seen = new Set<Node>();
  const names = new Set<string>();
  const uses = new Map<Node, Set<Node>>();
  let pastPlaceholders = false;
  let output: Node | null = null;
  for (const node of graph.nodes) {
    if (output !== null)
      fail(node, `comes after the output node`, 'The output node is the last one.');
    checkName(node, names);
    checkInputs(node, graph, seen, uses);
    if (node.op !== 'placeholder') pastPlaceholders = true;
    else if (pastPlaceholders)
      fail(node, 'is a placeholder after other nodes', 'Add placeholders before everything else.');
    if (node.op === 'output') output = node;
    if (typeof node.target === 'object') checkSchema(node, node.target);
    else checkTarget(node, attributes);
    seen.add(node);
  }
  if (output === null)
    throw graphError('The graph has no output node.', 'End it with graph.output(value).');
  for (const node of seen) checkUsers(node, uses.get(node));
}

function fail(node: Node, what: string, hint: string): never {
  throw graphError(`Node '${node.name}' ${what}.`, hint);
}

function checkName(node: Node, names: Set<string>): void {
  if (!/^[A-Za-z_$][\w$]*$/.test(node.name))
    fail(node, 'has a name that is no identifier', 'Let the graph choose names.');
  if (names.has(node.name))
    fail(node, 'has the name of another node', 'Let the graph choose names.');
  names.add(node.name);
}

function checkInputs(node: Node, graph: Graph, seen: Set<Node>, uses: Map<Node, Set<Node>>): void {
  if (node.graph !== graph || node.erased)
    fail(node, 'does not belong to this graph', 'Copy it with graph.nodeCopy.');
  if (node.args.some((arg) => holdsSymbol(arg, (size) => graph.symbols?.owns(size) !== true)))
    fail(
      node,
      'has a size of another graph among its arguments',
      'Copy the symbols too: graph.symbols = other.symbols.',
    );
  for (const input of node.allInputNodes()) {
    if (input.graph !== graph)
      fail(node, `uses '${input.name}' of another graph`, 'Map arguments when copying nodes.');
    if (input.erased)
      fail(
        node,
        `uses '${input.name}', which was erased`,
        'Replace its uses before erasing a node.',
      );
    if (!seen.has(input))
      fail(
        node,
        `uses '${input.name}' before it is defined`,
        'Insert it later, or move its input up.',
      );
    if (input.op === 'output') fail(node, 'uses the output node', 'The output node has no value.');
    let users = uses.get(input);
    if (users === undefined) uses.set(input, (users = new Set()));
    users.add(node);
  }
}

function checkUsers(node: Node, actual: Set<Node> | undefined): void {
  const expected = actual?.size ?? 0;
  if (node.users.size === expected && [...node.users.keys()].every((user) => actual?.has(user)))
    return;
  fail(
    node,
    `lists ${node.users.size} users but has ${expected}`,
    'Change arguments through Node and Graph methods only.',
  );
}

function checkTarget(node: Node, attributes: AttributeSource | undefined): void {
  const { op, target } = node;
  if (op === 'call_function') {
    if (typeof target !== 'function')
      fail(
        node,
        `calls '${String(target)}', which is no function`,
        'The target of call_function is an operator or a function.',
      );
    return;
  }
  if (typeof target !== 'string')
    fail(
      node,
      `(${op}) needs a name as target`,
      'Only call_function has operators and functions as targets.',
    );
  if (op === 'output' && node.args.length !== 1)
    fail(
      node,
      `has ${node.args.length} arguments`,
      'The output node has one argument, the returned structure.',
    );
  if ((op === 'get_attr' || op === 'call_module') && attributes?.hasAttribute(target) === false) {
    fail(
      node,
      `refers to attribute '${target}', which the module does not have`,
      'Add it with module.setAttribute(path, value).',
    );
  }
}

function checkSchema(node: Node, op: OpOverload): void {
  if (node.op !== 'call_function')
    fail(node, `(${node.op}) has an operator as target`, 'Only call_function calls operators.');
  const formals = op.schema.args;
  if (node.args.length !== formals.length) {
    fail(
      node,
      `passes ${node.args.length} arguments to ${op.qualifiedName}, which takes ${formals.length}`,
      `Schema: ${op.schema.text}. Fill in defaults; arguments are complete and in schema order.`,
    );
  }
  formals.forEach((formal, i) => {
    if (kindMatches(formal, node.args[i], op)) return;
    fail(
      node,
      `passes ${describe(node.args[i])} as '${formal.name}' of ${op.qualifiedName}`,
      `Schema: ${op.schema.text}.`,
    );
  });
}

function describe(arg: Argument): string {
  if (arg === null || arg === undefined) return 'null';
  if (Array.isArray(arg)) return `a list of ${arg.length}`;
  return arg instanceof Node
    ? `node '${arg.name}'`
    : `the ${typeof arg} ${typeof arg === 'object' ? 'given' : String(arg)}`;
}

function kindMatches(formal: SchemaArgument, arg: Argument, op: OpOverload): boolean {
  const { type } = formal;
  if (arg === null || arg === undefined) return type.optional || type.base === 'Generator';
  // A node may stand for a list too: an operator that returns a list feeds one that takes it.
  if (arg instanceof Node || arg instanceof SymInt) return scalarMatches(type.base, arg);
  if (!type.list)
    return scalarMatches(type.base, arg) || (type.base === 'Tensor' && isWrapped(arg, op));
  if (!Array.isArray(arg)) return type.length !== null && scalarMatches(type.base, arg);
  return arg.every((item) =>
    item === null || item === undefined ? type.elementOptional : scalarMatches(type.base, item),
  );
}

/** Numbers stand for tensors of no dimension, as in mul.Tensor(x, 2). */
function isWrapped(arg: Argument, op: OpOverload): boolean {
  const { decompose, inplaceOf } = op.record;
  return (
    (typeof arg === 'number' || typeof arg === 'boolean') &&
    (op.hasTag('pointwise') || decompose !== undefined || inplaceOf !== undefined)
  );
}

function scalarMatches(base: SchemaArgument['type']['base'], arg: Argument): boolean {
  const isNode = arg instanceof Node || arg instanceof SymInt;
  switch (base) {
    case 'Tensor':
      return isNode;
    case 'Scalar':
    case 'int':
    case 'float':
      return (
        isNode || typeof arg === 'number' || typeof arg === 'boolean' || typeof arg === 'bigint'
      );
    case 'bool':
      return isNode || typeof arg === 'boolean';
    case 'Handle':
      // Stands for something of the host: a function that is never called.
      return typeof arg === 'function';
    default:
      return typeof arg === 'string' || typeof arg === 'number';
  }
}
