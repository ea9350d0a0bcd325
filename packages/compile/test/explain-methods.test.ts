/**
 * @file `explain` of methods: on the object that they are called on, with reasons that name its attributes.
 */
import { Linear, Module, optim } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

class Model extends Module {
  scale = 2;
  lin: Linear = new Linear(3, 3);

  override forward(x: Tensor): Tensor {
    return this.lin.call(x).mul(this.scale);
  }

  score(x: Tensor): Tensor {
    return this.forward(x).sum();
  }
}

it('calls a method on its object', () => {
  const model = new Model();
  const { graphs, guards } = explain(Model.prototype.score).call(model, ones([2, 3]));
  expect(graphs[0]!.code).toContain('l_self_lin_weight:');
  expect(guards.join('\n')).toContain("CONSTANT_MATCH L['self'].scale == 2");
});

it('names what changed of a module, and not what else did', () => {
  const model = new Model();
  model.score = compile(Model.prototype.score, { backend: 'eager' });
  const x = ones([2, 3]);
  model.score(x);
  model.eval();
  expect(explain(model.score).call(model, x).recompileReasons).toEqual([]);
  model.lin = new Linear(3, 4);
  model.score(x);
  model.lin.weight.requiresGrad_(false);
  expect(explain(model.score).call(model, x).recompileReasons).toEqual([
    "tensor 'L['self'].lin.weight' size mismatch at index 0. expected 3, actual 4",
    "tensor 'L['self'].lin.weight' requires_grad mismatch. expected requires_grad=1",
  ]);
});

it('names the setting of an optimizer that changed', () => {
  class Training {
    steps = 0;
    readonly model: Linear = new Linear(3, 3);
    readonly optimizer: optim.SGD = new optim.SGD(this.model.parameters(), {
      lr: 0.1,
      momentum: 0.9,
    });

    run(x: Tensor): Tensor {
      this.steps++;
      this.optimizer.zeroGrad();
      const loss = this.model.call(x).sum();
      loss.backward();
      this.optimizer.step();
      return loss;
    }
  }
  const training = new Training();
  training.run = compile(Training.prototype.run, { backend: 'eager' });
  const x = ones([2, 3]);
  for (let i = 0; i < 3; i++) training.run(x);
  const before = explain(training.run).call(training, x).recompileReasons.length;
  Object.assign(training.optimizer.paramGroups[0]!, { nesterov: true });
  const { recompileReasons } = explain(training.run).call(training, x);
  expect(recompileReasons.slice(before)).toEqual([
    "G['SGD'].buckets[0].structure.nesterov == False",
  ]);
});
