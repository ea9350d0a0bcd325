/**
 * @file The WGSL function library: collects the functions a kernel calls, with what they call.
 */
import { DIVISION } from './division.js';
import { EXPONENTIAL } from './exponential.js';
import type { HelperSource, HelperTable } from './helper-source.js';
import { HYPERBOLIC } from './hyperbolic.js';
import { LONG_INTEGERS } from '../long-integers.js';
import { PHILOX } from './philox.js';
import { SPECIAL_VALUES } from './special-values.js';
import { TRIGONOMETRIC } from './trigonometric.js';
import { typeName, type ScalarType, type Width } from '../wgsl-types.js';

const TABLE: HelperTable = {
  ...SPECIAL_VALUES,
  ...DIVISION,
  ...EXPONENTIAL,
  ...HYPERBOLIC,
  ...TRIGONOMETRIC,
  ...PHILOX,
  ...LONG_INTEGERS,
};

const GENERICS: Readonly<Record<string, ScalarType>> = { F: 'f32', I: 'i32', U: 'u32', B: 'bool' };

function wgslName(name: string, width: Width): string {
  return `${name}_${typeName(TABLE[name].type, width)}`;
}

/** The four-value form of a function written for one: calls it on each component. */
function vectorForm(name: string, source: HelperSource): string {
  const header = /^fn @\w+\(([^)]*)\) -> (\w+)/.exec(source.text) as RegExpExecArray;
  const parameters = header[1].split(', ').map((part) => part.split(': ') as [string, ScalarType]);
  const declared = parameters.map(([id, type]) => `${id}: ${typeName(type, 4)}`).join(', ');
  const calls = ['x', 'y', 'z', 'w'].map(
    (component) =>
      `${wgslName(name, 1)}(${parameters.map(([id]) => `${id}.${component}`).join(', ')})`,
  );
  const result = typeName(header[2] as ScalarType, 4);
  return `fn ${wgslName(name, 4)}(${declared}) -> ${result} {
  return ${result}(${calls.join(', ')});
}`;
}

/** Collects library functions for one kernel; each is emitted once, after those it calls. */
export class HelperLibrary {
  private readonly seen = new Set<string>();
  private readonly modules = new Set<string>();
  private readonly functions: string[] = [];

  /** Name of a function in the generated text; includes it and what it needs. */
  use(name: string, width: Width): string {
    const result = wgslName(name, width);
    if (this.seen.has(result)) return result;
    this.seen.add(result);
    const source = TABLE[name];
    if (source.module !== undefined) this.modules.add(source.module);
    if (source.lanewise === true && width === 4) {
      this.use(name, 1);
      this.functions.push(vectorForm(name, source));
      return result;
    }
    const text = source.text
      .replace(/@(\w+)/g, (_, callee: string) =>
        callee === name ? result : this.use(callee, width),
      )
      .replace(/\b[FIUB]\b/g, (letter) => typeName(GENERICS[letter], width));
    this.functions.push(text);
    return result;
  }

  /** Declarations and functions in use, in dependency order. */
  render(): string {
    return [...this.modules, ...this.functions].map((text) => `${text}\n\n`).join('');
  }
}
