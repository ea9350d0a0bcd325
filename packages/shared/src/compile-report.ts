/**
 * @file What a compilation cost: time per stage and kernels, gathered while it runs.
 *
 * Whoever asks for a compilation gives it a report; the parts of the compiler, whatever their package,
 * name the stages that they are. A stage's time is its own: that of stages inside it is theirs. Without
 * a report nothing is measured.
 */

import { now } from './clock.js';
import { profiling } from './profile.js';
import { type Steps, inScope } from './steps.js';

/** An operator because of which a size costs something although it is a symbol. */
export interface PerSize {
  readonly operator: string;
  /** The user's line, where it is known. */
  readonly location: string | null;
  readonly reason: string;
}

/** Totals of one or several compilations. */
export interface CompileReport {
  /** Milliseconds by stage, in the order in which stages were first entered. */
  readonly stages: Map<string, number>;
  /** Kernel launches of the plans that were made. */
  kernels: number;
  /** Why graphs run operator by operator: codes of errors, and what they say. */
  readonly uncompiled: { readonly code: string; readonly reason: string }[];
  /** Operators that get code for every size, by what is said of them. */
  readonly perSize: Map<string, PerSize>;
}

let current: CompileReport | null = null;
/** Milliseconds of finished stages inside the running one. */
let inside = 0;

/** A report of nothing yet. */
export function emptyReport(): CompileReport {
  return { stages: new Map(), kernels: 0, uncompiled: [], perSize: new Map() };
}

/** The report of the compilation under way, for parts of it that run later. */
export function currentReport(): CompileReport | null {
  return current;
}

/** Runs (part of) a compilation that belongs to a report. */
export function reportTo<R>(report: CompileReport | null, compile: () => R): R {
  const outer = current;
  current = report;
  try {
    return compile();
  } finally {
    current = outer;
  }
}

/** Runs a stage of the compilation under way and adds its time to the report. */
export function stage<R>(name: string, run: () => R): R {
  const report = current;
  const profiler = profiling.active;
  if (profiler !== null) {
    const open = profiler.begin();
    try {
      return report === null ? run() : timed(report, name, run);
    } finally {
      profiler.end(open, 'compile', name);
    }
  }
  return report === null ? run() : timed(report, name, run);
}

function timed<R>(report: CompileReport, name: string, run: () => R): R {
  const before = inside;
  const start = now();
  inside = 0;
  // In the order of entering, not of leaving.
  if (!report.stages.has(name)) report.stages.set(name, 0);
  try {
    return run();
  } finally {
    const total = now() - start;
    report.stages.set(name, report.stages.get(name)! + total - inside);
    inside = before + total;
  }
}

/** Runs steps as a stage. */
export function stageOf<R>(name: string, steps: Steps<R>): Steps<R> {
  return inScope((step) => stage(name, step), steps);
}

/** Adds kernel launches of a plan to the report. */
export function reportKernels(launches: number): void {
  if (current !== null) current.kernels += launches;
}

/** Adds to the report that a graph is not compiled. */
export function reportUncompiled(code: string, reason: string): void {
  current?.uncompiled.push({ code, reason });
}

/** Adds to the report that an operator gets code for every size. */
export function reportPerSize(of: PerSize): void {
  current?.perSize.set(Object.values(of).join(), of);
}

/** Adds one report to another. */
export function addReport(into: CompileReport, from: CompileReport): void {
  into.kernels += from.kernels;
  into.uncompiled.push(...from.uncompiled);
  for (const [key, of] of from.perSize) into.perSize.set(key, of);
  for (const [name, ms] of from.stages) into.stages.set(name, (into.stages.get(name) ?? 0) + ms);
}
