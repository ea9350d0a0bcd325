/**
 * @file What compiling a function did, as data and as text.
 */
import { type PerSize, addReport, emptyReport } from '@tessera/shared';
import { BREAK_HINTS } from './breaks/graph-breaks.js';
import type { RecordedBreak } from './breaks/report-break.js';
import type { CompiledFunction } from './compiled-function.js';
import type { EagerCall } from './eager-call.js';
import type { GuardKind } from './guards/entry-guards.js';

/** What to do about a graph that runs operator by operator, because its backend cannot compile it. */
export const UNCOMPILED_HINT =
  'detach() results that nobody differentiates, or parameters before a derivative inside (grad, vmap).';

/** What to do about an operator because of which every size costs something. */
const PER_SIZE_HINT =
  'call it with fewer sizes (pad to some), or keep it out of what is called with many.';

/** One graph of a trace. */
export interface ExplainedGraph {
  /** The captured graph as TypeScript. */
  readonly code: string;
  readonly opCount: number;
  readonly compileMs: number;
  /** Sizes that it was compiled for besides those of the capture; the oldest may be dropped. */
  readonly specializations: readonly {
    readonly sizes: readonly string[];
    readonly compileMs: number;
    /** Whether the code serves other sizes too: the time was that of a graph. */
    readonly isShared: boolean;
  }[];
}

/** A symbol that graphs and guards name. */
export interface ExplainedSymbol {
  readonly name: string;
  readonly source: string;
  readonly hint: number;
  readonly min: number;
  readonly max: number;
}

/** See `CompiledFunction`; one entry per recorded trace is folded into totals. */
export interface Explanation {
  readonly functionName: string;
  readonly traceCount: number;
  readonly graphCount: number;
  readonly graphBreakCount: number;
  readonly opCount: number;
  readonly graphs: readonly ExplainedGraph[];
  readonly breakReasons: readonly RecordedBreak[];
  readonly guards: readonly string[];
  /** Sizes and integers that may vary: what they are read from, what they were first, their range. */
  readonly symbols: readonly ExplainedSymbol[];
  readonly guardCounts: Readonly<Partial<Record<GuardKind, number>>>;
  readonly recompileReasons: readonly string[];
  /** Why the last call ran eagerly, beyond a limit or inside a mode, all of it or from some place on; null where it did not. */
  readonly eager: EagerCall | null;
  /** Why graphs run operator by operator: what the error of that code says. */
  readonly uncompiled: readonly { readonly code: string; readonly reason: string }[];
  /**
   * Operators because of which every size costs something: those that get code for each, and those that may do something
   * else at another one, of which further sizes have a graph made.
   */
  readonly perSize: readonly PerSize[];
  /** Kernel launches in all graphs; 0 where the backend has no kernels. */
  readonly kernelCount: number;
  readonly captureMs: number;
  /** Milliseconds in the backend. */
  readonly compileMs: number;
  /** Milliseconds by stage of the compiler, in order; each without the stages inside it. */
  readonly stages: Readonly<Record<string, number>>;
  toString(): string;
}

