/**
 * @file Freezing of convolutions with batch norm behind them: folded where that is right, and only there.
 */
import { compile, config } from '@tessera/compile';
import { BatchNorm2d, Conv2d, Module, functional as F } from '@tessera/nn';
import {
  type Tensor,
  full,
  library,
  mean,
  noGrad,
  ones,
  rand,
  variance,
  zeros,
} from '@tessera/tensor';
import { expect } from 'vitest';
import { FileCheck, runAndGetCode } from '../../src/index.js';
import { type Device, expectClose, openDevice } from '../support/devices.js';
import { countNativeCalls } from '../support/native-calls.js';
import { frozen } from './frozen.js';

const COARSE = { atol: 1e-2, rtol: 1e-2 };

interface ConvShape {
  readonly bias?: boolean;
  readonly kernelSize?: number;
  readonly stride?: number;
}

/** A convolution and a batch norm. */
export class ConvBN extends Module {
  conv: Conv2d;
  bn: BatchNorm2d;

  constructor(inChannels: number, outChannels: number, shape: ConvShape = {}) {
    super();
    const { bias = false, kernelSize = 3, stride = 2 } = shape;
    this.conv = new Conv2d(inChannels, outChannels, kernelSize, { bias, stride });
    this.bn = new BatchNorm2d(outChannels, { eps: 0.001 });
  }

  override forward(x: Tensor): Tensor {
    return this.bn.call(this.conv.call(x));
  }
}

class ConvMultiBN extends ConvBN {
  bn2: BatchNorm2d;

  constructor(inChannels: number, outChannels: number, shape: ConvShape) {
    super(inChannels, outChannels, shape);
    this.bn2 = new BatchNorm2d(outChannels, { eps: 0.1 });
  }

  override forward(x: Tensor): Tensor {
    return this.bn.call(this.conv.call(x)).add(this.bn2.call(this.conv.call(x)));
  }
}

/**
 * A convolution with one functional batch norm per running mean. The source's statistics are plain attributes,
 * which its tracer takes as buffers of the module; here freezing takes what is registered as one.
 */
class ConvFunctionalBN extends Module {
  conv: Conv2d = new Conv2d(32, 32, 3, { bias: true, stride: 2 });
  declare readonly runningMean: Tensor;
  declare readonly runningMean2: Tensor | null;
  declare readonly runningVar: Tensor;
  declare readonly weight: Tensor;
  declare readonly bias: Tensor;

  constructor(x: Tensor, means: 1 | 2) {
    super();
    const average = mean(x, [0, 2, 3]);
    this.registerBuffer('runningMean', average);
    // Another mean: batch norms of one statistic would be one node.
    this.registerBuffer('runningMean2', means === 2 ? average.mul(2) : null);
    this.registerBuffer('runningVar', variance(x, [0, 2, 3]));
    this.registerBuffer('weight', ones([32], { device: x.device }));
    this.registerBuffer('bias', zeros([32], { device: x.device }));
    this.eval().to(x.device);
  }

  override forward(x: Tensor): Tensor {
    const first = this.normed(x, this.runningMean);
    return this.runningMean2 === null ? first : first.add(this.normed(x, this.runningMean2));
  }

  private normed(x: Tensor, runningMean: Tensor): Tensor {
    return F.batchNorm(this.conv.call(x), {
      runningMean,
      runningVar: this.runningVar,
      weight: this.weight,
      bias: this.bias,
      training: false,
      momentum: 0.1,
      eps: 1e-5,
    });
  }
}

/** Runs the module a few times in training, so that the running statistics say something. */
function trained(model: ConvBN, device: Device): ConvBN {
  model.to(device);
  noGrad(() => {
    for (let i = 0; i < 10; i++) model.call(rand([3, 32, 32, 32], { device }));
  });
  return model.eval();
}

/** What is left of convolutions and batch norms. */
interface Left {
  readonly convolutions: number;
  readonly norms: number;
}

/** Runs compiled as eager, in one graph that holds what is expected. */
async function expectSame(run: (x: Tensor) => Tensor, x: Tensor, left: Left): Promise<void> {
  await frozen({ layoutOptimization: false }, async () => {
    const expected = noGrad(() => run(x));
    const fast = compile(run);
    const { result, compiled } = await runAndGetCode(() => noGrad(() => fast(x)));
    expect(result.device).toBe(x.device);
    await expectClose(result, expected, COARSE);
    expect(compiled).toHaveLength(1);
    const text = compiled[0]!.graph.print();
    const count = (op: string): number => text.split(`${op}.default(`).length - 1;
    expect({
      convolutions: count('convolution_pointwise'),
      norms: count('_native_batch_norm_legit_no_training'),
    }).toEqual(left);
  });
}

