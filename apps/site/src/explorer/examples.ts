/**
 * @file Programs to begin with.
 */

/** A program of the menu. */
export interface Example {
  readonly name: string;
  readonly source: string;
}

/** In the order of the menu; the first is shown at the start. */
export const EXAMPLES: readonly Example[] = [
  {
    name: 'Pointwise chain',
    source: `import { compile } from '@tessera/compile';
import { type Tensor, randn } from '@tessera/tensor';

const chain = compile(function chain(x: Tensor, y: Tensor): Tensor {
  const gate = x.sigmoid();
  const swish = x.mul(gate);
  return swish.tanh().add(y);
});

console.log(chain(randn([64, 64]), randn([64])).shape);
`,
  },
  {
    name: 'Softmax',
    source: `import { compile } from '@tessera/compile';
import { type Tensor, randn } from '@tessera/tensor';

const softmax = compile(function softmax(x: Tensor): Tensor {
  const shifted = x.sub(x.amax(-1, { keepdim: true }));
  const powers = shifted.exp();
  return powers.div(powers.sum(-1, { keepdim: true }));
});

console.log(softmax(randn([32, 100])).sum().item());
`,
  },
  {
    name: 'MLP training step',
    source: `import { compile } from '@tessera/compile';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, randint, randn } from '@tessera/tensor';

const model = new Sequential(new Linear(16, 32), new ReLU(), new Linear(32, 4));
const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });

const step = compile(function step(x: Tensor, y: Tensor): Tensor {
  optimizer.zeroGrad();
  const loss = F.crossEntropy(model.call(x) as Tensor, y);
  loss.backward();
  optimizer.step();
  return loss;
});

const [x, y] = [randn([8, 16]), randint(0, 4, [8])];
for (let i = 0; i < 5; i++) console.log(step(x, y).item());
`,
  },
  {
    name: 'Attention',
    source: `import { compile } from '@tessera/compile';
import { type Tensor, randn } from '@tessera/tensor';

const attention = compile(function attention(q: Tensor, k: Tensor, v: Tensor): Tensor {
  const scores = q.matmul(k.transpose(-2, -1)).mul(1 / Math.sqrt(32));
  const weights = scores.softmax(-1);
  return weights.matmul(v);
});

const heads = () => randn([2, 4, 16, 32], { requiresGrad: true });
attention(heads(), heads(), heads()).sum().backward();
`,
  },
  {
    name: 'A graph break, and a recompile',
    source: `import { compile } from '@tessera/compile';
import { type Tensor, randn } from '@tessera/tensor';

const clipped = compile(function clipped(x: Tensor): Tensor {
  const norm = x.mul(x).sum().sqrt();
  if ((norm.item() as number) > 1) {
    return x.div(norm);
  }
  return x.mul(1);
});

clipped(randn([8]));
clipped(randn([8]).mul(0.01));
clipped(randn([8], { dtype: 'float64' }));
`,
  },
];
