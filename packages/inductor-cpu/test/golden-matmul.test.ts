/**
 * @file Generated code of matrix products, as text: one of each way that they are scheduled.
 *
 * `vitest run -u` rewrites the files under `golden/`; read the difference before committing it.
 */
import { verifyKernel, type Expr, type MatmulKernel, type Stmt } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { generateMatmul } from '../src/matmul/generate-matmul.js';
import { at, convForward, ir, matmul } from './matmul-kernel.js';

/** relu(acc + bias[n]), into C[m, n] of rows of `n`. */
const biasRelu =
  (n: number) =>
  (acc: Expr): Stmt[] => {
    const biased = ir.op('add', [acc, ir.load('float32', 'bias', at({ n: 1 }))]);
    const value = ir.op('maximum', [biased, ir.const('float32', 0)]);
    return [{ kind: 'store', buf: 'C', index: at({ m: n, n: 1 }), value }];
  };

const KERNELS: Readonly<Record<string, MatmulKernel>> = {
  matmul: matmul({ m: 64, n: 64, k: 64 }).kernel,
  matmul_batched: matmul({ m: 16, n: 24, k: 32, batch: 3 }).kernel,
  matmul_transposed: matmul({ m: 64, n: 64, k: 64 }, { form: 'NT' }).kernel,
  matmul_skinny: matmul({ m: 1, n: 256, k: 128 }).kernel,
  matmul_skinny_transposed: matmul({ m: 1, n: 256, k: 128 }, { form: 'NT' }).kernel,
  matmul_bias_relu: matmul(
    { m: 48, n: 40, k: 64 },
    { extra: [{ name: 'bias', dtype: 'float32', access: 'read' }], epilogue: biasRelu(40) },
  ).kernel,
  convolution: convForward({
    batch: 2,
    channels: 3,
    out: 8,
    height: 8,
    width: 8,
    kernel: 3,
    stride: 1,
    pad: 1,
  }).kernel,
};

describe('generated text of products', () => {
  for (const [name, kernel] of Object.entries(KERNELS)) {
    it(`${name} is as recorded`, async () => {
      verifyKernel(kernel);
      const { func, workItems, scratchBytesPerThread } = generateMatmul(kernel, {
        relaxedSimd: false,
      });
      const facts = `;; ${workItems} work items, ${scratchBytesPerThread} bytes of scratch`;
      await expect(`${facts}\n${printFunctionWithDependencies(func)}\n`).toMatchFileSnapshot(
        `./golden/${name}.wat`,
      );
    });
  }
});
