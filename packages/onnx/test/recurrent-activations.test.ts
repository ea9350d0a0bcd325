/**
 * @file Factors of activations of recurrent operators are taken, one after the other, by the activations that have them.
 */
import type { Attributes } from './support/build-model.js';
import { type Contrib, noise } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;

/** Four steps of two sequences with three inputs and two states. */
const layer = (op: 'RNN' | 'GRU' | 'LSTM', attributes: Attributes, directions = 1): Contrib => {
  const rows = { RNN: 2, GRU: 6, LSTM: 8 }[op];
  return {
    op,
    domain: '',
    inputs: [
      noise([4, 2, 3], 1),
      noise([directions, rows, 3], 2),
      noise([directions, rows, 2], 3),
      noise([directions, 2 * rows], 4),
    ],
    attributes: { hidden_size: 2, ...attributes },
    outputs: [F32, F32],
  };
};

const cases: Case[] = [
  [
    'RNN: one factor',
    layer('RNN', { activations: ['LeakyRelu'], activation_alpha: { floats: [0.3] } }),
  ],
  [
    'LSTM: the second has none',
    layer('LSTM', {
      activations: ['HardSigmoid', 'Tanh', 'LeakyRelu'],
      activation_alpha: { floats: [0.3, 0.2] },
      activation_beta: { floats: [0.4] },
    }),
  ],
  [
    'GRU: both directions',
    layer(
      'GRU',
      {
        direction: 'bidirectional',
        activations: ['Sigmoid', 'ScaledTanh', 'HardSigmoid', 'Elu'],
        activation_alpha: { floats: [1.2, 0.3, 0.7] },
        activation_beta: { floats: [0.8, 0.4] },
      },
      2,
    ),
  ],
  ['LSTM: none given', layer('LSTM', { activations: ['HardSigmoid', 'Softsign', 'Tanh'] })],
];

const refused: Refused[] = [
  [
    'an activation that there is not',
    layer('RNN', { activations: ['Swash'] }),
    'onnx-invalid',
    /activation 'Swash': it may be .*tanh/,
  ],
];

describeLikeOnnxruntime({ cases });
describeRefused(refused);
