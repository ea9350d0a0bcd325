/**
 * @file What `explain()` tells as a tree: graphs with their operators, breaks with the line that they happened in, guards
 * by kind, the time of the stages. As text for a terminal, and as HTML for a notebook or a page.
 */
import { type Explanation, GRAPH_BREAKS } from '@tessera/dynamo-trace';
import { nodeFiles } from '../debug/node-files.js';
import type { ReadText } from './source-lines.js';
import { type TreeNode, leaf, treeHtml, treeText } from './tree.js';

/** Kinds of operators that a graph lists. */
const MOST_OPERATORS = 8;

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
const ms = (time: number): string => `${time.toFixed(1)} ms`;

/** How often each operator stands in a printed graph, the most frequent first. */
function operatorsOf(code: string): string {
  const counts = new Map<string, number>();
  for (const [, name] of code.matchAll(/= \w+\.(\w+)(?:\.\w+)*\(/g))
    counts.set(name!, (counts.get(name!) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, MOST_OPERATORS).map(([name, n]) => (n > 1 ? `${n} ${name}` : name));
  const rest = sorted.length - shown.length;
  return [...shown, ...(rest > 0 ? [`${rest} more kinds`] : [])].join(', ');
}

function graphsOf({ graphs }: Explanation): TreeNode[] {
  return graphs.map(({ code, opCount, compileMs, specializations }, i) => ({
    text: `graph ${i + 1}: ${count(opCount, 'operator')}, compiled in ${ms(compileMs)}`,
    code,
    children: [
      leaf(operatorsOf(code)),
      ...specializations.map(({ sizes, compileMs: time, isShared }) =>
        leaf(
          `also for ${sizes.join(', ')}, in ${ms(time)}${isShared ? ', by code that sizes share' : ''}`,
        ),
      ),
    ],
  }));
}

/** The source line of a frame `file:line:column name`; null where it cannot be read. */
function lineAt(location: string, read: ReadText): string | null {
  const [, file, line] = /^(.*):(\d+):\d+(?: |$)/.exec(location) ?? [];
  if (file === undefined) return null;
  return read(file)?.split(/\r?\n/)[Number(line) - 1]?.trim() ?? null;
}

function breaksOf({ breakReasons }: Explanation, read: ReadText): TreeNode[] {
  return breakReasons.map(({ code, reason, location }) => {
    const quoted = location === null ? null : lineAt(location, read);
    return {
      text: `graph break ${code}: ${reason}`,
      children: [
        ...(location === null ? [] : [leaf(`at ${location}`)]),
        ...(quoted === null ? [] : [leaf(`> ${quoted}`)]),
        leaf(GRAPH_BREAKS[code].hint),
      ],
    };
  });
}

function eagerOf({ eager }: Explanation): TreeNode[] {
  if (eager === null) return [];
  return [{ text: `this call ran eagerly: ${eager.reason}`, children: [leaf(eager.hint)] }];
}

function perSizeOf({ perSize }: Explanation): TreeNode[] {
  return perSize.map(({ operator, location, reason }) => ({
    text: `every size costs something: ${operator}`,
    children: [leaf(reason), ...(location === null ? [] : [leaf(`at ${location}`)])],
  }));
}

function guardsOf({ guards }: Explanation): TreeNode[] {
  if (guards.length === 0) return [];
  const kinds = new Map<string, string[]>();
  for (const guard of guards) {
    const [kind = 'other'] = /\b[A-Z]+(?:_[A-Z]+)+\b/.exec(guard) ?? [];
    const told = guard.replace(kind, '').replace(/: +/, ': ').trim();
    kinds.set(kind, [...(kinds.get(kind) ?? []), told]);
  }
  const children = [...kinds].map(([kind, told]) => ({
    text: `${kind} (${told.length})`,
    children: told.map(leaf),
  }));
  return [{ text: `guards of the newest trace: ${guards.length}`, children }];
}

function symbolsOf({ symbols }: Explanation): TreeNode[] {
  if (symbols.length === 0) return [];
  const children = symbols.map(({ name, source, hint, min, max }) =>
    leaf(
      `${name} = ${source}: ${hint} at first, from ${min}${max === Infinity ? '' : ` to ${max}`}`,
    ),
  );
  return [{ text: `sizes that may vary: ${symbols.length}`, children }];
}

function treeOf(told: Explanation, read: ReadText): TreeNode {
  const { functionName, traceCount, graphCount, graphBreakCount, kernelCount, stages } = told;
  const counts = [
    count(traceCount, 'trace'),
    count(graphCount, 'graph'),
    count(graphBreakCount, 'graph break'),
    count(told.opCount, 'operator'),
    count(kernelCount, 'kernel'),
  ];
  return {
    text: `${functionName}: ${counts.join(', ')}`,
    children: [
      ...eagerOf(told),
      ...graphsOf(told),
      ...breaksOf(told, read),
      ...told.recompileReasons.map((reason) => leaf(`recorded again: ${reason}`)),
      ...perSizeOf(told),
      ...guardsOf(told),
      ...symbolsOf(told),
      {
        text: `time: capture ${ms(told.captureMs)}, backend ${ms(told.compileMs)}`,
        children: Object.entries(stages).map(([name, time]) => leaf(`${name} ${ms(time)}`)),
      },
    ],
  };
}

/** Texts of files where the host is Node; null for others, and elsewhere. */
function readFile(path: string): string | null {
  try {
    return nodeFiles()?.readFileSync(path.replace(/^file:\/\//, ''), 'utf8') ?? null;
  } catch {
    return null;
  }
}

/**
 * An explanation as a tree for a terminal. Lines of breaks are quoted where the program's files can be read.
 *
 * @param read text of a file of the program, or null; default: files of this machine
 * @example console.log(explainTree(explain(step)(x, y)));
 */
export function explainTree(told: Explanation, read: ReadText = readFile): string {
  return treeText(treeOf(told, read));
}

/** The same as HTML, with the text of the graphs: `<details>` in `<details>`, without styles or scripts. */
export function explainHtml(told: Explanation, read: ReadText = readFile): string {
  return treeHtml(treeOf(told, read));
}
