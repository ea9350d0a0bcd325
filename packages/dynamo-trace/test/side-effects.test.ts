/**
 * @file Side effects of compiled functions are seen after the call exactly as in eager.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, tensor, track } from '@tessera/tensor';
import { compileEager } from './compile-for-test.js';

/** Everything that a function may leave behind. */
class State {
  attribute: Tensor = tensor([0, 0]);
  count = 0;
  list: Tensor[] = [];
  map: Map<string, Tensor> = new Map();
  nested: { deep: { value: Tensor | null } } = { deep: { value: null } };
}

function snapshot(state: State): unknown {
  return {
    attribute: state.attribute.toArray(),
    count: state.count,
    list: state.list.map((t) => t.toArray()),
    map: [...state.map].map(([key, t]) => [key, t.toArray()]),
    deep: state.nested.deep.value?.toArray() ?? null,
  };
}

/** Runs the same calls eagerly and compiled, each on its own state, and compares all that is visible. */
function sameEffects(
  effect: (state: State, x: Tensor, i: number) => Tensor | void,
  calls = 4,
): void {
  const eager = new State();
  const compiled = new State();
  const { call } = compileEager(effect);
  for (let i = 0; i < calls; i++) {
    const [a, b] = [tensor([i, 1]), tensor([i, 1])];
    const want = effect(eager, a, i);
    const got = call(compiled, b, i);
    expect(got === undefined ? null : (got as Tensor).toArray()).toEqual(
      want === undefined ? null : (want as Tensor).toArray(),
    );
    expect(snapshot(compiled)).toEqual(snapshot(eager));
    expect(b.toArray()).toEqual(a.toArray());
  }
}

describe('side effects', () => {
  it('an attribute that is set and read again', () => {
    sameEffects((state, x) => {
      state.attribute = add(state.attribute, x);
      return mul(state.attribute, 2);
    });
  });

  it('a counter and what depends on it', () => {
    sameEffects((state, x) => {
      state.count++;
      return mul(x, state.count);
    });
  });

  it('an array that grows, and is cut', () => {
    sameEffects((state, x, i) => {
      state.list.push(mul(x, 2), add(x, 1));
      if (i === 2) state.list.length = 1;
    });
  });

  it('a Map whose entries are added, replaced and deleted', () => {
    sameEffects((state, x, i) => {
      state.map.set(`k${i % 2}`, mul(x, i + 1));
      if (i === 3) state.map.delete('k0');
      return state.map.get(`k${i % 2}`);
    });
  });

  it('an attribute deep in a plain object', () => {
    sameEffects((state, x) => {
      const before = state.nested.deep.value;
      state.nested = { deep: { value: before === null ? mul(x, 3) : add(before, x) } };
    });
  });

  it('a tensor that is modified in place, also through a view', () => {
    sameEffects((state, x) => {
      state.attribute.add_(x);
      x.view([2, 1]).mul_(2);
      return state.attribute.sum();
    });
  });

  it('a tensor that is rebound and then modified: only the new one changes', () => {
    const old = tensor([5, 5]);
    sameEffects((state, x) => {
      state.attribute = x;
      state.attribute = state.attribute.add(0);
      state.attribute.mul_(10);
    });
    expect(old.toArray()).toEqual([5, 5]);
  });

  it('effects before an exception stay, those after it do not happen', () => {
    const eager = new State();
    const compiled = new State();
    const fn = (state: State, x: Tensor, fail: boolean): Tensor => {
      state.attribute.add_(x);
      state.list.push(mul(x, 2));
      if (x.sum().item() < 0) state.count = -1;
      state.attribute.mul_(3);
      if (fail) throw new Error('stop');
      state.count++;
      return state.attribute;
    };
    const { call } = compileEager(fn);
    for (const fail of [true, false, true, true, false]) {
      const x = tensor([1, 2]);
      for (const run of [() => fn(eager, x, fail), () => call(compiled, x, fail)]) {
        if (fail) expect(run).toThrow('stop');
        else expect(run().shape).toEqual([2]);
      }
      expect(snapshot(compiled)).toEqual(snapshot(eager));
    }
  });

  it('early returns', () => {
    sameEffects((state, x, i) => {
      if (i % 2 === 1) return mul(x, 7);
      state.attribute = mul(x, 2);
      return add(state.attribute, 1);
    }, 6);
  });

  it('a class with methods as self, and closures made inside', () => {
    class Accumulator {
      total: Tensor = tensor([0, 0]);
      steps = 0;
      readonly update: (x: Tensor) => Tensor;
      constructor(compile: boolean) {
        const body = function (this: Accumulator, x: Tensor): Tensor {
          const scale = (t: Tensor): Tensor => mul(t, this.factor());
          this.total = add(this.total, scale(x));
          this.steps += 1;
          return this.total;
        };
        this.update = compile ? compileEager(body).call : body;
        track(this);
      }
      factor(): number {
        return this.steps + 0.5;
      }
    }
    const [a, b] = [new Accumulator(true), new Accumulator(false)];
    for (let i = 0; i < 5; i++) {
      const x = tensor([i, 2]);
      expect(a.update(x).toArray()).toEqual(b.update(x).toArray());
      expect(a.total.toArray()).toEqual(b.total.toArray());
      expect(a.steps).toBe(b.steps);
    }
  });
});
