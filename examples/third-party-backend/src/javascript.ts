/**
 * @file How JavaScript writes the operations of scalar programs, and the functions that a kernel calls.
 *
 * Every operation rounds as its type does: f32 by `Math.fround`, integers by wrapping; i64 are bigints.
 */
import * as core from '@tessera/inductor-core';

type ScalarExpr = core.ScalarExpr;
type Typed<K extends ScalarExpr['kind']> = Extract<ScalarExpr, { kind: K }>;

/** JavaScript has doubles and, in bigints, 64-bit integers. */
export const FUNCTIONS: core.FunctionTarget = {
  ieee: true,
  functions: {
    ...core.OPERATIONS,
    ...core.OPERATIONS_64,
    ...core.SCALAR_FUNCTIONS,
    ...core.SCALAR_FUNCTIONS_64,
  },
};

const words = new ArrayBuffer(8);

/** What generated code calls besides `Math`. */
export const LIBRARY: Readonly<Record<string, unknown>> = {
  /** The same bits as numbers of each type. */
  BITS: {
    f32: new Float32Array(words),
    u32: new Uint32Array(words),
    i32: new Int32Array(words),
    f64: new Float64Array(words),
    i64: new BigInt64Array(words),
  },
  /** Rounds half to even. */
  roundEven(x: number): number {
    const nearest = Math.round(x);
    const tie = Math.abs(x - Math.trunc(x)) === 0.5;
    return tie && nearest % 2 !== 0 ? nearest - 1 : x < 0 && nearest === 0 ? -0 : nearest;
  },
  /** Truncates, as far as an i32 goes. */
  toInt: (x: number): number => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.trunc(x))) | 0,
  /** Truncates to a bigint of 64 bits; where there is none, the least. */
  toLong: (x: number): bigint =>
    Number.isFinite(x) ? BigInt.asIntN(64, BigInt(Math.trunc(x))) : -(2n ** 63n),
  /** Ends a kernel because a value is not as it must be. */
  fail(check: Parameters<typeof core.valueError>[0], subject: number): never {
    throw core.valueError(check, subject);
  },
};

/** The text of a number brought into a type. */
function rounded(type: string, text: string): string {
  if (type === 'f32') return `Math.fround(${text})`;
  if (type === 'i32') return `(${text} | 0)`;
  if (type === 'u32') return `(${text} >>> 0)`;
  return type === 'i64' ? `BigInt.asIntN(64, ${text})` : text;
}

type Builtins = Readonly<Record<string, (a: string, b: string, c: string) => string>>;

/** What `Math` does not have under the same name. */
const BUILTINS: Builtins = {
  any: (a) => a,
  clamp: (a, low, high) => `Math.min(Math.max(${a}, ${low}), ${high})`,
  countLeadingZeros: (a) => `Math.clz32(${a})`,
  pair: (a, b) => `{ x: ${a}, y: ${b} }`,
  round: (a) => `roundEven(${a})`,
  select: (a, b, condition) => `(${condition} ? ${b} : ${a})`,
};

/** What `Math` does not do for bigints. */
const LONG_BUILTINS: Builtins = {
  abs: (a) => `BigInt.asIntN(64, ${a} < 0n ? -${a} : ${a})`,
  max: (a, b) => `(${a} > ${b} ? ${a} : ${b})`,
  min: (a, b) => `(${a} < ${b} ? ${a} : ${b})`,
};

/** See the file header. */
export class JavaScript implements core.Dialect {
  /** Texts of the functions in use. */
  readonly functions: Map<string, string> = new Map();

  spell(expr: ScalarExpr): string {
    return core.spellExpr(expr, this);
  }

  callee(name: string): string {
    if (!this.functions.has(name)) {
      const program = core.functionProgram(name, FUNCTIONS);
      this.functions.set(name, core.spellProgram(`f_${name}`, program, this));
    }
    return `f_${name}`;
  }

  header(name: string, { params }: core.ScalarProgram): string {
    return `function ${name}(${params.map((param) => param.name).join(', ')})`;
  }

  define(kind: 'let' | 'var', name: string): string {
    return `${kind === 'let' ? 'const' : 'let'} ${name}`;
  }

  array(name: string, items: readonly number[]): string {
    return `const ${name} = [${items.join(', ')}]`;
  }

  number({ type, value, text }: Typed<'number'>): string {
    if (type === 'i64') return `${BigInt(text)}n`;
    if (type === 'bool') return String(value !== 0);
    if (Object.is(value, -0)) return '-0';
    return String(type === 'f32' ? Math.fround(value) : value);
  }

  operator(expr: Typed<'unary' | 'binary'>, operands: readonly string[]): string | null {
    const { op, type } = expr;
    const [a, b] = operands as [string, string];
    const isFloat = type === 'f32' || type === 'f64';
    if (expr.kind === 'unary') return isFloat || op === '!' ? null : rounded(type, `${op}${a}`);
    if (op === '==' || op === '!=') return `(${a} ${op}= ${b})`;
    if (type === 'bool') return op === '&' || op === '|' ? `(${a} ${op}${op} ${b})` : null;
    if (type === 'f64') return null;
    if (op === '*' && (type === 'i32' || type === 'u32'))
      return rounded(type, `Math.imul(${a}, ${b})`);
    const count = (op === '<<' || op === '>>') && type === 'i64' ? `BigInt(${b})` : b;
    return rounded(type, `${a} ${op === '>>' && type === 'u32' ? '>>>' : op} ${count}`);
  }

  builtin({ name, type }: Typed<'builtin'>, args: readonly string[]): string {
    const own = (type === 'i64' ? LONG_BUILTINS[name] : undefined) ?? BUILTINS[name];
    if (own !== undefined) return own(...(args as [string, string, string]));
    const text = `Math.${name}(${args.join(', ')})`;
    return type === 'f32' && name !== 'sqrt' ? text : rounded(type, text);
  }

  convert({ type, arg }: Typed<'convert'>, text: string): string {
    const isFloat = arg.type === 'f32' || arg.type === 'f64';
    if (type === 'f32' || type === 'f64') return rounded(type, isFloat ? text : `Number(${text})`);
    if (type === 'i64') return isFloat ? `toLong(${text})` : `BigInt(${text})`;
    if (arg.type === 'i64') return rounded(type, `Number(BigInt.asIntN(32, ${text}))`);
    return type === 'i32' && isFloat ? `toInt(${text})` : rounded(type, text);
  }

  bitcast({ type, arg }: Typed<'bitcast'>, text: string): string {
    return `(BITS.${arg.type}[0] = ${text}, BITS.${type}[0])`;
  }
}
