/**
 * @file Names of the tensors of a call: which argument, capture or owner attribute each one is.
 */
import { type Source, printSource } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import { runningModules } from '@tessera/tensor/internal';
import type { Root } from './entry-guards.js';
import { walk } from './walk.js';

/** A primitive of an argument. */
export interface ConstantSource {
  readonly root: number;
  readonly source: Source;
  readonly value: unknown;
}

/** See the file header. Built lazily: only capture and reports need names. */
export class Sources {
  private readonly byTensor = new Map<Tensor, Source>();
  private readonly rootOf = new Map<Tensor, number>();
  private readonly numbers = new Map<number, string>();
  private readonly primitives: ConstantSource[] = [];
  private readonly added = new Set<object>();

  /** @param getters as for `walk` */
  constructor(
    readonly roots: readonly Root[],
    getters = false,
  ) {
    roots.forEach((root, index) => {
      walk(
        root.value,
        { root: root.name, steps: [] },
        {
          tensor: (tensor, source) => {
            if (this.byTensor.has(tensor)) return;
            this.byTensor.set(tensor, source);
            this.rootOf.set(tensor, index);
          },
          primitive: (value, source) => {
            this.primitives.push({ root: index, source, value });
            if (typeof value === 'number' && !this.numbers.has(value))
              this.numbers.set(value, printSource(source));
          },
        },
        getters,
      );
    });
  }

  /** Adds the tensors of an object that is no argument: a module that runs, the owner of a region. */
  addObject(object: object): void {
    if (this.added.has(object)) return;
    this.added.add(object);
    const name = `G['${object.constructor.name}']`;
    walk(
      object,
      { root: name, steps: [] },
      {
        tensor: (tensor, source) => {
          if (!this.byTensor.has(tensor)) this.byTensor.set(tensor, source);
        },
      },
    );
  }

  /** Root number and source of a tensor that is reachable from the roots. */
  locate(tensor: Tensor): { readonly root: number; readonly source: Source } | null {
    const root = this.rootOf.get(tensor);
    return root === undefined ? null : { root, source: this.byTensor.get(tensor)! };
  }

  /** Whether an argument holds the tensor other than as an attribute of a tracked object (a parameter). */
  isArgument(tensor: Tensor): boolean {
    const root = this.rootOf.get(tensor);
    return (
      root !== undefined &&
      this.byTensor.get(tensor)!.steps.every((step) => step.kind !== 'property' || !step.tracked)
    );
  }

  /** Primitives that arguments hold, other than attributes of tracked objects. */
  constants(): readonly ConstantSource[] {
    return this.primitives.filter(({ source }) =>
      source.steps.every((step) => step.kind !== 'property' || step.tracked !== true),
    );
  }

  /** Printed source; what is in no argument is looked for in the modules that run, or is `G['tensor']`. */
  nameOf(tensor: Tensor): string {
    if (!this.byTensor.has(tensor)) for (const module of runningModules) this.addObject(module);
    const source = this.byTensor.get(tensor);
    return source === undefined ? "G['tensor']" : printSource(source);
  }

  /** Printed source of a number that an argument holds, if any. */
  nameOfNumber(value: number): string | null {
    return this.numbers.get(value) ?? null;
  }
}

/** A valid identifier from a printed source: `L['x']` → `l_x`. */
export function identifierOf(source: string): string {
  return source
    .replace(
      /^([LG])\['(\w+)'\]/,
      (_, scope: string, name: string) => `${scope.toLowerCase()}_${name}`,
    )
    .replace(/\W+/g, '_')
    .replace(/_+$/, '');
}
