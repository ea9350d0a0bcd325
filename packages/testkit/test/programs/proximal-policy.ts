/** @file PPO: episodes of a world in JavaScript, advantages, and clipped updates in several epochs. */
import { Linear, Module, clipGradNorm_, functional as F, optim } from '@tessera/nn';
import { Categorical } from '@tessera/nn/distributions';
import { type Tensor, minimum, noGrad, tensor } from '@tessera/tensor';
import { Walk } from './walk.js';
import type { Program } from './program.js';

class Policy extends Module {
  body: Linear = new Linear(2, 16);
  actor: Linear = new Linear(16, 3);
  critic: Linear = new Linear(16, 1);
  forward(x: Tensor): [Tensor, Tensor] {
    const hidden = this.body.call(x).tanh();
    return [this.actor.call(hidden), this.critic.call(hidden).squeeze(-1)];
  }
}

export const proximalPolicy: Program = {
  name: 'PPO',
  start({ device, compile }) {
    const model = new Policy().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01, eps: 1e-5 });
    const act = compile((x: Tensor) => {
      const [logits, value] = model.call(x);
      const policy = new Categorical({ logits, validateArgs: false });
      const action = policy.sample();
      return { action, value, logProb: policy.logProb(action) };
    });
    const update = compile(
      (states: Tensor, actions: Tensor, before: Tensor, returns: Tensor, gains: Tensor) => {
        const [logits, values] = model.call(states);
        const policy = new Categorical({ logits, validateArgs: false });
        const ratio = policy.logProb(actions).sub(before).exp();
        const gain = gains.sub(gains.mean()).div(gains.std().add(1e-8));
        const clipped = ratio.clamp(0.8, 1.2).mul(gain);
        const onPolicy = minimum(ratio.mul(gain), clipped).mean().neg();
        const onValue = F.mseLoss(values, returns).mul(0.5);
        const loss = onPolicy.add(onValue).sub(policy.entropy().mean().mul(0.01));
        optimizer.zeroGrad();
        loss.backward();
        clipGradNorm_(model.parameters(), 0.5);
        optimizer.step();
        return loss;
      },
    );
    const step = async (i: number): Promise<Tensor[]> => {
      const walks = new Walk(6, i);
      const [states, actions, logProbs, values, rewards]: number[][][] = [[], [], [], [], []];
      for (let t = 0; t < 5; t++) {
        const x = tensor(walks.states()).to(device);
        const { action, value, logProb } = noGrad(() => act(x));
        states!.push(walks.states().flat());
        actions!.push((await action.toArray()) as number[]);
        values!.push((await value.toArray()) as number[]);
        logProbs!.push((await logProb.toArray()) as number[]);
        rewards!.push(walks.act(actions!.at(-1)!));
      }
      const returns = Walk.returns(rewards!, 0.9);
      const put = (x: number[][]): Tensor => tensor(x.flat()).to(device);
      const gains = returns.map((row, t) => row.map((r, k) => r - values![t]![k]!));
      const taken = tensor(actions!.flat(), { dtype: 'int64' }).to(device);
      const batch = [taken, put(logProbs!), put(returns), put(gains)] as const;
      const seen = put(states!).view([30, 2]);
      return [update(seen, ...batch), update(seen, ...batch)];
    };
    return { state: { model }, step };
  },
};
