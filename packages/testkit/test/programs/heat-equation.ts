/**
 * @file A differentiable simulation: a field is written in place through slices, transposes, diagonals and flat views, and
 * gradients of what it comes to lead to its constants.
 */
import { Module, Parameter, functional as F, optim } from '@tessera/nn';
import { type Tensor, randn, zeros, zerosLike } from '@tessera/tensor';
import type { Program } from './program.js';

const SIDE = 6;

class Field extends Module {
  rate: Parameter = new Parameter(zeros([1]));
  blur: Parameter = new Parameter(randn([1, 1, 3, 3]).mul(0.3));
  source: Parameter = new Parameter(randn([SIDE]).mul(0.1));
  wall!: Tensor;
  hits!: Tensor;
  constructor() {
    super();
    this.registerBuffer('wall', zeros([SIDE, SIDE], { dtype: 'bool' }));
    this.wall.index('2:4', '1:3').fill_(1);
    this.registerBuffer('hits', zeros([SIDE, SIDE]));
  }

  /** The field [B, SIDE, SIDE] after three steps, and what was seen of it. */
  forward(start: Tensor): [Tensor, Tensor] {
    const u = start.clone();
    const seen = zerosLike(u);
    let blurred = zerosLike(u);
    for (let t = 0; t < 3; t++) {
      const inner = u.index(':', '1:-1', '1:-1');
      const around = u.index(':', ':-2', '1:-1').add(u.index(':', '2:', '1:-1'));
      const beside = u.index(':', '1:-1', ':-2').add(u.index(':', '1:-1', '2:'));
      const flow = around.add(beside).sub(inner.mul(4));
      inner.add_(this.rate.sigmoid().mul(0.1).mul(flow));
      u.select(1, 0).copy_(u.select(1, 1));
      u.index('...', -1).copy_(u.index('...', -2).mul(0.5));
      u.diagonal(0, 1, 2).add_(this.source);
      u.transpose(1, 2).select(1, t).mul_(this.source.add(1));
      u.view([u.shape[0]!, -1]).index(':', '::7').mul_(1.1);
      seen.index(':', `${t}::3`, '::2').copy_(u.index(':', `${t}::3`, '::2').tanh());
      u.index(':', ':3').sub_(u.index(':', '3:').flip(1).mul(0.01));
      u.maskedFill_(this.wall, 0);
      u.indexPut_([':', this.wall.roll(1, 0)], this.rate.mul(0.3));
      this.hits.add_(u.detach().abs().mean(0).gt(0.5));
      blurred = blurred.add(F.conv2d(u.clone().unsqueeze(1), this.blur, { padding: 1 }).squeeze(1));
    }
    return [u, seen.add(blurred)];
  }
}

export const heatEquation: Program = {
  name: 'heat equation',
  start({ device, compile }) {
    const model = new Field().to(device);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
    const data = randn([2, SIDE, SIDE]).to(device);
    const step = compile((x: Tensor) => {
      const [u, seen] = model.call(x);
      const loss = u.square().mean().add(seen.sin().mul(u).sum().mul(0.01));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [loss, u];
    });
    return { state: { model }, step: () => step(data) };
  },
};
