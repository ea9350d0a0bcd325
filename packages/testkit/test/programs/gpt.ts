/** @file A GPT that is trained with a schedule of rates and then writes tokens drawn from its distribution. */
import {
  Embedding,
  LayerNorm,
  Linear,
  Module,
  ModuleList,
  clipGradNorm_,
  functional as F,
  lrScheduler,
  optim,
} from '@tessera/nn';
import { type Tensor, arange, cat, multinomial, noGrad, randint } from '@tessera/tensor';
import type { Program } from './program.js';

const [VOCABULARY, CONTEXT, WIDTH, HEADS] = [17, 12, 16, 2];

class Layer extends Module {
  before: LayerNorm = new LayerNorm(WIDTH);
  project: Linear = new Linear(WIDTH, 3 * WIDTH);
  out: Linear = new Linear(WIDTH, WIDTH);
  between: LayerNorm = new LayerNorm(WIDTH);
  wide: Linear = new Linear(WIDTH, 4 * WIDTH);
  narrow: Linear = new Linear(4 * WIDTH, WIDTH);
  forward(x: Tensor): Tensor {
    const [b, t] = [x.size(0), x.size(1)];
    const parts = this.project.call(this.before.call(x)).split(WIDTH, 2);
    const [q, k, v] = parts.map((part) =>
      part.view([b, t, HEADS, WIDTH / HEADS]).transpose(1, 2),
    ) as [Tensor, Tensor, Tensor];
    const mixed = F.scaledDotProductAttention(q, k, v, { isCausal: true, dropoutP: 0 });
    const seen = x.add(this.out.call(mixed.transpose(1, 2).reshape([b, t, WIDTH])));
    return seen.add(this.narrow.call(F.gelu(this.wide.call(this.between.call(seen)))));
  }
}

class Gpt extends Module {
  tokens: Embedding = new Embedding(VOCABULARY, WIDTH);
  places: Embedding = new Embedding(CONTEXT, WIDTH);
  layers: ModuleList = new ModuleList([new Layer(), new Layer()]);
  norm: LayerNorm = new LayerNorm(WIDTH);
  forward(ids: Tensor): Tensor {
    const at = arange(ids.size(1), { device: ids.device });
    let x = this.tokens.call(ids).add(this.places.call(at));
    for (const layer of this.layers) x = layer.call(x);
    return F.linear(this.norm.call(x), this.tokens.weight);
  }
}

export const gpt: Program = {
  name: 'GPT with sampling',
  steps: 4,
  start({ device, compile }) {
    const model = new Gpt().to(device);
    const optimizer = new optim.AdamW(model.parameters(), {
      lr: 0.01,
      weightDecay: 0.1,
      eps: 1e-5,
    });
    const schedule = new lrScheduler.CosineAnnealingLR(optimizer, { tMax: 4 });
    const text = randint(0, VOCABULARY, [4, CONTEXT + 1]).to(device);
    const train = compile((ids: Tensor) => {
      const logits = model.call(ids.narrow(1, 0, CONTEXT));
      const loss = F.crossEntropy(logits.flatten(0, 1), ids.narrow(1, 1, CONTEXT).flatten());
      optimizer.zeroGrad();
      loss.backward();
      clipGradNorm_(model.parameters(), 1);
      optimizer.step();
      return loss;
    });
    const next = compile((ids: Tensor) => {
      const logits = model.call(ids).select(1, -1).div(0.8);
      const [kept] = logits.topk(5);
      const least = kept.narrow(1, 4, 1);
      return multinomial(logits.maskedFill(logits.lt(least), -Infinity).softmax(-1), 1);
    });
    const write = (): Tensor =>
      noGrad(() => {
        let ids = text.narrow(1, 0, 2);
        for (let i = 0; i < 4; i++) ids = cat([ids, next(ids)], 1);
        return ids;
      });
    const step = (i: number): Tensor => {
      if (i === 3) return write();
      const loss = train(text);
      schedule.step();
      return loss;
    };
    return { state: { model }, step };
  },
};
