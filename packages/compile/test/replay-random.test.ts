import { config } from '@tessera/shared';
import { type Tensor, dropout, manualSeed, ones } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, observeCompilations } from '../src/index.js';

it('repeats dropout in backward with the numbers of forward', () => {
  const fn = (x: Tensor): Tensor => dropout(dropout(x.mul(2), { p: 0.5 }).sin(), { p: 0.25 }).cos();
  const observe = (run: typeof fn): unknown => {
    manualSeed(3);
    const x = ones([256]).requiresGrad_();
    const outs = [run(x), run(x)];
    outs[0]!.mul(outs[1]!).sum().backward();
    return [outs.map((out) => out.toArray()), x.grad!.toArray()];
  };
  const graphs: string[] = [];
  const stop = observeCompilations((module) => graphs.push(module.print()));
  const [values, grads] = config.patch({ 'aot.recomputeRandom': true }, () =>
    observe(compile(fn)),
  ) as number[][][];
  stop();
  expect(graphs.at(-1)).toContain('replay_aten_native_dropout');
  const [expected, expectedGrads] = observe(fn) as number[][][];
  for (const [i, row] of [...values!, grads! as never].entries()) {
    const target = [...expected!, expectedGrads! as never][i]! as unknown as number[];
    (row as unknown as number[]).forEach((value, k) => expect(value).toBeCloseTo(target[k]!, 5));
  }
});