/** Batch norms that share a convolution's result stay. */
const SHARED: Left = { convolutions: 1, norms: 2 };

/**
 * One module called twice: its constants are folded once per call, and never into themselves. The source drops the
 * first result; nobody says when JavaScript does, so that both leave the graph, as two tensors of one convolution.
 */
async function expectSharing(make: () => ConvBN | ConvFunctionalBN, x: Tensor): Promise<void> {
  const programs: readonly [(call: (input: Tensor) => Tensor, input: Tensor) => Tensor, Left][] = [
    [(call, input) => (call(input), call(input)), SHARED],
    [(call, input) => call(input).add(call(input)), { convolutions: 1, norms: 0 }],
    [(call, input) => call(input).add(call(input.neg())), { convolutions: 2, norms: 0 }],
  ];
  for (const [program, left] of programs) {
    // Freezing discards the parameters.
    const model = make();
    await expectSame((input) => program((y) => model.call(y), input), x, left);
  }
}

/** One convolution whose result is used with batch norm, and another with the same weights without. */
export async function convMultipleUses(device: Device): Promise<void> {
  class Toy extends Module {
    conv1 = new Conv2d(1, 1, 1);
    bn1 = new BatchNorm2d(1);

    override forward(x: Tensor, y: Tensor): Tensor {
      return this.conv1.call(x).add(this.bn1.call(this.conv1.call(y)));
    }
  }
  await openDevice(device);
  const model = new Toy();
  noGrad(() => model.bn1.weight!.normal_());
  model.eval().to(device);
  const [a, b] = [1, 2].map(() => rand([64, 1, 32, 32], { device })) as [Tensor, Tensor];
  const expected = model.call(a, b);
  await frozen({}, () => {
    const result = noGrad(() => compile(model)(a, b));
    expect(result.device).toBe(device);
    return expectClose(result, expected);
  });
}

/** A batch norm without a convolution. */
export async function unfoldedBn(device: Device): Promise<void> {
  await openDevice(device);
  const x = rand([3, 32, 15, 15], { device });
  const model = new BatchNorm2d(32, { eps: 0.001 }).eval().to(device);
  const apply = (m: BatchNorm2d, input: Tensor): Tensor => m.call(input).add(10);
  await frozen({}, async () => {
    const compiled = compile(apply);
    const expected = compiled(model, x);
    const result = noGrad(() => compiled(model, x));
    expect(result.device).toBe(device);
    await expectClose(result, expected);
  });
}

/** Folded whatever the dtype, with and without a bias: one kernel holds the convolution and all of it. */
export async function foldedConvBn(device: Device): Promise<void> {
  await openDevice(device);
  const dtypes = ['float16', 'bfloat16', 'float32'] as const;
  for (const bias of [true, false]) {
    for (const dtype of dtypes) {
      const model = new ConvBN(3, 32, { bias }).eval().to(device).to(dtype);
      const x = rand([3, 3, 32, 32], { device }).to(dtype);
      await frozen({ layoutOptimization: false }, async () => {
        const expected = noGrad(() => model.call(x));
        const fast = compile((m: ConvBN, input: Tensor) => m.call(input));
        const { result, compiled } = await runAndGetCode(() => noGrad(() => fast(model, x)));
        expect(result.device).toBe(device);
        await expectClose(result, expected, COARSE);
        expect(compiled).toHaveLength(1);
        const [{ graph, plan }] = compiled as [(typeof compiled)[0]];
        new FileCheck()
          .check('convolution_pointwise.default(')
          .checkNot('batch_norm')
          .checkNot('convolution_pointwise.default(')
          .check('return')
          .run(graph.print());
        expect(plan.launches.map(({ kernel }) => plan.kernels[kernel]!.kind)).toEqual(['matmul']);
      });
    }
  }
}

/** The same module called twice. */
export async function foldedConvBnWithModuleSharing(device: Device): Promise<void> {
  await openDevice(device);
  const make = (): ConvBN => trained(new ConvBN(32, 32, { bias: true }), device);
  await expectSharing(make, rand([3, 32, 32, 32], { device }));
}

/** The same, with a functional batch norm. */
export async function foldedConvFunctionalBnWithModuleSharing(device: Device): Promise<void> {
  await openDevice(device);
  const x = rand([3, 32, 32, 32], { device });
  await expectSharing(() => new ConvFunctionalBN(x, 1), x);
}

