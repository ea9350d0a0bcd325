/**
 * @file Products and convolutions with a fused activation give what onnxruntime gives.
 */
import type { Attributes } from './support/build-model.js';
import { type Contrib, type Numbers, noise } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const conv = (attributes: Attributes, rest: readonly (Numbers | null)[] = []): Contrib => ({
  op: 'FusedConv',
  inputs: [noise([1, 2, 5, 6], 1), noise([4, 2, 3, 3], 2), ...rest],
  attributes,
});
const listed = (activation: string, ...factors: number[]): Attributes => ({
  activation,
  ...(factors.length > 0 && { activation_params: { floats: factors } }),
});
const [bias, z] = [noise([4], 3), noise([1, 4, 3, 4], 4)];

const convolutions: Case[] = [
  ['FusedConv: no activation', conv({})],
  ['FusedConv: Relu, bias', conv(listed('Relu'), [bias])],
  ['FusedConv: Tanh', conv(listed('Tanh'))],
  ['FusedConv: Sigmoid', conv(listed('Sigmoid'))],
  ['FusedConv: LeakyRelu', conv(listed('LeakyRelu', 0.3))],
  ['FusedConv: Clip', conv(listed('Clip', -0.5, 0.75))],
  ['FusedConv: HardSigmoid', conv(listed('HardSigmoid', 0.3, 0.4))],
  ['FusedConv: Z, before Relu', conv(listed('Relu'), [bias, z])],
  ['FusedConv: Z without a bias', conv(listed('Relu'), [null, z])],
  [
    'FusedConv: pads, strides, dilations',
    conv({ ...listed('Relu'), pads: [1, 0, 2, 1], strides: [2, 1], dilations: [1, 2] }, [bias]),
  ],
  ['FusedConv: auto_pad', conv({ ...listed('Relu'), auto_pad: 'SAME_UPPER', strides: [2, 2] })],
  [
    'FusedConv: group, kernel_shape',
    {
      op: 'FusedConv',
      inputs: [noise([1, 4, 5, 5], 1), noise([4, 1, 3, 3], 2), bias],
      attributes: { ...listed('Relu'), group: 4, kernel_shape: [3, 3] },
    },
  ],
  [
    'NhwcConv: channels last',
    {
      op: 'NhwcConv',
      inputs: [noise([1, 5, 6, 2], 1), noise([4, 2, 3, 3], 2), bias],
      attributes: { pads: [1, 1, 1, 1], strides: [2, 1] },
      instead: {
        nodes: [
          { op: 'Transpose', in: ['in0'], out: ['x'], attributes: { perm: [0, 3, 1, 2] } },
          {
            op: 'Conv',
            in: ['x', 'in1', 'in2'],
            out: ['y'],
            attributes: { pads: [1, 1, 1, 1], strides: [2, 1] },
          },
          { op: 'Transpose', in: ['y'], out: ['out0'], attributes: { perm: [0, 2, 3, 1] } },
        ],
      },
    },
  ],
  ...[1, 2].map((group): Case => [
    `NhwcConv: channels last in weights too, ${group} groups`,
    {
      op: 'NhwcConv',
      // As many channels as the windows are high and wide: only the operator says which dimension is which.
      inputs: [noise([1, 5, 6, 3 * group], 1), noise([4, 3, 3, 3], 2), bias],
      attributes: { pads: [1, 1, 1, 1], group },
      instead: {
        nodes: [
          { op: 'Transpose', in: ['in0'], out: ['x'], attributes: { perm: [0, 3, 1, 2] } },
          { op: 'Transpose', in: ['in1'], out: ['w'], attributes: { perm: [0, 3, 1, 2] } },
          {
            op: 'Conv',
            in: ['x', 'w', 'in2'],
            out: ['y'],
            attributes: { pads: [1, 1, 1, 1], group },
          },
          { op: 'Transpose', in: ['y'], out: ['out0'], attributes: { perm: [0, 2, 3, 1] } },
        ],
      },
    },
  ]),
  [
    'NhwcFusedConv: Z, Relu',
    {
      op: 'NhwcFusedConv',
      inputs: [noise([1, 5, 6, 2], 1), noise([4, 2, 3, 3], 2), bias, noise([1, 3, 4, 4], 4)],
      attributes: listed('Relu'),
      instead: {
        nodes: [
          { op: 'Transpose', in: ['in0'], out: ['x'], attributes: { perm: [0, 3, 1, 2] } },
          { op: 'Conv', in: ['x', 'in1', 'in2'], out: ['y'] },
          { op: 'Transpose', in: ['y'], out: ['last'], attributes: { perm: [0, 2, 3, 1] } },
          { op: 'Add', in: ['last', 'in3'], out: ['sum'] },
          { op: 'Relu', in: ['sum'], out: ['out0'] },
        ],
      },
    },
  ],
];

