/**
 * @file A small GPT-2 (4 layers of width 128) and its training step, for measuring memory.
 */
import {
  Embedding,
  GELU,
  LayerNorm,
  Linear,
  Module,
  ModuleList,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, manualSeed, randint } from '@tessera/tensor';
import { scaledDotProductAttention } from '@tessera/tensor/internal';

const WIDTH = 128;
const HEADS = 4;
const LAYERS = 4;
const VOCABULARY = 1024;
const BATCH = 4;
const LENGTH = 64;

class Block extends Module {
  readonly ln1 = new LayerNorm([WIDTH]);
  readonly qkv = new Linear(WIDTH, 3 * WIDTH);
  readonly out = new Linear(WIDTH, WIDTH);
  readonly ln2 = new LayerNorm([WIDTH]);
  readonly wide = new Linear(WIDTH, 4 * WIDTH);
  readonly gelu = new GELU();
  readonly narrow = new Linear(4 * WIDTH, WIDTH);

  override forward(x: Tensor): Tensor {
    const [q, k, v] = (this.qkv.call(this.ln1.call(x)) as Tensor)
      .view([BATCH, LENGTH, 3, HEADS, WIDTH / HEADS])
      .permute([2, 0, 3, 1, 4])
      .unbind(0) as [Tensor, Tensor, Tensor];
    const mixed = scaledDotProductAttention(q, k, v, { isCausal: true })
      .transpose(1, 2)
      .reshape([BATCH, LENGTH, WIDTH]);
    const y = x.add(this.out.call(mixed) as Tensor);
    const h = this.gelu.call(this.wide.call(this.ln2.call(y)));
    return y.add(this.narrow.call(h) as Tensor);
  }
}

class Gpt extends Module {
  readonly tokens = new Embedding(VOCABULARY, WIDTH);
  readonly positions = new Embedding(LENGTH, WIDTH);
  readonly blocks = new ModuleList(Array.from({ length: LAYERS }, () => new Block()));
  readonly norm = new LayerNorm([WIDTH]);
  readonly head = new Linear(WIDTH, VOCABULARY, { bias: false });

  override forward(ids: Tensor, places: Tensor): Tensor {
    let x = (this.tokens.call(ids) as Tensor).add(this.positions.call(places) as Tensor);
    for (const block of this.blocks) x = block.call(x) as Tensor;
    return this.head.call(this.norm.call(x)) as Tensor;
  }
}

/** The model with its data and optimizer. */
export interface GptTraining {
  readonly parameters: readonly Tensor[];
  readonly inputs: readonly Tensor[];
  readonly optimizer: optim.AdamW;
  loss(): Tensor;
  step(): Tensor;
}

/** Makes it, the same every time. */
export function gptTraining(): GptTraining {
  manualSeed(0);
  const model = new Gpt();
  const parameters = [...model.parameters()];
  const optimizer = new optim.AdamW(parameters, { lr: 1e-3 });
  const ids = randint(0, VOCABULARY, [BATCH, LENGTH], { dtype: 'int64' });
  const targets = randint(0, VOCABULARY, [BATCH, LENGTH], { dtype: 'int64' });
  const places = randint(0, LENGTH, [LENGTH], { dtype: 'int64' });
  const loss = (): Tensor =>
    F.crossEntropy((model.call(ids, places) as Tensor).view([-1, VOCABULARY]), targets.view([-1]));
  const step = (): Tensor => {
    optimizer.zeroGrad();
    const value = loss();
    value.backward();
    optimizer.step();
    return value;
  };
  return { parameters, inputs: [ids, targets, places], optimizer, loss, step };
}
