/**
 * @file `CallRoots`: what a call gives its function, namely arguments, `this`, and what `captures` names.
 */
import { parameterNames } from '@tessera/graph';
import type { AnyFunction, TraceOptions } from '../trace-options.js';
import type { Root } from './entry-guards.js';

/** The parameters of a function, by which its arguments are named. */
export class ParameterNames {
  private readonly names: readonly (string | undefined)[];
  /** Position of the rest parameter, or -1. */
  private readonly rest: number;

  constructor(fn: (...args: never[]) => unknown) {
    this.names = parameterNames(fn).map((name) => name ?? undefined);
    this.rest = this.names.findIndex((name) => name?.startsWith('...') === true);
  }

  private get restName(): string {
    return `L['${this.names[this.rest]!.slice(3)}']`;
  }

  /** The printed source of an argument: `L['x']`, and `L['xs'][1]` for one of a rest parameter. */
  nameOf(index: number): string {
    const { names, rest } = this;
    if (rest >= 0 && index >= rest) return `${this.restName}[${index - rest}]`;
    return `L['${names[index] ?? `arg${index}`}']`;
  }

  /** The guard on the number of arguments: the length of a rest parameter, if there is one. */
  count(count: number): string {
    const { rest } = this;
    return rest < 0 || count < rest
      ? `number of arguments == ${count}`
      : `len(${this.restName}) == ${count - rest}`;
  }
}

/** The `this` and the arguments of a call. */
export interface CallArguments {
  readonly self: unknown;
  readonly args: readonly unknown[];
}

/** The values of a call's roots, and how many of them are arguments. */
export interface CallValues {
  readonly values: readonly unknown[];
  readonly argumentCount: number;
}

/** See the file header. */
export class CallRoots {
  private known: ParameterNames | null = null;

  constructor(
    private readonly fn: AnyFunction,
    private readonly options: Pick<TraceOptions, 'captures' | 'signature'>,
  ) {}

  /** With the names that guards print. */
  named(self: unknown, args: readonly unknown[]): Root[] {
    return this.values(self, args).map((value, i): Root => {
      if (i < args.length) return { name: this.parameters.nameOf(i), value };
      return { name: i === args.length && hasSelf(self) ? "L['self']" : 'G', value };
    });
  }

  /** The values alone, in the same order; mostly the arguments themselves. */
  values(self: unknown, args: readonly unknown[]): readonly unknown[] {
    const { captures } = this.options;
    if (!hasSelf(self) && captures === undefined) return args;
    const values = [...args];
    if (hasSelf(self)) values.push(self);
    if (captures !== undefined) values.push(captures());
    return values;
  }

  /** The values, for comparison with those of other calls. */
  of({ self, args }: CallArguments): CallValues {
    return { values: this.values(self, args), argumentCount: args.length };
  }

  /** How many arguments there were, as a guard says it. */
  count(args: readonly unknown[]): string {
    return this.parameters.count(args.length);
  }

  private get parameters(): ParameterNames {
    return (this.known ??= new ParameterNames(this.options.signature ?? this.fn));
  }
}

function hasSelf(self: unknown): boolean {
  return self !== undefined && self !== null;
}
