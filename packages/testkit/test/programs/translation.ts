/** @file LSTM translation: an encoder, a decoder that attends to it, padding that the loss leaves out. */
import { Embedding, LSTM, Linear, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, arange, bmm, cat, randint, tensor } from '@tessera/tensor';
import type { Program } from './program.js';

const [WORDS, WIDTH, LENGTH, PADDING] = [14, 12, 5, 0];

class Translator extends Module {
  source: Embedding = new Embedding(WORDS, WIDTH, { paddingIdx: PADDING });
  target: Embedding = new Embedding(WORDS, WIDTH, { paddingIdx: PADDING });
  encoder: LSTM = new LSTM(WIDTH, WIDTH, { batchFirst: true });
  decoder: LSTM = new LSTM(WIDTH, WIDTH, { batchFirst: true });
  combine: Linear = new Linear(2 * WIDTH, WIDTH);
  head: Linear = new Linear(WIDTH, WORDS);

  forward(from: Tensor, to: Tensor): Tensor {
    const [memory, state] = this.encoder.call(this.source.call(from)) as [Tensor, [Tensor, Tensor]];
    const [hidden] = this.decoder.call(this.target.call(to), state) as [Tensor, unknown];
    const scores = bmm(hidden, memory.transpose(1, 2));
    const isPadding = from.eq(PADDING).unsqueeze(1);
    const context = bmm(F.softmax(scores.maskedFill(isPadding, -1e9), -1), memory);
    return this.head.call(this.combine.call(cat([hidden, context], -1)).tanh());
  }
}

export const translation: Program = {
  name: 'LSTM translation',
  start({ device, compile }) {
    const model = new Translator().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.02, eps: 1e-5 });
    const lengths = tensor([5, 3, 4, 2]).unsqueeze(1);
    const isWord = arange(LENGTH).unsqueeze(0).lt(lengths);
    const sentences = [0, 1].map(() =>
      randint(1, WORDS, [4, LENGTH]).maskedFill(isWord.logicalNot(), PADDING).to(device),
    ) as [Tensor, Tensor];
    const step = compile((from: Tensor, to: Tensor) => {
      const logits = model.call(from, to.narrow(1, 0, LENGTH - 1));
      const next = to.narrow(1, 1, LENGTH - 1).flatten();
      const loss = F.crossEntropy(logits.flatten(0, 1), next, { ignoreIndex: PADDING });
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => step(...sentences) };
  },
};
