/**
 * @file One generated function that checks a list of guards.
 *
 * Paths share their common prefixes, constants are compared inline, and the function returns at the
 * first failure. Where code may not be generated (`mayGenerate`), the guards are interpreted.
 */
import { type SourceStep, follow, itemsOf, readGetter, typeOf } from '@tessera/graph';
import type { Guard, InlineCheck } from './guard.js';
import type { Layout } from './layout.js';
import { mayGenerate } from './may-generate.js';

/** Whether all guards hold for the given roots; puts the tensors that it met into `tensors`, in order. */
export type GuardCheck = (roots: readonly unknown[], tensors: unknown[]) => boolean;

/** What a guard looks at. */
export function valueOf({ root, source }: Guard, roots: readonly unknown[]): unknown {
  return follow(roots[root], source.steps);
}

/** Whether a guard holds for its value. */
export function holds(guard: Guard, value: unknown, roots: readonly unknown[]): boolean {
  const { other } = guard;
  return guard.check(value, other && follow(roots[guard.root], other.steps));
}

function oneByOne(guards: readonly Guard[]): (roots: readonly unknown[]) => boolean {
  return (roots) => guards.every((guard) => holds(guard, valueOf(guard, roots), roots));
}

/** Compiles guards into one function. */
export function compileGuards(guards: readonly Guard[]): GuardCheck {
  const within = new Map<Guard, Guard[]>();
  for (const guard of guards)
    if (guard.within !== undefined)
      within.set(guard.within, [...(within.get(guard.within) ?? []), guard]);
  const outer = guards.filter((guard) => guard.within === undefined);
  return mayGenerate() ? generate(outer, within) : interpretGuards(guards);
}

/** The same without generated code. */
export function interpretGuards(guards: readonly Guard[]): GuardCheck {
  return (roots, tensors) => {
    let count = 0;
    for (const guard of guards) {
      const value = valueOf(guard, roots);
      if (!holds(guard, value, roots)) return false;
      if (guard.kind === 'TENSOR_MATCH') tensors[count++] = value;
    }
    return true;
  };
}

