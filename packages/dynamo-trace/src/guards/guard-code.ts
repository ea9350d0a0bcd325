/**
 * @file One generated function that checks a list of guards.
 *
 * Paths share their common prefixes, constants are compared inline, and the function returns at the
 * first failure. Where a content security policy forbids `new Function`, the guards are interpreted.
 */
import { isTensor } from '@tessera/tensor';
import type { Guard } from './entry-guards.js';
import { type SourceStep, follow } from './source.js';

/** Whether all guards hold for the given roots. */
export type GuardCheck = (roots: readonly unknown[]) => boolean;

/** Compiles guards into one function. */
export function compileGuards(guards: readonly Guard[]): GuardCheck {
  try {
    return generate(guards);
  } catch {
    return (roots) =>
      guards.every((guard) => guard.check(follow(roots[guard.root], guard.source.steps)));
  }
}

function accessor(step: SourceStep, from: string, constants: unknown[]): string {
  switch (step.kind) {
    case 'property':
      return `${from}?.[${JSON.stringify(step.key)}]`;
    case 'index':
      return `${from}?.[${step.index}]`;
    case 'map':
      constants.push(step.key);
      return `${from}?.get?.(c[${constants.length - 1}])`;
    case 'grad':
      return `${from}?.grad`;
    case 'state':
      constants.push(Symbol.for('tessera.trackedState'));
      return `${from}?.[c[${constants.length - 1}]]?.()`;
  }
}

/** Generates variables for paths, sharing prefixes. */
class PathCode {
  readonly lines: string[] = [];
  readonly constants: unknown[] = [];
  private readonly names = new Map<string, string>();

  /** Name of the variable that holds a path's value. */
  variable(root: number, steps: readonly SourceStep[]): string {
    let key = `${root}`;
    let name = this.names.get(key);
    if (name === undefined) {
      name = `v${this.names.size}`;
      this.names.set(key, name);
      this.lines.push(`const ${name} = roots[${root}];`);
    }
    for (const step of steps) {
      key += `|${step.kind}:${step.kind === 'property' ? step.key : step.kind === 'index' || step.kind === 'map' ? step.index : ''}`;
      let next = this.names.get(key);
      if (next === undefined) {
        next = `v${this.names.size}`;
        this.names.set(key, next);
        this.lines.push(`const ${next} = ${accessor(step, name, this.constants)};`);
      }
      name = next;
    }
    return name;
  }
}

function generate(guards: readonly Guard[]): GuardCheck {
  const code = new PathCode();
  for (const guard of guards) {
    const name = code.variable(guard.root, guard.source.steps);
    code.lines.push(`if (!(${condition(guard, name, code.constants)})) return false;`);
  }
  const build = new Function(
    'c',
    'isTensor',
    `return (roots) => {\n${code.lines.join('\n')}\nreturn true;\n};`,
  ) as (c: readonly unknown[], tensorTest: typeof isTensor) => GuardCheck;
  return build(code.constants, isTensor);
}

function condition(guard: Guard, name: string, constants: unknown[]): string {
  if (guard.kind === 'CONSTANT_MATCH' && 'value' in guard) {
    const value = guard.value;
    if (
      typeof value === 'boolean' ||
      (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0) && value !== 0)
    )
      return `${name} === ${String(value)}`;
  }
  constants.push(guard);
  return `c[${constants.length - 1}].check(${name})`;
}

/** A function that reads the values at several paths from one root, in order. */
export function compileFetch(
  paths: readonly (readonly SourceStep[])[],
): (root: unknown) => unknown[] {
  try {
    const code = new PathCode();
    const names = paths.map((steps) => code.variable(0, steps));
    const build = new Function(
      'c',
      `return (root) => {\nconst roots = [root];\n${code.lines.join('\n')}\nreturn [${names.join(', ')}];\n};`,
    ) as (c: readonly unknown[]) => (root: unknown) => unknown[];
    return build(code.constants);
  } catch {
    return (root) => paths.map((steps) => follow(root, steps));
  }
}
