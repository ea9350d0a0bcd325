import { describe, expect, it } from 'vitest';
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { type RegionNumber, trustedRegion } from '@tessera/tensor/internal';
import { compileEager } from './compile-for-test.js';

/** An object with a region: x · weight, and a constant more if `bias` is set. */
function layer(): { weight: Tensor; bias: number; call(x: Tensor): Tensor; _bodies: number } {
  return {
    weight: tensor([2, 3]),
    bias: 0,
    _bodies: 0,
    call(x: Tensor): Tensor {
      const { weight, bias } = this;
      return trustedRegion(this, 'forward', { x, weight, bias: String(bias) }, (inputs) => {
        this._bodies++;
        const y = inputs.x.mul(inputs.weight);
        return bias === 0 ? y : y.add(bias);
      });
    },
  };
}

describe('trusted regions', () => {
  it('are jumped over while their inputs fit', () => {
    const owner = layer();
    const { call, function: compiled } = compileEager((x: Tensor) => owner.call(x).neg());
    for (let i = 0; i < 3; i++) expect(call(tensor([i, 1])).toArray()).toEqual([-2 * i, -3]);
    expect([owner._bodies, compiled.captures.length]).toEqual([1, 1]);
  });

  it('are captured anew, as regions, when a text is another one; both variants are then jumped over', () => {
    const owner = layer();
    const { call, function: compiled } = compileEager((x: Tensor) => owner.call(x.add(1)).neg());
    for (const bias of [0, 1, 0, 1, 1, 0]) {
      owner.bias = bias;
      expect(call(tensor([1, 1])).toArray()).toEqual([-4 - bias, -6 - bias]);
    }
    expect([owner._bodies, compiled.captures.length]).toEqual([2, 2]);
    expect(compiled.reasons).toEqual(["G['Object'].bias == '0'"]);
  });

  it('are captured as regions where the recorded call had none', () => {
    const owner = layer();
    let first = true;
    const { call, function: compiled } = compileEager((x: Tensor) =>
      first ? x.neg() : owner.call(x),
    );
    call(tensor([1, 1]));
    first = false;
    for (let i = 0; i < 3; i++) expect(call(tensor([i, 1])).toArray()).toEqual([2 * i, 3]);
    expect([owner._bodies, compiled.captures.length]).toEqual([1, 2]);
  });

  it('match op by op if their body reads a tensor that is no input', () => {
    let weight = tensor([2, 3]);
    const owner = {
      _bodies: 0,
      call(x: Tensor): Tensor {
        return trustedRegion(this, 'forward', { x }, (inputs) => {
          this._bodies++;
          return inputs.x.mul(weight);
        });
      },
    };
    const { call, function: compiled } = compileEager((x: Tensor) => owner.call(x));
    for (let i = 0; i < 3; i++) {
      weight = tensor([i, 3]);
      expect(call(tensor([1, 1])).toArray()).toEqual([i, 3]);
    }
    expect([owner._bodies, compiled.captures.length]).toEqual([3, 1]);
  });

  it('match op by op if the gradient of what they give is watched', () => {
    const owner = layer();
    owner.weight.requiresGrad_();
    const { call, function: compiled } = compileEager((x: Tensor) => {
      const y = owner.call(x);
      const z = y.mul(y);
      y.retainGrad();
      z.sum().backward();
      return y.grad!.add(0);
    });
    for (let i = 1; i < 5; i++) {
      owner.weight.grad = null;
      expect(call(tensor([i, 1])).toArray()).toEqual([4 * i, 6]);
      expect(owner.weight.grad!.toArray()).toEqual([4 * i * i, 6]);
    }
    expect([owner._bodies, compiled.captures.length]).toEqual([4, 2]);
  });

  it('match op by op if their body breaks the graph', () => {
    const owner = {
      _bodies: 0,
      call(x: Tensor): Tensor {
        return trustedRegion(this, 'forward', { x }, (inputs) => {
          this._bodies++;
          const y = inputs.x.mul(2);
          return y.sum().item() > 0 ? y.add(1) : y.sub(1);
        });
      },
    };
    const { call, function: compiled } = compileEager((x: Tensor) =>
      owner.call(x.add(0.5)).mul(10),
    );
    for (let i = 0; i < 3; i++) {
      expect(call(tensor([1])).toArray()).toEqual([40]);
      expect(call(tensor([-1])).toArray()).toEqual([-20]);
    }
    expect([owner._bodies, compiled.captures.length]).toEqual([6, 2]);
  });

  it('diverge in the middle of a region without gradients behind a backward', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    const optimizer = {
      square: false,
      step(rate: number): void {
        const inputs = { w, grad: w.grad!, square: this.square, rate: rate as RegionNumber };
        trustedRegion(this, 'step', inputs, ({ rate: alpha }) =>
          noGrad(() => {
            const grad = this.square ? w.grad!.mul(w.grad!) : w.grad!;
            w.sub_(grad, { alpha });
          }),
        );
      },
    };
    const step = (x: Tensor): Tensor => {
      w.grad = null;
      const loss = w.mul(x).sum();
      loss.backward();
      optimizer.step(0.5);
      return loss;
    };
    const { call, function: compiled } = compileEager(step);
    const seen: unknown[] = [];
    for (const square of [false, false, true, true, false]) {
      optimizer.square = square;
      seen.push(call(tensor([2, 4])).item(), w.toArray());
    }
    expect(seen).toEqual([10, [0, 0], 0, [-1, -2], -10, [-3, -10], -46, [-5, -18], -82, [-6, -20]]);
    expect(compiled.captures.length).toBe(2);
  });

  it('diverge without gradients outside a region', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    let square = false;
    const { call } = compileEager((x: Tensor) => {
      w.grad = null;
      const loss = w.mul(x).sum();
      loss.backward();
      noGrad(() => w.sub_(square ? w.grad!.mul(w.grad!) : w.grad!));
      return loss;
    });
    expect(call(tensor([1, 1])).item()).toBe(3);
    square = true;
    expect(call(tensor([2, 1])).item()).toBe(1);
    expect(w.toArray()).toEqual([-4, 0]);
    expect(w.grad!.toArray()).toEqual([2, 1]);
  });
});
