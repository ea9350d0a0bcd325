/**
 * @file What a program of `programs.test.ts` is, and a run of one: eager or compiled, on one device.
 *
 * A program makes its modules and data from a seed, so that every run of it begins with the same numbers, and then takes
 * steps. What is compared between runs is what its steps give and what its modules hold after the last one.
 */
import { compile, reset } from '@tessera/compile';
import type { Module } from '@tessera/nn';
import { counters } from '@tessera/shared';
import { type DeviceType, type Tensor, manualSeed } from '@tessera/tensor';

type AnyFunction = (...args: never[]) => unknown;

/** Where and how a program runs. */
export interface World {
  readonly device: DeviceType;
  /** The function compiled, or as it is in an eager run. */
  readonly compile: <F extends AnyFunction>(fn: F) => F;
}

/** A program that has begun. */
export interface Training {
  /** Its modules, or tensors that it updates by itself. */
  readonly state: Readonly<Record<string, Module | Tensor>>;
  /** Takes step `i`; gives its losses, or other numbers that tell of it. */
  readonly step: (i: number) => Result | Promise<Result>;
}

type Result = Tensor | readonly (Tensor | number)[];

/** See the file header. */
export interface Program {
  readonly name: string;
  /** Default 3. */
  readonly steps?: number;
  /** Relative and absolute difference allowed between two runs (default 2e-4). */
  readonly tolerance?: number;
  readonly start: (world: World) => Training;
}

/** What a run came to. */
export interface Outcome {
  /** By step: what the step gave, flat. */
  readonly losses: readonly (readonly number[])[];
  /** Values of parameters and buffers by name. */
  readonly state: Readonly<Record<string, readonly number[]>>;
  /** Graphs that the compiler refused and ran operator by operator. */
  readonly refused: number;
}

/** Runs a program from its beginning. */
export async function runProgram(
  { start, steps = 3 }: Program,
  device: DeviceType,
  mode: 'eager' | 'compiled',
): Promise<Outcome> {
  reset();
  manualSeed(20);
  const refusedBefore = refusals();
  const training = start({ device, compile: mode === 'eager' ? (fn) => fn : compile });
  const losses: number[][] = [];
  for (let i = 0; i < steps; i++) {
    const result = await training.step(i);
    const parts = Array.isArray(result) ? result : [result];
    const numbers: number[] = [];
    for (const part of parts as readonly (Tensor | number)[])
      numbers.push(...(typeof part === 'number' ? [part] : await valuesOf(part)));
    losses.push(numbers);
  }
  const state: Record<string, number[]> = {};
  for (const [owner, held] of Object.entries(training.state)) {
    if (!('stateDict' in held)) state[owner] = await valuesOf(held);
    else
      for (const [name, value] of Object.entries(held.stateDict()))
        state[`${owner}.${name}`] = await valuesOf(value as Tensor);
  }
  return { losses, state, refused: refusals() - refusedBefore };
}

async function valuesOf(x: Tensor): Promise<number[]> {
  return [(await x.toArray()) as unknown].flat(Infinity).map(Number);
}

function refusals(): number {
  return counters.get('aot_autograd')['eager_fallback'] ?? 0;
}

/** The largest difference of two runs, relative to 1 or the value, and where it is. */
export function largestDifference(
  expected: Outcome,
  actual: Outcome,
): { readonly difference: number; readonly where: string } {
  let worst = { difference: 0, where: 'nowhere' };
  const compare = (where: string, a: readonly number[], b: readonly number[]): void => {
    if (a.length !== b.length)
      worst = { difference: Infinity, where: `${where}: ${a.length} and ${b.length} values` };
    for (const [i, value] of a.entries()) {
      const difference = Math.abs(value - b[i]!) / Math.max(1, Math.abs(value));
      if (!(difference <= worst.difference) && !Object.is(value, b[i]))
        worst = { difference, where: `${where}[${i}]: ${value} and ${b[i]}` };
    }
  };
  for (const [i, losses] of expected.losses.entries())
    compare(`step ${i}`, losses, actual.losses[i] ?? []);
  for (const [name, values] of Object.entries(expected.state))
    compare(name, values, actual.state[name] ?? []);
  return worst;
}
