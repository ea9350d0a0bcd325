/**
 * @file A reversible network (RevNet): a custom function with two results keeps its output alone, makes its blocks' inputs
 * again in its backward, and runs `backward()` through each of them there.
 */
import {
  GELU,
  LayerNorm,
  Linear,
  Module,
  ModuleList,
  Sequential,
  Tanh,
  functional as F,
  optim,
} from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type Tensor,
  cat,
  enableGrad,
  noGrad,
  randint,
  randn,
} from '@tessera/tensor';
import type { Program } from './program.js';

type Block = readonly [f: Sequential, g: Sequential];
interface Context extends FunctionContext {
  blocks: readonly Block[];
  parameters: number;
}

const halves = (x: Tensor): [Tensor, Tensor] => x.chunk(2, -1) as [Tensor, Tensor];

class Reversible extends Function {
  /** The parameters are arguments so that the result has a history. */
  static forward(
    ctx: Context,
    x: Tensor,
    blocks: readonly Block[],
    ...parameters: Tensor[]
  ): [Tensor, Tensor] {
    let [x1, x2] = halves(x);
    for (const [f, g] of blocks) {
      x1 = x1.add(f.call(x2));
      x2 = x2.add(g.call(x1));
    }
    const y = cat([x1, x2], -1);
    ctx.blocks = blocks;
    ctx.parameters = parameters.length;
    ctx.saveForBackward(y);
    return [y, x1.abs().amax()];
  }

  static backward(ctx: Context, grad: Tensor): (Tensor | null)[] {
    let [y1, y2] = halves(ctx.savedTensors[0]!);
    let [d1, d2] = halves(grad);
    for (const [f, g] of ctx.blocks.toReversed()) {
      const [x2, dy1] = undo(g, y1, y2, d2);
      d1 = d1.add(dy1);
      const [x1, dx2] = undo(f, x2, y1, d1);
      d2 = d2.add(dx2);
      [y1, y2] = [x1, x2];
    }
    return [cat([d1, d2], -1), null, ...Array.from({ length: ctx.parameters }, () => null)];
  }
}

/** `sum - part(input)`, and the gradient of `input`; those of the part's parameters are collected. */
function undo(part: Sequential, input: Tensor, sum: Tensor, grad: Tensor): [Tensor, Tensor] {
  return enableGrad(() => {
    const leaf = input.detach().requiresGrad_();
    const value = part.call(leaf);
    value.backward(grad);
    return noGrad(() => [sum.sub(value), leaf.grad!]);
  });
}

class Net extends Module {
  first: Linear = new Linear(5, 8);
  last: Linear = new Linear(8, 3);
  blocks: ModuleList<ModuleList<Sequential>> = new ModuleList(
    [0, 1, 2].map(
      () =>
        new ModuleList([
          new Sequential(new LayerNorm(4), new Linear(4, 4), new GELU()),
          new Sequential(new Linear(4, 4), new Tanh()),
        ]),
    ),
  );
  forward(x: Tensor): [Tensor, Tensor] {
    const blocks = [...this.blocks].map(([...pair]) => pair as unknown as Block);
    const [y, largest] = Reversible.apply(
      this.first.call(x),
      blocks,
      ...this.blocks.parameters(),
    ) as [Tensor, Tensor];
    return [this.last.call(y), largest];
  }
}

export const reversibleNetwork: Program = {
  name: 'reversible network',
  start({ device, compile }) {
    const model = new Net().to(device);
    const optimizer = new optim.RMSprop(model.parameters(), { lr: 0.01, eps: 1e-5, momentum: 0.5 });
    const [data, labels] = [randn([6, 5]).to(device), randint(0, 3, [6]).to(device)];
    const step = compile((x: Tensor, y: Tensor) => {
      const [scores, largest] = model.call(x);
      const loss = F.crossEntropy(scores, y);
      optimizer.zeroGrad({ setToNone: false });
      loss.backward();
      optimizer.step();
      return [loss, largest];
    });
    return { state: { model }, step: () => step(data, labels) };
  },
};
