/**
 * @file Mixtures of experts give what onnxruntime gives.
 */
import { compile } from '@tessera/compile';
import type { Tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import {
  type Contrib,
  type Numbers,
  fileOf,
  inputsOf,
  noise,
  whole,
} from './support/beside-onnxruntime.js';
import { type Case, describeLikeOnnxruntime, describeRefused } from './support/like-onnxruntime.js';

const [TOKENS, WIDTH, INNER, EXPERTS] = [6, 16, 32, 5];

/** Float experts; their last inputs are biases. */
function mixture(attributes: Contrib['attributes'], { biases = true, rank = 2 } = {}): Contrib {
  const rows = attributes!['activation_type'] === 'swiglu' ? 2 * INNER : INNER;
  return {
    op: 'MoE',
    inputs: [
      noise(rank === 2 ? [TOKENS, WIDTH] : [2, TOKENS / 2, WIDTH], 1),
      noise([TOKENS, EXPERTS], 2),
      noise([EXPERTS, rows, WIDTH], 3),
      biases ? noise([EXPERTS, rows], 4) : null,
      noise([EXPERTS, WIDTH, INNER], 5),
      biases ? noise([EXPERTS, WIDTH], 6) : null,
    ],
    attributes: attributes!,
    tolerance: 1e-4,
  };
}

const gated = { activation_type: 'swiglu', activation_alpha: 1.702, activation_beta: 0.75 };
const floats: Case[] = [
  ['the likeliest expert', mixture({})],
  ['several', mixture({ k: 3 })],
  ['weights that add to one', mixture({ k: 2, normalize_routing_weights: 1 })],
  ['without biases, three dimensions', mixture({ k: 2 }, { biases: false, rank: 3 })],
  ...['gelu', 'silu', 'identity'].map((activation_type): Case => [
    activation_type,
    mixture({ k: 2, activation_type }),
  ]),
  ['swiglu', mixture({ k: 2, ...gated, swiglu_fusion: 1 })],
  ['swiglu with a limit', mixture({ k: 2, ...gated, swiglu_fusion: 1, swiglu_limit: 0.5 })],
];

interface Rounding {
  readonly bits: 2 | 4 | 8;
  readonly block?: number;
  readonly zeros?: boolean;
  readonly shares?: boolean;
  readonly attributes?: Contrib['attributes'];
}

const scales = (dims: readonly number[], seed: number): Numbers => {
  const numbers = noise(dims, seed);
  return { ...numbers, data: Array.from(numbers.data, (x) => 0.01 + 0.01 * Math.abs(Number(x))) };
};

/** Experts of few bits, of twice the width. */
function few({ bits, block, zeros, shares, attributes = {} }: Rounding): Contrib {
  const per = 8 / bits;
  const width = 2 * WIDTH;
  const rows = attributes['activation_type'] === 'swiglu' ? 2 * INNER : INNER;
  const map = (out: number, into: number, seed: number): (Numbers | null)[] => [
    whole('uint8', [EXPERTS, out, into / per], [0, 256], seed),
    scales(block === undefined ? [EXPERTS, out] : [EXPERTS, out, into / block], seed + 1),
    noise([EXPERTS, out], seed + 2),
  ];
  const middles = (out: number, into: number, seed: number): Numbers | null => {
    const inner = block === undefined ? [] : [Math.ceil(into / block / per)];
    const sizes = block === undefined ? [EXPERTS, out / per] : [EXPERTS, out, ...inner];
    return zeros === true ? whole('uint8', sizes, [0, 256], seed) : null;
  };
  return {
    op: 'QMoE',
    inputs: [
      noise([TOKENS, width], 1),
      noise([TOKENS, EXPERTS], 2),
      ...map(rows, width, 3),
      ...map(width, INNER, 7),
      null,
      null,
      null,
      middles(rows, width, 11),
      middles(width, INNER, 12),
      null,
      shares === true ? scales([TOKENS, EXPERTS], 13) : null,
    ],
    attributes: {
      k: 2,
      expert_weight_bits: bits,
      ...(block !== undefined && { block_size: block }),
      ...attributes,
    },
    tolerance: 1e-4,
  };
}

const rounded: Case[] = [
  ['2 bits, zero points', few({ bits: 2, zeros: true })],
  ['4 bits', few({ bits: 4 })],
  ['4 bits in blocks', few({ bits: 4, block: 16 })],
  ['4 bits in blocks, zero points', few({ bits: 4, block: 16, zeros: true })],
  ['8 bits in blocks, zero points', few({ bits: 8, block: 16, zeros: true })],
  ['swiglu', few({ bits: 8, attributes: { ...gated, swiglu_fusion: 1, swiglu_limit: 6.5 } })],
  ['weights of their own', few({ bits: 4, shares: true })],
  [
    'weights of their own that add to one',
    few({ bits: 4, shares: true, attributes: { normalize_routing_weights: 1 } }),
  ],
];

describeLikeOnnxruntime({ MoE: floats, QMoE: rounded });

describeRefused([
  ['use_sparse_mixer', mixture({ use_sparse_mixer: 1 }), 'onnx-unsupported', /use_sparse_mixer/],
  [
    'swiglu in one map that does not say how',
    mixture({ ...gated }),
    'onnx-invalid',
    /swiglu_fusion/,
  ],
  [
    'floats of four bits',
    few({ bits: 4, attributes: { quant_type: 'fp4' } }),
    'onnx-unsupported',
    /quant_type 'fp4'/,
  ],
  [
    'weights in a layout of a device',
    few({ bits: 4, attributes: { weights_prepacked: 1 } }),
    'onnx-unsupported',
    /weights_prepacked/,
  ],
]);

/** Gates and lines of swiglu, which `floats` has in turns. */
function apart(kind: 'halves' | 'fc3'): Contrib {
  const one = mixture({ k: 2, activation_type: 'swiglu' });
  const part = (at: number, half: number): Numbers => {
    const { dims, data } = one.inputs[at]!;
    const inner = dims.slice(2).reduce((a, b) => a * b, 1);
    const kept = Array.from(data).filter((_, i) => Math.floor(i / inner) % 2 === half);
    return { ...one.inputs[at]!, dims: [EXPERTS, INNER, ...dims.slice(2)], data: kept } as Numbers;
  };
  const both = (at: number): Numbers => {
    const [gate, line] = [part(at, 0), part(at, 1)];
    const size = gate.data.length / EXPERTS;
    const data = Array.from({ length: EXPERTS }, (_, e) =>
      [gate, line].flatMap((each) => Array.from(each.data).slice(e * size, (e + 1) * size)),
    ).flat();
    return { ...one.inputs[at]!, data } as Numbers;
  };
  const [x, router, , , second, bias] = one.inputs as Numbers[];
  return kind === 'halves'
    ? {
        ...one,
        inputs: [x!, router!, both(2), both(3), second!, bias!],
        attributes: { k: 2, activation_type: 'swiglu', swiglu_fusion: 2 },
      }
    : {
        ...one,
        inputs: [x!, router!, part(2, 0), part(3, 0), second!, bias!, part(2, 1), part(3, 1)],
        attributes: { k: 2, activation_type: 'silu' },
      };
}

it.each(['halves', 'fc3'] as const)(
  'swiglu with its maps apart (%s), which the CPU of onnxruntime does not run, is that of maps in turns',
  async (kind) => {
    const run = async (contrib: Contrib): Promise<Tensor> => {
      const model = await importOnnx(fileOf(contrib));
      return compile(
        (inputs: Record<string, Tensor>) => Object.values(model.call(inputs))[0]! as Tensor,
      )(inputsOf(contrib));
    };
    const wanted = await run(mixture({ k: 2, activation_type: 'swiglu', swiglu_fusion: 1 }));
    const own = await run(apart(kind));
    expect(own.sub(wanted).abs().max().item()).toBeLessThan(1e-4);
  },
);
