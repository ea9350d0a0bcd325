/**
 * @file Prints a graph as TypeScript, one line per node, with dtypes and shapes as comments.
 *
 * Symbolic sizes print as expressions of `s0`, `s1`, …, which are read from the inputs first. The text
 * depends on the graph alone, so it serves inline snapshots and logs. Operators print as
 * `aten.mul.Tensor(…)`, attributes and submodules of the GraphModule as `self.…`.
 */
import { SymInt } from '@tessera/shared';
import { annotateSizes } from '../symbolic/annotate-sizes.js';
import { symbolPlaces, symbolValues, withSymbols } from '../symbolic/symbol-places.js';
import type { Graph } from './graph.js';
import { type Argument, Node, type Target } from './node.js';
import { describeVal } from './value-meta.js';

/** What the text shows. */
export interface PrintOptions {
  /** Name of the function; default `forward`. */
  readonly name?: string;
  /** Comments with dtypes and shapes; default true. */
  readonly shapes?: boolean;
  /** Comments with the user's source line, once per run of nodes; default false. */
  readonly source?: boolean;
}

/** See the file header. */
export function printGraph(graph: Graph, options: PrintOptions = {}): string {
  const { name = 'forward', shapes = true, source = false } = options;
  annotateSizes(graph);
  const nodes = graph.nodes;
  const params = nodes
    .filter((node) => node.op === 'placeholder')
    .map((node) => parameter(node, shapes));
  const lines: string[] = sizeReads(graph);
  let lastSource: string | undefined;
  for (const node of nodes) {
    if (node.op === 'placeholder') continue;
    if (source && node.meta.stackTrace !== undefined && node.meta.stackTrace !== lastSource) {
      lastSource = node.meta.stackTrace;
      lines.push(`  // ${lastSource}`);
    }
    lines.push(`  ${statement(node, shapes)}`);
  }
  return `export function ${name}(${params.join(', ')}) {\n${lines.join('\n')}\n}\n`;
}

/** Statements that give symbols their names: `const s0 = l_x.size(0); // 4`. */
function sizeReads(graph: Graph): string[] {
  const places = symbolPlaces(graph);
  const integers = [...symbolValues(graph)].filter(([symbol]) => !places.has(symbol));
  return [
    ...[...places].map(
      ([symbol, { node, dim, value }]) =>
        `  const ${symbol.name} = ${node.name}.size(${dim}); // ${value}`,
    ),
    // A loop counter or another integer of the program, which is no size.
    ...integers.map(([symbol, value]) => `  const ${symbol.name} = ${value};`),
  ];
}

/** One node as it stands in the printed graph. */
export function printNode(
  node: Node,
  { shapes = true }: { readonly shapes?: boolean } = {},
): string {
  return node.op === 'placeholder' ? parameter(node, shapes) : statement(node, shapes);
}

function parameter(node: Node, shapes: boolean): string {
  const { scalar, val } = node.meta;
  if (scalar !== undefined) {
    return `${node.name}: ${scalar.kind === 'bool' ? 'boolean' : 'number'}${shapes ? ` /* ${scalar.kind} */` : ''}`;
  }
  const described = shapes ? describeVal(val, node.meta.symbolicVal) : null;
  return `${node.name}: Tensor${described === null ? '' : ` /* ${described} */`}`;
}

function statement(node: Node, shapes: boolean): string {
  if (node.op === 'output') return `return ${printArgument(node.args[0])};`;
  const described = shapes ? describeVal(node.meta.val, node.meta.symbolicVal) : null;
  return `const ${node.name} = ${expression(node)};${described === null ? '' : ` // ${described}`}`;
}

function expression(node: Node): string {
  if (node.op === 'get_attr') return attribute(node.path);
  const callee = node.op === 'call_module' ? attribute(node.path) : callable(node.target);
  const { symbolicArgs } = node.meta;
  const args = node.args.map((arg, i) => printArgument(withSymbols(arg, symbolicArgs?.[i])));
  return `${callee}(${args.join(', ')})`;
}

function attribute(path: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(path) ? `self.${path}` : `self[${JSON.stringify(path)}]`;
}

function callable(target: Target): string {
  if (typeof target === 'string') return target;
  if (typeof target === 'object') return target.displayName;
  return /^[A-Za-z_$][\w$]*$/.test(target.name)
    ? target.name
    : `(/* ${target.name.replaceAll('*/', '')} */ hostFunction)`;
}

/** An argument as TypeScript. */
export function printArgument(arg: Argument): string {
  if (arg instanceof Node) return arg.name;
  if (arg instanceof SymInt) return String(arg);
  if (Array.isArray(arg)) return `[${arg.map(printArgument).join(', ')}]`;
  if (typeof arg === 'object' && arg !== null) {
    const entries = Object.entries(arg);
    return `{ ${entries.map(([key, value]) => `${propertyName(key)}: ${printArgument(value)}`).join(', ')} }`;
  }
  if (typeof arg === 'string') return JSON.stringify(arg);
  if (typeof arg === 'bigint') return `${arg}n`;
  return Object.is(arg, -0) ? '-0' : String(arg);
}

function propertyName(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
