/**
 * @file Linear algebra on WebGPU: results, layouts, derivatives and errors are those of the CPU, eager and compiled.
 */
import { TesseraError, counters } from '@tessera/shared';
import { type Tensor, callOp, eye, grad, manualSeed, noGrad, randn, tensor } from '@tessera/tensor';
import { findOp } from '@tessera/tensor/internal';
import * as linalg from '@tessera/tensor/linalg';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/node.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { sampleName, sampled } from '../../../tooling/full-tests.js';

/** Batch, rows and columns. */
type Shape = readonly [batch: readonly number[], m: number, n: number];

const SQUARE: readonly Shape[] = [
  [[], 1, 1],
  [[], 2, 2],
  [[3], 5, 5],
  [[2, 2], 8, 8],
  [[], 34, 34],
  [[0], 3, 3],
];
const ANY: readonly Shape[] = [...SQUARE, [[], 7, 3], [[2], 3, 7], [[], 34, 5], [[1, 3], 4, 17]];

function matrices([batch, m, n]: Shape): Tensor {
  manualSeed(7);
  return randn([...batch, m, n]);
}

/** Symmetric and positive-definite. */
function definite(shape: Shape): Tensor {
  const x = matrices(shape);
  return x.matmul(x.mT).add(eye(shape[1]).mul(0.5));
}

/** Without the signs that vectors may have. */
const unsigned = (x: Tensor): Tensor => x.abs();

type Call = (x: Tensor) => readonly Tensor[] | Tensor;

const OF_DEFINITE: Readonly<Record<string, Call>> = {
  cholesky: (x) => linalg.cholesky(x),
  'cholesky, upper': (x) => linalg.cholesky(x, { upper: true }),
  choleskyEx: (x) => linalg.choleskyEx(x),
  choleskySolve: (x) => linalg.choleskySolve(x.select(-1, 0).unsqueeze(-1), linalg.cholesky(x)),
  eigh: (x) => {
    const [values, vectors] = linalg.eigh(x);
    return [
      values,
      vectors.mul(values.unsqueeze(-2)).matmul(vectors.mT),
      vectors.mT.matmul(vectors),
    ];
  },
  'eigh, of the upper triangle': (x) => linalg.eigh(x.triu(), { uplo: 'U' })[0],
  eigvalsh: (x) => linalg.eigvalsh(x),
  'pinv, hermitian': (x) => linalg.pinv(x, { hermitian: true }),
};
const OF_SQUARE: Readonly<Record<string, Call>> = {
  inv: (x) => linalg.inv(x),
  invEx: (x) => linalg.invEx(x),
  det: (x) => linalg.det(x),
  slogdet: (x) => linalg.slogdet(x),
  'factors of determinants': (x) => callOp(findOp('aten::_linalg_slogdet')!, [x]) as Tensor[],
  'factors of determinants, of columns': (x) =>
    callOp(findOp('aten::_linalg_slogdet')!, [x.mT]) as Tensor[],
  lu: (x) => linalg.lu(x),
  luFactor: (x) => linalg.luFactor(x),
  'luFactor, without pivots': (x) =>
    linalg.luFactor(x.add(eye(x.sizes.at(-1)!).to(x.device).mul(30)), { pivot: false }),
  luSolve: (x) => linalg.luSolve(...linalg.luFactor(x), x.mul(2).sum(-1, { keepdim: true })),
  solve: (x) => linalg.solve(x, x.mul(2).sum(-1, { keepdim: true })),
  'solve, from the right': (x) =>
    linalg.solve(x, x.mul(2).sum(-2, { keepdim: true }), { left: false }),
  'solve, of vectors': (x) => linalg.solve(x, x.mul(2).sum(-1)),
  'solveTriangular, lower': (x) => linalg.solveTriangular(shifted(x), x, { upper: false }),
  'solveTriangular, upper, from the right': (x) =>
    linalg.solveTriangular(shifted(x), x, { upper: true, left: false }),
  'solveTriangular, of ones': (x) =>
    linalg.solveTriangular(x.mul(0.1), x, { upper: true, unitriangular: true }),
  matrixExp: (x) => linalg.matrixExp(x.mul(0.3)),
  'a power below 0': (x) => linalg.matrixPower(x, -2),
};
const OF_SYMMETRIC: Readonly<Record<string, Call>> = {
  ldlFactorEx: (x) => linalg.ldlFactorEx(x),
  'ldlFactorEx, of a row that is 0': (x) => linalg.ldlFactorEx(x.sub(x)),
  ldlSolve: (x) => linalg.ldlSolve(...linalg.ldlFactor(x), x.mul(2)),
  'ldlSolve, of a right side for a batch': (x) => {
    const b = x.flatten().narrow(0, 0, x.numel === 0 ? 0 : x.sizes.at(-1)!);
    return linalg.ldlSolve(...linalg.ldlFactor(x), b.unsqueeze(-1));
  },
  'the derivative of ldlSolve': (x) => {
    const b = x.sin().requiresGrad_();
    return grad(
      [
        linalg
          .ldlSolve(...linalg.ldlFactor(x), b)
          .sin()
          .sum(),
      ],
      [b],
    )[0]!;
  },
};
const OF_ANY: Readonly<Record<string, Call>> = {
  qr: (x) => linalg.qr(x),
  'qr, complete': (x) => {
    const [q, r] = linalg.qr(x, { mode: 'complete' });
    return [q.matmul(r), r];
  },
  'qr, r only': (x) => linalg.qr(x, { mode: 'r' })[1],
  geqrf: (x) => linalg.geqrf(x),
  'svd, reduced': (x) => {
    const [u, s, vh] = linalg.svd(x, { fullMatrices: false });
    return [unsigned(u), s, unsigned(vh), u.mul(s.unsqueeze(-2)).matmul(vh)];
  },
  svdvals: (x) => linalg.svdvals(x),
  pinv: (x) => linalg.pinv(x),
  'pinv, with limits': (x) => linalg.pinv(x, { atol: 0.01, rtol: 0.1 }),
  matrixRank: (x) => linalg.matrixRank(x),
  lstsq: (x) => {
    const tall = x.narrow(-1, 0, Math.ceil(x.sizes.at(-1)! / 2));
    return linalg.lstsq(tall, x.mul(2).sum(-1, { keepdim: true }), { driver: 'gelsd' });
  },
};

