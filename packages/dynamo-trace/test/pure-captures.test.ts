/**
 * @file What a skipped call depends on besides plain properties: symbols, hidden properties, getters.
 */
import { type Tensor, mul, tensor, track } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

const x = tensor([1, 2]);
const SCALE = Symbol('scale');
const OTHER = Symbol('scale');

class Private {
  #scale = 2;
  get scale(): number {
    return this.#scale;
  }
  set scale(value: number) {
    this.#scale = value;
  }
}

class Inherits extends Private {
  get weight(): Tensor {
    return this.#weight;
  }
  #weight = tensor([10, 20]);
  replace(): void {
    this.#weight = tensor([30, 40]);
  }
}

class Parts {
  #all = { sizes: [2, 3] };
  get all(): object {
    return structuredClone(this.#all);
  }
  get [SCALE](): number {
    return (this.all as { sizes: number[] }).sizes[0]!;
  }
  change(): void {
    this.#all.sizes[0] = 5;
  }
}

interface Case {
  readonly make: () => object;
  readonly read: (cfg: never) => number | Tensor;
  readonly change: (cfg: never) => void;
}

const hidden = (property: PropertyDescriptor): object =>
  Object.defineProperty({}, 'scale', { configurable: true, ...property });

const CASES: Record<string, Case> = {
  'a symbol': {
    make: () => ({ [OTHER]: 7, [SCALE]: 2 }),
    read: (cfg: { [SCALE]: number }) => cfg[SCALE],
    change: (cfg: { [SCALE]: number }) => (cfg[SCALE] = 3),
  },
  'a tensor under a symbol': {
    make: () => ({ [SCALE]: tensor([2, 2]) }),
    read: (cfg: { [SCALE]: Tensor }) => cfg[SCALE],
    change: (cfg: { [SCALE]: Tensor }) => (cfg[SCALE] = tensor([3, 3])),
  },
  'a symbol of a tracked object': {
    make: () => track({ [SCALE]: 2 }),
    read: (cfg: { [SCALE]: number }) => cfg[SCALE],
    change: (cfg: { [SCALE]: number }) => (cfg[SCALE] = 3),
  },
  'a property that is not enumerable': {
    make: () => hidden({ value: 2, writable: true }),
    read: (cfg: { scale: number }) => cfg.scale,
    change: (cfg: { scale: number }) => (cfg.scale = 3),
  },
  'a getter that is not enumerable': {
    make: () => {
      const state = { scale: 2 };
      return hidden({ get: () => state.scale, set: (value: number) => (state.scale = value) });
    },
    read: (cfg: { scale: number }) => cfg.scale,
    change: (cfg: { scale: number }) => (cfg.scale = 3),
  },
  'a getter of a class over private state': {
    make: () => new Private(),
    read: (cfg: Private) => cfg.scale,
    change: (cfg: Private) => (cfg.scale = 3),
  },
  'a getter of a superclass': {
    make: () => new Inherits(),
    read: (cfg: Inherits) => cfg.scale,
    change: (cfg: Inherits) => (cfg.scale = 3),
  },
  'a getter that gives a tensor': {
    make: () => new Inherits(),
    read: (cfg: Inherits) => cfg.weight,
    change: (cfg: Inherits) => cfg.replace(),
  },
  'getters that make what they give anew': {
    make: () => new Parts(),
    read: (cfg: Parts) => cfg[SCALE],
    change: (cfg: Parts) => cfg.change(),
  },
};

describe.each(Object.entries(CASES))('a pure function that reads %s', (_, given) => {
  const { make, read, change } = given as {
    make: () => object;
    read: (cfg: object) => number | Tensor;
    change: (cfg: object) => void;
  };

  it.each(['captured', 'given'])('of an object that it is %s sees it change', (how) => {
    const cfg = { inner: make() };
    let runs = 0;
    const compute = (t: Tensor, from: typeof cfg): Tensor => {
      runs++;
      return mul(t, read(from.inner));
    };
    const { call } =
      how === 'captured'
        ? compileEager((t: Tensor) => compute(t, cfg), { pure: true, captures: () => ({ cfg }) })
        : compileEager(compute, { pure: true });
    for (let i = 0; i < 3; i++) expect(call(x, cfg).toArray()).toEqual(compute(x, cfg).toArray());
    expect(runs).toBe(1 + 3);
    change(cfg.inner);
    for (let i = 0; i < 2; i++) expect(call(x, cfg).toArray()).toEqual(compute(x, cfg).toArray());
  });
});

describe('values', () => {
  const w = tensor([1, 1]);
  const scale = tensor(2);
  it.each<[string, (t: Tensor) => unknown]>([
    ['toArray() of an argument', (t) => (String(t.toArray()) === '1,2' ? t.mul(2) : t)],
    ['item() of a captured tensor', (t) => t.mul(scale.item())],
    ['toArray() of a captured tensor', (t) => t.mul(w.toArray().toString().length)],
    ['text', (t) => t.mul(String(t).length)],
  ])('that are read (%s) are refused', (_, fn) => {
    const { call } = compileEager(fn, { pure: true, captures: () => ({ w }) });
    for (let i = 0; i < 2; i++)
      expect(() => call(x)).toThrow(expect.objectContaining({ code: 'pure-side-effect' }));
  });

  it('that are constants of the function are not', () => {
    const { call } = compileEager((t: Tensor) => mul(t, tensor([2, 3])), { pure: true });
    for (let i = 0; i < 2; i++) expect(call(x).toArray()).toEqual([2, 6]);
  });
});

describe('getters', () => {
  it('that throw, or give another object each time, only cost the skip', () => {
    class Odd {
      scale = 2;
      get broken(): never {
        throw new Error('not yet');
      }
      get fresh(): Private {
        return new Private();
      }
    }
    const cfg = new Odd();
    const { call } = compileEager((t: Tensor) => mul(t, cfg.scale), {
      pure: true,
      captures: () => ({ cfg }),
    });
    for (const scale of [2, 2, 3]) {
      cfg.scale = scale;
      expect(call(x).toArray()).toEqual([scale, 2 * scale]);
    }
  });

  it('are left alone by functions that are not pure', () => {
    let reads = 0;
    class Counts {
      get scale(): number {
        return ++reads;
      }
    }
    const { call } = compileEager((t: Tensor, _: Counts) => mul(t, 2));
    for (let i = 0; i < 3; i++) call(x, new Counts());
    expect(reads).toBe(0);
  });
});
