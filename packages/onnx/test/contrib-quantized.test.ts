/**
 * @file Quantized operators give what onnxruntime gives.
 */
import type { Attributes } from './support/build-model.js';
import { type Numbers, given, noise, whole } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const U8 = 'uint8' as const;
const scale = (s: number): Numbers => given(F32, [], [s]);
const zero = (z: number): Numbers => given(U8, [], [z]);
const bytes = (dims: readonly number[], seed: number): Numbers => whole(U8, dims, [0, 256], seed);
const quantized: Case[] = [
  ...(['uint8', 'int8'] as const).map((dtype): Case => [
    `QuantizeLinear: numbers beyond ${dtype}, and none`,
    {
      op: 'QuantizeLinear',
      domain: '',
      inputs: [
        given(F32, [6], [NaN, 1, Infinity, -Infinity, 1e9, -3]),
        scale(0.5),
        given(dtype, [], [3]),
      ],
      outputs: [dtype],
    },
  ]),
  ...[[], [0, 0, 0]].map((data): Case => [
    `DynamicQuantizeLinear: ${data.length} zeros`,
    {
      op: 'DynamicQuantizeLinear',
      domain: '',
      inputs: [given(F32, [data.length], data)],
      outputs: [U8, F32, U8],
    },
  ]),
  ...(['QLinearAdd', 'QLinearMul'] as const).map((op): Case => [
    `${op}, broadcast`,
    {
      op,
      inputs: [
        bytes([2, 3, 4], 40),
        scale(0.02),
        zero(100),
        bytes([4], 41),
        scale(0.03),
        zero(130),
        scale(0.05),
        zero(120),
      ],
      outputs: [U8],
    },
  ]),
  [
    'QLinearSigmoid',
    {
      op: 'QLinearSigmoid',
      inputs: [bytes([2, 8], 42), scale(0.04), zero(128), scale(1 / 256), zero(0)],
      outputs: [U8],
    },
  ],
  [
    'QLinearLeakyRelu: alpha',
    {
      op: 'QLinearLeakyRelu',
      inputs: [bytes([2, 8], 43), scale(0.04), zero(128), scale(0.03), zero(90)],
      attributes: { alpha: 0.3 },
      outputs: [U8],
    },
  ],
  ...[0, 1].map((last): Case => [
    `QLinearGlobalAveragePool: channels_last ${last}`,
    {
      op: 'QLinearGlobalAveragePool',
      inputs: [bytes([2, 3, 4, 5], 44), scale(0.04), zero(128), scale(0.02), zero(110)],
      attributes: { channels_last: last },
      outputs: [U8],
    },
  ]),
  [
    'QLinearConcat: axis',
    {
      op: 'QLinearConcat',
      inputs: [
        scale(0.03),
        zero(120),
        bytes([2, 3], 45),
        scale(0.02),
        zero(100),
        bytes([2, 4], 46),
        scale(0.04),
        zero(140),
      ],
      attributes: { axis: 1 },
      outputs: [U8],
    },
  ],
  ...[
    { axis: 1, opset: 13 },
    { axis: -1, opset: 13 },
    { axis: 1, opset: 12 },
  ].map((attributes): Case => [
    `QLinearSoftmax: ${JSON.stringify(attributes)}`,
    {
      op: 'QLinearSoftmax',
      inputs: [bytes([2, 3, 4], 60), scale(0.02), zero(120), scale(1 / 256), zero(0)],
      attributes,
      outputs: [U8],
    },
  ]),
  ...(
    [
      [{ kernel_shape: [2, 3] }, false],
      [{ kernel_shape: [2, 2], strides: [2, 1], pads: [1, 0, 0, 1] }, false],
      [{ kernel_shape: [2, 2], pads: [1, 0, 0, 1], count_include_pad: 1 }, false],
      [{ kernel_shape: [2, 2], strides: [2, 2], ceil_mode: 1 }, false],
      [{ kernel_shape: [3, 3], auto_pad: 'SAME_UPPER' }, false],
      [{ kernel_shape: [2, 2], channels_last: 1 }, true],
    ] as const
  ).map(([attributes, last]): Case => [
    `QLinearAveragePool: ${JSON.stringify(attributes)}`,
    {
      op: 'QLinearAveragePool',
      inputs: [
        bytes(last ? [1, 5, 5, 3] : [1, 3, 5, 5], 61),
        scale(0.04),
        zero(128),
        scale(0.03),
        zero(110),
      ],
      attributes,
      outputs: [U8],
    },
  ]),
  [
    'QLinearWhere, broadcast',
    {
      op: 'QLinearWhere',
      inputs: [
        given('bool', [3, 1], [1, 0, 1]),
        bytes([2, 3, 4], 62),
        scale(0.02),
        zero(100),
        bytes([4], 63),
        scale(0.03),
        zero(130),
        scale(0.05),
        zero(120),
      ],
      outputs: [U8],
    },
  ],
  ...([{ axes: [1], keepdims: 0 }, { axes: [-1, 0] }, {}] as Attributes[]).map(
    (attributes): Case => [
      `QLinearReduceMean: ${JSON.stringify(attributes)}`,
      {
        op: 'QLinearReduceMean',
        inputs: [bytes([2, 3, 4], 64), scale(0.04), zero(128), scale(0.02), zero(110)],
        attributes,
        outputs: [U8],
        instead: {
          nodes: [
            { op: 'DequantizeLinear', in: ['in0', 'in1', 'in2'], out: ['x'] },
            { op: 'ReduceMean', in: ['x'], out: ['y'], attributes },
            { op: 'QuantizeLinear', in: ['y', 'in3', 'in4'], out: ['out0'] },
          ],
        },
      },
    ],
  ),
  ...(
    [
      { kernel_shape: [2, 2] },
      { kernel_shape: [2, 3], strides: [2, 1], pads: [1, 0, 0, 1] },
      { kernel_shape: [2, 2], dilations: [2, 1], ceil_mode: 1, strides: [2, 2] },
    ] as const
  ).map((attributes): Case => [
    `NhwcMaxPool: ${JSON.stringify(attributes)}`,
    { op: 'NhwcMaxPool', inputs: [bytes([1, 5, 6, 3], 65)], attributes, outputs: [U8] },
  ]),
  ...(['int8', 'int16'] as const).flatMap((kind): Case[] => [
    [
      `QuantizeLinear: ${kind}, a scale for each slice`,
      {
        op: 'QuantizeLinear',
        inputs: [
          noise([2, 3, 4], 66),
          given(F32, [3], [0.01, 0.02, 0.005]),
          given(kind, [3], [0, 5, -7]),
        ],
        attributes: { axis: 1 },
        outputs: [kind],
      },
    ],
    [
      `DequantizeLinear: ${kind}`,
      {
        op: 'DequantizeLinear',
        inputs: [
          given(kind, [2, 3], [-100, -5, 0, 7, 99, 120]),
          given(F32, [], [0.02]),
          given(kind, [], [4]),
        ],
      },
    ],
  ]),
];

const refused: Refused[] = [
  [
    'a softmax without an operator set',
    {
      op: 'QLinearSoftmax',
      inputs: [bytes([2, 3], 60), scale(0.02), zero(120), scale(1 / 256), zero(0)],
      outputs: [U8],
    },
    'onnx-invalid',
    /attribute 'opset' is missing/,
  ],
  [
    'a pool without a kernel',
    {
      op: 'QLinearAveragePool',
      inputs: [bytes([1, 3, 5, 5], 61), scale(0.04), zero(128), scale(0.03), zero(110)],
      outputs: [U8],
    },
    'onnx-invalid',
    /it has no kernel_shape/,
  ],
  [
    'an axis that there is not',
    {
      op: 'QLinearSoftmax',
      inputs: [bytes([2, 3], 60), scale(0.02), zero(120), scale(1 / 256), zero(0)],
      attributes: { opset: 13, axis: 2 },
      outputs: [U8],
    },
    'onnx-invalid',
    /dimension 2 of a value with 2 dimensions/,
  ],
];

describeLikeOnnxruntime({ quantized });
describeRefused(refused);
