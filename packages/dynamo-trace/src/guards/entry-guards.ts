/**
 * @file Entry guards: what a call's arguments, captures and global state were.
 *
 * They decide whether a skipped (`pure`) function may reuse its artifact, and they put into PyTorch's
 * words why a replay diverged or a function was compiled again. Cheap checks come first: global state,
 * then constants and structure, then tensors, then identities.
 */
import { autocastKey, type Tensor, defaultDType, gradMode, isTensor } from '@tessera/tensor';
import { type GlobalState, globalState, stateChange } from './global-state.js';
import { literal, noTensor, typeName } from './guard-words.js';
import { type GuardCheck, compileGuards } from './guard-code.js';
import type { DynamicTensorGuard } from './dynamic-tensor-guard.js';
import { ShapeGuards, type ShapedSource } from './shape-guards.js';
import type { Key } from './followed-keys.js';
import { type Source, follow, printSource } from './source.js';
import { sameOpaque } from './same-opaque.js';
import { sameIdentities } from './same-identities.js';
import { TensorGuard } from './tensor-guard.js';
import { followedKeys, walk } from './walk.js';

/** Kinds of guard, for counts in `explain()`. */
export type GuardKind =
  | 'GLOBAL_STATE'
  | 'CONSTANT_MATCH'
  | 'TYPE_MATCH'
  | 'LENGTH_CHECK'
  | 'DICT_KEYS'
  | 'ID_MATCH'
  | 'TENSOR_MATCH'
  | 'DUPLICATE_INPUT'
  | 'NO_TENSOR_ALIASING'
  | 'SHAPE_ENV';

/** One guard: where, what, and its printed condition. */
export interface Guard {
  readonly kind: GuardKind;
  readonly source: Source;
  /** Index of the root it is read from. */
  readonly root: number;
  /** The printed condition, which is also the reason when it fails (tensors explain themselves). */
  readonly text: string;
  /** Whether it asks for the same function, or object that is not seen through. */
  readonly opaque?: boolean;
  /** The expected value of a CONSTANT_MATCH. */
  readonly value?: unknown;
  /** What generated code compares instead of calling `check`, where that is the same. */
  readonly inline?: InlineCheck;
  /** Whether the value is as it was. */
  check(value: unknown): boolean;
  /** Words for a failure, if they differ from `text`. */
  explain?(value: unknown): string;
}

/** A check that is one comparison. */
export type InlineCheck =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'type'; readonly type: unknown }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'tensor'; readonly spec: TensorGuard };

/** A named root of the guarded values. */
export interface Root {
  /** Printed form, `L['x']`. */
  readonly name: string;
  readonly value: unknown;
}

function constantGuard(root: number, source: Source, value: unknown): Guard {
  const name = printSource(source);
  const none = value === null || value === undefined;
  return {
    kind: none ? 'ID_MATCH' : 'CONSTANT_MATCH',
    root,
    source,
    text: none ? `${name} is None` : `${name} == ${literal(value)}`,
    value,
    inline: { kind: 'value', value },
    check: (now) => Object.is(now, value),
  };
}

function containerGuard(
  root: number,
  source: Source,
  object: object,
  keys: readonly Key[] | number,
): Guard {
  const name = printSource(source);
  if (typeof keys === 'number') {
    const isArray = Array.isArray(object);
    return {
      kind: 'LENGTH_CHECK',
      root,
      source,
      text: `len(${name}) == ${keys}`,
      ...(isArray ? { inline: { kind: 'length', length: keys } as const } : {}),
      check: (now) =>
        isArray
          ? Array.isArray(now) && now.length === keys
          : now instanceof (object.constructor as typeof Map) && now.size === keys,
    };
  }
  const type = object.constructor;
  const plain = type === Object || type === undefined;
  return {
    kind: plain ? 'DICT_KEYS' : 'TYPE_MATCH',
    root,
    source,
    text: plain
      ? `list(${name}.keys()) == [${keys.map((key) => (typeof key === 'symbol' ? String(key) : `'${key}'`)).join(', ')}]`
      : `type(${name}) is ${type.name}`,
    ...(plain ? {} : { inline: { kind: 'type', type } as const }),
    check: (now) => {
      if (typeof now !== 'object' || now === null || now.constructor !== type) return false;
      if (!plain) return true;
      const have = followedKeys(now, source);
      return have.length === keys.length && have.every((key, i) => key === keys[i]);
    },
  };
}

