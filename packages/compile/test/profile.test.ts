import { type Tensor, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, profile } from '../src/index.js';

describe('profile', () => {
  it('pairs operators with the backward nodes that they make', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const { events, result } = profile(() => {
      const y = x.mul(3).exp();
      y.sum().backward();
      return y;
    });
    expect(result.sizes).toEqual([2]);
    const named = (name: string): (typeof events)[number] =>
      events.find((event) => event.name === name)!;
    expect(named('aten::exp')).toMatchObject({ category: 'forward', shapes: [[2]] });
    expect(named('ExpBackward0')).toMatchObject({
      category: 'backward',
      sequenceNr: named('aten::exp').sequenceNr,
    });
    expect(named('aten::mul.Tensor').sequenceNr).toBe(named('MulBackward0').sequenceNr);
    const [node, op] = [named('SumBackward0'), named('aten::expand')];
    expect(op.sequenceNr).toBe(node.sequenceNr);
    expect(op.start).toBeGreaterThanOrEqual(node.start);
    expect(op.start + op.duration).toBeLessThanOrEqual(node.start + node.duration + 1);
  });

  it('shows stages of the compiler and calls of compiled code, forward and backward', () => {
    const f = compile((x: Tensor) => x.mul(2).sin().sum());
    const call = (): void => f(randn([4]).requiresGrad_()).backward();
    const first = profile(call).events;
    expect(first.filter(({ category }) => category === 'compile').map(({ name }) => name)).toEqual(
      expect.arrayContaining(['joint graph', 'partition', 'lower', 'generate and load code']),
    );
    const { events, toChromeTrace } = profile(call);
    expect(events.filter(({ category }) => category === 'compile')).toEqual([]);
    const kernels = events.filter(({ category }) => category === 'kernel');
    const node = events.find(({ name }) => name === 'CompiledFunctionBackward')!;
    expect(kernels.map(({ sequenceNr }) => sequenceNr)).toEqual([-1, node.sequenceNr]);
    const trace = JSON.parse(toChromeTrace()) as { traceEvents: Record<string, unknown>[] };
    expect(trace.traceEvents).toHaveLength(events.length);
    expect(trace.traceEvents[0]).toMatchObject({ ph: 'X', cat: events[0]!.category });
  });

  it('covers an async function until it settles, and nothing outside', async () => {
    const x = tensor([1]);
    const { events } = await profile(async () => {
      await Promise.resolve();
      return x.add(1);
    });
    x.mul(2);
    const forward = events.filter(({ category }) => category === 'forward');
    expect(forward.map(({ name }) => name)).toEqual(['aten::add.Tensor']);
    expect(() =>
      profile(() => {
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(profile(() => 1).events).toEqual([]);
  });

  it('is over when the last of two that ran at once is', async () => {
    const opened: (() => void)[] = [];
    const wait = (): Promise<void> => new Promise((resolve) => opened.push(resolve));
    const profiles = [profile(wait), profile(wait)];
    opened[0]!();
    await profiles[0];
    tensor([1]).add(1);
    opened[1]!();
    const { events } = await profiles[1]!;
    tensor([1]).mul(2);
    expect(events.filter(({ category }) => category === 'forward')).toHaveLength(1);
  });
});
