/**
 * @file `CallRoots`: what a call gives its function, namely arguments, `this`, and what `captures` names.
 */
import type { Root } from './entry-guards.js';
import type { AnyFunction, TraceOptions } from '../trace-options.js';
import { argumentCount, argumentNames } from './argument-names.js';

/** See the file header. */
export class CallRoots {
  private names: ((index: number) => string) | null = null;

  constructor(
    private readonly fn: AnyFunction,
    private readonly options: Pick<TraceOptions, 'captures' | 'signature'>,
  ) {}

  /** With the names that guards print. */
  named(self: unknown, args: readonly unknown[]): Root[] {
    const names = (this.names ??= argumentNames(this.signature));
    const roots = args.map((value, i): Root => ({ name: names(i), value }));
    if (self !== undefined && self !== null) roots.push({ name: "L['self']", value: self });
    if (this.options.captures !== undefined)
      roots.push({ name: 'G', value: this.options.captures() });
    return roots;
  }

  /** The values alone, in the same order; mostly the arguments themselves. */
  values(self: unknown, args: readonly unknown[]): readonly unknown[] {
    const { captures } = this.options;
    const hasSelf = self !== undefined && self !== null;
    if (!hasSelf && captures === undefined) return args;
    const values = [...args];
    if (hasSelf) values.push(self);
    if (captures !== undefined) values.push(captures());
    return values;
  }

  /** How many arguments there were, as a guard says it. */
  count(args: readonly unknown[]): string {
    return argumentCount(this.signature, args.length);
  }

  private get signature(): AnyFunction {
    return this.options.signature ?? this.fn;
  }
}
