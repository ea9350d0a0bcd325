/**
 * @file What `compile` takes, as a function: modules and graphs are called by their own names.
 */
import type { AnyFunction } from '@tessera/dynamo-trace';
import { type ExportedGraph, GraphModule, isExportedGraph } from '@tessera/graph';
import { Module } from '@tessera/nn/internal';
import { TesseraError } from '@tessera/shared';

/** What `compile` takes. */
export type Compilable = AnyFunction | Module | GraphModule | ExportedGraph;

/** A function and what its sources are named after. */
export interface Callable {
  readonly fn: AnyFunction;
  /** The object that it is a method of: `L['self']`. */
  readonly self: object | undefined;
  /** The function whose parameter names its arguments have. */
  readonly signature: AnyFunction;
}

/** The function behind a target. @throws invalid-argument */
export function callableOf(target: Compilable): Callable {
  if (typeof target === 'function') return { fn: target, self: undefined, signature: target };
  if (target instanceof Module) {
    const fn = (...args: unknown[]): unknown => target.call(...(args as never[]));
    return { fn: named(fn, target), self: target, signature: target.forward };
  }
  if (target instanceof GraphModule) {
    const fn = (...args: unknown[]): unknown => target.forward(...args);
    return { fn: named(fn, target), self: undefined, signature: fn };
  }
  if (isExported(target))
    return {
      fn: named((...args) => target.call(...args), target),
      self: undefined,
      signature: target.call,
    };
  throw new TesseraError(
    'invalid-argument',
    `compile() takes a function or a Module, not ${target === null ? 'null' : typeof target}.`,
    { hints: ['Wrap it: compile((x) => …).'] },
  );
}

function isExported(target: unknown): target is ExportedGraph {
  return typeof target === 'object' && target !== null && isExportedGraph(target);
}

/** Named as a stack trace would name the method. */
function named(fn: AnyFunction, owner: object): AnyFunction {
  return Object.defineProperty(fn, 'name', { value: `${owner.constructor.name}.forward` });
}
