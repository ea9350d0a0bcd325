/**
 * @file Runs a program and gathers what the compiler made of it, through the hooks that packages publish for tools.
 */
import { compiledFunctionOf, observeCompilations, profile, reset, setLogs } from '@tessera/compile';
import {
  type EventView,
  type Exploration,
  NodeLines,
  type PassView,
  compiledView,
  functionView,
  graphView,
} from '@tessera/compile/exploration';
import { type GraphModule, copyModule } from '@tessera/graph';
import type { CompiledGraph, FusedKernel, KernelSource } from '@tessera/inductor-core';
import { BASELINE_TARGET, generateKernel } from '@tessera/inductor-wgsl';
import { observePasses } from '@tessera/passes';
import { setLogSink } from '@tessera/shared';
import { manualSeed } from '@tessera/tensor';
import { programLine, runProgram } from './run-program.js';

type AnyFunction = (...args: never[]) => unknown;

/** Events that the timeline keeps. */
const MOST_EVENTS = 600;

/** WGSL of a kernel, or why there is none. */
function wgslOf(kernel: FusedKernel): KernelSource {
  const source = { kernel: kernel.name, language: 'wgsl' };
  try {
    return { ...source, ...generateKernel(kernel, BASELINE_TARGET) };
  } catch (error) {
    return { ...source, text: `// ${error instanceof Error ? error.message : String(error)}` };
  }
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
      if (after !== before) passes.push({ name, before, after });
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
  const lines = new NodeLines(programLine);
  for (const { module } of [...captured, ...compilations]) lines.learn(module);
  return {
    program: source,
    functions: functions.map((fn) => functionView(compiledFunctionOf(fn), programLine)),
    captured: captured.map(({ title, module }) => graphView(title, module, lines)),
    joint,
    passes,
    compiled: compilations.map(({ module, compiled }, i) =>
      compiledView(`${compiled.plan.name} ${i + 1}`, module, compiled, lines, (kernel) => [
        wgslOf(kernel),
      ]),
    ),
    timeline,
    output,
    error,
  };
}
