/** @file The forward-forward algorithm: every layer learns alone, from what is true and what is not, with an optimizer of its own. */
import { Linear, optim } from '@tessera/nn';
import { type Tensor, arange, cat, noGrad, rand, randint } from '@tessera/tensor';
import type { Program } from './program.js';

class Layer extends Linear {
  override forward(x: Tensor): Tensor {
    const direction = x.div(x.norm(2, 1, { keepdim: true }).add(1e-4));
    return direction.mm(this.weight.t()).add(this.bias!.unsqueeze(0)).relu();
  }
  goodness(x: Tensor): Tensor {
    return this.forward(x).pow(2).mean(1);
  }
}

/** The first ten values of each row name its label. */
function labelled(x: Tensor, labels: Tensor | number): Tensor {
  const result = x.clone();
  result.slice(1, 0, 10).mul_(0);
  if (typeof labels === 'number') result.select(1, labels).copy_(x.max());
  else result.indexPut_([arange(x.size(0), { device: x.device }), labels], x.max());
  return result;
}

export const forwardForward: Program = {
  name: 'forward-forward layers',
  start({ device, compile }) {
    const layers = [new Layer(20, 12).to(device), new Layer(12, 12).to(device)];
    const optimizers = layers.map((m) => new optim.Adam(m.parameters(), { lr: 0.03, eps: 1e-5 }));
    const step = compile((x: Tensor, y: Tensor) => {
      let right = labelled(x, y);
      let wrong = labelled(x, y.add(1).remainder(10));
      return layers.map((layer, i) => {
        const margins = [layer.goodness(right).neg().add(2), layer.goodness(wrong).sub(2)];
        const loss = cat(margins).exp().log1p().mean();
        optimizers[i]!.zeroGrad();
        loss.backward();
        optimizers[i]!.step();
        right = layer.call(right).detach();
        wrong = layer.call(wrong).detach();
        return loss;
      });
    });
    const scores = compile((x: Tensor) =>
      noGrad(() =>
        Array.from({ length: 10 }, (_, label) => {
          let h = labelled(x, label);
          return layers
            .map((layer) => (h = layer.call(h)).pow(2).mean())
            .reduce((a, b) => a.add(b));
        }),
      ),
    );
    const seen = rand([4, 20]).to(device);
    return {
      state: { first: layers[0]!, second: layers[1]! },
      step: (i) => {
        const rows = i % 2 === 0 ? 6 : 4;
        const losses = step(rand([rows, 20]).to(device), randint(0, 10, [rows]).to(device));
        return [...losses, ...scores(seen)];
      },
    };
  },
};
