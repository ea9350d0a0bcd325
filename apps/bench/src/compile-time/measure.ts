/**
 * @file Compile times by stage. Each sample is a fresh process, where the compiler's own code is cold,
 * as it is when a program starts.
 */
import { explain, observeCompilations, compile } from '@tessera/compile';
import { startChild } from '../harness/child.js';
import { type Summary, median, summarize } from '../harness/statistics.js';
import { COMPILE_SUBJECTS, type CompileSubject } from './subjects.js';
import { mainThreadMs } from './thread-time.js';

/** Argument that makes `main` the process of one sample; the subject's name follows. */
export const COMPILE_TIME_PROCESS = '--compile-time-process';

/** One first call. */
export interface CompileSample {
  /** The first call, with its backward. */
  readonly wallMs: number;
  /** Processor time of all threads, V8's compiler threads included. */
  readonly cpuMs: number;
  /** That of the main thread; null where the system does not tell. */
  readonly mainThreadMs: number | null;
  /** Milliseconds by stage, each without the stages inside it. */
  readonly stages: Readonly<Record<string, number>>;
  /** Graphs that the backend compiled, and what they became. */
  readonly graphs: number;
  readonly nodes: number;
  readonly kernels: number;
  readonly launches: number;
}

/** Samples of one subject: stages are medians. */
export interface CompileOutcome extends Omit<CompileSample, 'wallMs' | 'cpuMs' | 'mainThreadMs'> {
  readonly name: string;
  readonly about: string;
  readonly shapes: string;
  readonly wallMs: Summary;
  readonly cpuMs: Summary;
  readonly mainThreadMs: Summary | null;
}

/** Times the first call in this process. */
export async function measureCompilation(subject: CompileSubject): Promise<CompileSample> {
  const { fn, input, options, after } = await subject.make();
  const size = { graphs: 0, nodes: 0, kernels: 0, launches: 0 };
  const stop = observeCompilations((module, { plan }) => {
    size.graphs++;
    size.nodes += module.graph.size;
    size.kernels += plan.kernels.length;
    size.launches += plan.launches.length;
  });
  const compiled = compile(fn, options);
  const cpu = process.cpuUsage();
  const thread = mainThreadMs();
  const start = performance.now();
  after(compiled(input));
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const threadMs = thread === null ? null : mainThreadMs()! - thread;
  stop();
  const { stages } = explain(compiled)(input);
  return {
    wallMs,
    cpuMs: (user + system) / 1000,
    mainThreadMs: threadMs,
    stages,
    ...size,
  };
}

/** Entry point of the process of one sample: answers to its parent. */
export async function compileTimeProcess(name: string): Promise<never> {
  const subject = COMPILE_SUBJECTS.find((candidate) => candidate.name === name)!;
  const sample = await measureCompilation(subject);
  await new Promise((sent) => process.send!(sample, sent));
  process.exit(0);
}

/** What the samples of a subject say. */
export function summarizeCompilation(
  { name, about, shapes }: CompileSubject,
  samples: readonly CompileSample[],
): CompileOutcome {
  const threadMs = samples.flatMap(({ mainThreadMs: ms }) => (ms === null ? [] : [ms]));
  const [{ stages, graphs, nodes, kernels, launches }] = samples as [CompileSample];
  return {
    name,
    about,
    shapes,
    wallMs: summarize(samples.map((sample) => sample.wallMs)),
    cpuMs: summarize(samples.map((sample) => sample.cpuMs)),
    mainThreadMs: threadMs.length === 0 ? null : summarize(threadMs),
    stages: Object.fromEntries(
      Object.keys(stages).map((key) => [key, median(samples.map((s) => s.stages[key] ?? 0))]),
    ),
    graphs,
    nodes,
    kernels,
    launches,
  };
}

/** Times one subject in fresh processes. @throws invalid-argument when a process ends without an answer */
export async function runCompilations(
  subject: CompileSubject,
  rounds: number,
  progress: (text: string) => void,
): Promise<CompileOutcome> {
  const samples: CompileSample[] = [];
  for (let round = 0; round < rounds; round++) {
    progress(`${subject.name}: process ${round + 1} of ${rounds}`);
    samples.push(await startChild<CompileSample>([COMPILE_TIME_PROCESS, subject.name]));
  }
  return summarizeCompilation(subject, samples);
}
