/**
 * @file What can be seen of a world after a call: a flat list of records that two runs can be compared by.
 */
import { isTesseraError } from '@tessera/shared';
import { type Storage, type Tensor, isTensor, tensor } from '@tessera/tensor';
import { numelOf } from '@tessera/tensor/internal';
import { valuesOf } from './devices.js';
import { leafOf } from './leaf-of.js';
import type { World } from './world.js';

/** One thing seen. */
export type Seen =
  | { readonly path: string; readonly kind: 'value'; readonly value: unknown }
  | {
      readonly path: string;
      readonly kind: 'tensor';
      readonly dtype: Tensor['dtype'];
      readonly shape: readonly number[];
      readonly strides: readonly number[];
      readonly requiresGrad: boolean;
      /** The error's code for a view whose history its base has lost. */
      readonly leaf: boolean | string;
      /** First path that shows the same tensor object. */
      readonly same: string;
      /** First path that shows a tensor in the same memory; '' where nothing is promised. */
      readonly memory: string;
      readonly device: string;
      readonly values: Float64Array;
    };

/** Strides as far as they can be told apart: those of dimensions with several elements. */
function visibleStrides(t: Tensor): number[] {
  const empty = t.numel === 0;
  return t.strides.map((stride, d) => (empty || t.shape[d] === 1 ? 0 : stride));
}

const NOT_READ = new Float64Array();

/** Notes what it is shown, in order. */
export class Watcher {
  private readonly seen: Seen[] = [];
  /** Values of the tensors seen, in order. */
  private readonly values: ReturnType<typeof valuesOf>[] = [];
  private readonly objects = new Map<Tensor, string>();
  private readonly memories = new Map<Storage, string>();

  value(path: string, value: unknown): void {
    this.seen.push({ path, kind: 'value', value });
  }

  /** A number that comes of rounding. */
  number(path: string, value: number): void {
    this.push(path, tensor(value, { dtype: 'float32' }), { strides: [], same: path, memory: '' });
  }

  tensor(path: string, t: Tensor | null | undefined): void {
    if (!isTensor(t)) {
      this.value(path, null);
      return;
    }
    const shown = t as Tensor;
    const same = this.objects.get(shown) ?? path;
    this.objects.set(shown, same);
    const memory = numelOf(shown.shape) === 0 ? '' : (this.memories.get(shown.storage) ?? path);
    if (memory !== '') this.memories.set(shown.storage, memory);
    this.push(path, shown, { strides: visibleStrides(shown), same, memory });
  }

  /**
   * A gradient that no leaf accumulated: of a kept one, or one from `grad()`. PyTorch promises a layout and memory of
   * its own to the gradient of a leaf. Those of these, and whether two of them are one tensor, follow from how the
   * backward formulas are written (both gradients of a sum are the same one), and compiled from the graph.
   */
  gradient(path: string, t: Tensor | null): void {
    if (t === null) this.value(path, null);
    else this.push(path, t, { strides: [], same: path, memory: '' });
  }

  /** Everything seen, with values that had to be waited for; the error's code of what has none. */
  async read(): Promise<Seen[]> {
    const read = await Promise.allSettled(this.values);
    let next = 0;
    return this.seen.map((seen): Seen => {
      if (seen.kind !== 'tensor') return seen;
      const values = read[next++]!;
      if (values.status === 'fulfilled') return { ...seen, values: values.value };
      // What a kernel found is no matter of the tensor that is read next.
      if (!isTesseraError(values.reason) || !values.reason.message.includes('has no value'))
        throw values.reason;
      return { path: seen.path, kind: 'value', value: values.reason.code };
    });
  }

  private push(
    path: string,
    t: Tensor,
    place: Pick<Seen & { kind: 'tensor' }, 'strides' | 'same' | 'memory'>,
  ): void {
    const values = valuesOf(t);
    // It may fail before all of them are waited for.
    Promise.resolve(values).catch(() => undefined);
    this.values.push(values);
    this.seen.push({
      path,
      kind: 'tensor',
      dtype: t.dtype,
      shape: [...t.shape],
      requiresGrad: t.requiresGrad,
      leaf: leafOf(t),
      device: t.device,
      values: NOT_READ,
      ...place,
    });
  }

  withGrad(path: string, t: Tensor): void {
    this.tensor(path, t);
    if (leafOf(t) === true) this.tensor(`${path}.grad`, t.grad);
  }
}

/**
 * Everything visible after a call that returned `outputs`, whose `gradients` were asked for, or threw; what the store
 * keeps only if somebody looks at it.
 */
export async function observe(
  world: World,
  outputs: readonly Tensor[],
  gradients: readonly (Tensor | null)[],
  { thrown, unseen }: { readonly thrown: string | null; readonly unseen: boolean },
): Promise<Seen[]> {
  const { last, list, map } = world.store;
  // A kept value is computed when it is asked for, which may move what shares its memory.
  if (!unseen) for (const t of [last, ...list, ...map.values()]) void t?.storage;
  const watcher = new Watcher();
  watcher.value('thrown', thrown);
  watcher.value('outputs.length', outputs.length);
  world.args.forEach((t, i) => watcher.withGrad(`a${i}`, t));
  world.leaves.forEach((t, i) => {
    if (t !== world.args[i]) watcher.withGrad(`leaf of a${i}`, t);
  });
  for (const [name, t] of Object.entries(world.captured.tensors))
    watcher.withGrad(`captured.${name}`, t);
  if (world.net !== null) {
    for (const [name, t] of world.net.namedParameters()) watcher.withGrad(`net.${name}`, t);
    for (const [name, t] of world.net.namedBuffers()) watcher.tensor(`net.${name}`, t);
  }
  for (const [name, module] of Object.entries(world.modules)) {
    for (const [key, t] of module.namedParameters()) watcher.withGrad(`${name}.${key}`, t);
    for (const [key, t] of module.namedBuffers()) watcher.tensor(`${name}.${key}`, t);
  }
  outputs.forEach((t, i) => {
    watcher.tensor(`output ${i}`, t);
    if (leafOf(t) === true) watcher.tensor(`output ${i}.grad`, t.grad);
    else watcher.gradient(`output ${i}.grad`, t.grad);
  });
  gradients.forEach((t, i) => watcher.gradient(`gradient ${i}`, t));
  const { store } = world;
  watcher.value('layer.count', world.layer.count);
  watcher.value('store.count', store.count);
  watcher.value('store.list.length', store.list.length);
  if (unseen) return watcher.read();
  watcher.tensor('store.last', store.last);
  store.list.forEach((t, i) => watcher.tensor(`store.list[${i}]`, t));
  watcher.tensor('store.map', store.map.get('key'));
  return watcher.read();
}
