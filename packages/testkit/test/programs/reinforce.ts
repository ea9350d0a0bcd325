/** @file REINFORCE: whole episodes, read action by action, and a loss over tensors that were kept on the way. */
import { Linear, Module, optim } from '@tessera/nn';
import { type Tensor, multinomial, stack, tensor } from '@tessera/tensor';
import { Walk } from './walk.js';
import type { Program } from './program.js';

class Policy extends Module {
  hidden: Linear = new Linear(2, 16);
  out: Linear = new Linear(16, 3);
  forward(x: Tensor): Tensor {
    return this.out.call(this.hidden.call(x).relu()).logSoftmax(-1);
  }
}

export const reinforce: Program = {
  name: 'REINFORCE',
  start({ device, compile }) {
    const model = new Policy().to(device);
    const optimizer = new optim.RMSprop(model.parameters(), { lr: 0.01, eps: 1e-4 });
    const act = compile((x: Tensor) => {
      const logProbs = model.call(x);
      const actions = multinomial(logProbs.detach().exp(), 1);
      return [actions, logProbs.gather(1, actions).squeeze(1)] as const;
    });
    const lossOf = compile((logProbs: Tensor, returns: Tensor) => {
      const gains = returns.sub(returns.mean()).div(returns.std().add(1e-6));
      return logProbs.mul(gains).sum(0).mean().neg();
    });
    const step = async (i: number): Promise<Tensor> => {
      const walks = new Walk(6, i);
      const [logProbs, rewards]: [Tensor[], number[][]] = [[], []];
      for (let t = 0; t < 4; t++) {
        const [actions, logProb] = act(tensor(walks.states()).to(device));
        logProbs.push(logProb);
        const taken = (await actions.toArray()) as number[][];
        rewards.push(walks.act(taken.map(([action]) => action!)));
      }
      const loss = lossOf(stack(logProbs), tensor(Walk.returns(rewards, 0.95)).to(device));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    };
    return { state: { model }, step };
  },
};
