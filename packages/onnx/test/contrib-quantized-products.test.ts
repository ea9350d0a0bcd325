/**
 * @file Products of quantized matrices and images, and the quantized LSTM, give what onnxruntime gives.
 */
import type { Attributes } from './support/build-model.js';
import { type Contrib, type Numbers, given, noise, whole } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const U8 = 'uint8' as const;
const scale = (s: number): Numbers => given(F32, [], [s]);
const zero = (z: number, kind: 'uint8' | 'int8' = U8): Numbers => given(kind, [], [z]);
const bytes = (dims: readonly number[], seed: number): Numbers => whole(U8, dims, [0, 256], seed);
/**
 * Of half of the range: on processors with AVX2 alone onnxruntime saturates sums of two products of unsigned and signed
 * bytes at 2¹⁵.
 */
const signed = (dims: readonly number[], seed: number): Numbers =>
  whole('int8', dims, [-64, 64], seed);

const toFloat: Case[] = [
  [
    'MatMulIntegerToFloat: zero points and bias',
    {
      op: 'MatMulIntegerToFloat',
      inputs: [
        bytes([2, 8], 47),
        bytes([8, 5], 48),
        given(F32, [1], [0.02]),
        given(F32, [1], [0.03]),
        given(U8, [1], [120]),
        given(U8, [1], [130]),
        noise([5], 49),
      ],
    },
  ],
  [
    'DynamicQuantizeMatMul: scale of each column, bias',
    {
      op: 'DynamicQuantizeMatMul',
      inputs: [
        noise([2, 8], 50),
        bytes([8, 5], 51),
        given(F32, [5], [0.01, 0.02, 0.03, 0.02, 0.01]),
        given(U8, [5], [120, 128, 130, 125, 121]),
        noise([5], 52),
      ],
    },
  ],
];

const gemm = (
  rest: {
    a?: Numbers;
    b?: Numbers;
    bScale?: Numbers;
    bZero?: Numbers;
    c?: Numbers | null;
    y?: Numbers[];
  },
  attributes: Attributes = {},
): Contrib => ({
  op: 'QGemm',
  inputs: [
    rest.a ?? bytes([3, 4], 1),
    scale(0.02),
    zero(120),
    rest.b ?? bytes([4, 5], 2),
    rest.bScale ?? scale(0.03),
    rest.bZero ?? zero(130),
    rest.c ?? null,
    ...(rest.y ?? []),
  ],
  attributes,
  outputs: [rest.y === undefined ? F32 : U8],
});
const c = whole('int32', [5], [-900, 900], 3);
const result = [scale(0.5), zero(110)];
const gemms: Case[] = [
  ['QGemm: floats', gemm({})],
  ['QGemm: C', gemm({ c })],
  ['QGemm: C of each element', gemm({ c: whole('int32', [3, 5], [-900, 900], 3) })],
  ['QGemm: quantized', gemm({ c, y: result })],
  ['QGemm: alpha', gemm({ c, y: result }, { alpha: { float: 0.5 } })],
  ['QGemm: transA', gemm({ a: bytes([4, 3], 1), c }, { transA: 1 })],
  ['QGemm: transB', gemm({ b: bytes([5, 4], 2), c, y: result }, { transB: 1 })],
  ['QGemm: B of int8', gemm({ b: signed([4, 5], 2), bZero: zero(3, 'int8'), y: result })],
  [
    'QGemm: a scale of each column',
    gemm({
      b: signed([4, 5], 2),
      bScale: given(F32, [5], [0.01, 0.02, 0.03, 0.02, 0.01]),
      bZero: given('int8', [5], [0, 0, 0, 0, 0]),
      c,
      y: result,
    }),
  ],
  [
    'QGemm: a scale of each column, transB',
    gemm(
      {
        b: signed([5, 4], 2),
        bScale: given(F32, [5], [0.01, 0.02, 0.03, 0.02, 0.01]),
        bZero: given('int8', [5], [1, 2, 3, 4, 5]),
      },
      { transB: 1 },
    ),
  ],
];

const conv = (
  x: Numbers,
  w: Numbers,
  attributes: Attributes,
  wScale = scale(0.03),
  more: readonly Numbers[] = [],
): Contrib => ({
  op: 'QLinearConv',
  inputs: [x, scale(0.02), zero(120), w, wScale, zero(130), scale(0.2), zero(110), ...more],
  attributes,
  outputs: [U8],
});
const last = { channels_last: 1 };
const convolutions: Case[] = [
  ['QLinearConv', conv(bytes([1, 2, 5, 5], 4), bytes([4, 2, 3, 3], 5), {})],
  [
    'QLinearConv: channels_last, pads, bias',
    conv(
      bytes([1, 5, 5, 2], 4),
      bytes([4, 2, 3, 3], 5),
      { ...last, pads: [1, 0, 1, 1] },
      undefined,
      [whole('int32', [4], [-900, 900], 6)],
    ),
  ],
  [
    'QLinearConv: channels_last, group, strides',
    conv(bytes([1, 5, 5, 4], 4), bytes([4, 1, 3, 3], 5), { ...last, group: 4, strides: [2, 1] }),
  ],
  [
    'QLinearConv: channels_last, a scale of each channel',
    conv(
      bytes([1, 5, 5, 2], 4),
      bytes([4, 2, 3, 3], 5),
      { ...last, dilations: [1, 2] },
      given(F32, [4], [0.01, 0.02, 0.03, 0.02]),
    ),
  ],
];

