/**
 * @file GPT-2: learned positions, norms before attention and feed-forward, one matrix for tokens in and out.
 *
 * Names and layouts are those of `GPT2LMHeadModel`; its linear layers keep their weights [in, out].
 *
 * @see Radford et al., Language Models are Unsupervised Multitask Learners, 2019
 */
import {
  Embedding,
  LayerNorm,
  Linear,
  Module,
  ModuleDict,
  ModuleList,
  Parameter,
  functional as F,
  init,
  optim,
} from '@tessera/nn';
import { type Tensor, addmm, arange, zeros } from '@tessera/tensor';
import { nextTokenLoss } from './next-token-loss.js';
import type { RecordedModel } from './recorded-model.js';

const LAYERS = 2;
const HEADS = 4;
const WIDTH = 64;
const VOCABULARY = 257;
const POSITIONS = 64;

/** A linear layer whose weight is [in, out]. */
class Conv1D extends Module {
  weight: Parameter;
  bias: Parameter;

  constructor(inFeatures: number, outFeatures: number) {
    super();
    this.weight = new Parameter(init.normal_(zeros([inFeatures, outFeatures]), 0, 0.02));
    this.bias = new Parameter(zeros([outFeatures]));
  }

  override forward(x: Tensor): Tensor {
    const rows = x.reshape([-1, x.sizes.at(-1)!]);
    return addmm(this.bias, rows, this.weight).reshape([...x.sizes.slice(0, -1), -1]);
  }
}

class Attention extends Module {
  c_attn = new Conv1D(WIDTH, 3 * WIDTH);
  c_proj = new Conv1D(WIDTH, WIDTH);

  override forward(x: Tensor): Tensor {
    const [n, t] = x.sizes;
    const heads = (part: Tensor): Tensor => part.reshape([n, t, HEADS, -1]).transpose(1, 2);
    const [query, key, value] = this.c_attn.call(x).split(WIDTH, 2).map(heads);
    const mixed = F.scaledDotProductAttention(query!, key!, value!, { isCausal: true });
    return this.c_proj.call(mixed.transpose(1, 2).reshape([n, t, WIDTH]));
  }
}

class Mlp extends Module {
  c_fc = new Conv1D(WIDTH, 4 * WIDTH);
  c_proj = new Conv1D(4 * WIDTH, WIDTH);

  override forward(x: Tensor): Tensor {
    return this.c_proj.call(F.gelu(this.c_fc.call(x), { approximate: 'tanh' }));
  }
}

class Block extends Module {
  ln_1 = new LayerNorm(WIDTH);
  attn = new Attention();
  ln_2 = new LayerNorm(WIDTH);
  mlp = new Mlp();

  override forward(x: Tensor): Tensor {
    const attended = x.add(this.attn.call(this.ln_1.call(x)));
    return attended.add(this.mlp.call(this.ln_2.call(attended)));
  }
}

class Gpt2 extends Module {
  transformer = new ModuleDict({
    wte: new Embedding(VOCABULARY, WIDTH),
    wpe: new Embedding(POSITIONS, WIDTH),
    h: new ModuleList(Array.from({ length: LAYERS }, () => new Block())),
    ln_f: new LayerNorm(WIDTH),
  });
  lm_head = new Linear(WIDTH, VOCABULARY, { bias: false });

  constructor() {
    super();
    this.lm_head.weight = this.transformer.get('wte').weight;
  }

  /** [N, T] → [N, T, vocabulary] */
  override forward(ids: Tensor): Tensor {
    const parts = this.transformer;
    const positions = arange(ids.sizes[1]!, { dtype: 'int64' });
    let x = parts.get('wte').call(ids).add(parts.get('wpe').call(positions));
    for (const block of parts.get('h')) x = block.call(x);
    return this.lm_head.call(parts.get('ln_f').call(x));
  }
}

export const gpt2: RecordedModel = {
  name: 'gpt2_tiny',
  build: () => new Gpt2(),
  loss: nextTokenLoss,
  optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 1e-3, weightDecay: 0.01 }),
};