function tensorGuard(root: number, source: Source, tensor: Tensor): Guard {
  const guard = TensorGuard.of(tensor);
  const name = printSource(source);
  return {
    kind: 'TENSOR_MATCH',
    root,
    source,
    text: `${name}: ${guard.toString()}`,
    inline: { kind: 'tensor', spec: guard },
    check: (now) => isTensor(now) && guard.check(now),
    explain: (now) => (isTensor(now) ? (guard.explain(now, name) ?? '') : noTensor(now, name)),
  };
}

function dynamicGuard(root: number, source: Source, guard: DynamicTensorGuard): Guard {
  const name = printSource(source);
  return {
    kind: 'TENSOR_MATCH',
    root,
    source,
    text: `${name}: ${guard.toString()}`,
    check: (now) => isTensor(now) && guard.explain(now, name) === null,
    explain: (now) => (isTensor(now) ? (guard.explain(now, name) ?? '') : noTensor(now, name)),
  };
}

/** See the file header. */
export class EntryGuards {
  readonly guards: readonly Guard[];
  private readonly rootCount: number;
  /** Tensor guards that found the same object: indices into `guards`, and which earlier one. */
  private readonly duplicates: readonly { readonly index: number; readonly of: number }[];
  private readonly tensorIndices: readonly number[];
  private compiled: GuardCheck | null = null;
  /** Tensors of the call that is checked, in the order of the guards. */
  private readonly values: unknown[] = [];
  private firsts: Int32Array | null = null;
  private shapes: ShapeGuards | null = null;
  /** Which guard a tensor has, until the capture is over. */
  private indexOf: Map<Tensor, number> | null;

  /** Records the guards that the roots satisfy now; `state` is that of the beginning of the call, `getters` as for `walk`. */
  constructor(
    roots: readonly Root[],
    private readonly state: GlobalState = globalState(),
    private readonly countText: string = `number of arguments == ${roots.length}`,
    getters = false,
  ) {
    const constants: Guard[] = [];
    const tensors: Guard[] = [];
    const duplicates: { index: number; of: number }[] = [];
    const first = new Map<Tensor, number>();
    roots.forEach((root, index) => {
      walk(
        root.value,
        { root: root.name, steps: [] },
        {
          primitive: (value, source) => constants.push(constantGuard(index, source, value)),
          container: (value, keys, source) =>
            constants.push(containerGuard(index, source, value, keys)),
          tensor: (tensor, source) => {
            if (source.steps.at(-1)?.kind === 'grad') return;
            const of = first.get(tensor);
            if (of === undefined) first.set(tensor, tensors.length);
            else duplicates.push({ index: tensors.length, of });
            tensors.push(tensorGuard(index, source, tensor));
          },
          opaque: (value, source) =>
            constants.push({
              kind: 'ID_MATCH',
              root: index,
              source,
              text: `${printSource(source)} is the same ${typeName(value)}`,
              opaque: true,
              check: sameOpaque(value),
            }),
        },
        getters,
      );
    });
    this.rootCount = roots.length;
    this.indexOf = new Map([...first].map(([tensor, i]) => [tensor, constants.length + i]));
    this.guards = [...constants, ...tensors];
    this.tensorIndices = tensors.map((_, i) => constants.length + i);
    this.duplicates = duplicates.map(({ index, of }) => ({
      index: index + constants.length,
      of: of + constants.length,
    }));
  }

  /** Ends the capture: tensors found to have symbolic sizes are guarded by those from now on. */
  seal(tensors: Iterable<readonly [Tensor, TensorGuard | DynamicTensorGuard]>): void {
    const sources: ShapedSource[] = [];
    const guards = this.guards as Guard[];
    for (const [tensor, dynamic] of tensors) {
      const index = this.indexOf?.get(tensor);
      if (index === undefined || dynamic instanceof TensorGuard) continue;
      const { root, source } = guards[index]!;
      guards[index] = dynamicGuard(root, source, dynamic);
      sources.push({
        name: printSource(source),
        sizes: dynamic.sizes,
        read: (roots) => follow(roots[root], source.steps),
      });
    }
    if (sources.length > 0) this.shapes = new ShapeGuards(sources);
    this.indexOf = null;
  }

  /** Whether all guards hold: the generated function, then identities. */
  check(roots: readonly unknown[]): boolean {
    if (
      gradMode.enabled !== this.state.gradMode ||
      defaultDType() !== this.state.defaultDType ||
      autocastKey() !== this.state.autocast
    )
      return false;
    if (roots.length !== this.rootCount) return false;
    this.compiled ??= compileGuards(this.guards);
    const tensors = this.values;
    if (!this.compiled(roots, tensors)) return false;
    if (tensors.length < 2) return true;
    this.firsts ??= this.firstOccurrences();
    return sameIdentities(tensors as Tensor[], this.firsts);
  }

