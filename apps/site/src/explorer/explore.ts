/**
 * @file Runs a program and gathers what the compiler made of it, through the hooks that packages publish for tools.
 */
import { compiledFunctionOf, observeCompilations, profile, reset, setLogs } from '@tessera/compile';
import { GRAPH_BREAKS } from '@tessera/dynamo-trace';
import { type GraphModule, copyModule } from '@tessera/graph';
import type { CompiledGraph } from '@tessera/inductor-core';
import { observePasses } from '@tessera/passes';
import { setLogSink } from '@tessera/shared';
import { manualSeed } from '@tessera/tensor';
import { diffLines } from 'diff';
import type { EventView, Exploration, FunctionView, PassView } from './exploration.js';
import { graphView, sequenceLines } from './graph-view.js';
import { compiledView } from './plan-view.js';
import { programLine, runProgram } from './run-program.js';

type AnyFunction = (...args: never[]) => unknown;

/** Events that the timeline keeps. */
const MOST_EVENTS = 600;

/** What a pass changed, line by line. */
function passView(name: string, before: string, after: string): PassView {
  const changes = diffLines(before, after).flatMap(({ value, added, removed }) => {
    const kind = added ? 'added' : removed ? 'removed' : 'same';
    const lines = value.replace(/\n$/, '').split('\n');
    return lines.map((text) => ({ kind, text }) as const);
  });
  return { name, changes };
}

function functionView(fn: AnyFunction): FunctionView {
  const compiled = compiledFunctionOf(fn);
  const records = compiled.captures;
  const breaks = records.flatMap((record) => record.breaks);
  return {
    name: compiled.name || 'function',
    summary: `${records.length} trace(s), ${new Set(records.flatMap(({ segments }) => segments)).size} graph(s), ${breaks.length} graph break(s)`,
    guards: records.at(-1)?.guards.lines() ?? [],
    breaks: breaks.map(({ code, reason, location }) => ({
      code,
      reason,
      line: programLine(location),
      hint: GRAPH_BREAKS[code].hint,
    })),
    recompiles: [...compiled.reasons],
  };
}

/** Graphs as they were captured, each once, in order. */
function capturedGraphs(
  functions: readonly AnyFunction[],
): { title: string; module: GraphModule }[] {
  return functions.flatMap((fn) => {
    const compiled = compiledFunctionOf(fn);
    const segments = [...new Set(compiled.captures.flatMap((record) => record.segments))];
    return segments.map(({ graphModule }, i) => ({
      title: `${compiled.name || 'function'}, graph ${i + 1}`,
      module: graphModule,
    }));
  });
}

/** See the file header. Nothing that the program throws is thrown: it is part of the result. */
export async function explore(source: string): Promise<Exploration> {
  reset();
  manualSeed(0);
  const functions: AnyFunction[] = [];
  const output: string[] = [];
  const joint: string[] = [];
  const passes: PassView[] = [];
  const compilations: { module: GraphModule; compiled: CompiledGraph }[] = [];
  const stops = [
    observePasses(({ name }, before, module) => {
      const after = module.print();
      if (after !== before) passes.push(passView(name, before, after));
    }),
    observeCompilations((module, compiled) =>
      compilations.push({ module: copyModule(module), compiled }),
    ),
  ];
  const sink = setLogSink((artifact, text) => {
    if (artifact === 'aot_joint') joint.push(text);
  });
  setLogs({ aot_joint: true });
  let error: string | null = null;
  let timeline: EventView[] = [];
  try {
    const profiled = await profile(async () => {
      try {
        await runProgram(source, {
          compiled: (fn) => functions.push(fn),
          log: (text) => output.push(text),
        });
      } catch (thrown) {
        error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
      }
    });
    timeline = profiled.events
      .slice(0, MOST_EVENTS)
      .map(({ name, category, start, duration }) => ({ name, category, start, duration }));
  } finally {
    setLogs({ aot_joint: false });
    setLogSink(sink);
    for (const stop of stops) stop();
  }
  const captured = capturedGraphs(functions);
  const lines = sequenceLines([
    ...captured.map(({ module }) => module),
    ...compilations.map(({ module }) => module),
  ]);
  return {
    functions: functions.map(functionView),
    captured: captured.map(({ title, module }) => graphView(title, module, lines)),
    joint,
    passes,
    compiled: compilations.map(({ module, compiled }, i) =>
      compiledView(`${compiled.plan.name} ${i + 1}`, module, compiled, lines),
    ),
    timeline,
    output,
    error,
  };
}
