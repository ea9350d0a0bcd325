/**
 * @file Applies a family's weight rules to the tensors of a checkpoint, in either direction.
 */
import { type Tensor, cpuHeap, itemSize, tidy } from '@tessera/tensor';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Family } from '../config/families.js';
import type { WeightRule } from './weight-rules.js';

/** What older files hold beside weights: masks and tables that the model computes by itself. */
const COMPUTED =
  /(?:\.attn\.(?:bias|masked_bias)|\.attention\.(?:bias|masked_bias)|rotary_emb\.inv_freq)$/;

const [HEAD, TABLE] = ['lm_head.weight', 'model.embed_tokens.weight'];

const PLACE = /\{[ie]\}/g;

/** Matches names that a template stands for; a group for each number. */
function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replace(PLACE, '(\\d+)')}$`);
}

/** A template with its numbers filled in. */
function nameOf(template: string, layer: string, expert = ''): string {
  return template.replace('{i}', layer).replace('{e}', expert);
}

/** The layers that have what a rule takes: '' for a rule without layers. */
function layersOf(from: readonly string[], names: Iterable<string>): string[] {
  const pattern = patternOf(from[0]!);
  const found = new Set<string>();
  for (const name of names) {
    const match = pattern.exec(name);
    if (match !== null) found.add(match[1] ?? '');
  }
  return [...found];
}

function apply(
  tensors: Map<string, Tensor>,
  rule: WeightRule,
  config: DecoderConfig,
  direction: 'toModel' | 'toCheckpoint',
): void {
  const [from, to] =
    direction === 'toModel' ? [rule.checkpoint, rule.model] : [rule.model, rule.checkpoint];
  const experts = Array.from({ length: config.feedForward.experts?.count ?? 0 }, (_, e) => `${e}`);
  const expand = (templates: readonly string[], layer: string): string[] =>
    templates.flatMap((template) =>
      template.includes('{e}')
        ? experts.map((e) => nameOf(template, layer, e))
        : [nameOf(template, layer)],
    );
  for (const layer of layersOf(from, tensors.keys())) {
    const names = expand(from, layer);
    const values = names.flatMap((name) => tensors.get(name) ?? []);
    // An incomplete set stays as it is: loading the state names what is missing.
    if (values.length < names.length) continue;
    // What is made on the way (a matrix that is turned before it is cut apart) is gone before the next layer.
    const results = tidy(() => rule[direction](values, config));
    for (const name of names) tensors.delete(name);
    expand(to, layer).forEach((name, i) => tensors.set(name, results[i]!));
    // Also what is left may share memory with them, as tied weights do.
    if (direction === 'toModel') releaseAll(values, [...tensors.values()]);
  }
}

/** Gives back the memory of tensors, except what others share with them. */
function releaseAll(tensors: readonly Tensor[], others: readonly Tensor[]): void {
  const shared = new Set(others.map(({ storage }) => storage));
  for (const tensor of tensors) if (!shared.has(tensor.storage)) tensor.dispose();
}

/**
 * A checkpoint's tensors under the decoder's names. It takes them over: those that are wanted as they are it passes on,
 * and it releases the others as soon as what is made of them is there, so that memory is needed for one layer more.
 */
export function toModelWeights(
  checkpoint: Readonly<Record<string, Tensor>>,
  { weights = [], prefix }: Pick<Family, 'weights' | 'prefix'>,
  config: DecoderConfig,
): Record<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, tensor] of Object.entries(checkpoint)) {
    if (COMPUTED.test(name)) {
      tensor.dispose();
      continue;
    }
    const isBare = prefix !== undefined && !name.startsWith(prefix) && name !== 'lm_head.weight';
    tensors.set(isBare ? `${prefix}${name}` : name, tensor);
  }
  for (const rule of weights) apply(tensors, rule, config, 'toModel');
  if (config.tied) tieHead(tensors);
  return Object.fromEntries(tensors);
}

/**
 * Of models whose table is the weight of the logits: leaves a head out that is the table again, and takes one for the
 * table that is missing. A head that is another stays, as in `transformers`; so does one that cannot be compared at once,
 * on a device that is read asynchronously.
 */
function tieHead(tensors: Map<string, Tensor>): void {
  const [head, table] = [tensors.get(HEAD), tensors.get(TABLE)];
  if (head === undefined || (table !== undefined && !isSame(head, table))) return;
  tensors.delete(HEAD);
  if (table === undefined) tensors.set(TABLE, head);
  else releaseAll([head], [...tensors.values()]);
}

function isSame(a: Tensor, b: Tensor): boolean {
  if (a.dtype !== b.dtype || a.sizes.join() !== b.sizes.join()) return false;
  if (a.storage === b.storage && a.storageOffset === b.storageOffset) return true;
  if (a.device !== 'cpu' || b.device !== 'cpu') return false;
  const [left, right] = [bytesOf(a), bytesOf(b)];
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}

function bytesOf(tensor: Tensor): Uint8Array {
  const whole = tensor.contiguous();
  return cpuHeap().u8.subarray(
    whole.dataPtr(),
    whole.dataPtr() + whole.numel * itemSize(whole.dtype),
  );
}

/** The decoder's tensors under the names, and in the shapes, of the family's checkpoints. */
export function toCheckpointWeights(
  model: Readonly<Record<string, Tensor>>,
  { weights = [] }: Family,
  config: DecoderConfig,
): Record<string, Tensor> {
  const tensors = new Map(Object.entries(model));
  for (const rule of weights) apply(tensors, rule, config, 'toCheckpoint');
  return Object.fromEntries(tensors);
}
