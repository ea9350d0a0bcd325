import { type Tensor, arange, zeros } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';
it('x', () => {
  const w = zeros([4, 3]);
  const c = compileEager((x: Tensor) => {
    const t6 = arange(w.shape[0]!);
    w.transpose_(0, -1);
    return t6;
  });
  for (let i = 0; i < 5; i++) {
    console.log(c.call(zeros([1])).toArray(), w.shape);
    console.log([...(c.function as any).branches.values()][0].map((b: any) => b.steps.map((s:any) => JSON.stringify(s, (k, v) => k === 'next' || k==='segment' || k=='op' ? undefined : v))));
  }
});