const gemm = (attributes: Attributes, a = noise([3, 4], 5), b = noise([4, 5], 6)): Contrib => ({
  op: 'FusedGemm',
  inputs: [a, b, noise([5], 7)],
  attributes,
});
const named = (activation: string, factors: Attributes = {}): Attributes => ({
  activation,
  ...factors,
});
const [alpha, beta, gamma] = [{ float: 0.3 }, { float: 0.6 }, { float: 1.5 }];

const products: Case[] = [
  ...['Relu', 'Sigmoid', 'Tanh', 'Softplus', 'Softsign'].map((name): Case => [
    `FusedGemm: ${name}`,
    gemm(named(name)),
  ]),
  ...['LeakyRelu', 'Elu', 'ThresholdedRelu'].map((name): Case => [
    `FusedGemm: ${name}, activation_alpha`,
    gemm(named(name, { activation_alpha: alpha })),
  ]),
  [
    'FusedGemm: HardSigmoid, activation_alpha and activation_beta',
    gemm(named('HardSigmoid', { activation_alpha: alpha, activation_beta: beta })),
  ],
  [
    'FusedGemm: Selu, activation_alpha and activation_gamma',
    gemm(named('Selu', { activation_alpha: alpha, activation_gamma: gamma })),
  ],
  [
    'FusedGemm: alpha and beta',
    gemm({ ...named('Relu'), alpha: { float: 0.5 }, beta: { float: 2 } }),
  ],
  [
    'FusedGemm: transA and transB',
    gemm({ ...named('Relu'), transA: 1, transB: 1 }, noise([4, 3], 5), noise([5, 4], 6)),
  ],
  [
    'FusedGemm: without C',
    { op: 'FusedGemm', inputs: [noise([3, 4], 5), noise([4, 5], 6)], attributes: named('Relu') },
  ],
  [
    'TransposeMatMul: transA, transB, alpha',
    {
      op: 'TransposeMatMul',
      inputs: [noise([2, 4, 3], 8), noise([2, 5, 4], 9)],
      attributes: { transA: 1, transB: 1, alpha: { float: 0.5 } },
    },
  ],
  [
    'FusedMatMulActivation: transB, alpha, LeakyRelu',
    {
      op: 'FusedMatMulActivation',
      inputs: [noise([2, 3, 4], 8), noise([2, 5, 4], 9)],
      attributes: {
        activation: 'LeakyRelu',
        activation_alpha: alpha,
        transB: 1,
        alpha: { float: 0.5 },
      },
      instead: {
        nodes: [
          {
            op: 'FusedMatMul',
            domain: 'com.microsoft',
            in: ['in0', 'in1'],
            out: ['y'],
            attributes: { transB: 1, alpha: { float: 0.5 } },
          },
          { op: 'LeakyRelu', in: ['y'], out: ['out0'], attributes: { alpha } },
        ],
      },
    },
  ],
  [
    'GemmFastGelu: bias',
    {
      op: 'GemmFastGelu',
      inputs: [noise([2, 3, 4], 10), noise([4, 5], 11), noise([5], 12)],
      instead: {
        nodes: [
          { op: 'MatMul', in: ['in0', 'in1'], out: ['y'] },
          { op: 'FastGelu', domain: 'com.microsoft', in: ['y', 'in2'], out: ['out0'] },
        ],
      },
    },
  ],
];

const refused: Refused[] = [
  [
    'an activation that there is not',
    conv(listed('Swash')),
    'onnx-invalid',
    /activation 'Swash': it may be .*relu/,
  ],
  [
    'too few activation_params',
    conv(listed('Clip', 1)),
    'onnx-invalid',
    /activation_params has 1 numbers, and Clip takes 2/,
  ],
  [
    'a product without an activation',
    gemm({ transA: 0 }),
    'onnx-invalid',
    /attribute 'activation' is missing/,
  ],
  [
    'operands that do not fit',
    gemm(named('Relu'), noise([3, 3], 5)),
    'shape-mismatch',
    /FusedGemm/,
  ],
];

describeLikeOnnxruntime({ convolutions, products });
describeRefused(refused);
