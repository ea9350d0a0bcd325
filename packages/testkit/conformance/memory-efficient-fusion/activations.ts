/**
 * @file Activations and norms through `memoryEfficientFusion`, five rounds: outputs and gradients as eager.
 */
import {
  type AotOptions,
  type GraphCompiler,
  defaultPartition,
  runEagerly,
} from '@tessera/aot-autograd';
import { memoryEfficientFusion } from '@tessera/compile';
import { type GraphModule, type Node, tensorVal } from '@tessera/graph';
import { Module, Parameter, functional as F } from '@tessera/nn';
import { type Tensor, manualSeed, ones, randn, rsqrt } from '@tessera/tensor';
import { expect } from 'vitest';
import { type Tolerance, assertCloseAsync, kernelCount, runAndGetCode } from '../../src/index.js';
import { type Device, leafOn, openDevice } from '../support/devices.js';

type Activation = (...inputs: Tensor[]) => Tensor;

/** A row: what is compiled, and the shapes of its inputs per device. */
export interface ActivationRow {
  readonly name: string;
  readonly make: () => Activation | Module;
  readonly shapes: (device: Device) => readonly (readonly number[])[];
  /** Where PyTorch's default is too narrow. */
  readonly tolerance?: Tolerance;
  /** Launches of the forward graph and of the backward graph. */
  readonly kernels: readonly [forward: number, backward: number];
}

/** T5's norm: no mean, no bias, computed in float32. */
class T5LayerNorm extends Module {
  readonly weight: Parameter;
  readonly epsilon = 1e-6;

  constructor(hiddenSize: number) {
    super();
    this.weight = new Parameter(ones([hiddenSize]));
  }

  override forward(hidden: Tensor): Tensor {
    const variance = hidden.to('float32').pow(2).mean(-1, { keepdim: true });
    const normed = hidden.mul(rsqrt(variance.add(this.epsilon)));
    const { dtype } = this.weight;
    return this.weight.mul(dtype === 'float16' || dtype === 'bfloat16' ? normed.to(dtype) : normed);
  }
}

const vector = (): readonly (readonly number[])[] => [[1024]];
const of =
  (fn: Activation): (() => Activation) =>
  (): Activation =>
    fn;
/** relu6(x + 3) / 6. */
const gate = (x: Tensor): Tensor => x.add(3).clamp(0, 6).div(6);

function layerNorm(x: Tensor, weight: Tensor, bias: Tensor): Tensor {
  const mean = x.mean(-1, { keepdim: true });
  const centered = x.sub(mean);
  const variance = centered.mul(centered).sum(-1, { keepdim: true }).div(x.size(-1));
  const scale = variance.add(1e-5).sqrt().reciprocal();
  return x.sub(mean).mul(scale).mul(weight).add(bias);
}

export const ACTIVATIONS: readonly ActivationRow[] = [
  {
    name: 'test_gelu_bias',
    shapes: () => [[1024], [1024]],
    kernels: [1, 1],
    make: of((bias, y) => {
      const x = bias.add(y);
      const inner = x.mul(0.79788456).mul(x.mul(0.044715).mul(x).add(1));
      return x.mul(0.5).mul(inner.tanh().add(1));
    }),
  },
  {
    name: 'test_mish',
    shapes: vector,
    kernels: [1, 1],
    make: of((x) => x.mul(F.softplus(x).tanh())),
  },
  { name: 'test_swish', shapes: vector, kernels: [1, 1], make: of((x) => x.mul(x.sigmoid())) },
  { name: 'test_hard_sigmoid', shapes: vector, kernels: [1, 1], make: of(gate) },
  { name: 'test_hard_swish', shapes: vector, kernels: [1, 1], make: of((x) => x.mul(gate(x))) },
  {
    name: 'test_hard_mish',
    shapes: vector,
    kernels: [1, 1],
    make: of((x) => x.mul(0.5).mul(x.add(2).clamp(0, 2))),
  },
  {
    name: 'test_layer_norm',
    shapes: () => [[10, 16], [16], [16]],
    // Gradients sum along rows and along columns.
    kernels: [1, 2],
    make: of(layerNorm),
  },
  {
    name: 'test_rmsnorm',
    // Software adapters hold less memory and take long.
    shapes: (device) => [[device === 'cpu' ? 256 : 16, 256, 1024]],
    kernels: [1, 2],
    // The weight's gradient sums thousands of rows, in another order than eager.
    tolerance: { rtol: 1.3e-6, atol: 5e-5 },
    make: () => new T5LayerNorm(1024),
  },
];

