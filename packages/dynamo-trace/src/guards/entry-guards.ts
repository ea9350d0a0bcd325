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
  opaqueGuard,
  prototypeGuard,
  sameObjectGuard,
  tensorGuard,
} from './guard.js';
import { type GuardCheck, compileGuards, holds, valueOf } from './guard-code.js';
import { ObjectIdentities } from './object-identities.js';
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
  /** Per tensor guard, which of them found the same object first; tensor guards are the last of `guards`. */
  private readonly firsts: Int32Array;
  private compiled: GuardCheck | null = null;
  /** Tensors of the call that is checked, in the order of the guards. */
  private readonly values: unknown[] = [];
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
    const firsts: number[] = [];
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
            if (!first.has(tensor)) first.set(tensor, tensors.length);
            firsts.push(first.get(tensor)!);
            tensors.push(tensorGuard(index, source, TensorGuard.of(tensor)));
          },
        },
        everything,
      );
    });
    this.objects?.seal();
    this.rootCount = roots.length;
    this.indexOf = new Map([...first].map(([tensor, i]) => [tensor, constants.length + i]));
    this.guards = [...constants, ...tensors];
    this.firsts = Int32Array.from(firsts);
  }

  /** Ends the capture: tensors found to have symbolic sizes are guarded by those from now on. */
  seal(tensors: Iterable<readonly [Tensor, TensorGuard]>): void {
    const sources: ShapedSource[] = [];
    const guards = this.guards as Guard[];
    for (const [tensor, dynamic] of tensors) {
      const index = this.indexOf?.get(tensor);
      if (index === undefined || !dynamic.isSymbolic) continue;
      const { root, source } = guards[index]!;
      guards[index] = tensorGuard(root, source, dynamic);
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
    return tensors.length < 2 || sameIdentities(tensors as Tensor[], this.firsts);
  }

  /** Tensor guards of which an earlier one found the same tensor, with that one. */
  get duplicates(): (readonly [Guard, Guard])[] {
    const tensors = this.guards.slice(this.guards.length - this.firsts.length);
    return tensors.flatMap((guard, i) =>
      this.firsts[i] === i ? [] : [[guard, tensors[this.firsts[i]!]!] as const],
    );
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
      this.identityReason(roots) ??
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
  private identityReason(roots: readonly unknown[]): string | null {
    const tensors = this.guards.slice(this.guards.length - this.firsts.length);
    const values = tensors.map((guard) => valueOf(guard, roots));
    const name = (i: number): string => printSource(tensors[i]!.source);
    const at = values.findIndex((value, i) => values.indexOf(value) !== this.firsts[i]);
    if (at < 0) return null;
    const expected = this.firsts[at]!;
    return expected !== at
      ? `${name(expected)} is ${name(at)}`
      : `Duplicate tensors found: ["${name(values.indexOf(values[at]))}", "${name(at)}"]`;
  }

  /** Printed guards, for logs and `explain()`. */
  lines(): string[] {
    const identities = this.duplicates.map(
      ([guard, first]) =>
        `DUPLICATE_INPUT ${printSource(first.source)} is ${printSource(guard.source)}`,
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
