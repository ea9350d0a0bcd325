/**
 * @file What freezing does with parameters: mutated and returned ones stay, others are folded and released.
 */
import { compile } from '@tessera/compile';
import { tensorVal } from '@tessera/graph';
import { Linear, Module, Parameter, functional as F } from '@tessera/nn';
import { type Tensor, autocast, cpuHeap, noGrad, rand, tensor, zeros } from '@tessera/tensor';
import { reclaimNow } from '@tessera/tensor/internal';
import { expect } from 'vitest';
import { runAndGetCode } from '../../src/index.js';
import { type Device, expectClose, openDevice, openWebGpu } from '../support/devices.js';
import { ConvBN } from './conv-bn.js';
import { frozen } from './frozen.js';

/** A parameter that forward changes in place. */
export async function mutation(device: Device): Promise<void> {
  class Mutating extends Module {
    mutated = new Parameter(zeros([10, 10], { device }));

    override forward(): Tensor {
      this.mutated.add_(10);
      return this.mutated;
    }
  }
  await openDevice(device);
  await frozen({}, () =>
    noGrad(async () => {
      const eager = new Mutating();
      const expected = [eager.call().clone(), eager.call().clone()];
      const model = new Mutating();
      const run = compile((m: Mutating) => m.call());
      const actual = [run(model).clone(), run(model).clone()];
      expect(actual.map((result) => result.device)).toEqual([device, device]);
      await expectClose(actual, expected);
    }),
  );
}

/** A parameter and a slice of it are returned: they stay the caller's. */
export async function aliasedParamReturn(device: Device): Promise<void> {
  class Aliasing extends Module {
    aliased = new Parameter(zeros([10, 10], { device }));

    override forward(): Tensor[] {
      return [this.aliased.slice(0, 1), this.aliased];
    }
  }
  await openDevice(device);
  const model = new Aliasing().eval();
  const expected = noGrad(() => model.call());
  const run = compile((m: Aliasing) => m.call());
  const actual = frozen({}, () => noGrad(() => run(model)));
  await expectClose(actual, expected, { checkDevice: true });
  expect(actual[0]!.device).toBe(device);
  expect(actual[1]).toBe(model.aliased);
}

/** The eager module says that it was frozen. */
export async function errorOnEager(device: Device): Promise<void> {
  await openDevice(device);
  const model = new ConvBN(3, 32).eval().to(device);
  const x = rand([3, 3, 32, 32], { device });
  const run = compile((m: ConvBN, input: Tensor) => m.call(input));
  frozen({}, () => noGrad(() => run(model, x)));
  expect(() => model.call(x)).toThrow(/Trying to run .* Eager Module after .* Freezing/);
  // Compiled, it goes on.
  frozen({}, () => noGrad(() => run(model, x)));
}

/** The memory of a folded parameter is released, and nothing holds it: what is folded takes its place. */
export async function paramDeallocated(device: Device): Promise<void> {
  // A mebibyte, beside which what else lives and dies meanwhile is small.
  const size = 512;
  class Adding extends Module {
    param = new Parameter(zeros([size, size], { device }));

    override forward(x: Tensor): Tensor {
      return this.param.add(10).add(x);
    }
  }
  await openDevice(device);
  const model = new Adding().eval();
  const input = rand([size], { device });
  const storage = new WeakRef(model.param.storage);
  const { nbytes } = model.param.storage;
  expect(nbytes).toBe(4 * size * size);
  await collect();
  const before = await bytesInUse(device);
  const run = compile((m: Adding, x: Tensor) => m.call(x));
  const launched = await (async (): Promise<number> => {
    const expected = noGrad(() => model.call(input));
    const { result, compiled } = await frozen({}, () =>
      runAndGetCode(() => noGrad(() => run(model, input))),
    );
    expect(result.device).toBe(device);
    await expectClose(result, expected);
    result.dispose();
    expected.dispose();
    return compiled.length;
  })();
  expect(launched).toBe(1);
  expect(model.param.storage.state).toBe('released');
  await collect();
  expect(storage.deref()).toBeUndefined();
  const after = await bytesInUse(device);
  expect(after - before).toBeLessThan(nbytes / 2);
  // Another parameter and what would be left of it are seen by the same count.
  const other = new Parameter(zeros([size, size], { device }));
  expect((await bytesInUse(device)) - after).toBeGreaterThanOrEqual(other.storage.nbytes);
}

/** Bytes that are in use in the heap or on the device. */
async function bytesInUse(device: Device): Promise<number> {
  if (device === 'cpu') return cpuHeap().stats().liveBytes;
  const gpu = await openWebGpu();
  await gpu.synchronize();
  return gpu.runtime.memoryStatistics.inUse;
}

/** Collects garbage in tasks of their own, where no frame of the test holds anything. */
async function collect(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    reclaimNow();
  }
}

/** Linear layers over one input whose biases have different shapes are not merged into a wrong one. */
export async function unequalBiasHorizontalAddmmFusion(device: Device): Promise<void> {
  class ThreeLinears extends Module {
    w1 = parameter(
      [
        [1, 1, 1],
        [1, 1, 1],
        [1, 1, 1],
      ],
      device,
    );
    b1 = parameter([0, 0, 0], device);
    w2 = parameter(
      [
        [0, 0, 1],
        [0, 0, 1],
        [0, 0, 1],
      ],
      device,
    );
    b2 = parameter([[-1, -1, -1]], device);
    w3 = parameter(
      [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
      ],
      device,
    );
    b3 = parameter([1, 2, 3], device);

    override forward(x: Tensor): Tensor[] {
      return [
        F.linear(x, this.w1, this.b1),
        F.linear(x, this.w2, this.b2),
        F.linear(x, this.w3, this.b3),
      ];
    }
  }
  await openDevice(device);
  const model = new ThreeLinears().eval();
  const x = tensor(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { device },
  );
  const expected = noGrad(() => model.call(x.clone()));
  const run = compile(model);
  const actual = frozen({}, () => noGrad(() => run(x.clone())));
  expect(actual.map((result) => result.device)).toEqual([device, device, device]);
  await expectClose(actual, expected);
}

function parameter(values: number[] | number[][], device: Device): Parameter {
  return new Parameter(tensor(values, { device, dtype: 'float32' }));
}

/** Under autocast the frozen weights are converted once: no kernel is left that only converts. */
export async function autocastLinear(device: Device): Promise<void> {
  await openDevice(device);
  const dtype = device === 'cpu' ? 'bfloat16' : 'float16';
  const model = new Linear(10, 10).eval().to(device);
  const x = rand([10, 10], { device }).to(dtype);
  const run = compile((m: Linear, input: Tensor) => m.call(input));
  await frozen({}, async () => {
    const within = <R>(fn: () => R): R => noGrad(() => autocast({ device, dtype }, fn));
    const expected = within(() => model.call(x));
    const { result, compiled } = await runAndGetCode(() => within(() => run(model, x)));
    expect(result.dtype).toBe(dtype);
    await expectClose(result, expected);
    expect(result.device).toBe(device);
    // One product, of weights that were converted before; nothing converts at run time.
    expect(compiled).toHaveLength(1);
    const [{ graph, plan }] = compiled as [(typeof compiled)[0]];
    expect(plan.launches.map(({ kernel }) => plan.kernels[kernel]!.kind)).toEqual(['matmul']);
    const frozenDtypes = graph.graph.nodes.flatMap((node) =>
      node.op === 'get_attr' ? [tensorVal(node)!.dtype] : [],
    );
    expect(frozenDtypes).toEqual([dtype, dtype]);
  });
}
