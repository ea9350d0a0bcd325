/** @file A language model of a selective state space (Mamba): a scan in time, tied weights, groups with names of their own. */
import {
  Conv1d,
  Embedding,
  Linear,
  Module,
  Parameter,
  RMSNorm,
  clipGradNorm_,
  functional as F,
  optim,
} from '@tessera/nn';
import {
  type Tensor,
  arange,
  einsum,
  exp,
  log,
  ones,
  randint,
  stack,
  zeros,
} from '@tessera/tensor';
import type { Program } from './program.js';

const FEATURES = 16;
const STATES = 4;

class SelectiveScan extends Module {
  readonly conv = new Conv1d(FEATURES, FEATURES, 3, { groups: FEATURES, padding: 2 });
  readonly project = new Linear(FEATURES, 1 + 2 * STATES, { bias: false });
  readonly rate = new Linear(1, FEATURES);
  readonly aLog = new Parameter(log(arange(1, STATES + 1)).repeat([FEATURES, 1]));
  readonly skip = new Parameter(ones([FEATURES]));

  /** [B, L, features] → the same */
  override forward(input: Tensor): Tensor {
    const [batch, length] = input.shape as [number, number, number];
    const x = F.silu(
      this.conv.call(input.transpose(1, 2)).index('...', `:${length}`).transpose(1, 2),
    );
    const parts = this.project.call(x).split([1, STATES, STATES], -1);
    const [raw, into, out] = parts as [Tensor, Tensor, Tensor];
    const step = F.softplus(this.rate.call(raw));
    const decay = exp(einsum('bld,dn->bldn', step, exp(this.aLog).neg()));
    const added = einsum('bld,bln,bld->bldn', step, into, x);
    let state = zeros([batch, FEATURES, STATES], { device: x.device });
    const steps: Tensor[] = [];
    for (let t = 0; t < length; t++) {
      state = decay.select(1, t).mul(state).add(added.select(1, t));
      steps.push(einsum('bdn,bn->bd', state, out.select(1, t)));
    }
    return stack(steps, 1).add(x.mul(this.skip));
  }
}

class StateSpaceModel extends Module {
  readonly embedding = new Embedding(11, 8);
  readonly norm = new RMSNorm(8);
  readonly into = new Linear(8, 2 * FEATURES, { bias: false });
  readonly scan = new SelectiveScan();
  readonly out = new Linear(FEATURES, 8, { bias: false });
  readonly head = new Linear(8, 11, { bias: false });

  constructor() {
    super();
    this.head.weight = this.embedding.weight;
  }

  /** [B, L] → [B, L, 11] */
  override forward(tokens: Tensor): Tensor {
    const x = this.embedding.call(tokens);
    const [main, gate] = this.into.call(this.norm.call(x)).chunk(2, -1) as [Tensor, Tensor];
    return this.head.call(x.add(this.out.call(this.scan.call(main).mul(F.silu(gate)))));
  }
}

export const stateSpace: Program = {
  name: 'selective state space',
  start({ device, compile }) {
    const model = new StateSpaceModel().to(device);
    const [decayed, others] = [true, false].map((wanted) =>
      model
        .namedParameters()
        .filter(([name, { ndim }]) => (ndim >= 2 && !name.endsWith('aLog')) === wanted)
        .map(([, parameter]) => parameter),
    );
    const optimizer = new optim.AdamW(
      [
        { params: decayed!, weightDecay: 0.1, name: 'decayed' },
        { params: others!, weightDecay: 0, name: 'others' },
      ],
      { lr: 3e-3 },
    );
    const train = compile((tokens: Tensor) => {
      optimizer.zeroGrad();
      const logits = model.call(tokens.index(':', ':-1'));
      const loss = F.crossEntropy(logits.flatten(0, 1), tokens.index(':', '1:').flatten());
      loss.backward();
      const norm = clipGradNorm_(model.parameters(), 1);
      optimizer.step();
      return [loss, norm];
    });
    return { state: { model }, step: () => train(randint(0, 11, [4, 9]).to(device)) };
  },
};
