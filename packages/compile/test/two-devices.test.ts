/**
 * @file Functions that compute on `cpu` and `wgpu`: compiled calls leave what eager calls leave.
 *
 * Every program runs five times eagerly and five times compiled, from the same state; results, the tensors
 * that it may change, their gradients and their devices are compared after every call.
 */
import type { Executable } from '@tessera/inductor-core';
import { Linear, functional as F, optim } from '@tessera/nn';
import { type ErrorCode, counters, isTesseraError } from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  arange,
  download,
  isTensor,
  manualSeed,
  noGrad,
  ones,
  rand,
  randn,
  randperm,
  tensor,
  where,
  zeros,
} from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CompileOptions, compile, initWebGpu, observeCompilations } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const CALLS = 5;
const WGPU = { device: 'wgpu' } as const;

/** A program with state of its own. */
interface Program {
  /** The function to compile. */
  readonly fn: (...args: never[]) => unknown;
  /** Arguments of a call. */
  readonly args: (call: number) => readonly unknown[];
  /** What a call may change. */
  readonly watched?: readonly Tensor[];
  /** Run on what the function returned: `backward()` outside, an optimizer's step. */
  readonly after?: (result: never) => void;
  readonly options?: CompileOptions;
}

/** A tensor that counts up, on a device. */
function ramp(sizes: readonly number[], device: DeviceType, from = 1): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  return arange(from, from + count, 1, { dtype: 'float32' })
    .reshape([...sizes])
    .to(device);
}

/** A layer with its parameters on a device. */
function layer(device: DeviceType, inputs = 3, outputs = 2): Linear {
  return new Linear(inputs, outputs).to(device);
}

