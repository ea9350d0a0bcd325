import type { Node } from '@tessera/graph';
import { describe, expect, it } from 'vitest';
import { type ExecutionPlan, compileGraph, printKernel, verifyPlan } from '../src/index.js';
import { GraphBuilder, target } from './graph-builder.js';

/** Compiles what `build` returns as outputs. */
function plan(
  build: (b: GraphBuilder) => readonly Node[],
  overrides: Parameters<typeof target>[0] = {},
): ExecutionPlan {
  const b = new GraphBuilder();
  const outputs = build(b);
  const compiled = compileGraph(b.done(...outputs), { backend: target(overrides), name: 'test' });
  verifyPlan(compiled);
  return compiled;
}

/** Launches of loop kernels; products are counted apart, as PyTorch's figures do. */
function loops(p: ExecutionPlan): number {
  return p.launches.filter((launch) => p.kernels[launch.kernel]!.kind === 'loop').length;
}

function text(p: ExecutionPlan): string {
  return p.kernels.map(printKernel).join('\n');
}

function geluTanh(b: GraphBuilder, x: Node): Node {
  const inner = b.op(
    'mul.Tensor',
    b.op('mul.Tensor', x, 0.79788456),
    b.op('add.Tensor', b.op('mul.Tensor', b.op('mul.Tensor', x, 0.044715), x), 1),
  );
  return b.op('mul.Tensor', b.op('mul.Tensor', x, 0.5), b.op('add.Tensor', b.op('tanh', inner), 1));
}