/** Two batch norms behind one convolution. */
export async function convBnWithMultiBnShareConv(device: Device): Promise<void> {
  await openDevice(device);
  const model = trained(new ConvMultiBN(32, 32, { bias: true }), device);
  await expectSame((x) => model.call(x), rand([3, 32, 32, 32], { device }), SHARED);
}

/** The same, with functional batch norms. */
export async function convFunctionalBnWithMultiBnShareConv(device: Device): Promise<void> {
  await openDevice(device);
  const x = rand([3, 32, 32, 32], { device });
  const model = new ConvFunctionalBN(x, 2);
  await expectSame((input) => model.call(input), x, SHARED);
}

/**
 * The plan runs as one call into compiled code, or one submission, twice: the frozen model, and one whose plan has
 * several kernels. A plan that needs JavaScript between its kernels is refused.
 */
export async function cppWrapper(device: Device): Promise<void> {
  await openDevice(device);
  const x = rand([3, 3, 32, 32], { device });
  const options = { nativeWrapper: true };
  await expectOneCall(new ConvBN(3, 32), (m, input) => m.call(input), x, 1);
  const softmaxTwice = (m: ConvBN, input: Tensor): Tensor =>
    F.softmax(F.softmax(m.call(input), 1), 3);
  await expectOneCall(new ConvBN(3, 32), softmaxTwice, x, 3);

  // The operator's kernel is JavaScript.
  const opaque = (input: Tensor): Tensor => addsTwo(input.add(1)).mul(2);
  const refused = compile(opaque, { options });
  expect(() => noGrad(() => refused(x))).toThrow(
    device === 'cpu'
      ? /nativeWrapper: plan .* runs reference kernels, .* conformance_native::adds_two/
      : /conformance_native::adds_two has no lowering/,
  );
  if (device === 'cpu')
    await expectClose(
      noGrad(() => compile(opaque)(x)),
      opaque(x),
    );
  expect(config.get('nativeWrapper')).toBe(false);
}

const addsTwo = library('conformance_native')
  .define('adds_two(Tensor x) -> Tensor')
  .impl('adds_two', 'cpu', (x: Tensor) => x.add(2))
  .impl('adds_two', 'meta', (x: Tensor) => x.add(2))
  .fn<(x: Tensor) => Tensor>('adds_two');

/** Runs a frozen model twice with the option; the second run enters compiled code once. */
async function expectOneCall(
  model: ConvBN,
  run: (m: ConvBN, input: Tensor) => Tensor,
  x: Tensor,
  launches: number,
): Promise<void> {
  const device = x.device as Device;
  model.eval().to(device);
  const expected = noGrad(() => run(model, x));
  const fast = compile(run, { options: { nativeWrapper: true } });
  await frozen({}, async () => {
    using calls = await countNativeCalls(device);
    const { result, compiled } = await runAndGetCode(() => noGrad(() => fast(model, x)));
    expect(result.device).toBe(device);
    expect(compiled.map(({ plan }) => plan.launches.length)).toEqual([launches]);
    await expectClose(result, expected);
    await calls.settle();
    const before = calls.count;
    const second = noGrad(() => fast(model, x));
    await calls.settle();
    expect(calls.count - before).toBe(1);
    await expectClose(second, expected);
  });
}

/** A half convolution times a wider constant: the product has the dtype and the values it has in eager. */
export async function dontChangeDtypeFolding(device: Device): Promise<void> {
  await openDevice(device);
  const dtype = device === 'cpu' ? 'bfloat16' : 'float16';
  const model = new Conv2d(3, 32, 3, { bias: false, stride: 2 }).eval().to(device).to(dtype);
  const x = rand([3, 3, 32, 32], { device }).to(dtype);
  const apply = (m: Conv2d, input: Tensor): Tensor =>
    m.call(input).mul(full([1], 2, { device, dtype: 'float32' }));
  await frozen({ layoutOptimization: false }, async () => {
    const expected = noGrad(() => apply(model, x));
    expect(expected.dtype).toBe('float32');
    const fast = compile(apply);
    const { result, compiled } = await runAndGetCode(() => noGrad(() => fast(model, x)));
    expect(result.dtype).toBe('float32');
    expect(result.device).toBe(device);
    await expectClose(result, expected);
    // The constant stays behind the convolution, whose result is half.
    expect(compiled).toHaveLength(1);
    new FileCheck()
      .check('convolution_pointwise.default(')
      .check('mul.Tensor(')
      .run(compiled[0]!.graph.print());
  });
}