/** Describes everything a compiled function has recorded so far. */
export function explainFunction(compiled: CompiledFunction): Explanation {
  const segments = [...new Set(compiled.captures.flatMap((record) => record.segments))].filter(
    (segment) => segment.produced.size > 0 || segment.mutated.length > 0,
  );
  const graphs = segments.map((segment): ExplainedGraph => {
    const { graph } = segment.graphModule;
    return {
      code: segment.graphModule.print(),
      opCount: graph.nodes.filter(
        (node) => node.op === 'call_function' && typeof node.target === 'object',
      ).length,
      compileMs: segment.compileMs,
      specializations: segment.specializations.map((other) => ({
        sizes: other.sizes,
        compileMs: other.segment.compileMs,
        isShared: other.segment.isShared,
      })),
    };
  });
  const breaks = compiled.captures.flatMap((record) => record.breaks);
  const last = compiled.captures.at(-1);
  const report = emptyReport();
  for (const segment of segments) {
    addReport(report, segment.report);
    for (const other of segment.specializations) addReport(report, other.segment.report);
  }
  const unknown = [...compiled.unknown].map(({ op, location }) => ({
    operator: op.qualifiedName,
    location,
    reason: 'it may do something else at other sizes, so a graph is made for each',
  }));
  const captureMs = compiled.captures.reduce((total, record) => total + record.captureMs, 0);
  const data = {
    functionName: compiled.name,
    traceCount: compiled.captures.length,
    graphCount: graphs.length,
    graphBreakCount: breaks.length,
    opCount: graphs.reduce((total, graph) => total + graph.opCount, 0),
    graphs,
    breakReasons: breaks,
    guards: last?.guards.lines() ?? [],
    symbols: compiled.symbols.map(({ symbol, source, min, max }) => ({
      name: symbol.name,
      source,
      hint: symbol.hint,
      min,
      max,
    })),
    guardCounts: last?.guards.counts() ?? {},
    recompileReasons: [...compiled.reasons],
    eager: compiled.eager,
    uncompiled: report.uncompiled,
    perSize: [...unknown, ...report.perSize.values()],
    kernelCount: report.kernels,
    captureMs,
    compileMs: segments.reduce((total, segment) => total + segment.compileMs, 0),
    stages: { capture: captureMs, ...Object.fromEntries(report.stages) },
  };
  return { ...data, toString: () => format(data) };
}

function format(data: Omit<Explanation, 'toString'>): string {
  const lines = [
    `${data.functionName}: ${data.graphCount} graph(s), ${data.graphBreakCount} graph break(s), ${data.opCount} ops, ${data.traceCount} trace(s)`,
    `capture ${data.captureMs.toFixed(1)} ms, backend ${data.compileMs.toFixed(1)} ms, ${data.kernelCount} kernel(s)`,
    `stages: ${Object.entries(data.stages)
      .map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
      .join(', ')}`,
  ];
  if (data.eager !== null)
    lines.push(`This call ran eagerly: ${data.eager.reason}`, `  hint: ${data.eager.hint}`);
  data.breakReasons.forEach((b, i) =>
    lines.push(
      `Break ${i + 1}: ${b.reason} (${b.code})${b.location === null ? '' : ` at ${b.location}`}`,
      `  hint: ${BREAK_HINTS[b.code]}`,
    ),
  );
  for (const { code, reason } of data.uncompiled)
    lines.push(
      `A graph runs operator by operator: ${reason} (${code})`,
      `  hint: ${UNCOMPILED_HINT}`,
    );
  for (const { operator, location, reason } of data.perSize)
    lines.push(
      `Every size costs something: ${operator}${location === null ? '' : ` at ${location}`}: ${reason}`,
      `  hint: ${PER_SIZE_HINT}`,
    );
  data.recompileReasons.forEach((reason, i) => lines.push(`Recompile ${i + 1}: ${reason}`));
  lines.push(
    `Guards (${Object.entries(data.guardCounts)
      .map(([kind, n]) => `${n} ${kind}`)
      .join(', ')}):`,
  );
  lines.push(...data.guards.map((guard) => `  ${guard}`));
  if (data.symbols.length > 0) lines.push('Symbols:', ...data.symbols.map(describeSymbol));
  data.graphs.forEach((graph, i) => {
    lines.push(`Graph ${i + 1} (${graph.opCount} ops):`, graph.code);
    for (const { sizes, compileMs, isShared } of graph.specializations)
      lines.push(
        `  also compiled for ${sizes.join(', ')} in ${compileMs.toFixed(1)} ms${isShared ? ', by code that sizes share' : ''}`,
      );
  });
  return lines.join('\n');
}

function describeSymbol({ name, source, hint, min, max }: ExplainedSymbol): string {
  const range = Number.isFinite(min) ? `, from ${min}${max === Infinity ? '' : ` to ${max}`}` : '';
  return `  ${name} = ${hint} (${source}${range})`;
}
