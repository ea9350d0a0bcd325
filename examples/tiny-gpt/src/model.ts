/**
 * @file The model: a GPT-2 in miniature, as one would write it with PyTorch.
 *
 * Names of fields are names in the checkpoint, so they are PyTorch's.
 */
import {
  Dropout,
  Embedding,
  GELU,
  LayerNorm,
  Linear,
  Module,
  ModuleList,
  functional as F,
  init,
} from '@tessera/nn';
import { type Tensor, arange, cat, noGrad } from '@tessera/tensor';

/** Sizes of the model. */
export interface GPTConfig {
  vocabSize: number;
  /** Longest context, in characters. */
  blockSize: number;
  layers: number;
  heads: number;
  width: number;
  dropout: number;
}

class CausalSelfAttention extends Module {
  c_attn: Linear;
  c_proj: Linear;
  resid_dropout: Dropout;

  constructor(private readonly config: GPTConfig) {
    super();
    this.c_attn = new Linear(config.width, 3 * config.width);
    this.c_proj = new Linear(config.width, config.width);
    this.resid_dropout = new Dropout(config.dropout);
  }

  forward(x: Tensor): Tensor {
    const [B, T, C] = x.shape as [number, number, number];
    const { heads, dropout } = this.config;
    const [q, k, v] = this.c_attn
      .call(x)
      .split(C, 2)
      .map((t) => t.view([B, T, heads, C / heads]).transpose(1, 2)) as [Tensor, Tensor, Tensor];
    const y = F.scaledDotProductAttention(q, k, v, {
      isCausal: true,
      dropoutP: this.training ? dropout : 0,
    });
    return this.resid_dropout.call(this.c_proj.call(y.transpose(1, 2).reshape([B, T, C])));
  }
}

class MLP extends Module {
  c_fc: Linear;
  gelu = new GELU();
  c_proj: Linear;
  dropout: Dropout;

  constructor(config: GPTConfig) {
    super();
    this.c_fc = new Linear(config.width, 4 * config.width);
    this.c_proj = new Linear(4 * config.width, config.width);
    this.dropout = new Dropout(config.dropout);
  }

  forward(x: Tensor): Tensor {
    return this.dropout.call(this.c_proj.call(this.gelu.call(this.c_fc.call(x))));
  }
}

class Block extends Module {
  ln_1: LayerNorm;
  attn: CausalSelfAttention;
  ln_2: LayerNorm;
  mlp: MLP;

  constructor(config: GPTConfig) {
    super();
    this.ln_1 = new LayerNorm(config.width);
    this.attn = new CausalSelfAttention(config);
    this.ln_2 = new LayerNorm(config.width);
    this.mlp = new MLP(config);
  }

  forward(x: Tensor): Tensor {
    x = x.add(this.attn.call(this.ln_1.call(x)));
    x = x.add(this.mlp.call(this.ln_2.call(x)));
    return x;
  }
}

/** Characters in, logits of the next characters out: [B, T] → [B, T, vocabSize]. */
export class GPT extends Module {
  wte: Embedding;
  wpe: Embedding;
  drop: Dropout;
  h: ModuleList<Block>;
  ln_f: LayerNorm;
  lm_head: Linear;

  constructor(readonly config: GPTConfig) {
    super();
    this.wte = new Embedding(config.vocabSize, config.width);
    this.wpe = new Embedding(config.blockSize, config.width);
    this.drop = new Dropout(config.dropout);
    this.h = new ModuleList(Array.from({ length: config.layers }, () => new Block(config)));
    this.ln_f = new LayerNorm(config.width);
    this.lm_head = new Linear(config.width, config.vocabSize, { bias: false });
    this.apply((module) => {
      if (module instanceof Linear || module instanceof Embedding)
        init.normal_(module.weight, 0, 0.02);
      if (module instanceof Linear && module.bias !== null) init.zeros_(module.bias);
    });
  }

  forward(idx: Tensor): Tensor {
    const T = idx.shape[1]!;
    let x = this.drop.call(this.wte.call(idx).add(this.wpe.call(arange(T))));
    for (const block of this.h) x = block.call(x);
    return this.lm_head.call(this.ln_f.call(x));
  }
}

/** Draws `count` characters after the context: [B, T] → [B, T + count]. */
export function generate(model: GPT, idx: Tensor, count: number, temperature = 1): Tensor {
  return noGrad(() => {
    for (let i = 0; i < count; i++) {
      const context = idx.slice(1, -model.config.blockSize);
      const logits = model.call(context).select(1, -1).div(temperature);
      const next = F.softmax(logits, -1).multinomial(1);
      idx = cat([idx, next], 1);
    }
    return idx;
  });
}