const integers: Case[] = [
  [
    'MatMulInteger16',
    {
      op: 'MatMulInteger16',
      inputs: [
        given('int16', [2, 3], [300, -200, 100, 7, -900, 1200]),
        given('int16', [3, 2], [-50, 40, 800, 3, -1, 60]),
      ],
      outputs: ['int32'],
    },
  ],
  [
    'MulInteger: zero points',
    {
      op: 'MulInteger',
      inputs: [bytes([2, 3], 7), zero(100), bytes([3], 8), zero(9)],
      outputs: ['int32'],
      instead: {
        nodes: [
          { op: 'Cast', in: ['in0'], out: ['a'], attributes: { to: 6 } },
          { op: 'Cast', in: ['in1'], out: ['az'], attributes: { to: 6 } },
          { op: 'Cast', in: ['in2'], out: ['b'], attributes: { to: 6 } },
          { op: 'Cast', in: ['in3'], out: ['bz'], attributes: { to: 6 } },
          { op: 'Sub', in: ['a', 'az'], out: ['as'] },
          { op: 'Sub', in: ['b', 'bz'], out: ['bs'] },
          { op: 'Mul', in: ['as', 'bs'], out: ['out0'] },
        ],
      },
    },
  ],
  ...[
    { axes: [1], keepdims: 0 },
    { axes: [0, -1], keepdims: 1 },
  ].map((attributes): Case => [
    `ReduceSumInteger: ${JSON.stringify(attributes)}`,
    {
      op: 'ReduceSumInteger',
      inputs: [bytes([2, 3, 4], 9)],
      attributes,
      outputs: ['int32'],
      instead: {
        nodes: [
          { op: 'Cast', in: ['in0'], out: ['x'], attributes: { to: 6 } },
          {
            op: 'Constant',
            in: [],
            out: ['axes'],
            attributes: { value_ints: attributes.axes },
          },
          {
            op: 'ReduceSum',
            in: ['x', 'axes'],
            out: ['out0'],
            attributes: { keepdims: attributes.keepdims },
          },
        ],
      },
    },
  ]),
];

interface Lstm {
  readonly directions?: number;
  readonly kind?: 'uint8' | 'int8';
  readonly byColumn?: boolean;
  readonly rest?: readonly (Numbers | null)[];
  readonly attributes?: Attributes;
}
/** Five steps of two sequences with three inputs and four states. */
function lstm({
  directions: d = 1,
  kind = U8,
  byColumn = false,
  rest = [],
  attributes = {},
}: Lstm): Contrib {
  const weights = kind === U8 ? bytes : signed;
  const size = byColumn ? [d, 16] : [d];
  const scales = (seed: number): Numbers => ({
    ...noise(size, seed),
    data: noise(size, seed).data.map((s) => Math.fround(0.006 + s / 400)),
  });
  const zeros = (seed: number): Numbers =>
    kind === U8
      ? whole(U8, size, [110, 140], seed)
      : given('int8', size, Array<number>(d * (byColumn ? 16 : 1)).fill(0));
  const [b = null, lengths = null, h = null, cell = null, peep = null] = rest;
  return {
    op: 'DynamicQuantizeLSTM',
    inputs: [
      noise([5, 2, 3], 20),
      weights([d, 3, 16], 21),
      weights([d, 4, 16], 22),
      b,
      lengths,
      h,
      cell,
      peep,
      scales(23),
      zeros(24),
      scales(25),
      zeros(26),
    ],
    attributes: { hidden_size: 4, ...attributes },
    outputs: [F32, F32, F32],
    // Between two processors with onnxruntime 1.30 they are up to 2.3e-4 apart.
    tolerance: 1e-3,
  };
}
const both = { direction: 'bidirectional' };
const bias = noise([1, 32], 27);
const states = [noise([1, 2, 4], 28), noise([1, 2, 4], 29)] as const;
const lstms: Case[] = [
  ['uint8', lstm({})],
  ['int8', lstm({ kind: 'int8' })],
  ['bias', lstm({ rest: [bias] })],
  ['a scale of each column', lstm({ kind: 'int8', byColumn: true })],
  ['reverse', lstm({ attributes: { direction: 'reverse' } })],
  ['bidirectional', lstm({ directions: 2, attributes: both })],
  ['initial states', lstm({ rest: [bias, null, ...states] })],
  ['lengths', lstm({ rest: [bias, given('int32', [2], [5, 3])] })],
  ['peepholes', lstm({ rest: [bias, null, ...states, noise([1, 12], 30)] })],
  ['clip', lstm({ attributes: { clip: { float: 0.3 } } })],
  ['input_forget', lstm({ attributes: { input_forget: 1 } })],
  ['activations', lstm({ attributes: { activations: ['Sigmoid', 'Softsign', 'Relu'] } })],
  [
    'activation_alpha',
    lstm({
      attributes: {
        activations: ['HardSigmoid', 'Tanh', 'LeakyRelu'],
        activation_alpha: { floats: [0.3, 0.2] },
        activation_beta: { floats: [0.4] },
      },
    }),
  ],
];

const refused: Refused[] = [
  ['matrices that do not fit', gemm({ a: bytes([3, 5], 1) }), 'shape-mismatch', /QGemm/],
  [
    'an activation that there is not',
    lstm({ attributes: { activations: ['Swash', 'Tanh', 'Tanh'] } }),
    'onnx-invalid',
    /activation 'Swash'/,
  ],
  [
    'a direction that there is not',
    lstm({ attributes: { direction: 'sideways' } }),
    'onnx-invalid',
    /attribute 'direction' is 'sideways' instead of/,
  ],
];

describeLikeOnnxruntime({ toFloat, gemms, convolutions, integers, DynamicQuantizeLSTM: lstms });
describeRefused(refused);
