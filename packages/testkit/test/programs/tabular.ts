/**
 * @file Attention over the columns of a table (TabNet): sparsemax with a backward of its own that writes to what it is
 * given, and a batch normalization of as many parts as the batch has.
 */
import { BatchNorm1d, Linear, Module, functional as F, optim } from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type Tensor,
  arange,
  cat,
  ones,
  randn,
  zeros,
} from '@tessera/tensor';
import type { Program } from './program.js';

const [COLUMNS, CLASSES, PART] = [5, 3, 4];

/** The point of the simplex that is nearest; rows of the last dimension. */
class Sparsemax extends Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    const shifted = x.sub_(x.amax(-1, { keepdim: true }));
    const [sorted] = shifted.sort(-1, { descending: true });
    const excess = sorted.cumsum(-1).sub(1);
    const rank = arange(1, x.size(-1) + 1, { dtype: x.dtype, device: x.device });
    const support = rank.mul(sorted).gt(excess).sum(-1, { keepdim: true });
    const threshold = excess.gather(-1, support.sub(1)).div(support.to(x.dtype));
    const result = shifted.sub(threshold).clamp(0);
    ctx.saveForBackward(support, result);
    return result;
  }
  static backward(ctx: FunctionContext, gradient: Tensor): Tensor {
    const [support, result] = ctx.savedTensors as [Tensor, Tensor];
    const inside = gradient.clone();
    inside.maskedFill_(result.eq(0), 0);
    const mean = inside.sum(-1, { keepdim: true }).div(support.to(gradient.dtype));
    return inside.sub(mean).maskedFill(result.eq(0), 0);
  }
}

class Parts extends Module {
  norm: BatchNorm1d;
  constructor(width: number) {
    super();
    this.norm = new BatchNorm1d(width, { momentum: 0.02 });
  }
  forward(x: Tensor): Tensor {
    return cat(x.chunk(Math.ceil(x.size(0) / PART)).map((part) => this.norm.call(part)));
  }
}

class Table extends Module {
  features: Linear = new Linear(COLUMNS, 12, { bias: false });
  parts: Parts = new Parts(12);
  attention: Linear = new Linear(6, COLUMNS, { bias: false });
  attended: Parts = new Parts(COLUMNS);
  head: Linear = new Linear(6, CLASSES);
  forward(x: Tensor): [scores: Tensor, entropy: Tensor] {
    let prior = ones([x.size(0), COLUMNS], { device: x.device });
    let [seen, entropy, total] = [
      x,
      zeros([], { device: x.device }),
      zeros([x.size(0), 6], { device: x.device }),
    ];
    for (let i = 0; i < 2; i++) {
      const hidden = F.glu(this.parts.call(this.features.call(seen)));
      total = total.add(hidden.relu());
      const mask = Sparsemax.apply(this.attended.call(this.attention.call(hidden)).mul(prior));
      entropy = entropy.sub(mask.mul(mask.add(1e-6).log()).sum(1).mean());
      prior = prior.mul(mask.neg().add(1.3));
      seen = x.mul(mask);
    }
    return [this.head.call(total), entropy];
  }
}

export const tabular: Program = {
  name: 'attention over columns',
  steps: 5,
  start({ device, compile }) {
    const model = new Table().to(device);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
    const tables = [12, 8].map((rows) => {
      const x = randn([rows, COLUMNS]);
      return [x.to(device), x.narrow(1, 0, CLASSES).argmax(1).to(device)] as const;
    });
    const step = compile((x: Tensor, labels: Tensor) => {
      const [scores, entropy] = model.call(x);
      const loss = F.crossEntropy(scores, labels).add(entropy.mul(1e-3));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: (i) => step(...tables[i % 2]!) };
  },
};
