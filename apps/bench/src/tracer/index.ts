/**
 * @file The tracer's own costs: `pnpm bench guards replay` prints them as JSON.
 */
import { guardCosts } from './guards.js';
import type { Cost } from './measure.js';
import { replayCosts } from './replay.js';

const BENCHES: Readonly<Record<string, () => Cost[]>> = { guards: guardCosts, replay: replayCosts };

/** Names of the benches. */
export const TRACER_BENCHES: readonly string[] = Object.keys(BENCHES);

/** Whether the arguments ask for these benches and nothing else. */
export function asksForTracer(argv: readonly string[]): boolean {
  return argv.length > 0 && argv.every((name) => TRACER_BENCHES.includes(name));
}

/** Measures what was asked for. */
export function tracerReport(names: readonly string[]): { readonly costs: readonly Cost[] } {
  return { costs: names.flatMap((name) => BENCHES[name]!()) };
}
