/**
 * @file Entry guards: what a call's arguments, captures and global state were.
 *
 * They decide whether a skipped (`pure`) function may reuse its artifact, and they put into PyTorch's
 * words why a replay diverged or a function was compiled again. Cheap checks come first: global state,
 * then constants and structure with tensors, then identities.
 */
import type { Source } from '@tessera/graph';
import { type Tensor, defaultDType } from '@tessera/tensor';
import { autocastKey, gradMode } from '@tessera/tensor/internal';
import { type GlobalState, globalState, stateChange } from './global-state.js';
import {
  type Guard,
  type GuardKind,
  type Place,
  constantGuard,
  containerGuards,
  dataGuard,
  opaqueGuard,
  prototypeGuard,
  sameObjectGuard,
  tensorGuard,
} from './guard.js';
import { GuardTree, failure, holds, valueAt } from './guard-tree.js';
import { literal } from './guard-words.js';
import { ObjectIdentities, changedIdentity, sameIdentities } from './identities.js';
import { shapeGuards } from './shape-guards.js';
import { TensorGuard } from './tensor-guard.js';
import { walk } from './walk.js';

export type { Guard, GuardKind } from './guard.js';

/** A named root of the guarded values. */
export interface Root {
  /** Printed form, `L['x']`. */
  readonly name: string;
  readonly value: unknown;
}

/** A guard that a call fails. */
export interface Failure {
  readonly text: string;
  /** What it is about, among the roots as they were numbered. */
  readonly place?: Place;
  /** The constant that it expects there. */
  readonly was?: unknown;
  /** The call began otherwise: nothing else was compared. */
  readonly isOther?: boolean;
}

/** What guards are made of. */
interface Findings {
  /** Guards of everything but tensors. */
  readonly guards: readonly Guard[];
  /** Tensors, in the order in which they are found, also several times. */
  readonly tensors: readonly { readonly tensor: Tensor; readonly place: Place }[];
}

/** Walks roots and makes guards of what is found; `everything` as for `walk`. */
function findGuards(
  roots: readonly Root[],
  everything: boolean,
  objects: ObjectIdentities | null,
): Findings {
  const guards: Guard[] = [];
  const tensors: Findings['tensors'][number][] = [];
  roots.forEach(({ name, value: of }, root) => {
    const at = (source: Source): Place => ({ root, source });
    walk(
      of,
      { root: name, steps: [] },
      {
        primitive: (value, source) => guards.push(constantGuard(at(source), value)),
        data: (array, source) => guards.push(dataGuard(at(source), array)),
        container: (found) => {
          guards.push(...containerGuards(found, root, everything));
          const told = found.kind !== 'tracked' && found.kind !== 'opaque';
          const first = objects?.add(found.value, at(found.source), told);
          // In one root, it is met again.
          if (first != null && first.root !== root)
            guards.push(sameObjectGuard(at(found.source), first));
        },
        again: (_, source, first) => guards.push(sameObjectGuard(at(source), at(first))),
        prototype: (value, source, kind) =>
          guards.push(prototypeGuard(at(source), value, kind !== 'tracked')),
        opaque: (value, source) => guards.push(opaqueGuard(at(source), value)),
        // Gradients may be there or not.
        tensor: (tensor, source) => {
          if (source.steps.at(-1)?.kind !== 'grad') tensors.push({ tensor, place: at(source) });
        },
      },
      everything,
    );
  });
  objects?.seal();
  return { guards, tensors };
}

/** See the file header. */
export class EntryGuards {
  readonly guards: readonly Guard[];
  private readonly rootCount: number;
  /** Tensor guards, the last of `guards`: per guard, which of them found the same tensor first. */
  private readonly firsts: readonly number[];
  private tree: GuardTree | null = null;
  /** What `check` finds out otherwise, or code does by itself: which tensors are one, and how sizes relate. */
  private readonly relations: Guard[];
  /** Which objects are the same, where code that does not run again could have compared them. */
  private readonly objects: ObjectIdentities | null;
  /** The tensors, until the capture is over. */
  private tensors: readonly Tensor[];

  /** Records the guards that the roots satisfy now; `state` is that of the beginning of the call, `everything` as for `walk`. */
  constructor(
    roots: readonly Root[],
    private readonly state: GlobalState = globalState(),
    private readonly countText: string = `number of arguments == ${roots.length}`,
    everything = false,
    private readonly argumentCount: number = roots.length,
  ) {
    this.objects = everything ? new ObjectIdentities() : null;
    const { guards, tensors } = findGuards(roots, everything, this.objects);
    this.rootCount = roots.length;
    this.tensors = tensors.map(({ tensor }) => tensor);
    const first = new Map<Tensor, number>();
    this.firsts = this.tensors.map((tensor, i) => {
      if (!first.has(tensor)) first.set(tensor, i);
      return first.get(tensor)!;
    });
    this.guards = [
      ...guards,
      ...tensors.map(({ tensor, place }) => tensorGuard(place, TensorGuard.of(tensor))),
    ];
    this.relations = this.duplicates();
  }

