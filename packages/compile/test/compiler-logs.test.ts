/**
 * @file What `TESSERA_LOGS` shows of the last stages: fusion, schedule, generated code, slow kernels.
 */
import { setLogSink, setLogs } from '@tessera/shared';
import { type Tensor, eye, ones } from '@tessera/tensor';
import { svdvals } from '@tessera/tensor/linalg';
import { afterEach, describe, expect, it } from 'vitest';
import { compile } from '../src/node.js';

const ARTIFACTS = ['fusion', 'schedule', 'output_code', 'perf'] as const;

/** Texts logged while `fn` runs compiled, by artifact. */
function logsOf(fn: (x: Tensor) => Tensor, x: Tensor): Record<string, string> {
  const texts: Record<string, string> = {};
  const before = setLogSink((artifact, text) => {
    texts[artifact] = `${texts[artifact] ?? ''}${text}\n`;
  });
  setLogs(Object.fromEntries(ARTIFACTS.map((name) => [name, true])));
  try {
    compile(fn)(x);
  } finally {
    setLogSink(before);
  }
  return texts;
}

describe('logs of the kernel compiler', () => {
  afterEach(() => {
    setLogs(Object.fromEntries(ARTIFACTS.map((name) => [name, false])));
  });

  it('shows what was fused, the plan and the code', () => {
    const texts = logsOf((x) => x.sub(x.mean(1, { keepdim: true })).exp(), ones([4, 8]));
    expect(texts['fusion']).toMatchInlineSnapshot(`
      "fused_mean [buf0] and fused_mean_sub_exp [buf1] become one kernel
      "
    `);
    expect(texts['schedule']).toMatchInlineSnapshot(`
      "plan graph on cpu: 1 launch(es), arena of 0 bytes (0 without reuse)
        buf1: f32[32] at output 0
        arg0: f32[32] at input 0
        0: fused_mean_sub_exp_0(arg0, buf1)
      scheduled fused_mean_sub_exp_0
        variable i0: 4
        variable r0: 8
        grid item: 4, about 10 ns each
        accumulator sum.0: sum of f32 gives acc0: f32
        let i0 = item
        start sum.0
        loop r0 from 0 to 8 by 8
          vector r0 + 0..3 × 2
            t0: f32 = in0[8*i0 + r0]
            update sum.0 with t0 at r0
        part sum.0
        fold sum.0
        finish sum.0
        loop r0 from 0 to 8 by 8
          vector r0 + 0..3 × 2
            t0: f32 = in0[8*i0 + r0]
            t1: f32 = acc0 * 0.125
            t2: f32 = t0 - t1
            t3: f32 = exp(t2)
            out0[8*i0 + r0] = t3
      "
    `);
    expect(texts['output_code']).toMatch(/^\/\/ fused_mean_sub_exp_0\n[^]*\(func/);
    expect(texts['perf']).toBeUndefined();
  });

  it('says where the kernel of eager mode runs', () => {
    const texts = logsOf((x) => svdvals(x).mul(2), eye(3));
    expect(texts['perf']).toMatch(
      /\w+: aten::_?linalg_\w+ has no generated code; its eager kernel runs/,
    );
  });
});
