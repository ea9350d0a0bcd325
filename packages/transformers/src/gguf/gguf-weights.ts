/**
 * @file From the tensors of GGUF files to the decoder's: rules as those of a family (`weights/`).
 *
 * Files of one architecture differ from the family's checkpoint in more than names: Llama's rows of query and key are
 * sorted for a rotation of neighbours, and Gemma's norms have had one added.
 */
import type { Tensor } from '@tessera/tensor';
import type { DecoderConfig } from '../config/decoder-config.js';
import { type WeightRule, joined, renamed, stacked } from '../weights/weight-rules.js';

const LAYER = 'model.layers.{i}';
const ATTENTION = `${LAYER}.self_attn`;

/** Both parameters of a map or norm. */
const both = (from: string, to: string): WeightRule[] =>
  ['weight', 'bias'].map((suffix) => renamed(`${from}.${suffix}`, `${to}.${suffix}`));

const COMMON: readonly WeightRule[] = [
  renamed('token_embd.weight', 'model.embed_tokens.weight'),
  renamed('position_embd.weight', 'model.embed_positions.weight'),
  renamed('output.weight', 'lm_head.weight'),
  ...both('blk.{i}.attn_v', `${ATTENTION}.v_proj`),
  ...both('blk.{i}.attn_output', `${ATTENTION}.o_proj`),
  ...both('blk.{i}.ffn_down', `${LAYER}.mlp.down_proj`),
];

/** Heads of `[2, pairs]` rows for `[pairs, 2]` ones, and back. */
function rowsOfHeads(tensor: Tensor, heads: number, inner: [number, number]): Tensor {
  const rest = tensor.sizes.slice(1);
  return tensor
    .reshape([heads, ...inner, ...rest])
    .transpose(1, 2)
    .reshape(tensor.sizes)
    .clone();
}

/** Rows of query and key: a file of Llama has those of a pair side by side. */
function sorted(from: string, to: string, heads: 'heads' | 'kvHeads'): WeightRule {
  return {
    checkpoint: [from],
    model: [to],
    toModel: ([value], { attention }) => [
      rowsOfHeads(value!, attention[heads], [attention.headDim / 2, 2]),
    ],
    toCheckpoint: ([value], { attention }) => [
      rowsOfHeads(value!, attention[heads], [2, attention.headDim / 2]),
    ],
  };
}

/** A norm whose weights have had `added` put on them. */
function norm(from: string, to: string, added: number): WeightRule[] {
  const rules = both(from, to);
  if (added === 0) return rules;
  return rules.map((rule) => ({
    ...rule,
    toModel: ([value]: readonly Tensor[]) => [value!.sub(added)],
    toCheckpoint: ([value]: readonly Tensor[]) => [value!.add(added)],
  }));
}

function norms({ norm: { kind, place } }: DecoderConfig): WeightRule[] {
  const added = kind === 'rms1p' ? 1 : 0;
  const layer: Record<string, string> =
    place === 'before'
      ? { attn_norm: 'input_layernorm', ffn_norm: 'post_attention_layernorm' }
      : {
          attn_norm: 'input_layernorm',
          post_attention_norm: 'post_attention_layernorm',
          ffn_norm: 'pre_feedforward_layernorm',
          post_ffw_norm: 'post_feedforward_layernorm',
        };
  return [
    ...norm('output_norm', 'model.norm', added),
    ...Object.entries(layer).flatMap(([from, to]) =>
      norm(`blk.{i}.${from}`, `${LAYER}.${to}`, added),
    ),
    ...norm('blk.{i}.attn_q_norm', `${ATTENTION}.q_norm`, added),
    ...norm('blk.{i}.attn_k_norm', `${ATTENTION}.k_norm`, added),
  ];
}

const EXPERTS: readonly WeightRule[] = [
  renamed('blk.{i}.ffn_gate_inp.weight', `${LAYER}.mlp.gate.weight`),
  ...(['gate', 'up', 'down'] as const).map((name) =>
    stacked(
      `blk.{i}.ffn_${name}_exps.weight`,
      `${LAYER}.mlp.experts.${name}_proj.weight`,
      name === 'down' ? 'columns' : 'rows',
    ),
  ),
];

/** The rules of a file's architecture. */
export function ggufRules(architecture: string, config: DecoderConfig): WeightRule[] {
  const named = (suffix: string): string[] =>
    ['q_proj', 'k_proj', 'v_proj'].map((name) => `${ATTENTION}.${name}.${suffix}`);
  const queries =
    architecture === 'llama'
      ? ['weight', 'bias'].flatMap((suffix) => [
          sorted(`blk.{i}.attn_q.${suffix}`, `${ATTENTION}.q_proj.${suffix}`, 'heads'),
          sorted(`blk.{i}.attn_k.${suffix}`, `${ATTENTION}.k_proj.${suffix}`, 'kvHeads'),
        ])
      : [
          ...both('blk.{i}.attn_q', `${ATTENTION}.q_proj`),
          ...both('blk.{i}.attn_k', `${ATTENTION}.k_proj`),
          ...['weight', 'bias'].map((suffix) =>
            joined(`blk.{i}.attn_qkv.${suffix}`, named(suffix), 'rows'),
          ),
        ];
  const feedForward =
    architecture === 'phi3'
      ? [
          joined(
            'blk.{i}.ffn_up.weight',
            [`${LAYER}.mlp.gate_proj.weight`, `${LAYER}.mlp.up_proj.weight`],
            'rows',
          ),
        ]
      : [
          ...both('blk.{i}.ffn_gate', `${LAYER}.mlp.gate_proj`),
          ...both('blk.{i}.ffn_up', `${LAYER}.mlp.up_proj`),
        ];
  return [...COMMON, ...queries, ...feedForward, ...norms(config), ...EXPERTS];
}
