/**
 * @file Rows about arguments that are one tensor in one call and two in the next: two compilations, and
 * the guard that failed is named. The programs are modules, so what they read is named after `forward`.
 */
import { compile } from '@tessera/compile';
import { Module, Parameter } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { expect } from 'vitest';
import {
  CompileCounterWithBackend,
  assertClose,
  compareEqualOutsAndGrads,
} from '../../src/index.js';

/** Makes the arguments of a call anew: functions modify them. */
type Arguments = () => unknown[];

/** Runs the calls compiled and eagerly; returns how often it compiled and the reasons. */
function compilations(
  module: Module,
  ...calls: Arguments[]
): { readonly count: number; readonly reasons: readonly string[] } {
  const counter = new CompileCounterWithBackend('aot_eager');
  const reasons: string[] = [];
  const compiled = compile(module, {
    backend: counter,
    guardFailFn: (reason) => reasons.push(reason),
  }) as (...args: unknown[]) => unknown;
  for (const make of calls) {
    manualSeed(7);
    const wanted = make();
    const expected = module.call(...(wanted as never[]));
    manualSeed(7);
    const given = make();
    assertClose(compiled(...given), expected);
    // Arguments are modified alike.
    assertClose(given, wanted);
  }
  return { count: counter.frameCount, reasons };
}

/** A tensor that a function may modify in place although its origin is a leaf that requires grad. */
function leafCopy(): Tensor {
  return randn([3, 3]).requiresGrad_().clone();
}

/** Expects that a module compiles for `first`, and again for `second` because of `reason`. */
function recompiles(module: Module, first: Arguments, second: Arguments, reason: string): void {
  const { count, reasons } = compilations(module, first, second, first, second);
  // The third and fourth calls fit what there is.
  expect(count).toBe(2);
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toContain(reason);
}

/** `[a, a]`. */
const twice = (): Tensor[] => {
  const a = leafCopy();
  return [a, a];
};
const pair = (): Tensor[] => [leafCopy(), leafCopy()];

/** Two arguments; two different tensors from the start compile once. */
export function twoArguments(): void {
  class F extends Module {
    override forward(x: Tensor, y: Tensor): Tensor[] {
      return [x.trunc_().add(y.trunc_())];
    }
  }
  expect(compilations(new F(), pair, pair)).toEqual({ count: 1, reasons: [] });
  recompiles(new F(), twice, pair, "L['x'] is L['y']");
}

/** Four arguments, all one tensor, or only the last two. */
export function fourArguments(): void {
  class F extends Module {
    override forward(a: Tensor, b: Tensor, c: Tensor, d: Tensor): Tensor[] {
      for (const t of [a, b, c, d]) t.trunc_();
      return [a.add(b).add(c).add(d)];
    }
  }
  const allSame = (): Tensor[] => {
    const a = leafCopy();
    return [a, a, a, a];
  };
  const restSame = (): Tensor[] => {
    const [a, b] = pair();
    return [a!, b!, b!, b!];
  };
  recompiles(new F(), allSame, restSame, "L['a'] is L['b']");
  recompiles(
    new F(),
    () => [...pair(), ...twice()],
    () => [...pair(), ...pair()],
    "L['c'] is L['d']",
  );
}

/** A parameter of the module. */
export function withParameter(): void {
  class F extends Module {
    mean = new Parameter(randn([3, 3]));

    override forward(a: Tensor, b: Tensor): Tensor {
      return a.trunc_().add(b.trunc_()).add(this.mean);
    }
  }
  for (let i = 0; i < 2; i++) recompiles(new F(), twice, pair, "L['a'] is L['b']");
}

/** A parameter, and arguments that are numbers. */
export function withNumbers(): void {
  class F extends Module {
    mean = new Parameter(randn([3, 3]));

    override forward(a: Tensor, b: Tensor, e: number, f: number): Tensor {
      return a.trunc_().add(b.trunc_()).add(this.mean).mul(e).mul(f);
    }
  }
  for (const n of [2, 3])
    recompiles(
      new F(),
      () => [...twice(), n, n],
      () => [...pair(), n, n],
      "L['a'] is L['b']",
    );
}

/** A parameter, and arguments that are lists of numbers. */
export function withLists(): void {
  class F extends Module {
    mean = new Parameter(randn([3, 3]));

    override forward(e: number[], f: number[], a: Tensor, b: Tensor): Tensor {
      return a.trunc_().add(b.trunc_()).add(this.mean).mul(e[0]!).mul(f[0]!);
    }
  }
  const lists = [
    [3, 2, 1],
    [4, 5, 6],
  ];
  for (let i = 0; i < 2; i++)
    recompiles(
      new F(),
      () => [...lists, ...twice()],
      () => [...lists, ...pair()],
      "L['a'] is L['b']",
    );
}

/** A parameter, and a tensor from outside. */
export function withGlobal(): void {
  const z = randn([3, 3], { requiresGrad: true });
  class F extends Module {
    mean = new Parameter(randn([3, 3]));

    override forward(a: Tensor, b: Tensor, e: number, f: number): Tensor {
      return a.trunc_().add(b.trunc_()).add(z).add(this.mean).mul(e).mul(f);
    }
  }
  recompiles(
    new F(),
    () => [...twice(), 2, 2],
    () => [...pair(), 2, 2],
    "L['a'] is L['b']",
  );
}

/** Whether an argument requires grad is guarded; arguments alike compile once. */
export async function requiresGradOfArgument(): Promise<void> {
  class F extends Module {
    override forward(x: Tensor, y: Tensor): Tensor[] {
      return [x.add(y)];
    }
  }
  const x = randn([3, 3], { requiresGrad: true });
  const y = randn([3, 3], { requiresGrad: true });
  const z = randn([3, 3]);
  const run = async (...calls: Tensor[][]): Promise<{ count: number; reasons: string[] }> => {
    const counter = new CompileCounterWithBackend('aot_eager');
    const reasons: string[] = [];
    const guardFailFn = (reason: string): void => void reasons.push(reason);
    const compiled = compile(new F(), { backend: counter, guardFailFn });
    for (const inputs of calls) await compareEqualOutsAndGrads(new F(), compiled, inputs);
    return { count: counter.frameCount, reasons };
  };
  const { count, reasons } = await run([x, y], [x, z]);
  expect(count).toBe(2);
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toContain("tensor 'L['y']' requires_grad mismatch. expected requires_grad=1");
  expect(await run([x, z], [x, z])).toEqual({ count: 1, reasons: [] });
}
