/**
 * @file Behind a graph break inside an `autocast` scope, custom functions are differentiated as in eager code.
 */
import { Linear } from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type Tensor,
  autocast,
  manualSeed,
  randn,
} from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, graphBreak } from '../src/index.js';

class Wave extends Function {
  static forward(ctx: FunctionContext, t: Tensor): Tensor {
    ctx.saveForBackward(t);
    return t.sin();
  }
  static backward(ctx: FunctionContext, slope: Tensor): Tensor {
    return slope.mul(ctx.savedTensors[0]!.cos()).mul(2);
  }
}

/** Its backward reads a value, and is not recorded. */
class Reading extends Function {
  static forward(ctx: FunctionContext, t: Tensor): Tensor {
    ctx.saveForBackward(t);
    return t.mul(2);
  }
  static backward(ctx: FunctionContext, slope: Tensor): Tensor {
    return slope.mul((ctx.savedTensors[0]!.abs().sum().item() as number) > 0 ? 2 : 3);
  }
}

const BREAKS = {
  'a break': () => graphBreak(),
  'a hook': (y: Tensor) => void y.registerHook((grad) => grad.mul(0.5)),
  nothing: () => {},
};

it.each(
  Object.entries(BREAKS).flatMap(([name, between]) =>
    ['eager', 'inductor'].flatMap((backend) =>
      [Wave, Reading].map((custom) => ({ name, between, backend, custom })),
    ),
  ),
)('$name, with $backend and $custom.name', ({ between, backend, custom }) => {
  manualSeed(1);
  const x = randn([3, 4]);
  const layer = new Linear(4, 4);
  const run = (): Tensor => {
    const out = autocast({ dtype: 'bfloat16' }, () => {
      const y = layer.call(x);
      between(y);
      return custom.apply(y);
    });
    return out.to('float32').sum();
  };
  const step = (): Tensor => {
    const loss = run();
    loss.backward();
    return loss;
  };
  const [compiled, compiledStep] = [run, step].map((fn) => compile(fn, { backend }));
  for (const call of [step, () => compiled!().backward(), () => void compiledStep!()]) {
    layer.zeroGrad();
    call();
    const [weight, bias] = layer.parameters().map((p) => p.grad!);
    layer.zeroGrad();
    step();
    expect(weight!.sub(layer.weight.grad!).abs().max().item()).toBeLessThan(0.05);
    expect(bias!.sub(layer.bias!.grad!).abs().max().item()).toBeLessThan(0.05);
  }
});
