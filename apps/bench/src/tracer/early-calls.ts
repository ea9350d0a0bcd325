/**
 * @file Part of `pnpm bench replay`: calls 2 to 20 of whole models beside the steady state, JavaScript alone.
 *
 * The backend returns what it computed once, so what is left is matching and the model's own code. Each model runs
 * in a process of its own: the calls are those that a newcomer's program makes first. Most of what they cost more is
 * the engine, which interprets code that it has not seen often: call 2 calls the same functions as call 20, as often (a
 * test counts them), and V8 without its optimizing compiler takes as long in every call. Calls 2 to 20 of a second model
 * of the same classes show what is ours.
 */
import { execFileSync } from 'node:child_process';
import { type Backend, compile } from '@tessera/compile';
import type { Module } from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randint, randn } from '@tessera/tensor';
import { Gpt2, ResNet18 } from './networks.js';

/** Argument of a process that measures one model. */
export const EARLY_CALLS_PROCESS = '--early-calls';

const MODELS: Readonly<Record<string, () => { readonly model: Module; readonly input: Tensor }>> = {
  resnet18: () => ({ model: new ResNet18(4), input: randn([1, 3, 32, 32]) }),
  gpt2_12_layers: () => ({ model: new Gpt2(12, 16, 2, 64), input: randint(0, 64, [1, 8]) }),
};

/** JavaScript time of a model's calls, in µs. */
export interface EarlyCalls {
  readonly model: string;
  /** Median of calls 2 to 20. */
  readonly early: number;
  /** Median of calls 2 to 5, 6 to 10, 11 to 20. */
  readonly stages: readonly number[];
  /** Median of the last 200 of 1,000 calls. */
  readonly steady: number;
  readonly ratio: number;
  /** Calls 2 to 20 of another such model in the same process, and their ratio to the steady state. */
  readonly secondModel: { readonly early: number; readonly ratio: number };
  /** The goal for the ratios. */
  readonly goal: number;
}

const constant: Backend = (module, examples) => {
  const outs = module.forward(...examples) as Tensor[];
  return () => outs;
};

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** µs of each call of a freshly compiled model. */
function callTimes(name: string, calls: number): number[] {
  const { model, input } = MODELS[name]!();
  model.eval();
  const forward = (x: Tensor): Tensor => (model as unknown as { call(x: Tensor): Tensor }).call(x);
  const compiled = compile(forward, { backend: constant });
  return noGrad(() =>
    Array.from({ length: calls }, () => {
      const start = performance.now();
      compiled(input);
      return (performance.now() - start) * 1000;
    }),
  );
}

/** Measures one model in this process. */
export function measureEarlyCalls(name: string): EarlyCalls {
  manualSeed(0);
  const times = callTimes(name, 1000);
  const early = median(times.slice(1, 20));
  const steady = median(times.slice(-200));
  const stages = [times.slice(1, 5), times.slice(5, 10), times.slice(10, 20)].map(median);
  const second = median(callTimes(name, 20).slice(1));
  return {
    model: name,
    early,
    stages,
    steady,
    ratio: early / steady,
    secondModel: { early: second, ratio: second / steady },
    goal: 2,
  };
}

/** Measures one model in a fresh process of this program. */
export function measureApart(name: string): EarlyCalls {
  const args = [...process.execArgv, process.argv[1]!, EARLY_CALLS_PROCESS, name];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as EarlyCalls;
}

/** All models. */
export function earlyCalls(measure: (name: string) => EarlyCalls): EarlyCalls[] {
  return Object.keys(MODELS).map(measure);
}
