/**
 * @file Calls of attention and its gradients as graphs.
 */
import type { GraphModule } from '@tessera/graph';
import { GraphBuilder } from './graph-builder.js';

export const FORWARD: string = '_scaled_dot_product_flash_attention_for_cpu';
export const BACKWARD: string = `${FORWARD}_backward`;

/** One call. */
export interface Case {
  readonly heads: number;
  readonly keyHeads: number;
  readonly length: number;
  readonly keys: number;
  readonly causal?: boolean;
  readonly mask?: 'bool' | 'float32';
  /** Default {@link WIDTH}. */
  readonly width?: number;
}

export const CASES: readonly Case[] = [
  { heads: 2, keyHeads: 2, length: 20, keys: 24 },
  { heads: 2, keyHeads: 2, length: 18, keys: 18, causal: true },
  { heads: 4, keyHeads: 2, length: 16, keys: 17, causal: true },
  { heads: 2, keyHeads: 1, length: 19, keys: 5, mask: 'bool' },
  { heads: 2, keyHeads: 2, length: 17, keys: 8, mask: 'float32' },
];
export const BATCH: number = 2;
export const WIDTH: number = 6;

/** Forward (two results) and backward (three), in one graph. */
export function attentionGraph({
  heads,
  keyHeads,
  length,
  keys,
  causal = false,
  mask,
  width = WIDTH,
}: Case): GraphModule {
  const b = new GraphBuilder();
  const query = b.input([BATCH, heads, length, width]);
  const [key, value] = [0, 1].map(() => b.input([BATCH, keyHeads, keys, width])) as [
    typeof query,
    typeof query,
  ];
  const grad = b.input([BATCH, heads, length, width]);
  const masks = mask === undefined ? [] : [b.input([length, keys], mask)];
  const rest = [0, causal, masks[0] ?? null, null] as const;
  const made = b.op(FORWARD, query, key, value, ...rest);
  const [out, sums] = [b.item(made, 0), b.item(made, 1)];
  const grads = b.op(BACKWARD, grad, query, key, value, out, sums, ...rest);
  return b.done(out, sums, b.item(grads, 0), b.item(grads, 1), b.item(grads, 2));
}
