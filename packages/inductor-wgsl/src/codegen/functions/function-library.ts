/**
 * @file The functions that a kernel calls, with what they call: programs of `@tessera/inductor-core`'s table, and
 * those of this folder's neighbours that only WGSL needs.
 */
import {
  SCALAR_FUNCTIONS,
  functionProgram,
  spellProgram,
  type FunctionTable,
  type FunctionTarget,
} from '@tessera/inductor-core';
import { LONG_INTEGERS } from '../values/long-integers.js';
import { typeName, type ScalarType, type Width } from '../values/wgsl-types.js';
import { spellLanes, wgslDialect } from './wgsl-dialect.js';

/** Functions on bits that compilers may not fold away: WGSL has no NaN and no infinity. */
const CONSTANTS: Readonly<Record<string, string>> = { nan: '0x7fc00000u', inf: '0x7f800000u' };

/** Functions of floats that WGSL compilers may take for simpler ones. */
const FLOATS: Readonly<Record<string, string>> = {
  times_zero: `fn @times_zero(x: F) -> F {
  let bits = bitcast<U>(x);
  return bitcast<F>(select(bits & U(0x80000000u), U(0x7fc00000u), bits << U(1) >= U(0xff000000u)));
}`,
  less_itself: `fn @less_itself(x: F) -> F {
  return @times_zero(bitcast<F>(bitcast<U>(x) & U(0x7fffffffu)));
}`,
  by_itself: `fn @by_itself(x: F) -> F {
  let bits = bitcast<U>(x) << U(1);
  return bitcast<F>(select(U(0x3f800000u), U(0x7fc00000u), (bits == U(0u)) | (bits >= U(0xff000000u))));
}`,
};

/** WGSL compilers may assume that there is no NaN, and may rearrange sums. */
const WGSL: FunctionTarget = { ieee: false, functions: SCALAR_FUNCTIONS };

const GENERICS: Readonly<Record<string, ScalarType>> = { F: 'f32', I: 'i32', U: 'u32', B: 'bool' };

/** The name says what a function is for: `exp_f32` and `exp_vec4f`, `is_nan_f32`, `pow_int_i32`. */
function wgslName(name: string, width: Width, target: FunctionTarget): string {
  if (name in LONG_INTEGERS) return `${name}_${typeName('i32', width)}`;
  if (name in FLOATS) return `${name}_${typeName('f32', width)}`;
  const { params, result } = functionProgram(name, target);
  const type = result === 'f32' ? result : (params[0]?.type ?? result);
  return `${name}_${typeName(type as ScalarType, width)}`;
}

/** Collects library functions for one kernel; each is emitted once, after those it calls. */
export class FunctionLibrary {
  private readonly seen = new Set<string>();
  private readonly modules = new Set<string>();
  private readonly functions: string[] = [];
  private readonly target: FunctionTarget;

  /** With functions of a table that kernels do not call, `more`. */
  constructor(more?: FunctionTable) {
    this.target =
      more === undefined ? WGSL : { ...WGSL, functions: { ...SCALAR_FUNCTIONS, ...more } };
  }

  /** Name of a function in the generated text; includes it and what it needs. */
  use(name: string, width: Width): string {
    const result = wgslName(name, width, this.target);
    if (this.seen.has(result)) return result;
    this.seen.add(result);
    this.functions.push(this.text(name, result, width));
    return result;
  }

  private text(name: string, result: string, width: Width): string {
    const bits = CONSTANTS[name];
    if (bits !== undefined) {
      this.modules.add(`var<private> ${name}_bits: u32 = ${bits};`);
      const type = typeName('f32', width);
      return `fn ${result}() -> ${type} {\n  return ${type}(bitcast<f32>(${name}_bits));\n}`;
    }
    const own = LONG_INTEGERS[name] ?? FLOATS[name];
    if (own !== undefined)
      return own
        .replace(/@(\w+)/g, (_, callee: string) =>
          callee === name ? result : this.use(callee, width),
        )
        .replace(/\b[FIUB]\b/g, (letter) => typeName(GENERICS[letter], width));
    const program = functionProgram(name, this.target);
    return program.uniform || width === 1
      ? spellProgram(
          result,
          program,
          wgslDialect(width, (callee) => this.use(callee, width)),
        )
      : spellLanes(result, program, this.use(name, 1));
  }

  /** Declarations and functions in use, in dependency order. */
  render(): string {
    return [...this.modules, ...this.functions].map((text) => `${text}\n\n`).join('');
  }
}