const PROGRAMS: Readonly<Record<string, () => Program>> = {
  'a write to a view on wgpu beside a computation on cpu': () => {
    const whole = zeros([64], WGPU);
    const part = whole.slice(0, 1, 33);
    return {
      fn: (a: Tensor, b: Tensor) => {
        const r = a.add(1);
        b.add_(1);
        return r;
      },
      args: (i) => [ramp([4], 'cpu', i), part],
      watched: [whole],
    };
  },
  'a constant moved inside': () => ({
    fn: (x: Tensor) => x.add(tensor(1.5).to(x.device)),
    args: () => [ones([2], WGPU)],
  }),
  'a result on each device': () => ({
    fn: (a: Tensor, b: Tensor) => [a.add(1), b.add(1), a.to('wgpu').mul(b)],
    args: (i) => [ramp([3], 'cpu', i), ramp([3], 'wgpu')],
  }),
  'a permutation drawn for wgpu': () => ({
    fn: (x: Tensor) => [x.indexSelect(0, randperm(6, WGPU)), randperm(5, WGPU).sum()],
    args: (i) => [ramp([6, 2], 'wgpu', i)],
  }),
  'numbers drawn on both devices in turns': () => ({
    fn: (x: Tensor) => {
      const first = rand([4], WGPU);
      const second = randn([4]);
      const third = rand([4], WGPU);
      const fourth = rand([4]);
      return [F.dropout(x.add(second.to('wgpu')), { p: 0.5 }), first.add(third), fourth];
    },
    args: () => [ramp([4], 'wgpu')],
  }),
  'an input changed while numbers are drawn in turns': () => {
    const x = ramp([4], 'cpu');
    return {
      fn: (a: Tensor, b: Tensor) => {
        const [first, second, third] = [rand([4]), rand([4], WGPU), rand([4])];
        const late = a.mul(third);
        a.copy_(first);
        return [late, b.mul(second)];
      },
      args: () => [x, ramp([4], 'wgpu')],
      watched: [x],
    };
  },
  'inputs changed on both devices, in place and through views': () => {
    const here = ramp([4, 3], 'cpu');
    const there = ramp([4, 3], 'wgpu');
    return {
      fn: (a: Tensor, b: Tensor) => {
        a.select(0, 1).mul_(2);
        b.slice(0, 1, 3).add_(a.slice(0, 1, 3).to('wgpu'));
        a.t().select(0, 2).zero_();
        b.t().select(0, 0).fill_(7);
        return [a.sum(), b.t().sum(0)];
      },
      args: () => [here, there],
      watched: [here, there],
    };
  },
  'an input moved before and after it changes': () => {
    const x = ramp([3], 'cpu');
    return {
      fn: (a: Tensor) => {
        const before = a.to('wgpu').mul(2);
        a.add_(1);
        return [before, a.to('wgpu').mul(2), a];
      },
      args: () => [x],
      watched: [x],
    };
  },
  'one scratch tensor that is moved, changed and moved again': () => ({
    fn: (a: Tensor) => {
      const scratch = a.mul(1);
      const first = scratch.to('wgpu');
      scratch.mul_(3);
      first.add_(1);
      return [first, scratch.to('wgpu'), scratch];
    },
    args: (i) => [ramp([3], 'cpu', i)],
  }),
  'results that are inputs, views and the same twice': () => {
    const here = ramp([2, 3], 'cpu');
    const there = ramp([2, 3], 'wgpu');
    return {
      fn: (a: Tensor, b: Tensor) => {
        const sum = a.add(1);
        const moved = sum.to('wgpu');
        return [a, b, a.t(), b.select(0, 1), sum, sum, moved, moved, moved.t(), b.mul(moved)];
      },
      args: () => [here, there],
      watched: [here, there],
    };
  },
  'cpu numbers beside wgpu tensors': () => {
    const y = ramp([3], 'wgpu');
    const scale = tensor(2);
    return {
      fn: (x: Tensor, s: Tensor) => {
        y.mul_(scale);
        s.add_(1);
        return [x.mul(s), s.sub(x), where(x.gt(scale), s, x), s.mul(2)];
      },
      args: (i) => [ramp([3], 'wgpu', i), scale],
      watched: [y, scale],
    };
  },
  'copies from cpu into wgpu': () => {
    const there = zeros([3, 2], WGPU);
    return {
      fn: (a: Tensor) => {
        there.select(1, 0).copy_(a);
        there.select(1, 1).copy_(a.sum());
        return there.sum(0);
      },
      args: (i) => [ramp([3], 'cpu', i)],
      watched: [there],
    };
  },
  'indices on cpu': () => {
    const rows = tensor([2, 0, 1], { dtype: 'int64' });
    return {
      fn: (x: Tensor, at: Tensor) => x.to('wgpu').indexSelect(0, at.flip([0]).to('wgpu')),
      args: (i) => [ramp([3, 2], 'cpu', i), rows],
    };
  },
  'views of moved and unmoved tensors of other layouts': () => ({
    fn: (a: Tensor, b: Tensor) => [
      a.t().to('wgpu').matmul(b),
      a.unsqueeze(0).expand([2, 3, 4]).to('wgpu').sum(0).add(1),
      a.select(1, 2).to('wgpu').add(b.select(1, 0)),
    ],
    args: (i) => [ramp([3, 4], 'cpu', i), ramp([3, 2], 'wgpu')],
  }),
  'sizes that vary': () => ({
    fn: (a: Tensor, b: Tensor) => [a.mul(2).to('wgpu').add(b), b.sum(), a.sum()],
    args: (i) => [ramp([3 + (i % 4), 2], 'cpu'), ramp([3 + (i % 4), 2], 'wgpu', i)],
  }),
  'a value read on cpu between computations on both': () => ({
    fn: (a: Tensor, b: Tensor) => {
      const total = a.mul(2).sum();
      const y = b.add(1);
      const z = total.item() > 20 ? y.mul(2) : y.sub(1);
      return [z.add(a.to('wgpu')), total];
    },
    args: (i) => [ramp([3], 'cpu', i), ramp([3], 'wgpu')],
  }),
  'gradients of a batch that is moved inside': () => {
    const model = layer('wgpu');
    return {
      fn: (x: Tensor, target: Tensor) => {
        const scaled = x.sub(x.mean()).to('wgpu');
        return model.forward(scaled).relu().sub(target.to('wgpu')).pow(2).mean();
      },
      args: () => [randn([4, 3]), randn([4, 2])],
      watched: [model.weight, model.bias!],
      after: (loss: Tensor) => loss.backward(),
    };
  },
  'a training step of a batch that is moved inside': () => {
    const model = layer('wgpu');
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
    return {
      fn: (x: Tensor, target: Tensor) => {
        optimizer.zeroGrad();
        const hidden = F.dropout(model.forward(x.to('wgpu')), { p: 0.3 });
        const loss = F.mseLoss(hidden, target.to('wgpu'));
        loss.backward();
        optimizer.step();
        return loss;
      },
      args: () => [randn([4, 3]), randn([4, 2])],
      watched: [model.weight, model.bias!],
    };
  },
  'a training step with parameters on both devices': () => {
    const [here, there] = [layer('cpu'), layer('wgpu')];
    const optimizer = new optim.Adam([...here.parameters(), ...there.parameters()], { lr: 0.05 });
    return {
      fn: (x: Tensor, y: Tensor) => {
        optimizer.zeroGrad();
        const losses = [here.forward(x).pow(2).mean(), there.forward(y).tanh().sum()];
        for (const loss of losses) loss.backward();
        optimizer.step();
        return losses;
      },
      args: () => [randn([4, 3]), randn([4, 3]).to('wgpu')],
      watched: [here.weight, here.bias!, there.weight, there.bias!],
    };
  },
  'gradients on both devices of results on both': () => {
    const [here, there] = [ramp([3], 'cpu'), ramp([3], 'wgpu')];
    for (const leaf of [here, there]) leaf.requiresGrad_();
    return {
      fn: (x: Tensor) => [
        here.mul(x).sin().sum(),
        there
          .mul(x.to('wgpu'))
          .mul(rand([3]).to('wgpu'))
          .exp()
          .sum(),
      ],
      args: (i) => [ramp([3], 'cpu', i).mul(0.1)],
      watched: [here, there],
      after: (losses: readonly Tensor[]) => losses.forEach((loss) => loss.backward()),
    };
  },
  'noise of a diffusion step, drawn on cpu': () => {
    const model = layer('wgpu', 4, 4);
    return {
      fn: (x: Tensor) => {
        const t = rand([2, 1]);
        const noise = randn([2, 4]);
        const noisy = x.mul(t).add(noise.mul(t.neg().add(1)));
        const out = model.forward(noisy.to('wgpu'));
        return [F.mseLoss(out, noise.to('wgpu')), noisy];
      },
      args: () => [ramp([2, 4], 'cpu')],
      watched: [model.weight],
      after: ([loss]: readonly [Tensor]) => loss.backward(),
    };
  },
  'a statistic kept on cpu while the model trains on wgpu': () => {
    const model = layer('wgpu');
    const seen = zeros([3]);
    return {
      fn: (x: Tensor) => {
        noGrad(() => seen.mul_(0.9).add_(x.mean(0), { alpha: 0.1 }));
        return model.forward(x.sub(seen).to('wgpu')).sum();
      },
      args: () => [randn([4, 3])],
      watched: [seen, model.weight],
      after: (loss: Tensor) => loss.backward(),
    };
  },
  'a pure function of both': () => ({
    fn: (a: Tensor, b: Tensor) => [a.add(1).to('wgpu').mul(b), a.mul(2), b.sub(tensor(1))],
    args: (i) => [ramp([3], 'cpu', i), ramp([3], 'wgpu')],
    options: { pure: true },
  }),
};

