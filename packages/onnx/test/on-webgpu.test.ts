/**
 * @file Models on WebGPU, which has whole numbers of 32 bits and cannot be read without waiting.
 */
import { compile, initWebGpu } from '@tessera/compile';
import { Module } from '@tessera/nn';
import { type Tensor, arange, noGrad } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { type OnnxModule, importOnnx } from '../src/index.js';
import { floats, ints, model, value } from './support/build-model.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const END = 2n ** 63n - 1n;

/** x [6] plus a bias, from `start` to the largest int64, as exporters write `x[start:]`. */
const sliced = (): Promise<OnnxModule> =>
  importOnnx(
    model({
      inputs: [value('x', [6])],
      outputs: [value('y', ['N'])],
      initializers: [floats('bias', [1], [1]), ints('start', [1], [2]), ints('end', [1], [END])],
      nodes: [
        { op: 'Add', in: ['x', 'bias'], out: ['sum'] },
        { op: 'Slice', in: ['sum', 'start', 'end'], out: ['y'] },
      ],
    }),
  );

/** The same with the end as a constant that 32 bits do not hold, but a float64 does. */
const cut = (): Promise<OnnxModule> =>
  importOnnx(
    model({
      inputs: [value('x', [6])],
      outputs: [value('y', ['N'])],
      initializers: [floats('bias', [1], [1]), ints('start', [1], [2])],
      nodes: [
        { op: 'Constant', in: [], out: ['end'], attributes: { value: ints('', [1], [2 ** 40]) } },
        { op: 'Add', in: ['x', 'bias'], out: ['sum'] },
        { op: 'Slice', in: ['sum', 'start', 'end'], out: ['y'] },
      ],
    }),
  );

class Doubled extends Module {
  constructor(readonly inner: OnnxModule) {
    super();
  }

  override forward(x: Tensor): Tensor {
    return this.inner.call(x).y!.mul(2);
  }
}

it.each(['eagerly', 'compiled'])(
  'an end beyond 32 bits is no state, on the CPU neither: %s',
  async (mode) => {
    const module = await sliced();
    expect(Object.keys(module.stateDict())).toEqual(['bias', 'start']);
    const call = (x: Tensor): Tensor => module.call(x).y!;
    const run = mode === 'compiled' ? compile(call) : call;
    expect((run(arange(6)) as Tensor).toArray()).toEqual([3, 4, 5, 6]);
  },
);

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  describe.each([
    ['an initialiser', sliced],
    ['a constant', cut],
  ])('an end beyond 32 bits in %s', (_, make) => {
    it.each(['eagerly', 'compiled'])('decides what it does on the CPU, %s', async (mode) => {
      const module = (await make()).to('wgpu');
      const call = (x: Tensor): Tensor => module.call(x).y!;
      const run = mode === 'compiled' ? compile(call) : call;
      expect(await (run(arange(6).to('wgpu')) as Tensor).toArray()).toEqual([3, 4, 5, 6]);
    });
  });

  it.each(['eagerly', 'compiled'])(
    'moved as a part of another module it knows its numbers, %s',
    async (mode) => {
      const module = new Doubled(await sliced()).to('wgpu');
      const call = (x: Tensor): Tensor => module.call(x);
      const run = mode === 'compiled' ? compile(call) : call;
      expect(await (run(arange(6).to('wgpu')) as Tensor).toArray()).toEqual([6, 8, 10, 12]);
    },
  );

  it.each(['eagerly', 'compiled'])(
    'a state loaded into a module around it says its numbers, %s',
    async (mode) => {
      const [module, saved] = [new Doubled(await sliced()).to('wgpu'), new Doubled(await sliced())];
      noGrad(() => saved.stateDict()['inner.start']!.fill_(4));
      const call = (x: Tensor): Tensor => module.call(x);
      const run = mode === 'compiled' ? compile(call) : call;
      const x = arange(6).to('wgpu');
      expect(await (run(x) as Tensor).toArray()).toEqual([6, 8, 10, 12]);
      module.loadStateDict(saved.stateDict());
      expect(await (run(x) as Tensor).toArray()).toEqual([10, 12]);
    },
  );
});