describe('kernels generated, no more than PyTorch 2.11 generates', () => {
  it('pointwise_chain: 1', () => {
    const p = plan((b) => {
      const [x, y] = [b.input([64, 1024]), b.input([64, 1024])];
      return [
        b.op(
          'add.Tensor',
          b.op('mul.Tensor', b.op('mul.Tensor', x, b.op('sigmoid', x)), b.op('tanh', x)),
          y,
        ),
      ];
    });
    expect(loops(p)).toBe(1);
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_sigmoid_mul_tanh_add_0(in0: f32, in1: f32, write out0: f32)
        for [i0:65536]
        outer:
          t0: f32 = in0[i0]
          t1: f32 = sigmoid(t0)
          t2: f32 = t0 * t1
          t3: f32 = tanh(t0)
          t4: f32 = t2 * t3
          t5: f32 = in1[i0]
          t6: f32 = t4 + t5
          out0[i0] = t6"
    `);
  });

  it('softmax: 1, with one pass for the maximum and the sum', () => {
    const p = plan((b) => [b.op('_softmax', b.input([64, 1024]), -1, false)]);
    expect(loops(p)).toBe(1);
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_softmax_0(in0: f32, write out0: f32)
        for [i0:64] inner [r0:1024]
        inner:
          t0: f32 = in0[1024*i0 + r0]
          acc0, acc1: f32 = online_softmax(t0)
        inner:
          t0: f32 = in0[1024*i0 + r0]
          t1: f32 = t0 - acc0
          t2: f32 = exp(t1)
          t3: f32 = t2 / acc1
          out0[1024*i0 + r0] = t3"
    `);
  });

  it('layer_norm: 1, with its statistics', () => {
    const p = plan((b) => {
      const norm = b.op(
        'native_layer_norm',
        b.input([64, 1024]),
        [1024],
        b.input([1024]),
        b.input([1024]),
        1e-5,
      );
      return [b.item(norm, 0), b.item(norm, 1), b.item(norm, 2)];
    });
    expect(loops(p)).toBe(1);
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_native_layer_norm_0(in0: f32, in1: f32, in2: f32, write out0: f32, write out1: f32, write out2: f32)
        for [i0:64] inner [r0:1024]
        inner:
          t0: f32 = in0[1024*i0 + r0]
          acc0, acc1: f32 = welford(t0)
        inner:
          t0: f32 = in0[1024*i0 + r0]
          t1: f32 = t0 - acc0
          t2: f32 = acc1 * 0.0009765625
          t3: f32 = t2 + 0.000009999999747378752
          t4: f32 = rsqrt(t3)
          t5: f32 = t1 * t4
          t6: f32 = in1[r0]
          t7: f32 = t5 * t6
          t8: f32 = in2[r0]
          t9: f32 = t7 + t8
          out0[1024*i0 + r0] = t9
        outer:
          out1[i0] = acc0
          t1: f32 = acc1 * 0.0009765625
          t2: f32 = t1 + 0.000009999999747378752
          t3: f32 = rsqrt(t2)
          out2[i0] = t3"
    `);
  });

  it('rms_norm: 1', () => {
    const p = plan((b) => {
      const [x, w] = [b.input([64, 1024]), b.input([1024])];
      const scale = b.op(
        'rsqrt',
        b.op('add.Tensor', b.op('mean.dim', b.op('pow.Tensor_Scalar', x, 2), [-1], true), 1e-6),
      );
      return [b.op('mul.Tensor', w, b.op('mul.Tensor', x, scale))];
    });
    expect(loops(p)).toBe(1);
  });

  it('cross_entropy: 2, reading the logits once and the labels where they are', () => {
    const p = plan((b) => {
      const logp = b.op('_log_softmax', b.input([64, 1024]), 1, false);
      return [b.item(b.op('nll_loss_forward', logp, b.input([64], 'int64'), null, 1, -100), 0)];
    });
    expect(loops(p)).toBe(2);
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_log_softmax_0(in0: f32, write out0: f32, write out1: f32)
        for [i0:64] inner [r0:1024]
        inner:
          t0: f32 = in0[1024*i0 + r0]
          acc0, acc1: f32 = online_softmax(t0)
        outer:
          out0[i0] = acc0
          out1[i0] = acc1
      loop fused_log_softmax_nll_loss_forward_1(in0: i64, in1: f32, in2: f32, in3: f32, write out0: f32)
        for [] inner [r0:64]
        inner:
          t0: i64 = in0[r0]
          t1: bool = t0 != -100
          t2: i64 = where(t1, t0, 0)
          t3: bool = within(t2, 1024)
          t4: i32 = i32(t2)
          t5: i32 = t4 checked t3 (nll_loss class < 1024 or -100: t0)
          t6: f32 = in1[1024*r0 + t5]
          t7: f32 = in2[r0]
          t8: f32 = t6 - t7
          t9: f32 = in3[r0]
          t10: f32 = log(t9)
          t11: f32 = t8 - t10
          t12: f32 = neg(t11)
          t13: f32 = where(t1, t12, 0)
          acc0: f32 = sum(t13)
          t15: f32 = where(t1, 1, 0)
          acc1: f32 = sum(t15)
        outer:
          t0: f32 = acc0 / acc1
          out0[0] = t0"
    `);
  });

  it('two_reductions: 1', () => {
    const p = plan((b) => {
      const x = b.input([64, 1024]);
      return [b.op('sum.dim_IntList', x, [-1]), b.op('amax', x, [-1])];
    });
    expect(loops(p)).toBe(1);
  });

  it('horizontal: consumers of one tensor share a kernel, unrelated ones do not', () => {
    const shared = plan((b) => {
      const x = b.input([32, 64]);
      return [b.op('sin', x), b.op('cos', x), b.op('tanh', x)];
    });
    expect(loops(shared)).toBe(1);
    const apart = plan((b) => [
      b.op('sin', b.input([32, 64])),
      b.op('cos', b.input([32, 64])),
      b.op('tanh', b.input([32, 64])),
    ]);
    expect(loops(apart)).toBe(3);
  });

  it('linear_relu_linear: bias and activation are in the epilogue of the product', () => {
    const p = plan((b) => {
      const [x, w1, b1, w2, b2] = [
        b.input([32, 64]),
        b.input([128, 64]),
        b.input([128]),
        b.input([16, 128]),
        b.input([16]),
      ];
      const hidden = b.op('relu', b.op('addmm', b1, x, b.op('permute', w1, [1, 0])));
      return [b.op('addmm', b2, hidden, b.op('permute', w2, [1, 0]))];
    });
    expect(loops(p)).toBe(0);
    expect(text(p)).toMatchInlineSnapshot(`
      "matmul fused_addmm_relu_0(in0: f32, in1: f32, in2: f32, write out0: f32)
        batch [] m [m0:32] n [n0:128] k [k0:64] acc f32
        a:
          t0: f32 = in0[64*m0 + k0]
          a = t0
        b:
          t0: f32 = in1[64*n0 + k0]
          b = t0
        epilogue:
          t0: f32 = in2[n0]
          t1: f32 = acc0 + t0
          t2: f32 = maximum(t1, 0)
          out0[128*m0 + n0] = t2
      matmul fused_addmm_1(in0: f32, in1: f32, in2: f32, write out0: f32)
        batch [] m [m0:32] n [n0:16] k [k0:128] acc f32
        a:
          t0: f32 = in0[128*m0 + k0]
          a = t0
        b:
          t0: f32 = in1[128*n0 + k0]
          b = t0
        epilogue:
          t0: f32 = in2[n0]
          t1: f32 = acc0 + t0
          out0[16*m0 + n0] = t1"
    `);
  });

  it('adamw_like: 1, updating parameter and moments in place', () => {
    const p = plan((b) => {
      const [param, grad, m, v] = [
        b.input([64, 64]),
        b.input([64, 64]),
        b.input([64, 64]),
        b.input([64, 64]),
      ];
      const m2 = b.op('lerp.Scalar', m, grad, 0.1);
      const v2 = b.op(
        'add.Tensor',
        b.op('mul.Tensor', v, 0.999),
        b.op('mul.Tensor', b.op('mul.Tensor', grad, grad), 0.001),
      );
      const p2 = b.op(
        'sub.Tensor',
        param,
        b.op(
          'mul.Tensor',
          b.op('div.Tensor', m2, b.op('add.Tensor', b.op('sqrt', v2), 1e-8)),
          1e-3,
        ),
      );
      b.mutate(param, p2);
      b.mutate(m, m2);
      b.mutate(v, v2);
      return [];
    });
    expect(loops(p)).toBe(1);
    expect(p.arenaBytes).toBe(0);
    expect(p.buffers.map((buffer) => buffer.source.kind)).toEqual([
      'input',
      'input',
      'input',
      'input',
    ]);
  });

  it('gelu_bias: 1', () => {
    const p = plan((b) => [geluTanh(b, b.op('add.Tensor', b.input([32, 1024]), b.input([1024])))]);
    expect(loops(p)).toBe(1);
  });

  it('attention_unfused: 1 between the products', () => {
    const p = plan((b) => {
      const [q, k, v] = [b.input([2, 4, 16, 8]), b.input([2, 4, 16, 8]), b.input([2, 4, 16, 8])];
      const flat = (x: Node): Node => b.op('view', x, [8, 16, 8]);
      const scores = b.op(
        'mul.Tensor',
        b.op('view', b.op('bmm', flat(q), b.op('permute', flat(k), [0, 2, 1])), [2, 4, 16, 16]),
        0.35,
      );
      return [b.op('bmm', b.op('view', b.op('_softmax', scores, -1, false), [8, 16, 16]), flat(v))];
    });
    expect(loops(p)).toBe(1);
  });

  it('cumsum: 1 with what it reads and what reads it, where kernels can scan', () => {
    const running = plan(
      (b) => [b.op('tanh', b.op('cumsum', b.op('sin', b.input([4, 300])), 1, null))],
      { scans: true },
    );
    expect(running.launches.length).toBe(1);
    expect(text(running)).toMatchInlineSnapshot(`
      "loop fused_sin_tanh_0(in0: f32, write out0: f32)
        for [i0:4] inner [r0:300]
        inner:
          t0: f32 = in0[300*i0 + r0]
          t1: f32 = sin(t0)
          acc0: f32 = running_sum(t1)
          t3: f32 = tanh(acc0)
          out0[300*i0 + r0] = t3"
    `);
    const maxima = plan(
      (b) => {
        const found = b.op('cummax', b.input([4, 300]), 1);
        return [b.item(found, 0), b.item(found, 1)];
      },
      { scans: true },
    );
    expect(maxima.launches.length).toBe(1);
    const long = plan((b) => [b.op('cumsum', b.input([20000]), 0, null)], {
      scans: true,
      parallelism: 4,
    });
    expect(long.launches.length).toBe(3);
  });

  it('a share of the running sum: the scan runs again behind the total', () => {
    const p = plan(
      (b) => {
        const x = b.input([4, 300]);
        const total = b.op('sum.dim_IntList', x, [1], true);
        return [b.op('div.Tensor', b.op('cumsum', x, 1, null), total)];
      },
      { scans: true },
    );
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_sum_cumsum_div_0(in0: f32, write out0: f32)
        for [i0:4] inner [r0:300]
        inner:
          t0: f32 = in0[300*i0 + r0]
          acc0: f32 = sum(t0)
        inner:
          t0: f32 = in0[300*i0 + r0]
          acc1: f32 = running_sum(t0)
          t2: f32 = acc1 / acc0
          out0[300*i0 + r0] = t2"
    `);
  });

  it('dropout: 1 with its mask, which is drawn once', () => {
    const p = plan((b) => {
      const dropped = b.op('native_dropout', b.op('sin', b.input([8, 16])), 0.5, true);
      return [b.item(dropped, 0), b.item(dropped, 1)];
    });
    expect(loops(p)).toBe(1);
    expect(text(p).match(/uniform/g)).toHaveLength(1);
  });

  it('the gradient of a slice: 1, although its value has more operands than one of several may have', () => {
    const p = plan(
      (b) => {
        const operands = Array.from({ length: 6 }, () => b.input([4, 7]));
        const value = operands.reduce((sum, each) => b.op('add.Tensor', sum, each));
        return [b.op('slice_backward', value, [4, 8], 1, 0, 7, 1)];
      },
      { maxBuffersPerKernel: 16 },
    );
    expect(p.launches.length).toBe(1);
    expect(p.arenaBytes).toBe(0);
  });

  it('cat_pointwise and transpose_add: 1 each', () => {
    const joined = plan((b) => [
      b.op(
        'mul.Tensor',
        b.op('cat', [b.op('sin', b.input([8, 16])), b.op('cos', b.input([8, 4]))], 1),
        2,
      ),
    ]);
    expect(loops(joined)).toBe(1);
    const transposed = plan((b) => [
      b.op('add.Tensor', b.input([8, 16]), b.op('permute', b.input([16, 8]), [1, 0])),
    ]);
    expect(loops(transposed)).toBe(1);
  });

  it('a transposed convolution whose windows tile the image: one product, of as many terms as channels', () => {
    const p = plan((b) => {
      const [x, w, bias] = [b.input([2, 4, 8, 8]), b.input([4, 6, 2, 2]), b.input([6])];
      return [
        b.op('relu', b.op('convolution', x, w, bias, [2, 2], [0, 0], [1, 1], true, [0, 0], 1)),
      ];
    });
    expect(p.launches.length).toBe(1);
    const [kernel] = p.kernels;
    expect(kernel).toMatchObject({ kind: 'matmul', k: [{ size: 4 }] });
    expect(text(p)).not.toContain('div 2');
  });

  it('a depthwise convolution: one kernel without a buffer, as a product where windows are fast', () => {
    const depthwise = (windows: boolean): ExecutionPlan =>
      plan(
        (b) => {
          const [x, w] = [b.input([2, 8, 16, 16]), b.input([8, 1, 3, 3])];
          const conv = b.op('convolution', x, w, null, [1, 1], [1, 1], [1, 1], false, [0, 0], 8);
          return [b.op('hardswish', b.op('add.Tensor', conv, b.input([8, 1, 1])))];
        },
        { windows },
      );
    for (const windows of [true, false]) {
      const p = depthwise(windows);
      expect(p.launches.length).toBe(1);
      expect(p.arenaBytes).toBe(0);
      expect(p.kernels[0]!.kind).toBe(windows ? 'matmul' : 'loop');
    }
  });

  it('conv_bn_relu_eval: batch norm and relu join the epilogue of the convolution', () => {
    const p = plan((b) => {
      const [x, w] = [b.input([2, 4, 8, 8]), b.input([6, 4, 3, 3])];
      const conv = b.op('convolution', x, w, null, [1, 1], [1, 1], [1, 1], false, [0, 0], 1);
      const norm = b.op(
        '_native_batch_norm_legit_no_training',
        conv,
        b.input([6]),
        b.input([6]),
        b.input([6]),
        b.input([6]),
        0.1,
        1e-5,
      );
      return [b.op('relu', b.item(norm, 0))];
    });
    expect(p.launches.length).toBe(1);
    expect(text(p)).toMatchInlineSnapshot(`
      "matmul fused_convolution_native_batch_norm_legit_no_training_relu_0(in0: f32, in1: f32, in2: f32, in3: f32, in4: f32, in5: f32, write out0: f32)
        batch [] m [m0:6] n [n0:2, n1:8, n2:8] k [k0:4, k1:3, k2:3] acc f32
        a:
          t0: f32 = in0[36*m0 + 9*k0 + 3*k1 + k2]
          a = t0
        b:
          t0: i32 = index(n1 + k1 - 1)
          t1: bool = t0 >= 0
          t2: bool = t0 < 8
          t3: bool = t1 & t2
          t4: i32 = index(n2 + k2 - 1)
          t5: bool = t4 >= 0
          t6: bool = t4 < 8
          t7: bool = t5 & t6
          t8: bool = t3 & t7
          t9: f32 = in1[256*n0 + 64*k0 + 8*n1 + 8*k1 + n2 + k2 - 9]
          t10: f32 = t9 if t8 else 0
          b = t10
        epilogue:
          t0: f32 = in2[m0]
          t1: f32 = acc0 - t0
          t2: f32 = in3[m0]
          t3: f32 = t2 + 0.000009999999747378752
          t4: f32 = rsqrt(t3)
          t5: f32 = t1 * t4
          t6: f32 = in4[m0]
          t7: f32 = t5 * t6
          t8: f32 = in5[m0]
          t9: f32 = t7 + t8
          t10: f32 = maximum(t9, 0)
          out0[384*n0 + 64*m0 + 8*n1 + n2] = t10"
    `);
  });
});
