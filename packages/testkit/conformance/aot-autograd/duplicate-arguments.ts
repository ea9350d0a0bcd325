/**
 * @file Rows about arguments that are one tensor in one call and two in the next: two compilations, and
 * the guard that failed is named.
 */
import { compile, lookupBackend } from '@tessera/compile';
import { Parameter } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounter, assertClose } from '../../src/index.js';

type Fn = (...args: never[]) => Tensor;

/** Makes the arguments of a call anew: functions modify them. */
type Arguments = () => unknown[];

/** Runs the calls compiled and eagerly; returns how often it compiled and the reasons. */
export function compilations(
  fn: Fn,
  ...calls: Arguments[]
): { readonly count: number; readonly reasons: readonly string[] } {
  const counter = new CompileCounter();
  const inner = lookupBackend('aot_eager');
  const reasons: string[] = [];
  const compiled = compile(fn as (...args: unknown[]) => Tensor, {
    backend: (module, examples, request) => {
      counter.backend(module, examples, request);
      return inner(module, examples, request);
    },
    guardFailFn: (reason) => reasons.push(reason),
  });
  for (const make of calls) {
    manualSeed(7);
    const expected = (fn as (...args: unknown[]) => Tensor)(...make());
    manualSeed(7);
    assertClose(compiled(...make()), expected);
  }
  return { count: counter.frameCount, reasons };
}

/** A tensor that a function may modify in place although its origin is a leaf that requires grad. */
function leafCopy(): Tensor {
  return randn([3, 3]).requiresGrad_().clone();
}

/** Expects that `fn` compiles for `first`, and again for `second` because of `reason`. */
function recompiles(fn: Fn, first: Arguments, second: Arguments, reason: string): void {
  const { count, reasons } = compilations(fn, first, second);
  expect(count).toBe(2);
  expect(reasons.at(-1)).toContain(reason);
}

/** `[a, a]`. */
const twice = (): Tensor[] => {
  const a = leafCopy();
  return [a, a];
};
const pair = (): Tensor[] => [leafCopy(), leafCopy()];

/** Two arguments; two different tensors from the start compile once. */
export function twoArguments(): void {
  const fn = (x: Tensor, y: Tensor): Tensor => x.trunc_().add(y.trunc_());
  expect(compilations(fn, pair, pair)).toEqual({ count: 1, reasons: [] });
  recompiles(fn, twice, pair, "L['x'] is L['y']");
}

/** Four arguments, all one tensor, or only the last two. */
export function fourArguments(): void {
  const fn = (a: Tensor, b: Tensor, c: Tensor, d: Tensor): Tensor => {
    for (const t of [a, b, c, d]) t.trunc_();
    return a.add(b).add(c).add(d);
  };
  const allSame = (): Tensor[] => {
    const a = leafCopy();
    return [a, a, a, a];
  };
  const restSame = (): Tensor[] => {
    const [a, b] = pair();
    return [a!, b!, b!, b!];
  };
  recompiles(fn, allSame, restSame, "L['a'] is L['b']");
  recompiles(
    fn,
    () => [...pair(), ...twice()],
    () => [...pair(), ...pair()],
    "L['c'] is L['d']",
  );
}

/** A parameter that the function closes over. */
export function withParameter(): void {
  const mean = new Parameter(randn([3, 3]));
  const fn = (a: Tensor, b: Tensor): Tensor => a.trunc_().add(b.trunc_()).add(mean);
  recompiles(fn, twice, pair, "L['a'] is L['b']");
  recompiles(fn, twice, pair, "L['a'] is L['b']");
}

/** A parameter, and arguments that are numbers. */
export function withNumbers(): void {
  const mean = new Parameter(randn([3, 3]));
  const fn = (a: Tensor, b: Tensor, e: number, f: number): Tensor =>
    a.trunc_().add(b.trunc_()).add(mean).mul(e).mul(f);
  const first: Arguments = () => [...twice(), 2, 2];
  recompiles(fn, first, () => [...pair(), 2, 2], "L['a'] is L['b']");
}

/** A parameter, and arguments that are lists of numbers. */
export function withLists(): void {
  const mean = new Parameter(randn([3, 3]));
  const fn = (e: number[], f: number[], a: Tensor, b: Tensor): Tensor =>
    a.trunc_().add(b.trunc_()).add(mean).mul(e[0]!).mul(f[0]!);
  const lists = [
    [3, 2, 1],
    [4, 5, 6],
  ];
  recompiles(
    fn,
    () => [...lists, ...twice()],
    () => [...lists, ...pair()],
    "L['a'] is L['b']",
  );
}

/** A parameter, and a tensor from outside. */
export function withGlobal(): void {
  const mean = new Parameter(randn([3, 3]));
  const z = randn([3, 3], { requiresGrad: true });
  const fn = (a: Tensor, b: Tensor, e: number, f: number): Tensor =>
    a.trunc_().add(b.trunc_()).add(z).add(mean).mul(e).mul(f);
  const first: Arguments = () => [...twice(), 2, 2];
  recompiles(fn, first, () => [...pair(), 2, 2], "L['a'] is L['b']");
}

/** Whether an argument requires grad is guarded; arguments alike compile once. */
export function requiresGradOfArgument(): void {
  const fn = (x: Tensor, y: Tensor): Tensor => x.add(y);
  const make = (grad: boolean): Arguments => {
    return () => [randn([3, 3], { requiresGrad: true }), randn([3, 3], { requiresGrad: grad })];
  };
  const { count, reasons } = compilations(fn, make(true), make(false));
  expect(count).toBe(2);
  expect(reasons[0]).toContain("tensor 'L['y']' requires_grad mismatch. expected requires_grad=1");
  expect(compilations(fn, make(false), make(false))).toEqual({ count: 1, reasons: [] });
}