/** Runs a row on a device. */
export async function matchesEager(row: ActivationRow, device: Device): Promise<void> {
  await openDevice(device);
  manualSeed(11);
  const inputs = row.shapes(device).map((shape) => randn(shape).requiresGrad_());
  const expected = gradientsOf(row.make(), inputs);

  const target = targetOn(row, device);
  const leaves = inputs.map((input) => leafOn(device, input));
  const tensors = [...leaves, ...parametersOf(target)];
  const fused = fuse(target);
  const { result: actual, compiled } = await runAndGetCode(() => {
    let values: Tensor[] = [];
    for (let round = 0; round < 5; round++) {
      for (const tensor of tensors) tensor.grad = null;
      const out = fused(...leaves);
      out.sum().backward();
      values = [out.detach(), ...tensors.map((tensor) => tensor.grad!)];
    }
    return values;
  });
  expect(actual.length).toBe(expected.length);
  for (const [i, value] of actual.entries()) {
    expect(value.device).toBe(device);
    const message = i === 0 ? 'output' : `gradient ${i - 1}`;
    await assertCloseAsync(value, expected[i]!, { ...row.tolerance, message });
  }
  // One graph each way, for all rounds.
  const launched = compiled.map(({ plan }) => kernelCount(plan, { templates: true }));
  expect(launched).toEqual(row.kernels);
  expect(savedBytes(row, device, {})).toBeLessThan(
    savedBytes(row, device, { partitionFn: defaultPartition }),
  );
}

/** Bytes that a row's forward makes for its backward, of at most sixteen of its rows. */
function savedBytes(row: ActivationRow, device: Device, options: Partial<AotOptions>): number {
  const graphs: GraphModule[] = [];
  const fwCompiler: GraphCompiler = (module) => {
    graphs.push(module);
    return runEagerly(module);
  };
  const inputs = row.shapes(device).map(([first, ...rest]) => {
    const input = randn([Math.min(first!, 16), ...rest], { device });
    return input.requiresGrad_();
  });
  fuse(targetOn(row, device), { ...options, fwCompiler })(...inputs);
  const [results] = graphs[0]!.graph.outputNode!.args as readonly [readonly Node[]];
  const made = new Set(results.slice(1).filter((node) => node.op === 'call_function'));
  return [...made].reduce((sum, node) => sum + tensorVal(node)!.storage.nbytes, 0);
}

function fuse(target: Activation | Module, options: Partial<AotOptions> = {}): Activation {
  return target instanceof Module
    ? (memoryEfficientFusion(target, options) as Activation)
    : memoryEfficientFusion(target, options);
}

function targetOn(row: ActivationRow, device: Device): Activation | Module {
  const target = row.make();
  return target instanceof Module ? target.to(device) : target;
}

function gradientsOf(target: Activation | Module, inputs: readonly Tensor[]): Tensor[] {
  const run =
    target instanceof Module ? (...args: Tensor[]) => target.call(...(args as never[])) : target;
  const out = run(...inputs) as Tensor;
  out.sum().backward();
  return [out.detach(), ...[...inputs, ...parametersOf(target)].map((leaf) => leaf.grad!)];
}

function parametersOf(target: Activation | Module): Tensor[] {
  return target instanceof Module ? [...target.parameters()] : [];
}
