/** @file A spiking network: membranes that leak, spikes with a surrogate gradient, and a state of the optimizer that is reset. */
import { Linear, Module, Parameter, functional as F, optim } from '@tessera/nn';
import {
  Function as Custom,
  type FunctionContext,
  type Tensor,
  full,
  rand,
  randint,
  stack,
  zeros,
} from '@tessera/tensor';
import type { Program } from './program.js';

const HIDDEN = 24;

/** A step forward, the derivative of a fast sigmoid backward. */
class Spike extends Custom {
  static forward(ctx: FunctionContext, membrane: Tensor): Tensor {
    ctx.saveForBackward(membrane);
    return membrane.gt(0).to(membrane.dtype);
  }

  static backward(ctx: FunctionContext, grad: Tensor): Tensor {
    const [membrane] = ctx.savedTensors;
    return grad.div(membrane!.abs().mul(10).add(1).pow(2));
  }
}

class SpikingNetwork extends Module {
  readonly hidden = new Linear(10, HIDDEN);
  readonly out = new Linear(HIDDEN, 3);
  readonly leak = new Parameter(full([HIDDEN], 0.9));

  /** [T, B, 10] → [T, B, 3] */
  override forward(input: Tensor): Tensor {
    const [, batch] = input.shape as [number, number, number];
    let membrane = zeros([batch, HIDDEN], { device: input.device });
    let readout = zeros([batch, 3], { device: input.device });
    const steps: Tensor[] = [];
    for (const current of input.unbind(0)) {
      membrane = this.leak.clamp(0, 1).mul(membrane).add(this.hidden.call(current));
      const spikes = Spike.apply(membrane.sub(1));
      membrane = membrane.sub(spikes.detach());
      readout = readout.mul(0.8).add(this.out.call(spikes));
      steps.push(readout);
    }
    return stack(steps);
  }
}

export const spikingNetwork: Program = {
  name: 'spiking network',
  steps: 4,
  start({ device, compile }) {
    const model = new SpikingNetwork().to(device);
    const optimizer = new optim.NAdam(model.parameters(), { lr: 2e-3 });
    const train = compile((input: Tensor, labels: Tensor) => {
      optimizer.zeroGrad();
      const readout = model.call(input);
      const loss = F.crossEntropy(readout.amax(0), labels).add(readout.pow(2).mean().mul(1e-2));
      loss.backward();
      optimizer.step();
      return loss;
    });
    const step = (i: number): Tensor => {
      // The leaks begin anew halfway.
      if (i === 2) optimizer.state.delete(model.leak);
      const input = rand([6, 8, 10]).lt(0.4).to('float32');
      return train(input.to(device), randint(0, 3, [8]).to(device));
    };
    return { state: { model }, step };
  },
};