function accessor(step: SourceStep, from: string, constants: unknown[]): string {
  switch (step.kind) {
    case 'property':
      if (typeof step.key === 'string') return `${from}?.[${JSON.stringify(step.key)}]`;
      constants.push(step.key);
      return `${from}?.[c[${constants.length - 1}]]`;
    case 'getter':
      constants.push(readGetter, step.key);
      return `c[${constants.length - 2}](${from}, c[${constants.length - 1}])`;
    case 'index':
      return `${from}?.[${step.index}]`;
    case 'items':
      constants.push(itemsOf);
      return `c[${constants.length - 1}](${from})`;
    case 'type':
      constants.push(typeOf);
      return `c[${constants.length - 1}](${from}, ${step.depth})`;
    case 'map':
      constants.push(step.key);
      return `${from}?.get?.(c[${constants.length - 1}])`;
    case 'grad':
      return `(${from}?.autograd?.grad ?? null)`;
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
  private readonly symbols = new Map<symbol, number>();

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
      key += `|${step.kind}:${this.keyOf(step)}`;
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

  /** What tells a step from others of its kind. */
  private keyOf(step: SourceStep): string | number {
    if (step.kind === 'index' || step.kind === 'map') return step.index;
    if (step.kind === 'type') return step.depth;
    if (step.kind !== 'property' && step.kind !== 'getter') return '';
    if (typeof step.key === 'string') return step.key;
    let number = this.symbols.get(step.key);
    if (number === undefined) this.symbols.set(step.key, (number = this.symbols.size));
    return `symbol ${number}`;
  }
}

/** Objects of one layout are compared by one call. */
class LayoutCode {
  private readonly groups = new Map<
    Layout,
    { names: string[]; expected: (readonly unknown[])[]; guards: Guard[] }
  >();

  /** An object in the variable `name`; its guards are checked one by one where the layout does not fit. */
  add(
    { layout, expected }: Extract<InlineCheck, { kind: 'layout' }>,
    name: string,
    guards: readonly Guard[],
  ): void {
    let group = this.groups.get(layout);
    if (group === undefined)
      this.groups.set(layout, (group = { names: [], expected: [], guards: [] }));
    group.names.push(name);
    group.expected.push(expected);
    group.guards.push(...guards);
  }

  lines(constants: unknown[]): string[] {
    return [...this.groups].map(([layout, { names, expected, guards }]) => {
      constants.push(layout.fits, expected, oneByOne(guards));
      const at = constants.length;
      const fits = names.map((name, i) => `fits(${name}, all[${i}])`).join(' && ');
      return `{ const fits = c[${at - 3}], all = c[${at - 2}];
if (!((${fits}) || c[${at - 1}](roots))) return false; }`;
    });
  }
}

/** Guards per generated function: engines do not optimise very long ones. */
const GUARDS_PER_FUNCTION = 120;

/** @param within guards that hold where the layout of another one fits */
function generate(guards: readonly Guard[], within: ReadonlyMap<Guard, Guard[]>): GuardCheck {
  if (guards.length > GUARDS_PER_FUNCTION) return generateParts(guards, within);
  const code = new PathCode();
  let count = 0;
  const layouts = new LayoutCode();
  for (const guard of guards) {
    const name = code.variable(guard.root, guard.source.steps);
    if (guard.inline?.kind === 'layout') {
      layouts.add(guard.inline, name, [guard, ...(within.get(guard) ?? [])]);
      continue;
    }
    const other = guard.other && code.variable(guard.root, guard.other.steps);
    const test =
      other === undefined ? condition(guard, name, code.constants) : `${name} === ${other}`;
    code.lines.push(`if (!(${test})) return false;`);
    if (guard.kind === 'TENSOR_MATCH') code.lines.push(`tensors[at + ${count++}] = ${name};`);
  }
  code.lines.push(...layouts.lines(code.constants));
  const build = new Function(
    'c',
    `return (roots, tensors, at = 0) => {\n${code.lines.join('\n')}\nreturn true;\n};`,
  ) as (c: readonly unknown[]) => GuardCheck;
  return build(code.constants);
}

function generateParts(guards: readonly Guard[], within: ReadonlyMap<Guard, Guard[]>): GuardCheck {
  const parts: {
    check: (roots: readonly unknown[], tensors: unknown[], at: number) => boolean;
    at: number;
  }[] = [];
  let at = 0;
  for (let i = 0; i < guards.length; i += GUARDS_PER_FUNCTION) {
    const slice = guards.slice(i, i + GUARDS_PER_FUNCTION);
    parts.push({ check: generate(slice, within), at });
    at += slice.filter((guard) => guard.kind === 'TENSOR_MATCH').length;
  }
  return (roots, tensors) => {
    for (let i = 0; i < parts.length; i++)
      if (!parts[i]!.check(roots, tensors, parts[i]!.at)) return false;
    return true;
  };
}

/** The check of one guard as an expression: inline where it is a comparison. */
function condition(guard: Guard, name: string, constants: unknown[]): string {
  constants.push(guard);
  const general = `c[${constants.length - 1}].check(${name})`;
  const { inline } = guard;
  if (inline === undefined) return general;
  if (inline.kind === 'value') return literalTest(name, inline.value) ?? general;
  if (inline.kind === 'length')
    return `Array.isArray(${name}) && ${name}.length === ${inline.length}`;
  if (inline.kind === 'layout') return general;
  constants.push(inline.kind === 'type' ? inline.type : inline.spec);
  const constant = `c[${constants.length - 1}]`;
  if (inline.kind === 'type') return `${name}?.constructor === ${constant}`;
  // A tensor that passed this guard once carries it.
  return `(${name} != null && ${name}.guardSpec === ${constant} && ${name}.requiresGradFlag === ${inline.spec.requiresGrad}) || ${general}`;
}

function literalTest(name: string, value: unknown): string | null {
  if (value === null || value === undefined || typeof value === 'boolean')
    return `${name} === ${String(value)}`;
  if (typeof value === 'string') return `${name} === ${JSON.stringify(value)}`;
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  if (value === 0) return `Object.is(${name}, ${Object.is(value, -0) ? '-0' : '0'})`;
  return `${name} === ${String(value)}`;
}

/** Reads the values at several paths from one root, in order. */
export type Fetch = (root: unknown) => unknown[];

/** Compiles the reading of several paths. */
export function compileFetch(paths: readonly (readonly SourceStep[])[]): Fetch {
  if (!mayGenerate()) return (root) => paths.map((steps) => follow(root, steps));
  const code = new PathCode();
  const names = paths.map((steps) => code.variable(0, steps));
  const build = new Function(
    'c',
    `return (root) => {\nconst roots = [root];\n${code.lines.join('\n')}\nreturn [${names.join(', ')}];\n};`,
  ) as (c: readonly unknown[]) => Fetch;
  return build(code.constants);
}
