/**
 * @file The reason of a recompilation is what differed, not what else is different.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Tensor, add, autocast, mul, noGrad, tensor } from '@tessera/tensor';
import { globalState } from '../src/guards/global-state.js';
import { compileEager, firstFailure } from './compile-for-test.js';

const x = tensor([1, 2]);
const stateOf = (autocastKey: string): ReturnType<typeof globalState> => ({
  ...globalState(),
  autocast: autocastKey,
});

afterEach(() => vi.restoreAllMocks());

describe('reasons for recompiling', () => {
  it('another function or object is none where only the ops decide', () => {
    const { call, function: compiled } = compileEager((t: Tensor, scale: (t: Tensor) => Tensor) =>
      scale(t),
    );
    call(x, (t) => mul(t, 2));
    call(x, (t) => mul(t, 2));
    expect(compiled.reasons).toEqual([]);
    call(x, (t) => add(t, 2));
    expect(compiled.reasons).toEqual([
      expect.stringMatching(/^expected aten\.mul\.Tensor, got aten\.add\.Tensor/),
    ]);
  });

  it('grad mode is the one of the call, not of the place where it differed', () => {
    let k = 1;
    const w = tensor([1, 2]);
    const { call, function: compiled } = compileEager((t: Tensor) => {
      noGrad(() => w.mul_(k));
      return add(t, w);
    });
    for (const value of [1, 2, 3]) {
      k = value;
      call(x);
    }
    expect(w.toArray()).toEqual([6, 12]);
    expect(compiled.reasons).toEqual(["argument 'other' of aten.mul_.Tensor == 1, actual 2"]);
  });

  it('pure functions have reasons, and share the trace that other constants made', () => {
    const seen: string[] = [];
    const { call, function: compiled } = compileEager((t: Tensor, n: number) => mul(t, n), {
      pure: true,
      guardFailFn: (reason) => seen.push(reason),
    });
    for (let n = 0; n < 20; n++) expect(call(x, n).toArray()).toEqual([n, 2 * n]);
    expect(compiled.captures.length).toBe(2);
    expect(seen).toEqual(["L['n'] == 0"]);
    expect(call(x, 3).toArray()).toEqual([3, 6]);
  });

  it.each([false, true])('naming a value in a place of a number reads none (pure: %s)', (pure) => {
    const { call, function: compiled } = compileEager(
      (t: Tensor, isSum: boolean) => {
        const doubled = mul(t, 2);
        return add(doubled, isSum ? doubled : 1);
      },
      { pure },
    );
    expect(call(x, false).toArray()).toEqual([3, 5]);
    expect(call(x, true).toArray()).toEqual([4, 8]);
    expect(compiled.captures.map(({ breaks }) => breaks)).toEqual([[], []]);
    expect(compiled.captures.map(({ segments }) => segments.length)).toEqual([1, 1]);
  });
});

describe('words', () => {
  /** The reasons of calls of a function that adds up what it is given. */
  const reasons = (fn: (...args: never[]) => Tensor, ...calls: unknown[][]): string[] => {
    const { call, function: compiled } = compileEager(fn);
    for (const args of calls)
      expect(call(...(args as never[])).toArray()).toEqual(fn(...(args as never[])).toArray());
    return compiled.reasons;
  };
  const y = tensor([3, 4]);

  it('a tensor that becomes something else', () => {
    const fn = (a: Tensor, b: Tensor | number | null): Tensor =>
      b === null ? mul(a, 2) : add(a, b);
    expect(reasons(fn, [x, y], [x, null])).toEqual([
      "expected type of 'L['b']' to be a tensor type, ' but found <class 'NoneType'>",
    ]);
    expect(reasons(fn, [x, y], [x, 2])).toEqual([
      "expected type of 'L['b']' to be a tensor type, ' but found <class 'int'>",
    ]);
  });

  it('the length of a rest parameter', () => {
    const fn = (...xs: Tensor[]): Tensor => xs.reduce((a, b) => add(a, b));
    expect(reasons(fn, [x, y], [x, y, tensor([1, 1])])).toEqual(["len(L['xs']) == 2"]);
  });

  it('a dimension of size one', () => {
    const sizes = [3, 4, 1].map((n) => [tensor(Array.from({ length: n }, () => 1))]);
    expect(reasons((a: Tensor) => mul(a, 2), ...sizes)).toEqual([
      "tensor 'L['a']' size mismatch at index 0. expected 3, actual 4",
      "2 <= L['a'].size()[0]",
    ]);
  });

  it('an autocast scope', () => {
    const { call, function: compiled } = compileEager((a: Tensor) => a.matmul(a));
    const square = tensor([
      [1, 2],
      [3, 4],
    ]);
    call(square);
    autocast({ device: 'cpu', dtype: 'bfloat16' }, () => call(square));
    autocast({ device: 'cpu', dtype: 'float16' }, () => call(square));
    expect(compiled.reasons[0]).toBe('GLOBAL_STATE changed: autocast(cpu)_enabled');
    expect(firstFailure(compiled.captures[1]!.guards, [square], stateOf('cpu=float16'))).toBe(
      'GLOBAL_STATE changed: autocast(cpu)_dtype',
    );
  });

  it('attributes of instances, and elements of Sets', () => {
    class Options {
      scale = 2;
      readonly names: Set<string> = new Set(['a']);
    }
    const options = new Options();
    const { call, function: compiled } = compileEager((o: Options, a: Tensor) =>
      o.names.has('a') ? a.reshape([o.scale, -1]) : mul(a, 2),
    );
    const six = tensor([1, 2, 3, 4, 5, 6]);
    call(options, six);
    options.scale = 3;
    expect(call(options, six).shape).toEqual([3, 2]);
    options.names.clear();
    expect(call(options, six).shape).toEqual([6]);
    expect(compiled.reasons).toEqual(["L['o'].scale == 2", "len(L['o'].names) == 1"]);
  });
});

