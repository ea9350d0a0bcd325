/**
 * @file Weights in blocks of few bits give what onnxruntime gives, and their scales have gradients.
 */
import { create } from '@bufbuild/protobuf';
import { compile } from '@tessera/compile';
import { type Tensor, randn, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { TensorProtoSchema } from '../src/generated/onnx_pb.js';
import { type OnnxModule, importOnnx } from '../src/index.js';
import { floats, ints, model, value } from './support/build-model.js';
import { type Contrib, type Numbers, given, noise, whole } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const U8 = 'uint8' as const;

/** x [2, K] times [N, K] in blocks. */
function blocked(
  bits: number,
  K: number,
  block: number,
  zeros: 'none' | 'packed' | 'float',
  withBias = false,
  order: Numbers | null = null,
): Contrib {
  const [N, blocks] = [6, Math.ceil(K / block)];
  const zero: Record<typeof zeros, Numbers | null> = {
    none: null,
    packed: whole('uint8', [N * Math.ceil((blocks * bits) / 8)], [0, 256], 13),
    float: noise([N * blocks], 14),
  };
  return {
    op: 'MatMulNBits',
    inputs: [
      noise([2, K], 10),
      whole('uint8', [N, blocks, (block * bits) / 8], [0, 256], 11),
      noise([N * blocks], 12),
      zero[zeros],
      order,
      withBias ? noise([N], 15) : null,
    ],
    attributes: { N, K, bits, block_size: block },
  };
}

const blockwise: Case[] = [
  ['MatMulNBits: 4 bits', blocked(4, 64, 32, 'none')],
  ['MatMulNBits: block_size', blocked(4, 64, 16, 'none')],
  ['MatMulNBits: K that fills no block', blocked(4, 40, 16, 'none')],
  ['MatMulNBits: zero points, packed', blocked(4, 96, 32, 'packed')],
  ['MatMulNBits: zero points as floats', blocked(4, 64, 32, 'float')],
  ['MatMulNBits: bias', blocked(4, 64, 32, 'packed', true)],
  ['MatMulNBits: 8 bits', blocked(8, 64, 32, 'none')],
  ['MatMulNBits: 8 bits, zero points', blocked(8, 64, 32, 'packed')],
  ['MatMulNBits: 8 bits, K that fills no block', blocked(8, 40, 16, 'packed')],
  ['MatMulNBits: 8 bits, bias', blocked(8, 64, 32, 'none', true)],
  ['MatMulNBits: 2 bits, zero points', blocked(2, 128, 32, 'packed')],
  ['MatMulNBits: 2 bits', blocked(2, 64, 32, 'none')],
  [
    // Without zero points: those onnxruntime 1.30 leaves out where blocks are named.
    'MatMulNBits: the block of each column',
    blocked(
      4,
      64,
      32,
      'none',
      false,
      given(
        'int32',
        [64],
        Array.from({ length: 64 }, (_, i) => (i * 5) % 2),
      ),
    ),
  ],
];

interface Table {
  readonly bits?: number;
  readonly dims?: readonly number[];
  readonly scales: readonly number[];
  readonly zeros?: readonly number[];
  readonly at?: Numbers;
  readonly attributes?: Contrib['attributes'];
}
/** Rows of a table of bytes. */
const rows = ({
  bits = 4,
  dims = [5, 16],
  scales,
  zeros,
  at,
  attributes = {},
}: Table): Contrib => ({
  op: 'GatherBlockQuantized',
  inputs: [
    whole(U8, dims, [0, 256], 16),
    at ?? given('int64', [2, 2], [4, 0, 1, -1]),
    noise(scales, 17),
    zeros === undefined ? null : whole(U8, zeros, [0, 256], 18),
  ],
  attributes: { bits, block_size: 16, ...attributes },
  outputs: [F32],
});
const lookups: Case[] = [
  ['4 bits', rows({ scales: [5, 2] })],
  ['8 bits', rows({ bits: 8, dims: [5, 32], scales: [5, 2] })],
  ['zero points', rows({ scales: [5, 2], zeros: [5, 1] })],
  ['8 bits, zero points', rows({ bits: 8, dims: [5, 32], scales: [5, 2], zeros: [5, 2] })],
  ['indices of int32, a vector', rows({ scales: [5, 2], at: given('int32', [3], [2, 2, 0]) })],
  [
    'three dimensions, quantize_axis',
    rows({
      dims: [5, 3, 16],
      scales: [5, 3, 2],
      attributes: { quantize_axis: 2, gather_axis: 0 },
    }),
  ],
  [
    // onnxruntime takes bytes with blocks along the last axis only.
    'blocks along an axis in front of the last',
    {
      ...rows({
        bits: 8,
        dims: [5, 32, 3],
        scales: [5, 2, 3],
        attributes: { quantize_axis: 1 },
      }),
      instead: {
        constants: [
          ints('blocks', [4], [5, 2, 16, 3]),
          ints('whole', [3], [5, 32, 3]),
          ints('axis', [1], [2]),
          floats('middle', [], [128]),
        ],
        nodes: [
          { op: 'Cast', in: ['in0'], out: ['q'], attributes: { to: 1 } },
          { op: 'Sub', in: ['q', 'middle'], out: ['centered'] },
          { op: 'Reshape', in: ['centered', 'blocks'], out: ['split'] },
          { op: 'Unsqueeze', in: ['in2', 'axis'], out: ['scales'] },
          { op: 'Mul', in: ['split', 'scales'], out: ['scaled'] },
          { op: 'Reshape', in: ['scaled', 'whole'], out: ['table'] },
          { op: 'Gather', in: ['table', 'in1'], out: ['out0'] },
        ],
      },
    },
  ],
];

const bnb = (kind: number, block: number, K = 32): Contrib => ({
  op: 'MatMulBnb4',
  inputs: [
    noise([2, K], 19),
    whole(U8, [(6 * K) / 2], [0, 256], 20),
    noise([Math.ceil((6 * K) / block)], 21),
  ],
  attributes: { N: 6, K, block_size: block, quant_type: kind },
});
const codes: Case[] = [
  ['MatMulBnb4: FP4', bnb(0, 16)],
  ['MatMulBnb4: NF4', bnb(1, 16)],
  ['MatMulBnb4: blocks across rows', bnb(1, 64)],
];

const broken = blocked(4, 64, 32, 'none');
const refused: Refused[] = [
  [
    'a weight of another width',
    { ...broken, inputs: [noise([2, 60], 10), ...broken.inputs.slice(1)] },
    'onnx-invalid',
    /rows of 60 elements, and the weight has K = 64/,
  ],
  [
    'weights of three bits',
    { ...broken, attributes: { ...broken.attributes, bits: 3 } },
    'onnx-invalid',
    /weights of 3 bits instead of 2, 4 or 8/,
  ],
  [
    'blocks of an odd size',
    { ...broken, attributes: { ...broken.attributes, block_size: 24 } },
    'onnx-invalid',
    /block_size is 24 instead of a power of two from 16 on/,
  ],
  ['codes that there are not', bnb(2, 16), 'onnx-invalid', /quant_type is 2 instead of 0 .* or 1/],
  [
    'a table gathered along packed bytes',
    rows({ scales: [5, 2], attributes: { gather_axis: 1 } }),
    'onnx-invalid',
    /bytes hold several numbers along the last axis/,
  ],
];

describeLikeOnnxruntime({ MatMulNBits: blockwise, GatherBlockQuantized: lookups, codes });
describeRefused(refused);

/** A model whose weights are initialisers, and how many of a second node reads them. */
async function carried(bits: number, isShared = false): Promise<OnnxModule> {
  const { data } = whole(U8, [6, 2, 4 * bits], [0, 256], 11);
  const weight = create(TensorProtoSchema, {
    name: 'weight',
    dims: [6n, 2n, BigInt(4 * bits)],
    dataType: 2,
    rawData: Uint8Array.from(data),
  });
  const bytes = model(
    {
      inputs: [value('x', ['M', 64])],
      outputs: [value('y', ['M', 6]), ...(isShared ? [value('same', [6, 2, 4 * bits], 2)] : [])],
      initializers: [weight, floats('scales', [12], noise([12], 12).data)],
      nodes: [
        {
          op: 'MatMulNBits',
          domain: 'com.microsoft',
          in: ['x', 'weight', 'scales'],
          out: ['y'],
          attributes: { N: 6, K: 64, bits, block_size: 32 },
        },
        ...(isShared ? [{ op: 'Identity', in: ['weight'], out: ['same'] }] : []),
      ],
    },
    17,
    ['com.microsoft'],
  );
  return importOnnx(bytes);
}

it('weights of four and eight bits that nothing else reads are words of 32 bits, of as many bytes', async () => {
  const kinds = async (bits: number, isShared: boolean): Promise<unknown> => {
    const { weight } = (await carried(bits, isShared)).stateDict();
    return [weight!.dtype, [...weight!.sizes]];
  };
  expect(await kinds(4, false)).toEqual(['int32', [6, 2, 4]]);
  expect(await kinds(4, true)).toEqual(['uint8', [6, 2, 16]]);
  expect(await kinds(8, false)).toEqual(['int32', [6, 2, 8]]);
  expect(await kinds(8, true)).toEqual(['uint8', [6, 2, 32]]);
  expect(await kinds(2, false)).toEqual(['uint8', [6, 2, 8]]);
});

it.each([4, 8])('%i bits: carried, shared and given weights are one and the same', async (bits) => {
  const { inputs, attributes } = blocked(bits, 64, 32, 'none');
  const x = tensor([...inputs[0]!.data]).reshape([2, 64]);
  const read = (of: Tensor): number[] => of.detach().reshape([-1]).toArray() as number[];
  expect(attributes).toMatchObject({ bits });
  const wanted = read((await carried(bits, true)).call(x).y!);
  const own = await carried(bits);
  read(own.call(x).y!).forEach((each, i) => expect(each / wanted[i]!).toBeCloseTo(1, 4));
  const run = compile((input: Tensor) => own.call(input).y!);
  read(run(x)).forEach((each, i) => expect(each / wanted[i]!).toBeCloseTo(1, 4));
});

it.each([4, 8])('%i bits: gradients of scales agree with finite differences', async (bits) => {
  const net = await carried(bits);
  const x = randn([3, 64]);
  const loss = (): Tensor => net.call(x).y!.square().mean();
  loss().backward();
  const [, scales] = net.namedParameters().find(([name]) => name === 'scales')!;
  for (const i of [0, 7]) {
    const at = scales.detach().narrow(0, i, 1);
    const before = at.item();
    const sides = [1e-2, -1e-2].map((step) => {
      at.fill_(before + step);
      return loss().item();
    }) as [number, number];
    at.fill_(before);
    const difference = (sides[0] - sides[1]) / 2e-2;
    const own = (scales.grad!.toArray() as number[])[i]!;
    expect(Math.abs(own - difference)).toBeLessThan(1e-2 * Math.max(1, Math.abs(own)));
  }
});
