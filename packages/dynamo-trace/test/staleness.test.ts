/**
 * @file Ways in which a cached function could go stale: each gives what eager gives.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  add,
  dropout,
  mul,
  noGrad,
  rand,
  setDefaultDType,
  tensor,
  track,
} from '@tessera/tensor';
import { batchNorm } from '@tessera/tensor/internal';
import { compileEager } from './compile-for-test.js';

const x = tensor([1, 2]);

describe('no result goes stale', () => {
  it('a closed-over let changed between the third and the fourth call', () => {
    let scale = 2;
    const fn = (t: Tensor): Tensor => mul(t, scale);
    const { call } = compileEager(fn);
    for (let i = 0; i < 6; i++) {
      if (i === 3) scale = 10;
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
  });

  it('Math.random', () => {
    const drawn: number[] = [];
    const { call } = compileEager((t: Tensor) => {
      drawn.push(Math.random());
      return mul(t, drawn.at(-1)!);
    });
    for (let i = 0; i < 5; i++) expect(call(x).toArray()).toEqual(mul(x, drawn.at(-1)!).toArray());
    expect(new Set(drawn).size).toBe(5);
  });

  it('a captured array that is mutated', () => {
    const weights = [1, 2, 3];
    const fn = (t: Tensor): Tensor => weights.reduce((sum, w) => add(sum, mul(t, w)), t);
    const { call } = compileEager(fn);
    for (const change of [
      () => undefined,
      () => weights.push(4),
      () => (weights[0] = 7),
      () => (weights.length = 1),
    ]) {
      change();
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
  });

  it('a captured tensor that is replaced', () => {
    let bias = tensor([1, 1]);
    const fn = (t: Tensor): Tensor => add(t, bias);
    const { call, function: compiled } = compileEager(fn);
    for (let i = 0; i < 4; i++) {
      bias = tensor([i, -i]);
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(1);
  });

  it('a captured tensor that is modified in place', () => {
    const bias = tensor([1, 1]);
    const fn = (t: Tensor): Tensor => add(t, bias);
    const { call } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      bias.add_(1);
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
  });

  it('an intermediate that was pushed out, read after its inputs changed', () => {
    const kept: Tensor[] = [];
    const w = tensor([2, 2]);
    const { call } = compileEager((t: Tensor) => {
      const h = mul(t, w);
      kept.push(h);
      return h.sum();
    });
    call(x);
    call(x);
    w.add_(1);
    expect(() => kept[1]!.toArray()).toThrow(/overwritten since/);
    call(x);
    expect(kept[2]!.toArray()).toEqual([3, 6]);
  });

  it('a pushed-out intermediate', () => {
    const kept: Tensor[] = [];
    const { call } = compileEager((t: Tensor) => {
      const h = mul(t, 3);
      kept.push(h);
      return h.sum();
    });
    for (let i = 0; i < 3; i++) {
      call(tensor([i, 1]));
      expect(kept[i]!.toArray()).toEqual([3 * i, 3]);
    }
  });

  it('a data-dependent branch', () => {
    const fn = (t: Tensor): Tensor => (t.sum().item() > 0 ? mul(t, 2) : mul(t, -1));
    const { call, function: compiled } = compileEager(fn);
    for (const values of [
      [1, 2],
      [-1, -2],
      [3, 3],
      [-4, 0],
    ]) {
      const t = tensor(values);
      expect(call(t).toArray()).toEqual(fn(t).toArray());
    }
    expect(compiled.captures.length).toBe(2);
    expect(compiled.captures[0]!.breaks[0]!.reason).toBe('the value of a tensor was read');
  });

  it('a counter that changes the number of ops', () => {
    let n = 0;
    const fn = (t: Tensor): Tensor => {
      let y = t;
      for (let i = 0; i < n % 3; i++) y = add(y, 1);
      return mul(y, 2);
    };
    const { call, function: compiled } = compileEager(fn);
    for (n = 0; n < 9; n++) expect(call(x).toArray()).toEqual(fn(x).toArray());
    expect(compiled.captures.length).toBe(3);
  });

  it('arguments mutated by the function', () => {
    const { call } = compileEager((t: Tensor) => {
      t.add_(1);
      return mul(t, 2);
    });
    const t = tensor([0, 0]);
    for (let i = 1; i <= 3; i++) {
      expect(call(t).toArray()).toEqual([2 * i, 2 * i]);
      expect(t.toArray()).toEqual([i, i]);
    }
  });

  it('an argument that is read after it was mutated', () => {
    const seen: number[] = [];
    const { call, function: compiled } = compileEager((t: Tensor, other: Tensor) => {
      seen.push(other.item());
      t.add_(1);
      seen.push(t.item(), other.item());
      return t.mul(2);
    });
    const t = tensor([0]);
    const other = tensor(9);
    for (let i = 1; i <= 3; i++) expect(call(t, other).toArray()).toEqual([2 * i]);
    expect(seen).toEqual([9, 1, 9, 9, 2, 9, 9, 3, 9]);
    // Reading what nothing wrote to is no graph break.
    expect(compiled.captures[0]!.breaks.length).toBe(1);
    expect(compiled.captures.length).toBe(1);
  });

  it('running statistics that are read after a batch norm updated them', () => {
    const mean = tensor([0]);
    const variance = tensor([1]);
    const seen: number[] = [];
    const { call } = compileEager((t: Tensor) => {
      const y = batchNorm(t, {
        runningMean: mean,
        runningVar: variance,
        training: true,
        momentum: 0.5,
      });
      seen.push(mean.item());
      return y;
    });
    for (let i = 0; i < 3; i++) call(tensor([[8], [8]]));
    expect(seen).toEqual([4, 6, 7]);
  });

  it('a gradient that is read after it was accumulated', () => {
    const w = tensor([1], { requiresGrad: true });
    w.grad = tensor([0]);
    const { grad } = w;
    const seen: number[] = [];
    const { call } = compileEager((t: Tensor) => {
      w.mul(t).sum().backward();
      seen.push(grad!.item());
    });
    for (let i = 0; i < 3; i++) call(tensor([5]));
    expect(seen).toEqual([5, 10, 15]);
  });

  it('a dropout that escapes is not drawn a second time', () => {
    const kept: Tensor[] = [];
    let keep = false;
    const { call } = compileEager((t: Tensor) => {
      const dropped = dropout(t, { p: 0.5 });
      if (keep) kept.push(dropped);
      return mul(dropped, 2);
    });
    call(x);
    keep = true;
    const twice = call(x);
    rand([1]);
    expect(kept[0]!.mul(2).toArray()).toEqual(twice.toArray());
  });

  it('views keep sharing memory with what they view', () => {
    const { call } = compileEager((t: Tensor) => {
      const v = t.view([2, 1]);
      v.mul_(3);
      return v;
    });
    for (let i = 0; i < 3; i++) {
      const t = tensor([1, 2]);
      const v = call(t);
      expect(t.toArray()).toEqual([3, 6]);
      v.add_(1);
      expect(t.toArray()).toEqual([4, 7]);
    }
  });

  it('arguments that overlap in memory, modified through one of them', () => {
    const fn = (a: Tensor, b: Tensor): Tensor => {
      a.add_(1);
      return mul(b, 2);
    };
    const { call, function: compiled } = compileEager(fn);
    const inputs = [
      (): [Tensor, Tensor] => [tensor([1, 2]), tensor([3, 4])],
      (): [Tensor, Tensor] => {
        const base = tensor([1, 2, 3]);
        return [base.narrow(0, 0, 2), base.narrow(0, 1, 2)];
      },
      (): [Tensor, Tensor] => {
        const base = tensor([1, 2]);
        return [base.view([2]), base.view([2])];
      },
    ];
    for (let round = 0; round < 2; round++)
      for (const make of inputs) expect(call(...make()).toArray()).toEqual(fn(...make()).toArray());
    expect(compiled.captures.length).toBe(3);
    expect(compiled.reasons[0]).toContain('share memory in another way');
  });

  it('an exception leaves the state that eager leaves', () => {
    let fail = false;
    const state = tensor([0]);
    const fn = (t: Tensor): Tensor => {
      state.add_(1);
      if (fail) throw new Error('stop');
      return add(t, state);
    };
    const { call } = compileEager(fn);
    call(tensor([1]));
    fail = true;
    expect(() => call(tensor([1]))).toThrow('stop');
    expect(state.toArray()).toEqual([2]);
    fail = false;
    expect(call(tensor([1])).toArray()).toEqual([4]);
  });

  it('attributes set on plain objects and arrays by the function', () => {
    const log: { last?: Tensor; count: number } = { count: 0 };
    const { call } = compileEager((t: Tensor, store: typeof log) => {
      store.count++;
      store.last = mul(t, store.count);
      return t.sum();
    });
    for (let i = 1; i <= 4; i++) {
      call(x, log);
      expect(log.count).toBe(i);
      expect(log.last!.toArray()).toEqual([i, 2 * i]);
    }
  });

  it('a module switched between training and evaluation', () => {
    const model = track({ training: true, weight: tensor([2, 3]) });
    const fn = (t: Tensor): Tensor =>
      model.training ? mul(t, model.weight).add(1) : mul(t, model.weight);
    const { call, function: compiled } = compileEager(fn);
    for (const training of [true, false, true, false]) {
      model.training = training;
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(2);
  });

  it('grad mode around the call', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    const { call } = compileEager((t: Tensor) => mul(t, w));
    for (let i = 0; i < 2; i++) {
      expect(call(x).requiresGrad).toBe(true);
      expect(noGrad(() => call(x)).requiresGrad).toBe(false);
    }
  });

  it('the default dtype', () => {
    const { call } = compileEager((t: Tensor) => t.add(0.5));
    const ints = tensor([1, 2], { dtype: 'int64' });
    try {
      for (const dtype of ['float32', 'float64', 'float32'] as const) {
        setDefaultDType(dtype);
        expect(call(ints).dtype).toBe(dtype);
      }
    } finally {
      setDefaultDType('float32');
    }
  });

  it('requires_grad of an argument, switched on and off', () => {
    const { call, graphs } = compileEager((t: Tensor) => mul(t, 3).sum());
    const t = tensor([1, 2]);
    for (const flag of [false, true, false, true]) {
      t.requiresGrad_(flag);
      const y = call(t);
      expect(y.requiresGrad).toBe(flag);
      if (flag) {
        y.backward();
        expect(t.grad!.toArray()).toEqual([3, 3]);
        t.grad = null;
      }
    }
    // Code that was made for no gradient keeps nothing for one.
    expect(graphs).toHaveLength(2);
  });

  it('the dtype and the layout of an argument', () => {
    const fn = (t: Tensor): Tensor => add(t, 1).view([-1]);
    const { call, graphs } = compileEager((t: Tensor) => add(t, 1).contiguous().view([-1]), {
      dynamic: false,
    });
    const a = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    for (const t of [a, a.to('float64'), a.t().contiguous(), a.contiguous().t(), a]) {
      const y = call(t);
      expect(y.dtype).toBe(t.dtype);
      expect(y.toArray()).toEqual(fn(t.contiguous()).toArray());
    }
    // One each for the dtypes and layouts; the first is still there at the end.
    expect(graphs).toHaveLength(4);
  });

  it('stops recompiling at the limit and still gives what eager gives', () => {
    const fn = (t: Tensor, n: number): Tensor => {
      let y = t;
      for (let i = 0; i < n; i++) y = add(y, 1);
      return y;
    };
    const { call, function: compiled } = compileEager(fn);
    for (let n = 1; n < 14; n++) expect(call(x, n).toArray()).toEqual([1 + n, 2 + n]);
    expect(compiled.captures.length).toBe(8);
  });
});

describe('pure functions', () => {
  it('skip the JavaScript while guards hold', () => {
    let calls = 0;
    const { call } = compileEager(
      (t: Tensor, n: number) => {
        calls++;
        return mul(t, n);
      },
      { pure: true },
    );
    for (let i = 0; i < 5; i++) expect(call(x, 3).toArray()).toEqual([3, 6]);
    expect(calls).toBe(1);
    expect(call(x, 4).toArray()).toEqual([4, 8]);
    expect(calls).toBe(2);
    expect(call(x, 3).toArray()).toEqual([3, 6]);
    expect(calls).toBe(2);
  });

  it('guard what captures() names', () => {
    let scale = 2;
    let w = tensor([1, 1]);
    const { call } = compileEager((t: Tensor) => mul(add(t, w), scale), {
      pure: true,
      captures: () => ({ scale, w }),
    });
    expect(call(x).toArray()).toEqual([4, 6]);
    scale = 3;
    expect(call(x).toArray()).toEqual([6, 9]);
    w = tensor([0, 0]);
    expect(call(x).toArray()).toEqual([3, 6]);
  });

  it('refuse effects and graph breaks', () => {
    expect(() =>
      compileEager((t: Tensor) => mul(t, Math.random()), { pure: true }).call(x),
    ).toThrow(/pure: true but calls Math.random/);
    expect(() =>
      compileEager((t: Tensor) => (t.sum().item() > 0 ? t.add(1) : t), { pure: true }).call(x),
    ).toThrow(/breaks the graph/);
  });
});

describe('fullgraph', () => {
  it('turns a graph break into an error that says where', () => {
    const { call } = compileEager((t: Tensor) => mul(t, t.sum().item()), { fullgraph: true });
    expect(() => call(x)).toThrow(/Graph break in .*fullgraph: true/);
  });
});

describe('misuse', () => {
  it('a call with another structure of arguments fails as it does eagerly', () => {
    const fn = (cfg: { x: Tensor; bias: Tensor }): Tensor => add(cfg.x.mul(2), cfg.bias);
    const { call } = compileEager(fn);
    call({ x, bias: x });
    let eager: unknown = null;
    try {
      fn({ x } as never);
    } catch (error) {
      eager = error;
    }
    expect(() => call({ x } as never)).toThrow(eager as Error);
    expect(call({ x, bias: x }).toArray()).toEqual([3, 6]);
  });

  it('a failing call corrupts no later one', () => {
    const { call } = compileEager((a: Tensor, b: Tensor) => mul(add(a, b), 2));
    expect(() => call(x, tensor([1, 2, 3]))).toThrow(/must match the size/);
    expect(call(x, x).toArray()).toEqual([4, 8]);
    expect(() => call(x, tensor([1, 2, 3]))).toThrow(/must match the size/);
    expect(call(x, x).toArray()).toEqual([4, 8]);
  });
});
