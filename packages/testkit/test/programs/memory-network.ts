/**
 * @file A differentiable neural computer: a memory whose free places are found by sorting and scattering, whose weights
 * are softmaxes of cosines, and which is written and read at each step; a buffer counts what was seen.
 */
import { LSTMCell, Linear, Module, functional as F, optim } from '@tessera/nn';
import {
  type Tensor,
  cat,
  eye,
  full,
  ones,
  randn,
  sort,
  split,
  stack,
  zeros,
  zerosLike,
} from '@tessera/tensor';
import type { Program } from './program.js';

const [PLACES, WIDTH, HIDDEN, TIMES, BATCH] = [5, 4, 8, 3, 4];
/** Sizes of what the controller says: key, strength, erased, written, freed, allocated, gate, modes. */
const SAYS = [WIDTH, 1, WIDTH, WIDTH, 1, 1, 1, 3];

class Computer extends Module {
  cell: LSTMCell = new LSTMCell(3 + WIDTH, HIDDEN);
  says: Linear = new Linear(
    HIDDEN,
    SAYS.reduce((a, b) => a + b),
  );
  out: Linear = new Linear(HIDDEN + WIDTH, 3);
  seen!: Tensor;
  constructor() {
    super();
    this.registerBuffer('seen', zeros([], { dtype: 'int64' }));
  }

  /** Where the memory [B, PLACES, WIDTH] is like a key: [B, PLACES]. */
  private like(memory: Tensor, key: Tensor, strength: Tensor): Tensor {
    const cosines = F.cosineSimilarity(memory, key.unsqueeze(1), { dim: -1, eps: 1e-6 });
    return F.softmax(cosines.mul(strength), -1);
  }

  /** [TIMES, B, 3] to the same size. */
  forward(xs: Tensor): Tensor {
    const at = { device: xs.device };
    this.seen.add_(xs.shape[1]!);
    const none = zeros([BATCH, PLACES], at);
    let memory = full([BATCH, PLACES, WIDTH], 1e-3, at);
    let [usage, before, written] = [none, none, none];
    let link = zeros([BATCH, PLACES, PLACES], at);
    let readAt = full([BATCH, PLACES], 1 / PLACES, at);
    let read = zeros([BATCH, WIDTH], at);
    let state: [Tensor, Tensor] = [zeros([BATCH, HIDDEN], at), zeros([BATCH, HIDDEN], at)];
    const results: Tensor[] = [];
    for (const x of xs.unbind()) {
      state = this.cell.call(cat([x, read], 1), state);
      const said = split(this.says.call(state[0]), SAYS, 1);
      const [key, force, erased, value, ...rest] = said as [Tensor, Tensor, Tensor, Tensor];
      const [freed, allocated, gate, modes] = rest as unknown as [Tensor, Tensor, Tensor, Tensor];
      const strength = F.softplus(force).add(1);
      usage = usage.add(written).sub(usage.mul(written));
      usage = usage.mul(ones([], at).sub(freed.sigmoid().mul(readAt)));
      const [used, order] = sort(usage.mul(0.999).add(1e-3), 1);
      const free = F.pad(used, [1, 0], { value: 1 }).slice(1, 0, -1).cumprod(1);
      const freeAt = zerosLike(usage).scatter_(1, order, used.neg().add(1).mul(free));
      written = gate
        .sigmoid()
        .mul(this.like(memory, key, strength).lerp(freeAt, allocated.sigmoid()));
      const there = written.unsqueeze(2);
      memory = memory.mul(there.mul(erased.sigmoid().unsqueeze(1)).neg().add(1));
      memory = memory.add(there.matmul(value.unsqueeze(1)));
      link = there
        .neg()
        .add(1)
        .sub(written.unsqueeze(1))
        .mul(link)
        .add(there.mul(before.unsqueeze(1)));
      link = link.mul(eye(PLACES, at).neg().add(1));
      before = written.sum(1, { keepdim: true }).neg().add(1).mul(before).add(written);
      const row = readAt.unsqueeze(1);
      const ways = cat(
        [row.matmul(link), this.like(memory, key, strength).unsqueeze(1), row.matmul(link.mT)],
        1,
      );
      readAt = F.softmax(modes, -1).unsqueeze(1).matmul(ways).squeeze(1);
      read = readAt.unsqueeze(1).matmul(memory).squeeze(1);
      results.push(this.out.call(cat([state[0], read], 1)));
    }
    return stack(results);
  }
}

export const memoryNetwork: Program = {
  name: 'memory network',
  start({ device, compile }) {
    const model = new Computer().to(device);
    const optimizer = new optim.Adagrad(model.parameters(), { lr: 0.05, eps: 1e-4 });
    const data = randn([TIMES, BATCH, 3]).to(device);
    const step = compile((x: Tensor) => {
      const loss = F.binaryCrossEntropyWithLogits(model.call(x), x.gt(0).float());
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => step(data) };
  },
};
