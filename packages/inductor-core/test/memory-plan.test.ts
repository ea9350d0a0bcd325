import { describe, expect, it } from 'vitest';
import { bufferLifetimes, compileGraph, verifyPlan } from '../src/index.js';
import { type Interval, packInOrder, packingOrder } from '../src/memory/arena.js';
import { GraphBuilder, target } from './graph-builder.js';
import { Dice, randomGraph } from './random-graph.js';

describe('arena', () => {
  it('never overlaps intervals that live together, and stays within its total (seeded)', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const dice = new Dice(seed * 7919);
      const intervals = Array.from({ length: 1 + dice.roll(40) }, (): Interval => {
        const first = dice.roll(30);
        return { first, last: first + dice.roll(8), bytes: 1 + dice.roll(500) };
      });
      // Sizes are others than those by which the order was found, as those of a template.
      const example = intervals.map((interval) => ({ ...interval, bytes: 1 + dice.roll(500) }));
      const { offsets, total } = packInOrder(
        packingOrder(example),
        intervals.map(({ bytes }) => bytes),
      );
      intervals.forEach((a, i) => {
        expect(offsets[i]! % 64).toBe(0);
        expect(offsets[i]! + a.bytes, `seed ${seed}`).toBeLessThanOrEqual(total);
        intervals.forEach((c, j) => {
          if (i >= j || a.last < c.first || c.last < a.first) return;
          const apart =
            offsets[i]! + a.bytes <= offsets[j]! || offsets[j]! + c.bytes <= offsets[i]!;
          expect(apart, `seed ${seed}: intervals ${i} and ${j}`).toBe(true);
        });
      });
    }
  });

  it('reuses the memory of what has died', () => {
    const bytes = [256, 256, 256, 512];
    const order = packingOrder(bytes.map((size, i) => ({ first: i, last: i + 1, bytes: size })));
    const { total } = packInOrder(order, bytes);
    expect(total).toBe(512 + 256);
  });
});

describe('memory plan', () => {
  it('is sound for random graphs (seeded)', () => {
    for (let seed = 1; seed <= 150; seed++) {
      const { module } = randomGraph(new Dice(seed * 31), 20);
      const plan = compileGraph(module, {
        backend: target({ maxBuffersPerKernel: 6 }),
        name: `seed${seed}`,
      });
      verifyPlan(plan);
      const lives = bufferLifetimes(plan);
      plan.buffers.forEach((buffer, i) =>
        expect(lives[i], `${buffer.name} is never used`).not.toBeNull(),
      );
    }
  });

  it('overwrites a dying input instead of using new memory', () => {
    const b = new GraphBuilder();
    const product = b.op('mm', b.input([8, 16]), b.input([16, 4]));
    const scaled = b.op('_softmax', product, 1, false);
    const plan = compileGraph(b.done(b.op('mm', scaled, b.input([4, 8]))), { backend: target() });
    const softmax = plan.kernels.find((kernel) => kernel.kind === 'loop')!;
    expect(softmax.params.map((p) => p.access)).toEqual(['readwrite']);
    expect(plan.arenaBytes).toBe(8 * 4 * 4);
  });

  it('keeps a result in the output memory from the start', () => {
    const b = new GraphBuilder();
    const plan = compileGraph(
      b.done(b.op('_softmax', b.op('mm', b.input([8, 16]), b.input([16, 4])), 1, false)),
      { backend: target() },
    );
    expect(plan.arenaBytes).toBe(0);
  });

  it('never overwrites an input that is not mutated', () => {
    const b = new GraphBuilder();
    const plan = compileGraph(b.done(b.op('relu', b.input([8, 16]))), { backend: target() });
    expect(plan.kernels[0]!.params.map((p) => p.access)).toEqual(['read', 'write']);
  });

  it('uses the element width of the device', () => {
    const b = new GraphBuilder();
    const mask = b.op('gt.Scalar', b.op('exp', b.op('mm', b.input([8, 16]), b.input([16, 64]))), 1);
    const columns = b.op(
      'mm',
      b.op('_to_copy', b.op('permute', mask, [1, 0]), 'float32'),
      b.input([8, 8]),
    );
    const module = b.done(columns, b.op('sum.dim_IntList', mask, null));
    const narrow = compileGraph(module, { backend: target() });
    const wide = compileGraph(module, {
      backend: target({ itemSize: (dtype) => (dtype === 'float64' || dtype === 'int64' ? 8 : 4) }),
    });
    expect(wide.arenaBytes).toBeGreaterThan(narrow.arenaBytes);
  });
});
