/**
 * @file Guards on the owner of a trusted region: its constants and structure, and where its tensors are.
 *
 * They hold for every object that is built like the owner: the same classes, attributes in the same order,
 * constants and functions, tensors at the same places, and the same object at two places where it was. Which
 * objects and tensors these are does not count; what the tensors must be, the region's own patterns say.
 */
import type { Source, SourceStep } from '@tessera/graph';
import { type Tensor } from '@tessera/tensor';
import { EntryGuards } from './entry-guards.js';
import { type Guard, isTensorGuard, sameObjectGuard } from './guard.js';
import { type GuardCheck, compileGuards, holds, valueOf } from './guard-code.js';
import { walk } from './walk.js';

const NO_TENSORS: unknown[] = [];

/** What a region's owner looked like when the region was captured. */
export class OwnerGuards {
  private readonly guards: readonly Guard[];
  private readonly paths = new Map<Tensor, readonly SourceStep[]>();
  private compiled: GuardCheck | null = null;

  constructor(
    owner: object,
    readonly name: string,
  ) {
    const visit = (tensor: Tensor, { steps }: Source): void => {
      if (!this.paths.has(tensor)) this.paths.set(tensor, steps);
    };
    walk(owner, { root: name, steps: [] }, { tensor: visit });
    const entry = new EntryGuards([{ name, value: owner }]);
    const firstOf = new Map(entry.duplicates);
    this.guards = entry.guards.map((guard) => {
      if (guard.kind !== 'TENSOR_MATCH') return guard;
      const first = firstOf.get(guard);
      return first === undefined
        ? isTensorGuard(0, guard.source)
        : sameObjectGuard(0, guard.source, first.source);
    });
  }

  /** Where a tensor hangs on the owner; undefined if it does not. */
  pathOf(tensor: Tensor): readonly SourceStep[] | undefined {
    return this.paths.get(tensor);
  }

  /** Whether an object is built as the owner was. */
  check(owner: object): boolean {
    this.compiled ??= compileGuards(this.guards);
    return this.compiled([owner], NO_TENSORS);
  }

  /** The first guard that fails, in words. */
  reason(owner: object): string | null {
    for (const guard of this.guards) {
      const value = valueOf(guard, [owner]);
      if (!holds(guard, value, [owner])) return guard.explain?.(value) ?? guard.text;
    }
    return null;
  }
}
