/**
 * @file Convolutions over packed images: every form of window against the interpreter, and what code is made of.
 */
import {
  IrBuilder,
  type Expr,
  imageTiles,
  type IndexExpr,
  type MatmulKernel,
  oriented,
  type Windows,
  windowsOf,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { generateMatmul } from '../src/matmul/generate-matmul.js';
import { compareWithInterpreter } from './run-kernel.js';

const TOLERANCE = 1e-4;

interface Axis {
  readonly size: number;
  readonly taps: number;
  readonly stride?: number;
  readonly dilation?: number;
  readonly pad?: number;
}

interface Conv {
  readonly images?: number;
  readonly groups?: number;
  readonly channels: number;
  readonly out: number;
  readonly y: Axis;
  readonly x: Axis;
  /** What is made of an element of the image. */
  readonly prologue?: (ir: IrBuilder, element: Expr) => Expr;
}

/** Pixels of the result along an axis; with a dilation below 0 windows run backwards, as for gradients. */
function pixels({ size, taps, stride = 1, dilation = 1, pad = 0 }: Axis): number {
  return Math.floor((size + 2 * pad - Math.abs(dilation) * (taps - 1) - 1) / stride) + 1;
}

function convolution({ images = 1, groups = 1, channels, out, y, x, prologue }: Conv) {
  const ir = new IrBuilder();
  const [oh, ow] = [pixels(y), pixels(x)];
  const at = (parts: readonly (readonly [string, number, number])[]): IndexExpr =>
    ir.add(...parts.map(([name, size, stride]) => ir.scale(ir.sym(name, size), stride)));
  const place = (axis: Axis, pixel: string, count: number, tap: string): IndexExpr => {
    const { taps, stride = 1, dilation = 1, pad = 0 } = axis;
    const first = dilation < 0 ? -dilation * (taps - 1) : 0;
    return ir.add(
      at([
        [pixel, count, stride],
        [tap, taps, dilation],
      ]),
      ir.int(first - pad),
    );
  };
  const [v, h] = [place(y, 'oh', oh, 'kh'), place(x, 'ow', ow, 'kw')];
  const within = (index: IndexExpr, size: number): Expr =>
    ir.op('and', [
      ir.op('ge', [ir.index('int32', index), ir.const('int32', 0)]),
      ir.op('lt', [ir.index('int32', index), ir.const('int32', size)]),
    ]);
  const plane = y.size * x.size;
  const channel = at([
    ['g', groups, channels * plane],
    ['c', channels, plane],
  ]);
  const image = at([['img', images, groups * channels * plane]]);
  const element = ir.load('float32', 'X', ir.add(image, channel, ir.scale(v, x.size), h));
  const value = prologue?.(ir, element) ?? element;
  const isPadded = (y.pad ?? 0) + (x.pad ?? 0) > 0;
  const taps = y.taps * x.taps;
  const weight = at([
    ['g', groups, out * channels * taps],
    ['o', out, channels * taps],
    ['c', channels, taps],
    ['kh', y.taps, x.taps],
    ['kw', x.taps, 1],
  ]);
  const stored = at([
    ['img', images, groups * out * oh * ow],
    ['g', groups, out * oh * ow],
    ['o', out, oh * ow],
    ['oh', oh, ow],
    ['ow', ow, 1],
  ]);
  const kernel: MatmulKernel = {
    kind: 'matmul',
    name: 'conv',
    params: ['X', 'W', 'Y'].map((name) => ({
      name,
      dtype: 'float32',
      access: name === 'Y' ? 'write' : 'read',
    })),
    scalars: [],
    batch: [{ name: 'g', size: groups }],
    m: [{ name: 'o', size: out }],
    n: [
      { name: 'img', size: images },
      { name: 'oh', size: oh },
      { name: 'ow', size: ow },
    ],
    k: [
      { name: 'c', size: channels },
      { name: 'kh', size: y.taps },
      { name: 'kw', size: x.taps },
    ],
    a: ir.load('float32', 'W', weight),
    b: isPadded ? ir.masked(ir.op('and', [within(v, y.size), within(h, x.size)]), value, 0) : value,
    accDtype: 'float32',
    epilogue: [{ kind: 'store', buf: 'Y', index: stored, value: ir.acc('float32', 0) }],
  };
  const sizes = {
    X: images * groups * channels * plane,
    W: groups * out * channels * taps,
    Y: images * groups * out * oh * ow,
  };
  return { kernel, sizes };
}

function found(conv: Conv): Windows | null {
  const { kernel } = convolution(conv);
  return windowsOf(oriented(kernel));
}

const SAME: Axis = { size: 12, taps: 3, pad: 1 };
const CONVS: Readonly<Record<string, Conv>> = {
  'a 3 × 3 window': { channels: 5, out: 9, y: SAME, x: SAME },
  'several images': { images: 3, channels: 2, out: 4, y: SAME, x: { ...SAME, size: 17 } },
  'a stride of two': {
    channels: 3,
    out: 8,
    y: { size: 15, taps: 3, stride: 2, pad: 1 },
    x: { size: 22, taps: 5, stride: 2, pad: 2 },
  },
  'strides that differ': {
    channels: 3,
    out: 5,
    y: { size: 13, taps: 3, stride: 2, pad: 1 },
    x: { ...SAME, stride: 1 },
  },
  'a stride beyond the window': {
    channels: 4,
    out: 8,
    y: { size: 14, taps: 2, stride: 3 },
    x: { size: 40, taps: 2, stride: 3 },
  },
  'taps that lie apart': {
    channels: 4,
    out: 6,
    y: { ...SAME, dilation: 2, pad: 2 },
    x: { ...SAME, dilation: 3, pad: 3 },
  },
  'windows that run backwards': {
    channels: 4,
    out: 6,
    y: { ...SAME, dilation: -1 },
    x: { ...SAME, dilation: -2, pad: 2 },
  },
  'no padding': { channels: 4, out: 8, y: { size: 10, taps: 3 }, x: { size: 11, taps: 3 } },
  'one direction': {
    channels: 6,
    out: 10,
    y: { size: 1, taps: 1 },
    x: { size: 40, taps: 3, pad: 1 },
  },
  'a row of taps on an image': { channels: 6, out: 10, y: { size: 9, taps: 1 }, x: SAME },
  'one channel to a group': {
    images: 2,
    groups: 6,
    channels: 1,
    out: 1,
    y: { size: 9, taps: 5, pad: 2 },
    x: { size: 14, taps: 5, pad: 2 },
  },
  'rows that are cut': { groups: 2, channels: 1, out: 1, y: SAME, x: { ...SAME, size: 300 } },
  'tiles below each other': { groups: 2, channels: 1, out: 1, y: { ...SAME, size: 300 }, x: SAME },
  'more channels than are packed at once': {
    channels: 130,
    out: 6,
    y: { ...SAME, size: 6 },
    x: { ...SAME, size: 7 },
  },
  'more rows than an item has': { channels: 3, out: 150, y: SAME, x: { ...SAME, size: 16 } },
  'an operand that is computed': {
    channels: 4,
    out: 8,
    y: SAME,
    x: SAME,
    prologue: (ir, element) =>
      ir.op('maximum', [ir.op('add', [element, ir.const('float32', 1)]), ir.const('float32', 0)]),
  },
};

describe('convolutions over packed images', () => {
  for (const [name, conv] of Object.entries(CONVS)) {
    it(`${name}: as the interpreter has it`, () => {
      expect(found(conv)).not.toBeNull();
      const { kernel, sizes } = convolution(conv);
      expect(compareWithInterpreter(kernel, sizes)).toBeLessThan(TOLERANCE);
    });
  }

  it('pack an element of the image once, not once for each tap', () => {
    const { y, x, channels } = CONVS['a 3 × 3 window'] as Conv;
    const windows = found(CONVS['a 3 × 3 window']!)!;
    const { channel } = imageTiles(windows);
    const padded = (y.size + 2) * (x.size + 2);
    expect(channel).toBeLessThan(1.5 * padded);
    const { scratchBytesPerThread } = generateMatmul(convolution(CONVS['a 3 × 3 window']!).kernel, {
      relaxedSimd: false,
    });
    expect(scratchBytesPerThread).toBeLessThan(channels * 9 * 4 * y.size * x.size);
  });

  it('are one function for each shape of tile, with taps at distances that are known', () => {
    const { kernel } = convolution(CONVS['one channel to a group']!);
    const text = printFunctionWithDependencies(generateMatmul(kernel, { relaxedSimd: false }).func);
    expect(text).toContain('(func $window_1x24');
    expect(text).toContain('(func $conv_pack_image');
    expect(text).not.toContain('conv_pack_b');
  });

  it('inside of the padding no condition is evaluated', () => {
    const { kernel } = convolution(CONVS['a 3 × 3 window']!);
    const text = printFunctionWithDependencies(generateMatmul(kernel, { relaxedSimd: false }).func);
    expect(text).not.toContain('v128.bitselect');
    expect(text).not.toContain('v128.any_true');
  });
});

/** The gradient of a row's weights: columns are channels and taps, steps the pixels, whose index is `c·row + taps + pixel`. */
function weightGradient(place: { readonly channel: number; readonly pixel: number }): {
  readonly kernel: MatmulKernel;
  readonly sizes: Readonly<Record<string, number>>;
} {
  const ir = new IrBuilder();
  const [o, c, t, p] = [
    { name: 'o', size: 3 },
    { name: 'c', size: 4 },
    { name: 't', size: 2 },
    { name: 'p', size: 3 },
  ] as const;
  const at = (...parts: readonly (readonly [{ name: string; size: number }, number])[]) =>
    ir.add(...parts.map(([loop, stride]) => ir.scale(ir.sym(loop.name, loop.size), stride)));
  const kernel: MatmulKernel = {
    kind: 'matmul',
    name: 'conv',
    params: ['X', 'G', 'W'].map((name) => ({
      name,
      dtype: 'float32',
      access: name === 'W' ? 'write' : 'read',
    })),
    scalars: [],
    batch: [],
    m: [o],
    n: [c, t],
    k: [p],
    a: ir.load('float32', 'G', at([o, p.size], [p, 1])),
    b: ir.load('float32', 'X', at([c, place.channel], [t, place.pixel], [p, place.pixel])),
    accDtype: 'float32',
    epilogue: [
      {
        kind: 'store',
        buf: 'W',
        index: at([o, c.size * t.size], [c, t.size], [t, 1]),
        value: ir.acc('float32', 0),
      },
    ],
  };
  return { kernel, sizes: { X: 16, G: 9, W: 24 } };
}

describe('steps that agree with both directions are taps of one', () => {
  it.each([
    ['rows of four pixels', { channel: 4, pixel: 1 }],
    ['four channels last', { channel: 1, pixel: 4 }],
  ])('%s', (_, place) => {
    const { kernel, sizes } = weightGradient(place);
    expect(windowsOf(oriented(kernel))).toMatchObject({ taps: 3 });
    expect(compareWithInterpreter(kernel, sizes)).toBeLessThan(TOLERANCE);
  });
});

describe('what is no window', () => {
  it('a product', () => {
    const one: Axis = { size: 12, taps: 1 };
    expect(found({ channels: 8, out: 8, y: one, x: one })).toBeNull();
  });

  it('a window with more taps than are written out', () => {
    const wide: Axis = { size: 20, taps: 9, pad: 4 };
    expect(found({ channels: 1, out: 8, y: wide, x: wide })).toBeNull();
  });
});
