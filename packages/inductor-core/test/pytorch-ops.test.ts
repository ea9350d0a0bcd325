import { describe, expect, it } from 'vitest';
import { loweredOps } from '../src/index.js';
import { target } from './graph-builder.js';
import { loadCases, runCase } from './op-case.js';

const cases = loadCases();

/** Operators whose results PyTorch's samples cannot pin down, or that its samples do not call. */
const NOT_RECORDED = [
  // Compared with eager in packages/compile/test/pointwise-ops.test.ts.
  /^aten::(special_i0e|special_i1e|polygamma)$/,
  /^aten::(new_)?empty/,
  /^aten::rand/,
  /^aten::(uniform|normal_functional|bernoulli)/,
  /^aten::native_dropout/,
  // Compared with eager's draws in packages/compile/test/random-distributions.test.ts.
  /^aten::(exponential|log_normal)$/,
  // Compared with the draws of the CPU in packages/testkit/test/webgpu-values.test.ts.
  /^aten::multinomial$/,
  /Scalar/,
  // Recorded calls of these run compiled in apps/oracle/test/compiled.test.ts.
  /^aten::(_cdist_forward|_euclidean_dist|_pdist_forward|_?embedding_bag|as_strided_scatter)/,
  /^aten::_embedding_bag/,
  /^aten::(grid_sampler|linspace|logspace|tril_indices|triu_indices)/,
  // Compared with the reference kernels in packages/compile/test/lowered-for-both-devices.test.ts.
  /^aten::(logcumsumexp|embedding_renorm|_efficientzerotensor|_upsample_bi(linear|cubic)2d_aa(_backward)?)$/,
  /^tessera::logcumsumexp_weighted$/,
  // A kernel of its own; compared in packages/testkit/test/recurrent-layer.test.ts.
  /^tessera::(recurrent_layer|ctc_alphas)(_backward)?$/,
  // Made by passes; compared in packages/compile/test/freezing.test.ts.
  /^prims::inductor_force_stride_order$/,
  /^tessera::convolution_pointwise$/,
  // Their words are packed as on no other machine; compared in packages/transformers/test/quantize.test.ts.
  /^aten::_weight_int[48]pack_mm$/,
  // Which of several equal elements they name is open.
  /^aten::(topk|kthvalue)$/,
  /_copy/,
  /^aten::(_convolution|_reshape_alias|_unsafe_index|_unsafe_index_put|lift_fresh|copy|slice_scatter|fill)\b/,
  /^aten::(clamp|clamp_max|dot|zero|_native_batch_norm_legit(_functional|_no_training)?)$/,
];

describe('lowered operators compute what PyTorch computes', () => {
  const ops = [...cases.keys()].sort();
  it.each(ops)('%s', (op) => {
    const failures = cases.get(op)!.flatMap((item) => {
      const difference = runCase(item, target());
      return difference === null
        ? []
        : [`${difference}: ${JSON.stringify(item.args).slice(0, 300)}`];
    });
    expect(failures).toEqual([]);
  });

  it('also where every reduction is split', () => {
    const backend = target({ parallelism: 64, splitReductionThreshold: 2 });
    const failures = ops.flatMap((op) =>
      cases.get(op)!.flatMap((item) => {
        const difference = runCase(item, backend);
        return difference === null ? [] : [`${op}: ${difference}`];
      }),
    );
    expect(failures).toEqual([]);
  });

  it('also with the eight buffers per kernel that WebGPU guarantees', () => {
    const backend = target({ maxBuffersPerKernel: 8 });
    const failures = ops.flatMap((op) =>
      cases.get(op)!.flatMap((item) => {
        const difference = runCase(item, backend);
        return difference === null ? [] : [`${op}: ${difference}`];
      }),
    );
    expect(failures).toEqual([]);
  });

  it('covers every lowering', () => {
    const untested = loweredOps().filter(
      (op) => !cases.has(op) && !NOT_RECORDED.some((pattern) => pattern.test(op)),
    );
    expect(untested).toEqual([]);
  });
});
