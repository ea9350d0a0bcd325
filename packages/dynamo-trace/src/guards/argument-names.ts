/**
 * @file Names of a function's arguments as sources: `L['x']`, and `L['xs'][1]` for those of a rest parameter.
 */
import { parameterNames } from '@tessera/graph';

/** The printed source of each argument, by position. */
export function argumentNames(fn: (...args: never[]) => unknown): (index: number) => string {
  const names = parameterNames(fn);
  const rest = names.findIndex((name) => name?.startsWith('...') === true);
  return (index) => {
    if (rest >= 0 && index >= rest) return `L['${names[rest]!.slice(3)}'][${index - rest}]`;
    return `L['${names[index] ?? `arg${index}`}']`;
  };
}

/** The guard on the number of arguments: the length of a rest parameter, if there is one. */
export function argumentCount(fn: (...args: never[]) => unknown, count: number): string {
  const names = parameterNames(fn);
  const rest = names.findIndex((name) => name?.startsWith('...') === true);
  return rest < 0 || count < rest
    ? `number of arguments == ${count}`
    : `len(L['${names[rest]!.slice(3)}']) == ${count - rest}`;
}
