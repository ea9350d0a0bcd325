/**
 * @file BERT: every position sees every other; norms after what they normalise is added.
 *
 * Names are those of `BertModel`. The pooler is part of its checkpoints; the last hidden state does not
 * need it.
 *
 * @see https://arxiv.org/abs/1810.04805
 */
import { Embedding, LayerNorm, Linear, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, arange, zerosLike } from '@tessera/tensor';
import type { RecordedModel } from './recorded-model.js';

const LAYERS = 2;
const HEADS = 4;
const WIDTH = 64;
const INNER = 128;
const VOCABULARY = 257;
const POSITIONS = 512;
const EPS = 1e-12;

class Embeddings extends Module {
  word_embeddings = new Embedding(VOCABULARY, WIDTH, { paddingIdx: 0 });
  position_embeddings = new Embedding(POSITIONS, WIDTH);
  token_type_embeddings = new Embedding(2, WIDTH);
  LayerNorm = new LayerNorm(WIDTH, { eps: EPS });

  override forward(ids: Tensor): Tensor {
    const positions = arange(ids.sizes[1]!, { dtype: 'int64' });
    const words = this.word_embeddings.call(ids);
    const types = this.token_type_embeddings.call(zerosLike(ids));
    return this.LayerNorm.call(words.add(types).add(this.position_embeddings.call(positions)));
  }
}

class SelfAttention extends Module {
  query = new Linear(WIDTH, WIDTH);
  key = new Linear(WIDTH, WIDTH);
  value = new Linear(WIDTH, WIDTH);

  override forward(x: Tensor): Tensor {
    const [n, t] = x.sizes;
    const heads = (part: Tensor): Tensor => part.reshape([n, t, HEADS, -1]).transpose(1, 2);
    const mixed = F.scaledDotProductAttention(
      heads(this.query.call(x)),
      heads(this.key.call(x)),
      heads(this.value.call(x)),
    );
    return mixed.transpose(1, 2).reshape([n, t, WIDTH]);
  }
}

/** A projection added to what the sublayer read, then normalised. */
class AddAndNorm extends Module {
  dense: Linear;
  LayerNorm = new LayerNorm(WIDTH, { eps: EPS });

  constructor(inFeatures: number) {
    super();
    this.dense = new Linear(inFeatures, WIDTH);
  }

  override forward(result: Tensor, input: Tensor): Tensor {
    return this.LayerNorm.call(this.dense.call(result).add(input));
  }
}

class Attention extends Module {
  self = new SelfAttention();
  output = new AddAndNorm(WIDTH);

  override forward(x: Tensor): Tensor {
    return this.output.call(this.self.call(x), x);
  }
}

class Intermediate extends Module {
  dense = new Linear(WIDTH, INNER);

  override forward(x: Tensor): Tensor {
    return F.gelu(this.dense.call(x));
  }
}

class Layer extends Module {
  attention = new Attention();
  intermediate = new Intermediate();
  output = new AddAndNorm(INNER);

  override forward(x: Tensor): Tensor {
    const attended = this.attention.call(x);
    return this.output.call(this.intermediate.call(attended), attended);
  }
}

class Encoder extends Module {
  layer = Array.from({ length: LAYERS }, () => new Layer());

  override forward(x: Tensor): Tensor {
    let value = x;
    for (const layer of this.layer) value = layer.call(value);
    return value;
  }
}

class Pooler extends Module {
  dense = new Linear(WIDTH, WIDTH);

  /** [N, T, width] → [N, width], of the first position. */
  override forward(x: Tensor): Tensor {
    return this.dense.call(x.select(1, 0)).tanh();
  }
}

class Bert extends Module {
  embeddings = new Embeddings();
  encoder = new Encoder();
  pooler = new Pooler();

  /** [N, T] → the last hidden state [N, T, width] */
  override forward(ids: Tensor): Tensor {
    return this.encoder.call(this.embeddings.call(ids));
  }
}

export const bert: RecordedModel = {
  name: 'bert_tiny',
  build: () => new Bert(),
  loss: (output) => output.square().mean(),
  optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 1e-3, weightDecay: 0.01 }),
  // The last norm makes every mean of squares 1, so gradients are those of rounding.
  noise: 1e-7,
};
