/**
 * @file Every kind of guard fails once, with its reason in PyTorch's words.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, noGrad, setDefaultDType, tensor, track } from '@tessera/tensor';
import { compileEager, firstFailure } from './compile-for-test.js';

/** Runs `fn` on each argument list and returns the reasons for recompiling, and for `pure` too. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
function reasonsOf(fn: (...args: any[]) => Tensor, ...calls: unknown[][]): string[] {
  const { call, function: compiled } = compileEager(fn);
  for (const args of calls) expect(call(...args).toArray()).toEqual(fn(...args).toArray());
  return compiled.reasons;
}

const one = (x: Tensor): Tensor => mul(x, 2);
const x3 = tensor([1, 2, 3]);

describe('guards', () => {
  it('dtype', () => {
    expect(reasonsOf(one, [x3], [tensor([1, 2, 3], { dtype: 'float64' })])).toEqual([
      "tensor 'L['x']' dtype mismatch. expected Float, actual Double",
    ]);
  });

  it('rank', () => {
    expect(reasonsOf(one, [x3], [tensor([[1, 2, 3]])])).toEqual([
      "tensor 'L['x']' rank mismatch. expected 1, actual 2",
    ]);
  });

  it('size', () => {
    expect(reasonsOf(one, [x3], [tensor([1, 2, 3, 4])])).toEqual([
      "tensor 'L['x']' size mismatch at index 0. expected 3, actual 4",
    ]);
  });

  it('stride', () => {
    const a = tensor([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [1, 1, 1, 1],
      [2, 2, 2, 2],
    ]);
    expect(reasonsOf(one, [a], [a.permute([1, 0])])).toEqual([
      "tensor 'L['x']' stride mismatch at index 0. expected 4, actual 1",
    ]);
  });

  it('requires_grad', () => {
    expect(reasonsOf(one, [tensor([1, 2, 3], { requiresGrad: true })], [x3])).toEqual([
      "tensor 'L['x']' requires_grad mismatch. expected requires_grad=1",
    ]);
  });

  it('duplicate arguments', () => {
    const { call, function: compiled } = compileEager((x: Tensor, y: Tensor) => add(x, y).add_(x));
    call(x3, x3);
    expect(call(x3, tensor([1, 1, 1])).toArray()).toEqual([3, 5, 7]);
    expect(compiled.reasons).toEqual(["L['x'] is L['y']"]);
  });

  it('an integer constant that shapes the result', () => {
    expect(reasonsOf((x: Tensor, n: number) => x.unsqueeze(n), [x3, 0], [x3, 1])).toEqual([
      "L['n'] == 0",
    ]);
  });

  it('a float that varies becomes a runtime scalar: one reason, then none', () => {
    const fn = (x: Tensor, n: number): Tensor => mul(x, n);
    expect(reasonsOf(fn, [x3, 2.5], [x3, 3.5], [x3, 4.5], [x3, 5.5])).toEqual(["L['n'] == 2.5"]);
  });

  it('a string', () => {
    const fn = (x: Tensor, s: string): Tensor => (s === 'ab' ? x.add(1) : x.sub(1));
    expect(reasonsOf(fn, [x3, 'ab'], [x3, 'cd'])).toEqual(["L['s'] == 'ab'"]);
  });

  it('a boolean', () => {
    const fn = (x: Tensor, b: boolean): Tensor => (b ? x.add(1) : x.sub(1));
    expect(reasonsOf(fn, [x3, true], [x3, false])).toEqual(["L['b'] == True"]);
  });

  it('the length of an array', () => {
    const fn = (xs: Tensor[]): Tensor => xs.reduce((a, b) => add(a, b));
    expect(reasonsOf(fn, [[x3, x3]], [[x3, x3, x3]])).toEqual(["len(L['xs']) == 2"]);
  });

  it('the keys of a record', () => {
    const fn = (cfg: Record<string, Tensor>): Tensor =>
      Object.values(cfg).reduce((a, b) => add(a, b));
    expect(reasonsOf(fn, [{ a: x3, b: tensor([0, 0, 0]) }], [{ a: x3 }])).toEqual([
      "list(L['cfg'].keys()) == ['a', 'b']",
    ]);
  });

  it('a missing value', () => {
    const fn = (x: Tensor, bias: Tensor | null): Tensor =>
      bias === null ? mul(x, 2) : add(x, bias);
    expect(reasonsOf(fn, [x3, null], [x3, tensor([1, 1, 1])])).toEqual(["L['bias'] is None"]);
  });

  it('the size of a Map', () => {
    const fn = (m: Map<string, Tensor>): Tensor => [...m.values()].reduce((a, b) => add(a, b));
    const y = tensor([1, 1, 1]);
    expect(
      reasonsOf(
        fn,
        [
          new Map([
            ['a', x3],
            ['b', y],
          ]),
        ],
        [new Map([['a', x3]])],
      ),
    ).toEqual(["len(L['m']) == 2"]);
  });

  it('an attribute of a tracked object', () => {
    const model = track({ training: true, weight: tensor([2, 2, 2]) });
    const fn = (self: typeof model, x: Tensor): Tensor =>
      self.training ? mul(x, self.weight) : x.add(0);
    const { call, function: compiled } = compileEager(fn);
    call(model, x3);
    model.training = false;
    expect(call(model, x3).toArray()).toEqual([1, 2, 3]);
    expect(compiled.reasons).toEqual(["L['self'].training == True"]);
  });

  it('grad mode', () => {
    const { call, function: compiled } = compileEager(one, { pure: true });
    const x = tensor([1], { requiresGrad: true });
    expect(call(x).requiresGrad).toBe(true);
    expect(noGrad(() => call(x)).requiresGrad).toBe(false);
    expect(compiled.captures[0]!.guards.lines()[0]).toBe(
      'GLOBAL_STATE grad_mode == True, default_dtype == float32',
    );
    expect(noGrad(() => firstFailure(compiled.captures[0]!.guards, [x]))).toBe(
      'GLOBAL_STATE changed: grad_mode',
    );
  });

  it('the default dtype', () => {
    const { call, function: compiled } = compileEager((x: Tensor) => x.add(0.5), { pure: true });
    const x = tensor([1, 2], { dtype: 'int64' });
    expect(call(x).dtype).toBe('float32');
    setDefaultDType('float64');
    try {
      expect(firstFailure(compiled.captures[0]!.guards, [x])).toBe(
        'GLOBAL_STATE changed: default_dtype',
      );
      expect(call(x).dtype).toBe('float64');
    } finally {
      setDefaultDType('float32');
    }
  });

  it('distinct tensors stay distinct', () => {
    const { call, function: compiled } = compileEager((x: Tensor, y: Tensor) => x.add_(y), {
      pure: true,
    });
    call(tensor([1]), tensor([2]));
    const both = tensor([3]);
    expect(call(both, both).toArray()).toEqual([6]);
    expect(compiled.captures.length).toBe(2);
    expect(firstFailure(compiled.captures[0]!.guards, [both, both])).toBe(
      `Duplicate tensors found: ["L['x']", "L['y']"]`,
    );
  });
});
