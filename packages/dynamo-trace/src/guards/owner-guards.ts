/**
 * @file Guards on the owner of a trusted region: its constants and structure, and where its tensors are.
 *
 * They hold for every object that is built like the owner: the same classes, attributes in the same order,
 * constants and functions, tensors at the same places, and the same object at two places where it was. Which
 * objects and tensors these are does not count; what the tensors must be, the region's own patterns say.
 */
import type { Tensor } from '@tessera/tensor';
import { findGuards } from './entry-guards.js';
import { type Guard, type Place, isTensorGuard, sameObjectGuard } from './guard.js';
import { GuardTree, failure } from './guard-tree.js';

/** What a region's owner looked like when the region was captured. */
export class OwnerGuards {
  private readonly guards: readonly Guard[];
  private readonly tree: GuardTree;
  /** Where tensors are found first, until the region is captured. */
  private places: Map<Tensor, Place> | null = new Map();

  constructor(owner: object, name: string) {
    const { guards, tensors, grads } = findGuards([{ name, value: owner }], false, null);
    const ofTensors = tensors.map(({ tensor, place }) => {
      const first = this.places!.get(tensor);
      if (first !== undefined) return sameObjectGuard(place, first);
      this.places!.set(tensor, place);
      return isTensorGuard(place);
    });
    for (const { tensor, place } of grads)
      if (!this.places!.has(tensor)) this.places!.set(tensor, place);
    this.guards = [...guards, ...ofTensors];
    this.tree = new GuardTree(this.guards);
  }

  /** A check gives the tensor that is where this one is; returns its number, undefined if the owner does not have it. */
  ask(tensor: Tensor): number | undefined {
    const place = this.places!.get(tensor);
    return place === undefined ? undefined : this.tree.ask(place);
  }

  /** All is asked, and no tensor is held any longer. */
  seal(): void {
    this.places = null;
  }

  /** What was asked for, by number, if an object is built as the owner was; else null. */
  check(owner: object): readonly (Tensor | undefined)[] | null {
    return this.tree.check([owner]);
  }

  /** The first guard that fails, in words. */
  reason(owner: object): string | null {
    return failure(this.guards, [owner]);
  }
}