  /** Tensors that are found at two places. */
  private duplicates(): Guard[] {
    const { tensorGuards, firsts } = this;
    return tensorGuards.flatMap(({ place }, i) =>
      firsts[i] === i ? [] : [sameObjectGuard(place, tensorGuards[firsts[i]!]!.place)],
    );
  }

  private get tensorGuards(): readonly Guard[] {
    return this.guards.slice(this.guards.length - this.firsts.length);
  }

  /** Ends the capture: tensors found to have symbolic sizes are guarded by those from now on. */
  seal(tensors: Iterable<readonly [Tensor, TensorGuard]>): void {
    const shaped: Parameters<typeof shapeGuards>[0][number][] = [];
    const guards = this.guards as Guard[];
    for (const [tensor, dynamic] of tensors) {
      const index = this.tensors.indexOf(tensor);
      if (index < 0 || !dynamic.isSymbolic) continue;
      const at = guards.length - this.firsts.length + index;
      const { place } = guards[at]!;
      guards[at] = tensorGuard(place, dynamic);
      shaped.push({ place, guard: dynamic });
    }
    this.relations.push(...shapeGuards(shaped));
    this.tensors = [];
  }

  /** A check gives what is at a place from now on; returns its number. */
  ask(place: Place): number {
    return this.compiled().ask(place);
  }

  private compiled(): GuardTree {
    if (this.tree === null) {
      this.tree = new GuardTree(this.guards);
      // The guarded tensors are the first that it finds.
      for (const { place } of this.tensorGuards) this.tree.ask(place);
    }
    return this.tree;
  }

  /** What was asked for, by number, if all guards hold; else null. */
  check(roots: readonly unknown[]): readonly (Tensor | undefined)[] | null {
    if (
      gradMode.enabled !== this.state.gradMode ||
      defaultDType() !== this.state.defaultDType ||
      autocastKey() !== this.state.autocast ||
      roots.length !== this.rootCount
    )
      return null;
    const found = this.compiled().check(roots);
    if (found === null || (this.objects !== null && this.objects.reason(roots) !== null))
      return null;
    return this.firsts.length < 2 || sameIdentities(found, this.firsts) ? found : null;
  }

  /**
   * The guards that fail, and where nothing was as recorded (the global state, the number of arguments) that alone.
   * Which function or object it is that is not seen through does not count: only a skipped call depends on that.
   */
  *failures(
    roots: readonly unknown[],
    now: GlobalState = globalState(),
    argumentCount: number = this.argumentCount,
  ): Generator<Failure, undefined> {
    const text = stateChange(this.state, now);
    if (text !== null) return yield { text, isOther: true };
    const values = this.aligned(roots, argumentCount);
    if (values === null) return yield { text: this.countText, isOther: true };
    for (const guard of this.guards) {
      const value = valueAt(guard.place, values);
      if (guard.parts.opaque !== true && !holds(guard, value, values))
        yield { text: guard.reason(value), place: guard.place, was: guard.parts.value };
    }
    const relation = failure(this.relations, values) ?? this.aliasReason(values);
    for (const text of [relation, this.objects?.reason(values)]) if (text != null) yield { text };
  }

  /** Values of roots as they were numbered, where `this` may be there or not; null for another number of arguments. */
  aligned(roots: readonly unknown[], argumentCount: number): readonly unknown[] | null {
    if (argumentCount !== this.argumentCount) return null;
    const missing = this.rootCount - roots.length;
    if (missing === 0) return roots;
    const rest = roots.slice(argumentCount);
    return [
      ...roots.slice(0, argumentCount),
      ...(missing < 0 ? rest.slice(1) : [undefined, ...rest]),
    ];
  }

  /** Distinct tensors must stay distinct. */
  private aliasReason(roots: readonly unknown[]): string | null {
    const { tensorGuards, firsts } = this;
    const values = tensorGuards.map(({ place }) => valueAt(place, roots));
    const at = changedIdentity(values, firsts);
    if (at < 0) return null;
    const name = (i: number): string => `"${tensorGuards[i]!.name}"`;
    return `Duplicate tensors found: [${name(values.indexOf(values[at]))}, ${name(at)}]`;
  }

  /** Printed guards, for logs and `explain()`. */
  lines(): string[] {
    return [
      `GLOBAL_STATE grad_mode == ${literal(this.state.gradMode)}, default_dtype == ${this.state.defaultDType}`,
      ...[...this.guards, ...this.relations].map(({ kind, text }) =>
        kind === 'TENSOR_MATCH' ? text : `${kind} ${text}`,
      ),
    ];
  }

  /** Number of guards per kind. */
  counts(): Partial<Record<GuardKind, number>> {
    const counts: Partial<Record<GuardKind, number>> = { GLOBAL_STATE: 1 };
    for (const { kind } of [...this.guards, ...this.relations])
      counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }
}