  /** For each tensor guard, the first one that found the same tensor. */
  private firstOccurrences(): Int32Array {
    const offset = this.guards.length - this.tensorIndices.length;
    const firsts = Int32Array.from(this.tensorIndices, (_, i) => i);
    for (const { index, of } of this.duplicates) firsts[index - offset] = of - offset;
    return firsts;
  }

  private tensorValues(roots: readonly unknown[]): Map<number, unknown> {
    const values = new Map<number, unknown>();
    for (const index of this.tensorIndices) {
      const guard = this.guards[index]!;
      values.set(index, follow(roots[guard.root], guard.source.steps));
    }
    return values;
  }

  /**
   * The first guard that fails, in words; null if all hold. A function or an object that is not seen
   * through comes last: only a skipped call depends on which one it is.
   */
  reason(
    roots: readonly unknown[],
    now: GlobalState = globalState(),
    skipped = true,
  ): string | null {
    const changed = stateChange(this.state, now);
    if (changed !== null) return changed;
    if (roots.length !== this.rootCount) return this.countText;
    let opaque: string | null = null;
    for (const guard of this.guards) {
      const value = follow(roots[guard.root], guard.source.steps);
      if (guard.check(value)) continue;
      if (guard.opaque !== true) return guard.explain?.(value) ?? guard.text;
      opaque ??= guard.text;
    }
    return (
      this.identityReason(this.tensorValues(roots)) ??
      this.shapes?.reason(roots) ??
      (skipped ? opaque : null)
    );
  }

  /** The first difference in structure (containers, missing values, what is a tensor), in words; null if there is none. */
  structureReason(roots: readonly unknown[]): string | null {
    if (roots.length !== this.rootCount) return this.countText;
    for (const guard of this.guards) {
      const value = follow(roots[guard.root], guard.source.steps);
      if (guard.kind === 'TENSOR_MATCH') {
        if (!isTensor(value))
          return `type(${printSource(guard.source)}) is Tensor, actual ${typeName(value)}`;
      } else if (guard.kind === 'CONSTANT_MATCH') {
        if (typeof value !== typeof guard.value) return guard.text;
      } else if (!guard.check(value)) return guard.text;
    }
    return null;
  }

  /** Duplicates must stay duplicates, and distinct tensors distinct. */
  private identityReason(values: ReadonlyMap<number, unknown>): string | null {
    const known = new Map(this.duplicates.map(({ index, of }) => [index, of]));
    const first = new Map<unknown, number>();
    for (const index of this.tensorIndices) {
      const value = values.get(index);
      const expected = known.get(index) ?? index;
      const actual = first.get(value) ?? index;
      const name = (i: number): string => printSource(this.guards[i]!.source);
      if (expected !== actual)
        return expected !== index
          ? `${name(expected)} is ${name(index)}`
          : `Duplicate tensors found: ["${name(actual)}", "${name(index)}"]`;
      if (actual === index) first.set(value, index);
    }
    return null;
  }

  /** Printed guards, for logs and `explain()`. */
  lines(): string[] {
    const identities = this.duplicates.map(
      ({ index, of }) =>
        `DUPLICATE_INPUT ${printSource(this.guards[of]!.source)} is ${printSource(this.guards[index]!.source)}`,
    );
    return [
      `GLOBAL_STATE grad_mode == ${literal(this.state.gradMode)}, default_dtype == ${this.state.defaultDType}`,
      ...this.guards.map((guard) =>
        guard.kind === 'TENSOR_MATCH' ? guard.text : `${guard.kind} ${guard.text}`,
      ),
      ...identities,
      ...(this.shapes?.lines.map((line) => `SHAPE_ENV ${line}`) ?? []),
    ];
  }

  /** Number of guards per kind. */
  counts(): Partial<Record<GuardKind, number>> {
    const counts: Partial<Record<GuardKind, number>> = { GLOBAL_STATE: 1 };
    for (const guard of this.guards) counts[guard.kind] = (counts[guard.kind] ?? 0) + 1;
    if (this.duplicates.length > 0) counts.DUPLICATE_INPUT = this.duplicates.length;
    if (this.shapes !== null) counts.SHAPE_ENV = this.shapes.lines.length;
    return counts;
  }
}
