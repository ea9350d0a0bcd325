/**
 * @file What composite operators make on the way goes at once, and nothing that somebody may still read.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  callOp,
  getOp,
  grad,
  library,
  liveStorageBytes,
  noGrad,
  ones,
  randn,
  tensor,
  withSavedTensorHooks,
  zeros,
} from '../src/index.js';
import { reclaimNow, smoothL1Loss, withoutForcedCollection } from '../src/internal.js';

/** Bytes that are live afterwards and were not before, while nothing is collected. */
function left(fn: () => unknown): number {
  reclaimNow();
  return withoutForcedCollection(() => {
    const before = liveStorageBytes();
    fn();
    return liveStorageBytes() - before;
  });
}

const N = 1000;

describe('a composite operator', () => {
  it('leaves its result alone', () => {
    const [x, y] = [randn([N]), randn([N])];
    expect(left(() => smoothL1Loss(x, y))).toBe(4);
    expect(left(() => smoothL1Loss(x, y, { reduction: 'none' }))).toBe(4 * N);
    expect(left(() => callOp(getOp('aten::cosine_similarity'), [x, y, 0, 1e-8]))).toBe(4);
  });

  it('keeps what backward needs, and no more', () => {
    const [x, y] = [randn([N]).requiresGrad_(), randn([N])];
    let loss!: Tensor;
    const recorded = left(() => (loss = smoothL1Loss(x, y)));
    expect(recorded).toBeLessThan(5 * 4 * N);
    // Memory that was given back too early is somebody else's by now.
    const others = Array.from({ length: 20 }, () => ones([N]).mul(1e9));
    const [g] = grad([loss], [x]);
    const d = noGrad(() => x.sub(y));
    const wanted = noGrad(() => d.clamp(-1, 1).div(N));
    expect(noGrad(() => g!.sub(wanted).abs().max().item())).toBeLessThan(1e-9);
    expect(others).toHaveLength(20);
  });

  it('returns views of what it made, lists of them, and its arguments, whole', () => {
    const x = randn([4, 6]);
    const call = (name: string, args: readonly unknown[]): unknown => callOp(getOp(name), args);
    const parts = call('aten::chunk', [x.t().contiguous(), 2, 0]) as Tensor[];
    const columns = call('aten::column_stack', [[x, x]]) as Tensor;
    const flat = call('aten::reshape', [x.t(), [24]]) as Tensor;
    const same = call('aten::reshape', [x, [4, 6]]) as Tensor;
    Array.from({ length: 20 }, () => zeros([24]));
    expect(parts.map((part) => part.sizes)).toEqual([
      [3, 4],
      [3, 4],
    ]);
    expect(parts[1]!.t().toArray()).toEqual(x.narrow(1, 3, 3).toArray());
    expect(columns.narrow(1, 6, 6).toArray()).toEqual(x.toArray());
    expect(flat.reshape([6, 4]).t().toArray()).toEqual(x.toArray());
    expect(same.toArray()).toEqual(x.toArray());
  });

  it('keeps what hooks on saved tensors are given and make', () => {
    const [x, y] = [randn([N]).requiresGrad_(), randn([N])];
    const seen: Tensor[] = [];
    const run = (): Tensor => {
      const [g] = grad([smoothL1Loss(x, y)], [x]);
      return g!;
    };
    const plain = run();
    const packed = withSavedTensorHooks(
      {
        pack: (saved) => {
          seen.push(saved);
          return saved.mul(2);
        },
        unpack: (value) => value.div(2),
      },
      run,
    );
    expect(packed.toArray()).toEqual(plain.toArray());
    expect(seen.length).toBeGreaterThan(0);
    for (const saved of seen) expect(() => saved.toArray()).not.toThrow();
  });

  it('keeps what code of the program is given, or makes', () => {
    const seen: Tensor[] = [];
    const made: Tensor[] = [];
    const name = 'composite_scope_test';
    const lib = library(name);
    lib.define('seen(Tensor self) -> Tensor');
    lib.impl('seen', 'cpu', (self: Tensor) => {
      seen.push(self);
      const out = self.mul(2);
      made.push(out.add(1));
      return out;
    });
    lib.define('inner(Tensor self) -> Tensor');
    lib.impl('inner', 'cpu', (self: Tensor) =>
      smoothL1Loss(self, zeros([N]), { reduction: 'none' }),
    );
    const op = getOp(`${name}::seen`);
    const inner = getOp(`${name}::inner`);
    const x = randn([N]);
    // A composite of the library whose part is the program's: called within an open scope.
    const out = callOp(inner, [x]) as Tensor;
    const twice = callOp(op, [out]) as Tensor;
    Array.from({ length: 20 }, () => ones([N]));
    for (const value of [...seen, ...made, out, twice]) expect(() => value.toArray()).not.toThrow();
    expect(made[0]!.toArray()).toEqual(twice.add(1).toArray());
  });

  it('inside a backward pass gives its memory back too', () => {
    const x = randn([N]).requiresGrad_();
    expect(
      left(() => {
        const y = x.prod();
        y.backward();
      }),
    ).toBeLessThanOrEqual(4 * N + 4 + 64);
    expect(x.grad!.numel).toBe(N);
  });

  it('differentiates twice', () => {
    const x = tensor([0.5, -0.25, 2], { requiresGrad: true });
    const loss = smoothL1Loss(x, zeros([3]), { reduction: 'sum' });
    const [g] = grad([loss], [x], { createGraph: true });
    Array.from({ length: 20 }, () => ones([3]).mul(7));
    const [h] = grad([g!.mul(g!).sum()], [x]);
    expect(g!.detach().toArray()).toEqual([0.5, -0.25, 1]);
    expect(h!.toArray()).toEqual([1, -0.5, 0]);
  });

  it('that throws leaves the next ones alone', () => {
    const x = randn([N]);
    expect(() => smoothL1Loss(x, x, { beta: -1 })).toThrow('negative values for beta');
    const y = x.mul(2);
    Array.from({ length: 20 }, () => ones([N]));
    expect(y.toArray()).toEqual(x.mul(2).toArray());
    expect(left(() => x.mul(2))).toBe(4 * N);
  });
});
