/**
 * @file Activations and norms through `memoryEfficientFusion`, five rounds: outputs and gradients as eager.
 */
import { memoryEfficientFusion } from '@tessera/compile';
import { Module, Parameter, functional as F } from '@tessera/nn';
import { type Tensor, manualSeed, ones, randn, rsqrt } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertCloseAsync } from '../../src/index.js';
import { type Device, leafOn, openDevice } from '../support/devices.js';

type Activation = (...inputs: Tensor[]) => Tensor;

/** A row: what is compiled, and the shapes of its inputs per device. */
export interface ActivationRow {
  readonly name: string;
  readonly make: () => Activation | Module;
  readonly shapes: (device: Device) => readonly (readonly number[])[];
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
    make: of((bias, y) => {
      const x = bias.add(y);
      const inner = x.mul(0.79788456).mul(x.mul(0.044715).mul(x).add(1));
      return x.mul(0.5).mul(inner.tanh().add(1));
    }),
  },
  { name: 'test_mish', shapes: vector, make: of((x) => x.mul(F.softplus(x).tanh())) },
  { name: 'test_swish', shapes: vector, make: of((x) => x.mul(x.sigmoid())) },
  { name: 'test_hard_sigmoid', shapes: vector, make: of(gate) },
  { name: 'test_hard_swish', shapes: vector, make: of((x) => x.mul(gate(x))) },
  {
    name: 'test_hard_mish',
    shapes: vector,
    make: of((x) => x.mul(0.5).mul(x.add(2).clamp(0, 2))),
  },
  { name: 'test_layer_norm', shapes: () => [[10, 16], [16], [16]], make: of(layerNorm) },
  {
    name: 'test_rmsnorm',
    // Software adapters hold less memory and take long.
    shapes: (device) => [[device === 'cpu' ? 256 : 16, 256, 1024]],
    make: () => new T5LayerNorm(1024),
  },
];

/** Runs a row on a device. */
export async function matchesEager(row: ActivationRow, device: Device): Promise<void> {
  await openDevice(device);
  manualSeed(11);
  const inputs = row.shapes(device).map((shape) => randn(shape).requiresGrad_());
  const leaves = inputs.map((input) => leafOn(device, input));
  const expected = gradientsOf(row.make(), inputs);

  const target = row.make();
  if (target instanceof Module) moveTo(target, device);
  const fused =
    target instanceof Module ? memoryEfficientFusion(target) : memoryEfficientFusion(target);
  let actual: Tensor[] = [];
  for (let round = 0; round < 5; round++) {
    for (const tensor of [...leaves, ...parametersOf(target)]) tensor.grad = null;
    const out = (fused as Activation)(...leaves);
    out.sum().backward();
    actual = [out.detach(), ...[...leaves, ...parametersOf(target)].map((leaf) => leaf.grad!)];
  }
  expect(actual.length).toBe(expected.length);
  for (const [i, value] of actual.entries()) {
    const what = i === 0 ? 'output' : `gradient ${i - 1}`;
    // Sums of 65,536 rows differ in order.
    await assertCloseAsync(value, expected[i]!, { rtol: 1e-4, atol: 1e-4, message: what });
  }
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

function moveTo(module: Module, device: Device): void {
  if (device !== 'cpu') module.to(device);
}