/** Everything that can be seen after a call. */
async function seen(tensors: readonly unknown[]): Promise<unknown[]> {
  return Promise.all(
    tensors.map(async (value) => {
      if (!isTensor(value)) return value;
      const { device, dtype, sizes, strides, requiresGrad } = value;
      const values = Array.from(
        (await download(value.detach())).toTypedArray() as ArrayLike<number>,
      );
      return { device, dtype, sizes, strides, requiresGrad, values: values.map(rounded) };
    }),
  );
}

/** To five digits: kernels of both devices, fused or not, round differently. */
function rounded(value: number | bigint): number {
  return Number(Number(value).toPrecision(5)) + 0;
}

function codeOf(fn: () => unknown): ErrorCode | null {
  try {
    fn();
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
  return null;
}

async function history(make: () => Program, options: CompileOptions | null): Promise<unknown[]> {
  manualSeed(3);
  const program = make();
  const fn = (
    options === null ? program.fn : compile(program.fn, { ...options, ...program.options })
  ) as (...args: readonly unknown[]) => unknown;
  const calls: unknown[] = [];
  for (let i = 0; i < CALLS; i++) {
    const result = fn(...program.args(i));
    program.after?.(result as never);
    const watched = program.watched ?? [];
    const outputs = [result].flat();
    calls.push(await seen([...outputs, ...watched, ...watched.map((leaf) => leaf.grad)]));
  }
  return calls;
}

describe.skipIf(!wantsGpu)('functions of two devices', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  describe.each(['inductor', 'aot_eager', 'eager'])('with backend %s', (backend) => {
    it.each(Object.entries(PROGRAMS))('%s', async (_, make) => {
      const expected = await history(make, null);
      const refused = counters.get('aot_autograd', 'eager_fallback');
      expect(await history(make, { backend })).toEqual(expected);
      expect(counters.get('aot_autograd', 'eager_fallback')).toBe(refused);
    });
  });

  it('are one plan per device, unless random numbers alternate', async () => {
    const plans: string[] = [];
    for (const [name, make] of Object.entries(PROGRAMS)) {
      const devices: string[] = [];
      const stop = observeCompilations((_, { plan }) => devices.push(plan.device));
      await history(make, null);
      await history(make, {}).finally(stop);
      plans.push(`${name}: ${devices.join(' ')}`);
    }
    expect(plans.join('\n')).toMatchInlineSnapshot(`
      "a write to a view on wgpu beside a computation on cpu: cpu wgpu
      a constant moved inside: wgpu
      a result on each device: cpu wgpu
      a permutation drawn for wgpu: cpu wgpu
      numbers drawn on both devices in turns: wgpu cpu wgpu cpu wgpu
      an input changed while numbers are drawn in turns: cpu wgpu cpu
      inputs changed on both devices, in place and through views: cpu wgpu
      an input moved before and after it changes: cpu wgpu
      one scratch tensor that is moved, changed and moved again: cpu wgpu
      results that are inputs, views and the same twice: cpu wgpu
      cpu numbers beside wgpu tensors: cpu wgpu
      copies from cpu into wgpu: cpu wgpu
      indices on cpu: cpu wgpu
      views of moved and unmoved tensors of other layouts: wgpu
      sizes that vary: cpu wgpu cpu wgpu cpu wgpu cpu wgpu cpu wgpu
      a value read on cpu between computations on both: wgpu cpu wgpu wgpu
      gradients of a batch that is moved inside: cpu wgpu wgpu
      a training step of a batch that is moved inside: wgpu
      a training step with parameters on both devices: cpu wgpu
      gradients on both devices of results on both: cpu wgpu cpu wgpu
      noise of a diffusion step, drawn on cpu: cpu wgpu wgpu
      a statistic kept on cpu while the model trains on wgpu: cpu wgpu wgpu
      a pure function of both: cpu wgpu"
    `);
  });

  describe('that read wgpu values at once', () => {
    const MISTAKES: Readonly<Record<string, (a: Tensor, b: Tensor) => unknown>> = {
      'an argument': (a, b) => [a.add_(1), b.to('cpu')],
      'a computed value': (a, b) => [a.add_(1), b.add(1).to('cpu').mul(a)],
      'copy_ into cpu': (a, b) => [b.add_(1), a.copy_(b)],
      'a cpu scalar updated by one on wgpu': (a, b) => [b.mul_(2), a.sum().add_(b.sum())],
    };
    it.each(Object.entries(MISTAKES))('fail as eager does: %s', async (_, fn) => {
      const outcome = async (call: typeof fn): Promise<unknown[]> => {
        const [a, b] = [ramp([3], 'cpu'), ramp([3], 'wgpu')];
        const outcomes: unknown[] = [];
        for (let i = 0; i < 3; i++)
          outcomes.push(
            codeOf(() => call(a, b)),
            await seen([a, b]),
          );
        return outcomes;
      };
      const expected = await outcome(fn);
      expect(expected[0]).toMatch(/data-async-only|device-mismatch/);
      for (const backend of ['inductor', 'aot_eager', 'eager'])
        expect(await outcome(compile(fn, { backend }))).toEqual(expected);
    });

    it.each(['inductor', 'aot_eager'])('%s: gradients of a leaf that was moved', (backend) => {
      const fn = (x: Tensor): Tensor => x.mul(2).to('wgpu').sum();
      for (const call of [fn, compile(fn, { backend })])
        for (let i = 0; i < 3; i++) {
          const x = ramp([3], 'cpu').requiresGrad_();
          const loss = call(x);
          expect(codeOf(() => loss.backward())).toBe('data-async-only');
          expect(x.grad).toBeNull();
        }
    });
  });

  it('bind plans to tensors of their own device only', async () => {
    const executables: Executable[] = [];
    const stop = observeCompilations((_, { executable }) => executables.push(executable));
    const fn = compile((a: Tensor, b: Tensor) => {
      a.add_(1);
      b.add_(1);
    });
    const [here, there] = [ramp([3], 'cpu'), ramp([3], 'wgpu')];
    fn(here, there);
    stop();
    const [onCpu, onWgpu] = ['cpu', 'wgpu'].map((device) =>
      executables.find(({ plan }) => plan.device === device)!,
    );
    const before = await seen([here, there]);
    expect(codeOf(() => onCpu!.run([there], [], []))).toBe('device-mismatch');
    expect(codeOf(() => onWgpu!.run([here], [], []))).toBe('device-mismatch');
    expect(await seen([here, there])).toEqual(before);
    const gone = ramp([3], 'wgpu');
    gone.dispose();
    expect(codeOf(() => onWgpu!.run([gone], [], []))).toBe('use-after-dispose');
  });
});
