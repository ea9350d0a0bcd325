/**
 * @file `docs/graph-breaks.md`, made of the table.
 */
import { GRAPH_BREAKS } from '../src/index.js';

/** The table as a page of the documentation. */
export function graphBreaksPage(): string {
  const lines = [
    '# Graph breaks',
    '',
    'Where a compiled function cannot go on recording, the graph ends, is computed, and a new one begins.',
    'Results are the same; each graph is compiled alone. `explain(fn)(...args)` lists the breaks of a',
    'function with the line of your source, `TESSERA_LOGS=graph_breaks` prints them as they happen, and with',
    '`fullgraph: true` a break is an error that carries its code, as is a graph that could only run operator by',
    'operator. Lines are those of your sources where the host maps stack traces (`node --enable-source-maps`).',
  ];
  for (const [code, entry] of Object.entries(GRAPH_BREAKS))
    lines.push(
      '',
      `## ${code}: ${entry.title}`,
      '',
      entry.explanation,
      '',
      `**Hint.** ${entry.hint}`,
    );
  return `${lines.join('\n')}\n`;
}
