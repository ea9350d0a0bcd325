/**
 * @file Matmul kernels for tests: plain, transposed, batched, with prologues and epilogues.
 */
import { IrBuilder, type Expr, type LoopVar, type MatmulKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';

/** What kind of product. */
export interface MatmulSpec {
  readonly batch?: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly dtype?: DType;
  /** `relu(acc + bias[n])` instead of acc. */
  readonly biasRelu?: boolean;
  /** Squares A while loading. */
  readonly squareA?: boolean;
}

function variable(name: string, size: number): LoopVar[] {
  return size === 1 ? [] : [{ name, size }];
}

/** A kernel `out[b, m, n] = Σ a[b, m, k] · b[b, k, n]`. */
export function matmulKernel(spec: MatmulSpec): MatmulKernel {
  const { batch = 1, m, n, k, dtype = 'float32' } = spec;
  const e = new IrBuilder();
  const at = (name: string, size: number) => (size === 1 ? e.int(0) : e.sym(name, size));
  const [vb, vm, vn, vk] = [at('b0', batch), at('m0', m), at('n0', n), at('k0', k)];
  const grid = (rows: typeof vb, columns: typeof vb, height: number, width: number) =>
    e.add(e.scale(vb, height * width), e.add(e.scale(rows, width), columns));
  const accDtype = dtype === 'int32' ? 'int32' : 'float32';
  let a: Expr = e.load(
    dtype,
    'a',
    spec.transposeA === true ? grid(vk, vm, k, m) : grid(vm, vk, m, k),
  );
  const b = e.load(dtype, 'b', spec.transposeB === true ? grid(vn, vk, n, k) : grid(vk, vn, k, n));
  a = e.cast(a, accDtype);
  if (spec.squareA === true) a = e.op('square', [a]);
  let value: Expr = e.acc(accDtype, 0);
  if (spec.biasRelu === true) {
    const bias = e.cast(e.load(dtype, 'bias', vn), accDtype);
    value = e.op('maximum', [e.op('add', [value, bias]), e.const(accDtype, 0)]);
  }
  return {
    kind: 'matmul',
    name: 'matmul',
    params: [
      { name: 'a', dtype, access: 'read' },
      { name: 'b', dtype, access: 'read' },
      ...(spec.biasRelu === true ? [{ name: 'bias', dtype, access: 'read' as const }] : []),
      { name: 'out', dtype, access: 'write' },
    ],
    scalars: [],
    batch: variable('b0', batch),
    m: variable('m0', m),
    n: variable('n0', n),
    k: variable('k0', k),
    a,
    b: e.cast(b, accDtype),
    accDtype,
    epilogue: [
      { kind: 'store', buf: 'out', index: grid(vm, vn, m, n), value: e.cast(value, dtype) },
    ],
  };
}

/** `out[m, n] = Σ a[m, k] · b[k, n]` for any number of rows. */
export function matmulOfRows(
  m: Size,
  { n, k }: { readonly n: number; readonly k: number },
): MatmulKernel<Size> {
  const fixed = matmulKernel({ m: 2, n, k });
  const e = new IrBuilder();
  const [vm, vn, vk] = [e.sym('m0', m), e.sym('n0', n), e.sym('k0', k)];
  const grid = (rows: typeof vm, columns: typeof vm, width: number) =>
    e.add(e.scale(rows, width), columns);
  const value = e.acc('float32', 0);
  return {
    ...fixed,
    m: [{ name: 'm0', size: m }],
    a: e.load('float32', 'a', grid(vm, vk, k)),
    b: e.load('float32', 'b', grid(vk, vn, n)),
    epilogue: [{ kind: 'store', buf: 'out', index: grid(vm, vn, n), value }],
  };
}

/** Data for a kernel of `matmulKernel`. */
export function matmulData({ batch = 1, m, n, k, biasRelu }: MatmulSpec): Record<string, number[]> {
  const fill = (count: number, step: number): number[] =>
    Array.from({ length: count }, (_, i) => ((i * step) % 17) / 8 - 1);
  return {
    a: fill(batch * m * k, 7),
    b: fill(batch * k * n, 5),
    ...(biasRelu === true && { bias: fill(n, 3) }),
    out: new Array<number>(batch * m * n).fill(0),
  };
}

/** A convolution [N, C, H, W] * [O, C, 3, 3] with padding 1 and a stride, as an implicit-GEMM matmul. */
export function convolutionKernel(sizes: {
  n: number;
  c: number;
  h: number;
  w: number;
  o: number;
  stride: number;
}): MatmulKernel {
  const { n, c, h, w, o, stride } = sizes;
  const [oh, ow] = [Math.floor((h - 1) / stride) + 1, Math.floor((w - 1) / stride) + 1];
  const e = new IrBuilder();
  const [image, y, x] = [e.sym('m0', n), e.sym('m1', oh), e.sym('m2', ow)];
  const [channel, ky, kx] = [e.sym('k0', c), e.sym('k1', 3), e.sym('k2', 3)];
  const feature = e.sym('n0', o);
  const row = e.add(e.scale(y, stride), ky, e.int(-1));
  const column = e.add(e.scale(x, stride), kx, e.int(-1));
  const within = (index: typeof row, size: number): Expr =>
    e.op('and', [
      e.op('ge', [e.index('int32', index), e.const('int32', 0)]),
      e.op('lt', [e.index('int32', index), e.const('int32', size)]),
    ]);
  const source = e.load(
    'float32',
    'image',
    e.add(e.scale(image, c * h * w), e.scale(channel, h * w), e.scale(row, w), column),
  );
  return {
    kind: 'matmul',
    name: 'convolution',
    params: [
      { name: 'image', dtype: 'float32', access: 'read' },
      { name: 'weight', dtype: 'float32', access: 'read' },
      { name: 'out', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    batch: [],
    m: [
      { name: 'm0', size: n },
      { name: 'm1', size: oh },
      { name: 'm2', size: ow },
    ],
    n: [{ name: 'n0', size: o }],
    k: [
      { name: 'k0', size: c },
      { name: 'k1', size: 3 },
      { name: 'k2', size: 3 },
    ],
    a: e.masked(e.op('and', [within(row, h), within(column, w)]), source, 0),
    b: e.load(
      'float32',
      'weight',
      e.add(e.scale(feature, c * 9), e.scale(channel, 9), e.scale(ky, 3), kx),
    ),
    accDtype: 'float32',
    epilogue: [
      {
        kind: 'store',
        buf: 'out',
        index: e.add(e.scale(image, o * oh * ow), e.scale(feature, oh * ow), e.scale(y, ow), x),
        value: e.acc('float32', 0),
      },
    ],
  };
}