describe('pure functions notice what changes inside their arguments', () => {
  class Options {
    scale = 2;
    act: (t: Tensor) => Tensor = (t) => t;
  }
  const cases: Record<string, [unknown, (value: never) => void, (value: never) => number]> = {
    'an attribute of an instance': [
      new Options(),
      (o: Options) => (o.scale = 5),
      (o: Options) => o.scale,
    ],
    'a function in a record': [
      { scale: (): number => 2 },
      (o: { scale: () => number }) => (o.scale = () => 5),
      (o: { scale: () => number }) => o.scale(),
    ],
    'a key with an underscore': [
      { _scale: 2 },
      (o: { _scale: number }) => (o._scale = 5),
      (o: { _scale: number }) => o._scale,
    ],
    'an element of a Set': [
      new Set([2]),
      (s: Set<number>) => s.add(3),
      (s: Set<number>) => [...s].reduce((a, b) => a + b),
    ],
    'a Date': [new Date(2000, 0), (d: Date) => d.setFullYear(2001), (d: Date) => d.getFullYear()],
    'a typed array': [
      Float32Array.of(2),
      (a: Float32Array) => (a[0] = 5),
      (a: Float32Array) => a[0]!,
    ],
  };

  it.each(Object.entries(cases))('%s', (_, [value, change, read]) => {
    const fn = (t: Tensor, v: unknown): Tensor => mul(t, read(v as never));
    const { call, function: compiled } = compileEager(fn, { pure: true });
    for (let i = 0; i < 4; i++) {
      if (i === 2) change(value as never);
      expect(call(x, value).toArray()).toEqual(fn(x, value).toArray());
    }
    expect(compiled.captures.length).toBe(2);
  });
});

describe('methods', () => {
  class Step {
    count = 0;
    scale = 2;
    w: Tensor = tensor([1, 1]);

    run(this: Step | undefined, t: Tensor, flag = false): Tensor {
      if (this === undefined) return mul(t, 3);
      this.count++;
      return flag ? mul(t, this.w) : add(mul(t, this.scale), this.w);
    }
  }

  /** A compiled method, on an object of its class. */
  function compiledStep(): { readonly step: Step; readonly reasons: string[] } {
    const { call, function: compiled } = compileEager(Step.prototype.run);
    const step = new Step();
    step.run = call;
    return { step, reasons: compiled.reasons };
  }

  it('tell what changed, not what changes in every call', () => {
    const { step, reasons } = compiledStep();
    step.run(x);
    step.run(x);
    step.scale = 3;
    step.run(x);
    step.w = tensor([1, 1], { dtype: 'float64' });
    step.run(x);
    expect(reasons).toEqual([
      "L['self'].scale == 2",
      "tensor 'L['self'].w' dtype mismatch. expected Float, actual Double",
    ]);
  });

  it('compare with the traces of the same grad mode', () => {
    const { step, reasons } = compiledStep();
    step.run(x);
    noGrad(() => step.run(x));
    step.w.requiresGrad_();
    step.run(x);
    expect(reasons).toEqual([
      "tensor 'L['self'].w' requires_grad mismatch. expected requires_grad=0",
    ]);
  });

  it('may be called without an object: that is no argument', () => {
    const { step, reasons } = compiledStep();
    step.run(x);
    step.run.call(undefined, x);
    expect(reasons).toEqual(["type(L['self']) is Step"]);
    const same = compileEager((t: Tensor) => mul(t, 2));
    same.call(x);
    same.call.call(step, tensor([1, 2, 3]));
    expect(same.function.reasons).toEqual([
      "tensor 'L['t']' size mismatch at index 0. expected 2, actual 3",
    ]);
  });

  it('where more than one thing may be why, say all, and what the function did', () => {
    const { call, function: compiled } = compileEager((o: { a: number; b: number }, t: Tensor) =>
      mul(t, o.a * o.b),
    );
    call({ a: 2, b: 2 }, x);
    call({ a: 3, b: 5 }, x);
    expect(compiled.reasons).toEqual([
      "argument 'other' of aten.mul.Tensor == 4, actual 15 (L['o'].a == 2, L['o'].b == 2)",
    ]);
  });

  it('tensors of a closure are named by what read them', () => {
    let w = tensor([1, 1]);
    const options = { unused: 1 };
    const { call, function: compiled } = compileEager((t: Tensor, _: object) => add(t, w));
    call(x, options);
    w = tensor([1, 1], { dtype: 'float64' });
    options.unused = 2;
    call(x, options);
    expect(compiled.reasons).toEqual([
      "tensor 'other of aten.add.Tensor' dtype mismatch. expected Float, actual Double",
    ]);
  });

  it('a rate that has become whole is another kind of number', () => {
    let rate = 0.3;
    const { call, function: compiled } = compileEager((t: Tensor) => mul(t, rate));
    for (const value of [0.3, 0.2, 0.1, 0]) {
      rate = value;
      call(x);
    }
    expect(compiled.reasons).toEqual([
      "argument 'other' of aten.mul.Tensor == 0.3, actual 0.2",
      "argument 'other' of aten.mul.Tensor is a number that is not whole, actual 0",
    ]);
  });
});
