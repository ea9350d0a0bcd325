/**
 * @file A vision transformer: patches as tokens, and one more token that the classifier reads.
 *
 * Names are those of timm's `VisionTransformer` (`test_vit`).
 *
 * @see https://arxiv.org/abs/2010.11929
 */
import {
  Conv2d,
  GELU,
  LayerNorm,
  Linear,
  Module,
  Parameter,
  Sequential,
  functional as F,
  init,
} from '@tessera/nn';
import { type Tensor, cat, zeros } from '@tessera/tensor';
import { labelLoss } from './label-loss.js';
import type { RecordedModel } from './recorded-model.js';

const WIDTH = 64;
const HEADS = 2;
const DEPTH = 6;
const INNER = 192;
const PATCH = 16;
const IMAGE = 160;
const CLASSES = 10;
const EPS = 1e-6;

class PatchEmbed extends Module {
  proj = new Conv2d(3, WIDTH, PATCH, { stride: PATCH });

  /** [N, 3, H, W] → [N, patches, width] */
  override forward(x: Tensor): Tensor {
    return this.proj.call(x).flatten(2).transpose(1, 2);
  }
}

class Attention extends Module {
  qkv = new Linear(WIDTH, 3 * WIDTH);
  proj = new Linear(WIDTH, WIDTH);

  override forward(x: Tensor): Tensor {
    const [n, t] = x.sizes;
    const heads = this.qkv.call(x).reshape([n, t, 3, HEADS, -1]).permute([2, 0, 3, 1, 4]);
    const [query, key, value] = heads.unbind(0);
    const mixed = F.scaledDotProductAttention(query, key, value);
    return this.proj.call(mixed.transpose(1, 2).reshape([n, t, WIDTH]));
  }
}

class Mlp extends Module {
  fc1 = new Linear(WIDTH, INNER);
  act = new GELU();
  fc2 = new Linear(INNER, WIDTH);

  override forward(x: Tensor): Tensor {
    return this.fc2.call(this.act.call(this.fc1.call(x)));
  }
}

class Block extends Module {
  norm1 = new LayerNorm(WIDTH, { eps: EPS });
  attn = new Attention();
  norm2 = new LayerNorm(WIDTH, { eps: EPS });
  mlp = new Mlp();

  override forward(x: Tensor): Tensor {
    const attended = x.add(this.attn.call(this.norm1.call(x)));
    return attended.add(this.mlp.call(this.norm2.call(attended)));
  }
}

class VisionTransformer extends Module {
  cls_token: Parameter = new Parameter(zeros([1, 1, WIDTH]));
  pos_embed: Parameter = new Parameter(
    init.truncNormal_(zeros([1, (IMAGE / PATCH) ** 2 + 1, WIDTH]), { std: 0.02 }),
  );
  patch_embed = new PatchEmbed();
  blocks = new Sequential(...Array.from({ length: DEPTH }, () => new Block()));
  norm = new LayerNorm(WIDTH, { eps: EPS });
  head = new Linear(WIDTH, CLASSES);

  /** [N, 3, 160, 160] → [N, 10] */
  override forward(x: Tensor): Tensor {
    const patches = this.patch_embed.call(x);
    const token = this.cls_token.expand([x.sizes[0]!, -1, -1]);
    const tokens = cat([token, patches], 1).add(this.pos_embed);
    return this.head.call(this.norm.call(this.blocks.call(tokens)).select(1, 0));
  }
}

export const vit: RecordedModel = {
  name: 'test_vit',
  build: () => new VisionTransformer(),
  loss: labelLoss,
};
