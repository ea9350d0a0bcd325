/**
 * @file Kernels of the program's own on WebGPU, whose plans hold compiled code only: they run between two plans.
 */
import { functional as F, Linear, Sequential } from '@tessera/nn';
import { counters } from '@tessera/shared';
import { type Tensor, arange, library, manualSeed, zeros } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, config, explain, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const lib = library('betweenPlans')
  .define('scaled(Tensor x, float by) -> Tensor')
  .impl('scaled', 'wgpu', (x, by) => x.mul(by))
  .impl('scaled', 'meta', (x) => x.emptyLike())
  .define('same(Tensor x) -> Tensor')
  .impl('same', 'wgpu', (x) => x)
  .impl('same', 'meta', (x) => x.emptyLike())
  .define('otherLayout(Tensor x) -> Tensor')
  .impl('otherLayout', 'wgpu', (x) => x.t().contiguous().t())
  .impl('otherLayout', 'meta', (x) => x.emptyLike())
  .define('halves(Tensor x) -> (Tensor, Tensor)')
  .impl('halves', 'wgpu', (x) => [x.slice(0, 0, 2).clone(), x.slice(0, 2, 4).clone()])
  .impl('halves', 'meta', (x) => [x.slice(0, 0, 2).clone(), x.slice(0, 2, 4).clone()])
  .define('count_(Tensor(a!) into, Tensor x) -> ()')
  .impl('count_', 'wgpu', (into, x) => {
    into.add_(x.sum());
  })
  .impl('count_', 'meta', () => {})
  .define('wrong(Tensor x) -> Tensor')
  .impl('wrong', 'wgpu', (x) => x.sum())
  .impl('wrong', 'meta', (x) => x.emptyLike());
const scaled = lib.fn('scaled');
const same = lib.fn('same');
const otherLayout = lib.fn('otherLayout');
const halves = lib.fn('halves');
const count = lib.fn('count_');
const wrong = lib.fn('wrong');

const WGPU = { device: 'wgpu' } as const;

function ramp(from: number): Tensor {
  return arange(from, from + 16, 1, { dtype: 'float32', ...WGPU }).reshape([4, 4]);
}

async function outcome(fn: (x: Tensor) => Tensor, state?: Tensor): Promise<unknown> {
  const seen: unknown[] = [];
  for (let call = 0; call < 4; call++) {
    const result = fn(ramp(call));
    seen.push([...(await result.toTypedArray())], result.strides);
    if (state !== undefined) seen.push([...(await state.toTypedArray())]);
  }
  return seen;
}

describe.runIf(wantsGpu)('on wgpu', () => {
  beforeAll(() => initWebGpu());

  const PROGRAMS: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    'one in the middle': (x) => scaled(x.add(1), 2).mul(x),
    'one at the end': (x) => scaled(x.add(1), 2),
    'two that follow each other': (x) => scaled(scaled(x, 2), 3).add(1),
    'one that returns what it was given': (x) => same(x.mul(3)).add(x.mul(3)),
    'one whose result is laid out otherwise than its rule says': (x) =>
      otherLayout(x.mul(2)).contiguous().add(1),
    'one with two results': (x) => {
      const [a, b] = halves(x.mul(2)) as unknown as [Tensor, Tensor];
      return a.mul(b);
    },
    'one over a view': (x) => scaled(x.t(), 2).add(x),
  };

  it.each(Object.entries(PROGRAMS))('%s', async (_, fn) => {
    const compiled = compile(fn, { fullgraph: true });
    expect(await outcome(compiled)).toEqual(await outcome(fn));
    expect(explain(fn)(ramp(0)).graphCount).toBe(1);
  });

  it('one that writes', async () => {
    const states = [zeros([], WGPU), zeros([], WGPU)];
    const with_ = (state: Tensor) => (x: Tensor) => {
      count(state, x.mul(2));
      return x.add(state);
    };
    const want = await outcome(with_(states[0]!), states[0]);
    expect(await outcome(compile(with_(states[1]!)), states[1])).toEqual(want);
  });

  it('is refused where plans must run without JavaScript', async () => {
    await config.patch({ nativeWrapper: true }, () => {
      const compiled = compile((x: Tensor) => scaled(x.mul(2), 2).add(1));
      expect(() => compiled(ramp(0))).toThrow(/betweenPlans::scaled has no lowering/);
    });
  });

  it('names a kernel whose result is not what its rule says', () => {
    const compiled = compile((x: Tensor) => wrong(x.mul(2)).add(1));
    expect(() => compiled(ramp(0))).toThrow(/The kernel of betweenPlans::wrong gave float32 \[\] /);
  });

  it('backward hooks of modules in a compiled training step', async () => {
    const train = async (compiled: boolean): Promise<unknown> => {
      manualSeed(3);
      const model = new Sequential(new Linear(4, 8), new Linear(8, 3)).to('wgpu');
      const seen: unknown[] = [];
      const kept: Tensor[] = [];
      model.at(0)!.registerFullBackwardHook((_, inputs, outputs) => {
        kept.push(outputs[0]!);
        return inputs.map((g) => g?.mul(0.5) ?? g);
      });
      model.at(1)!.registerFullBackwardHook((_, inputs) => inputs.map((g) => g?.mul(3) ?? g));
      const step = (x: Tensor): Tensor => {
        model.zeroGrad();
        const loss = F.crossEntropy(model.call(x), zeros([4], { dtype: 'int64', ...WGPU }));
        loss.backward();
        return loss;
      };
      const call = compiled ? compile(step) : step;
      for (let i = 0; i < 4; i++) {
        seen.push(await call(ramp(i).div(16)).toTypedArray());
        for (const { grad } of model.parameters()) seen.push(await grad!.toTypedArray());
      }
      for (const grad of kept) seen.push(await grad.toTypedArray());
      return seen;
    };
    counters.clear();
    const got = (await train(true)) as number[][];
    expect(counters.get('aot_autograd', 'eager_fallback')).toBe(0);
    const want = (await train(false)) as number[][];
    expect(got).toHaveLength(want.length);
    got.forEach((list, i) =>
      list.forEach((value, j) => expect(value).toBeCloseTo(want[i]![j]!, 5)),
    );
  });
});