/** Diagonals that can be divided by. */
function shifted(x: Tensor): Tensor {
  return x.add(
    eye(x.sizes.at(-1)!)
      .to(x.device)
      .mul(2 + x.sizes.at(-1)!),
  );
}

async function isClose(got: Tensor, want: Tensor, tolerance = 3e-4): Promise<void> {
  expect([got.sizes, got.strides, got.dtype]).toEqual([want.sizes, want.strides, want.dtype]);
  const values = Array.from(await got.toTypedArray(), Number);
  const right = Array.from(await want.toTypedArray(), Number);
  const scale = Math.max(1, ...right.map(Math.abs));
  const off = values.map((value, i) =>
    value === right[i] ? 0 : Math.abs(value - right[i]!) / scale,
  );
  expect(Math.max(0, ...off)).toBeLessThan(tolerance);
}

async function compare(call: Call, x: Tensor): Promise<void> {
  const [got, want] = [call(x.to('wgpu')), call(x)].map((made) => [made].flat() as Tensor[]);
  expect(got!.map(({ device }) => device)).toEqual(want!.map(() => 'wgpu'));
  for (const [i, each] of got!.entries()) await isClose(each, want![i]!);
}

describe.runIf(wantsGpu)(`on wgpu (${sampleName})`, () => {
  beforeAll(() => initWebGpu());

  it.each(sampled(Object.entries(OF_DEFINITE), 3))('%s', async (_, call) => {
    for (const shape of SQUARE) await compare(call, definite(shape));
  });

  it.each(sampled(Object.entries(OF_SQUARE), 3))('%s', async (_, call) => {
    for (const shape of SQUARE) await compare(call, matrices(shape));
  });

  it.each(sampled(Object.entries(OF_SYMMETRIC), 3))('%s', async (_, call) => {
    const compiled = compile(call, { fullgraph: true });
    for (const shape of SQUARE.slice(0, 5)) {
      const half = matrices(shape);
      await compare(call, half.add(half.mT));
      await compare(compiled, half.add(half.mT));
    }
  });

  it.each(sampled(Object.entries(OF_ANY), 3))('%s', async (_, call) => {
    for (const shape of ANY) await compare(call, matrices(shape));
  });

  it('matrices that are not of full rank', async () => {
    const low = matrices([[2], 6, 2]).matmul(matrices([[2], 2, 6]));
    const [u, s, vh] = linalg.svd(low.to('wgpu'));
    await isClose(u.mul(s.unsqueeze(-2)).matmul(vh).contiguous(), low.contiguous());
    await isClose(u.mT.matmul(u).contiguous(), eye(6).expand([2, 6, 6]).contiguous());
    await isClose(linalg.pinv(low.to('wgpu')), linalg.pinv(low));
    await isClose(linalg.matrixRank(low.to('wgpu')), tensor([2, 2], { dtype: 'int64' }));
    const x = low.to('wgpu').requiresGrad_();
    linalg.det(x).sum().backward();
    const other = low.clone().requiresGrad_();
    linalg.det(other).sum().backward();
    await isClose(x.grad!, other.grad!);
  });

  it.each(
    Object.keys({ ...OF_DEFINITE, ...OF_SQUARE }).filter(
      (name) => !/Ex|eigh,|lu|geqrf|power/.test(name),
    ),
  )('the derivative of %s', async (name) => {
    const isDefinite = name in OF_DEFINITE;
    const call = { ...OF_DEFINITE, ...OF_SQUARE }[name]!;
    const x = (isDefinite ? definite : (shape: Shape) => shifted(matrices(shape)))([[2], 5, 5]);
    const derivative = (at: Tensor): Tensor => {
      const leaf = at.detach().requiresGrad_();
      const symmetric = isDefinite ? leaf.add(leaf.mT).div(2) : leaf;
      const made = [call(symmetric)].flat() as Tensor[];
      const total = made.map((each) => each.to('float32').sin().sum()).reduce((a, b) => a.add(b));
      return grad([total], [leaf])[0]!;
    };
    await isClose(derivative(x.to('wgpu')).contiguous(), derivative(x).contiguous(), 2e-3);
  });

  it('a Gaussian process trains in one compiled function as on the CPU', async () => {
    const train = async (device: 'cpu' | 'wgpu'): Promise<number[]> => {
      manualSeed(3);
      const x = randn([24, 2]).to(device);
      const y = x.sum(-1).sin();
      const scales = tensor([0.1, -0.2]).to(device).requiresGrad_();
      const step = compile((): Tensor => {
        const scaled = x.div(scales.exp());
        const gaps = scaled.unsqueeze(0).sub(scaled.unsqueeze(1)).square().sum(-1);
        const k = gaps.mul(-0.5).exp().add(eye(24).to(device).mul(0.1));
        const lower = linalg.cholesky(k);
        const alpha = linalg.choleskySolve(y.unsqueeze(-1), lower).squeeze(-1);
        const loss = y.mul(alpha).sum().mul(0.5).add(lower.diagonal().log().sum());
        loss.backward();
        return loss;
      });
      const losses: number[] = [];
      for (let i = 0; i < 4; i++) {
        losses.push(Number((await step().toTypedArray())[0]));
        noGrad(() => scales.sub_(scales.grad!.mul(0.01)));
        scales.grad = null;
      }
      return losses;
    };
    counters.clear();
    const got = await train('wgpu');
    expect(counters.get('aot_autograd', 'eager_fallback')).toBe(0);
    (await train('cpu')).forEach((loss, i) => expect(got[i]).toBeCloseTo(loss, 3));
  });

  it('exponentials of matrices are as exact as float32 lets them be', async () => {
    manualSeed(1);
    for (const n of [3, 5, 10, 20, 33]) {
      const x = randn([n, n]).mul(6 / Math.sqrt(n));
      const want = linalg.matrixExp(x.to('float64')).to('float32');
      await isClose(linalg.matrixExp(x.to('wgpu')), want, 2e-6);
    }
  });

  it('exponentials of matrices that are too large are NaN, not something else', async () => {
    const of = async (size: number): Promise<unknown> => [
      ...(await linalg.matrixExp(eye(2).to('wgpu').mul(size)).toTypedArray()),
    ];
    expect(await of(-1e4)).toEqual([0, 0, 0, 0]);
    expect(await of(-1e9)).toEqual([NaN, NaN, NaN, NaN]);
  });

  it('matrices that cannot be factored are an error of the next awaited read, or told', async () => {
    const bad = tensor([
      [1, 2],
      [2, 1],
    ]).to('wgpu');
    const singular = tensor([
      [1, 2],
      [2, 4],
    ]).to('wgpu');
    const errorOf = async (fn: () => Tensor): Promise<unknown> => {
      try {
        return await fn().toTypedArray();
      } catch (error) {
        expect(error).toBeInstanceOf(TesseraError);
        return (error as TesseraError).message.split('\n')[0];
      }
    };
    expect(await errorOf(() => linalg.cholesky(bad))).toMatch(
      /linalg.cholesky: .*leading minor of order 2/,
    );
    expect(await errorOf(() => linalg.inv(singular))).toMatch(
      /linalg.inv: The diagonal element 2 is zero/,
    );
    expect(await errorOf(() => linalg.solve(singular, singular))).toMatch(
      /the input matrix is singular/,
    );
    expect(await errorOf(() => linalg.luFactor(singular)[0])).toMatch(/U\[2,2\] is zero/);
    expect(await errorOf(() => linalg.ldlFactor(singular)[0])).toMatch(/D\[2,2\] is zero/);
    // The next read is of something else, and fine.
    expect(await errorOf(() => bad)).toEqual(Float32Array.of(1, 2, 2, 1));
    const [, info] = linalg.choleskyEx(bad);
    expect(Number((await info.toTypedArray())[0])).toBe(2);
    expect(Number((await linalg.det(singular).toTypedArray())[0])).toBeCloseTo(0);
  });
});
