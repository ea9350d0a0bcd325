/** @file word2vec: skip-grams against negatives drawn by frequency, tables updated by Adagrad. */
import { Embedding, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, arange, multinomial, randint } from '@tessera/tensor';
import type { Program } from './program.js';

const [WORDS, WIDTH, PAIRS, NEGATIVES] = [40, 8, 24, 5];

class SkipGram extends Module {
  words: Embedding = new Embedding(WORDS, WIDTH);
  contexts: Embedding = new Embedding(WORDS, WIDTH);
  forward(centre: Tensor, context: Tensor, negatives: Tensor): Tensor {
    const word = this.words.call(centre).unsqueeze(2);
    const score = (ids: Tensor): Tensor => this.contexts.call(ids).matmul(word).squeeze(2);
    const good = F.logSigmoid(score(context.unsqueeze(1))).squeeze(1);
    const bad = F.logSigmoid(score(negatives).neg()).sum(1);
    return good.add(bad).mean().neg();
  }
}

export const wordVectors: Program = {
  name: 'word2vec with negative sampling',
  start({ device, compile }) {
    const model = new SkipGram().to(device);
    const optimizer = new optim.Adagrad(model.parameters(), { lr: 0.1, eps: 1e-6 });
    const frequencies = arange(WORDS).add(1).to('float32').pow(-0.75).to(device);
    const step = compile((centre: Tensor, context: Tensor) => {
      const drawn = multinomial(frequencies, PAIRS * NEGATIVES, { replacement: true });
      const loss = model.call(centre, context, drawn.view([PAIRS, NEGATIVES]));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    const words = (): Tensor => randint(0, WORDS, [PAIRS]).to(device);
    return { state: { model }, step: () => step(words(), words()) };
  },
};
