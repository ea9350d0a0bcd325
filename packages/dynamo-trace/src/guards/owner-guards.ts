/**
 * @file Guards on the owner of a trusted region: its constants and structure, and where its tensors are.
 */
import { type Tensor } from '@tessera/tensor';
import { EntryGuards, type Guard } from './entry-guards.js';
import { type GuardCheck, compileFetch, compileGuards } from './guard-code.js';
import { follow, type SourceStep } from './source.js';
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
    this.guards = new EntryGuards([{ name, value: owner }]).guards.filter(
      (guard) => guard.kind !== 'TENSOR_MATCH',
    );
    walk(
      owner,
      { root: name, steps: [] },
      {
        tensor: (tensor, source) => {
          if (!this.paths.has(tensor)) this.paths.set(tensor, source.steps);
        },
      },
    );
  }

  /** Where a tensor hangs on the owner; undefined if it does not. */
  pathOf(tensor: Tensor): readonly SourceStep[] | undefined {
    return this.paths.get(tensor);
  }

  /** Whether constants and structure are as they were. */
  check(owner: object): boolean {
    this.compiled ??= compileGuards(this.guards);
    return this.compiled([owner], NO_TENSORS);
  }

  /** The first guard that fails, in words. */
  reason(owner: object): string | null {
    for (const guard of this.guards)
      if (!guard.check(follow(owner, guard.source.steps))) return guard.text;
    return null;
  }

  /** Number of guards. */
  get size(): number {
    return this.guards.length;
  }
}

/** Reads tensors at paths of an owner. */
export type Fetch = (owner: unknown) => unknown[];

/** Compiles the reading of several paths. */
export function fetchPaths(paths: readonly (readonly SourceStep[])[]): Fetch {
  return compileFetch(paths);
}
