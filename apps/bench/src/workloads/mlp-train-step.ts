/**
 * @file `mlp_train_step`: forward, backward and SGD update of a 784-512-256-10 perceptron, batch 128.
 */
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import { fromTypedArray, noGrad } from '@tessera/tensor';
import type * as Jax from '@jax-js/jax';
import type * as Tfjs from '@tensorflow/tfjs-core';
import { type HostArray, floats, numelOf, transposed } from '../harness/host-array.js';
import { concatenated } from '../harness/ranges.js';
import { classes, normals, oneHot } from '../harness/seeded.js';
import type { Case, TesseraProgram, Workload } from '../harness/workload.js';
import { mlpStep } from './mlp-reference.js';

const LEARNING_RATE = 0.01;
/** Steps after which loss and weights are compared. */
const CHECKED_STEPS = 2;

/** Weights [out, in] and biases [out], layer by layer, in the scale that PyTorch starts with. */
function initialParameters(widths: readonly number[]): HostArray[] {
  return widths.slice(1).flatMap((outputs, l) => {
    const scale = 1 / Math.sqrt(3 * widths[l]!);
    return [
      normals([outputs, widths[l]!], 20 + 2 * l, scale),
      normals([outputs], 21 + 2 * l, scale),
    ];
  });
}

function tesseraProgram(widths: readonly number[], initial: readonly HostArray[]): TesseraProgram {
  return (inputs) => {
    const layers = widths.slice(1).flatMap((outputs, l) => {
      const linear = new Linear(widths[l]!, outputs);
      return l === widths.length - 2 ? [linear] : [linear, new ReLU()];
    });
    const model = new Sequential(...layers);
    model.to(inputs[0]!.device);
    const state = [...model.parameters()];
    noGrad(() => {
      state.forEach((parameter, i) => {
        const { data, shape } = initial[i]!;
        parameter.copy_(fromTypedArray(data, shape).to(parameter.device));
      });
    });
    const optimizer = new optim.SGD(model.parameters(), { lr: LEARNING_RATE });
    return {
      fn(images, labels): Tensor {
        optimizer.zeroGrad();
        const loss = F.crossEntropy(model.call(images!) as Tensor, labels!);
        loss.backward();
        optimizer.step();
        return loss;
      },
      args: inputs,
      state,
    };
  };
}

/** Peers hold weights as [in, out], which their products take as they are. */
function peerState(initial: readonly HostArray[]): HostArray[] {
  return initial.map((host) => (host.shape.length === 2 ? transposed(host) : host));
}

/** Peers' loss and weights, the latter as PyTorch lays them out. */
function peerResult(
  state: readonly HostArray[],
): (loss: Float32Array, values: readonly Float32Array[]) => Float32Array {
  return (loss, values) =>
    concatenated([
      loss,
      ...peerState(values.map((data, i) => floats(state[i]!.shape, data))).map(({ data }) => data),
    ]);
}

/** Operations of the matrix products: one forward, two backward, of which the first layer needs one. */
function flopOf(widths: readonly number[], batch: number): number {
  const products = widths.slice(1).map((outputs, l) => 2 * batch * widths[l]! * outputs);
  return 3 * products.reduce((a, b) => a + b, 0) - products[0]!;
}

type JaxStep = (
  state: Jax.Array[],
  ...inputs: Jax.Array[]
) => [loss: Jax.Array, state: Jax.Array[]];

function jaxStep(jax: typeof Jax): JaxStep {
  const { nn, numpy, valueAndGrad } = jax;
  const lossOf = (state: Jax.Array[], images: Jax.Array, targets: Jax.Array): Jax.Array => {
    let h = images;
    for (let i = 0; i < state.length; i += 2) {
      h = numpy.matmul(h, state[i]!).add(state[i + 1]!);
      if (i + 2 < state.length) h = nn.relu(h);
    }
    return nn.logSoftmax(h, -1).mul(targets).sum(-1).mean().neg();
  };
  const lossAndGrad = valueAndGrad(lossOf);
  return (state, images, targets) => {
    const kept = state.map((array) => array.ref);
    const [loss, gradients] = lossAndGrad(kept, images!, targets!);
    const next = state.map((array, i) =>
      array.sub((gradients as Jax.Array[])[i]!.mul(LEARNING_RATE)),
    );
    return [loss, next];
  };
}

function tfjsStep(
  tf: typeof Tfjs,
): (state: Tfjs.Variable[], ...inputs: Tfjs.Tensor[]) => Tfjs.Scalar {
  const optimizer = tf.train.sgd(LEARNING_RATE);
  return (state, images, targets) => {
    const lossOf = (): Tfjs.Scalar => {
      let h = images as Tfjs.Tensor2D;
      for (let i = 0; i < state.length; i += 2) {
        h = tf.add(tf.matMul(h, state[i] as Tfjs.Tensor2D), state[i + 1]!);
        if (i + 2 < state.length) h = tf.relu(h);
      }
      return tf.losses.softmaxCrossEntropy(targets!, h) as Tfjs.Scalar;
    };
    return optimizer.minimize(lossOf, true, state)!;
  };
}

/** Results of the reference, computed when first asked for: loss, then the parameters after. */
function referenceOf(
  widths: readonly number[],
  batch: number,
  initial: readonly HostArray[],
  [images, labels]: readonly HostArray[],
): (index: number) => number {
  let values: Float64Array | null = null;
  return (index) => {
    if (values === null) {
      const parameters = initial.map(({ data }) => Float64Array.from(data));
      const setting = { widths, batch, learningRate: LEARNING_RATE };
      let loss = NaN;
      for (let step = 0; step < CHECKED_STEPS; step++) {
        loss = mlpStep(setting, parameters, images!.data, labels!.data);
      }
      values = Float64Array.from([loss, ...parameters.flatMap((array) => [...array])]);
    }
    return values[index]!;
  };
}

/** The step at a batch size. */
export function mlpCase(widths: readonly number[], batch: number): Case {
  const classCount = widths.at(-1)!;
  const images = normals([batch, widths[0]!], 10);
  const labels = classes(batch, classCount, 11);
  const initial = initialParameters(widths);
  const state = peerState(initial);
  const inputs = [images, oneHot(labels, classCount)];
  const toResult = peerResult(state);
  return {
    shapes: `${widths.join('-')}, batch ${batch}`,
    work: { flop: flopOf(widths, batch) },
    inputs: [images, labels],
    programs: {
      tessera: tesseraProgram(widths, initial),
      jax: { kind: 'step', state, inputs, toResult, make: jaxStep },
      tfjs: { kind: 'step', state, inputs, toResult, make: tfjsStep },
    },
    checkedCalls: CHECKED_STEPS,
    tolerance: { rtol: 1e-4, atol: 1e-6 },
    resultSize: 1 + initial.reduce((sum, { shape }) => sum + numelOf(shape), 0),
    reference: referenceOf(widths, batch, initial, [images, labels]),
  };
}

export const mlpTrainStep: Workload = {
  name: 'mlp_train_step',
  about: 'training step of a perceptron, SGD',
  devices: ['cpu', 'wgpu'],
  kind: 'steady',
  make: ({ quick }) => (quick ? mlpCase([64, 48, 10], 32) : mlpCase([784, 512, 256, 10], 128)),
};
