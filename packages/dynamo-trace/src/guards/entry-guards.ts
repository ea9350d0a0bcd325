/**
 * @file Entry guards: what a call's arguments, captures and global state were.
 *
 * They decide whether a skipped (`pure`) function may reuse its artifact, and they put into PyTorch's
 * words why a replay diverged or a function was compiled again. Cheap checks come first: global state,
 * then constants and structure, then tensors, then identities.
 */
import { follow, printSource } from '@tessera/graph';
import { type Tensor, defaultDType, isTensor } from '@tessera/tensor';
import { autocastKey, gradMode } from '@tessera/tensor/internal';
import { type GlobalState, globalState, stateChange } from './global-state.js';
import { literal, typeName } from './guard-words.js';
import {
  type Guard,
  type GuardKind,
  constantGuard,
  containerGuards,
  dataGuard,
  dynamicGuard,
  opaqueGuard,
  prototypeGuard,
  sameObjectGuard,
  tensorGuard,
} from './guard.js';
import { type GuardCheck, compileGuards, holds, valueOf } from './guard-code.js';
import { ObjectIdentities } from './object-identities.js';
import type { DynamicTensorGuard } from './dynamic-tensor-guard.js';
import { ShapeGuards, type ShapedSource } from './shape-guards.js';
import { sameIdentities } from './same-identities.js';
import { TensorGuard } from './tensor-guard.js';
import { walk } from './walk.js';

export type { Guard, GuardKind } from './guard.js';

/** A named root of the guarded values. */
export interface Root {
  /** Printed form, `L['x']`. */
  readonly name: string;
  readonly value: unknown;
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
  /** Which objects are the same, where code that does not run again could have compared them. */
  private readonly objects: ObjectIdentities | null;
  /** Which guard a tensor has, until the capture is over. */
  private indexOf: Map<Tensor, number> | null;

  /** Records the guards that the roots satisfy now; `state` is that of the beginning of the call, `everything` as for `walk`. */
  constructor(
    roots: readonly Root[],
    private readonly state: GlobalState = globalState(),
    private readonly countText: string = `number of arguments == ${roots.length}`,
    everything = false,
  ) {
    const constants: Guard[] = [];
    const tensors: Guard[] = [];
    this.objects = everything ? new ObjectIdentities() : null;
    const duplicates: { index: number; of: number }[] = [];
    const first = new Map<Tensor, number>();
    roots.forEach((root, index) => {
      const holders = new Map<object | null, Guard>();
      walk(
        root.value,
        { root: root.name, steps: [] },
        {
          primitive: (value, source, holder) =>
            constants.push(constantGuard(index, source, value, holders.get(holder))),
          data: (array, source) => constants.push(dataGuard(index, source, array)),
          container: (found) => {
            const guards = containerGuards(found, { root: index, everything });
            constants.push(...guards);
            holders.set(found.value, guards.at(-1)!);
            const told = found.kind !== 'tracked' && found.kind !== 'opaque';
            this.objects?.add(found.value, { root: index, source: found.source }, told);
          },
          again: (_, source, of) => constants.push(sameObjectGuard(index, source, of)),
          prototype: (value, source, of) =>
            constants.push(prototypeGuard(index, source, value, of !== 'tracked')),
          opaque: (value, source) => constants.push(opaqueGuard(index, source, value)),
          tensor: (tensor, source) => {
            if (source.steps.at(-1)?.kind === 'grad') return;
            const of = first.get(tensor);
            if (of === undefined) first.set(tensor, tensors.length);
            else duplicates.push({ index: tensors.length, of });
            tensors.push(tensorGuard(index, source, tensor));
          },
        },
        everything,
      );
    });
    this.objects?.seal();
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
    if (!this.compiled(roots, tensors) || this.objects?.check(roots) === false) return false;
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
      values.set(index, valueOf(this.guards[index]!, roots));
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
      const value = valueOf(guard, roots);
      if (holds(guard, value, roots)) continue;
      if (guard.opaque !== true) return guard.explain?.(value) ?? guard.text;
      opaque ??= guard.text;
    }
    return (
      this.identityReason(this.tensorValues(roots)) ??
      this.shapes?.reason(roots) ??
      this.objects?.reason(roots) ??
      (skipped ? opaque : null)
    );
  }

  /** The first difference in structure (containers, missing values, what is a tensor), in words; null if there is none. */
  structureReason(roots: readonly unknown[]): string | null {
    if (roots.length !== this.rootCount) return this.countText;
    for (const guard of this.guards) {
      const value = valueOf(guard, roots);
      if (guard.kind === 'TENSOR_MATCH') {
        if (!isTensor(value))
          return `type(${printSource(guard.source)}) is Tensor, actual ${typeName(value)}`;
      } else if (guard.kind === 'CONSTANT_MATCH') {
        if (typeof value !== typeof guard.value) return guard.text;
      } else if (!holds(guard, value, roots)) return guard.text;
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
