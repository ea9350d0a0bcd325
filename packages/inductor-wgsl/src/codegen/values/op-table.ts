/**
 * @file The WGSL form of every scalar operation, for one value or for four.
 *
 * Operands arrive as texts of equal type and width. Functions of the shared table stand in wherever WGSL's
 * own operation is too inaccurate, or undefined, for PyTorch's semantics; see `scalar-eval.ts` of
 * `@tessera/inductor-core` for what each operation means.
 */
import { TesseraError } from '@tessera/shared';
import type { ScalarOp } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { LONG_OPS } from './long-integers.js';
import { computeType, typeName, type ScalarType, type Width } from './wgsl-types.js';

/** What an operation is applied to. */
export interface OpSite {
  readonly op: ScalarOp;
  /** Result type. */
  readonly dtype: DType;
  /** Types of the operands as they are computed; equal but for `where` and `cast`. */
  readonly types: readonly ScalarType[];
  readonly width: Width;
  /** Type of the first operand. */
  readonly from: DType;
  /** Name of a library function in this width; includes it. */
  helper(name: string): string;
}

type Emit = (args: readonly string[], site: OpSite) => string;

const infix =
  (symbol: string): Emit =>
  ([a, b]) =>
    `(${a} ${symbol} ${b})`;
const builtin =
  (name: string): Emit =>
  (args) =>
    `${name}(${args.join(', ')})`;
const library =
  (name: string): Emit =>
  (args, site) =>
    `${site.helper(name)}(${args.join(', ')})`;
const same: Emit = ([a]) => a;

const ZERO = /^(vec4f\()?(\(-)?0\.0\)*$/;

/** A product of floats. NaN and infinity times a literal zero are NaN, whatever compilers take them for. */
const product: Emit = ([a, b], site) => {
  const [value, factor] = ZERO.test(b) ? [a, b] : [b, a];
  if (!ZERO.test(factor)) return `(${a} * ${b})`;
  const result = `${site.helper('times_zero')}(${value})`;
  return factor.includes('-') ? `(-${result})` : result;
};

/** A quotient of floats; compilers take a literal zero divided by anything for zero, too, and a value by itself for 1. */
const quotient: Emit = ([a, b], site) => {
  if (ZERO.test(a)) return product([inverse([b], site), a], site);
  return a === b ? `${site.helper('by_itself')}(${a})` : `(${a} / ${b})`;
};
/** A difference of floats; compilers take a value less itself for 0. */
const difference: Emit = ([a, b], site) =>
  a === b ? `${site.helper('less_itself')}(${a})` : `(${a} - ${b})`;
const inverse: Emit = ([a], site) => `(${one(site)} / ${a})`;

const times = (a: string, b: string, site: OpSite): string =>
  emitOp({ ...site, op: 'mul' }, [a, b]);

/** Forms by operand type. */
type Forms = { readonly f32?: Emit; readonly i32?: Emit; readonly bool?: Emit };

const compare = (symbol: string): Forms => ({
  f32: infix(symbol),
  i32: infix(symbol),
  bool: ([a, b], { width }) =>
    `(${typeName('u32', width)}(${a}) ${symbol} ${typeName('u32', width)}(${b}))`,
});
const floating = (emit: Emit): Forms => ({ f32: emit });
const integral: Forms = { i32: same, bool: same };
const one = (site: OpSite): string => `${typeName('f32', site.width)}(1.0)`;

const FORMS: Readonly<Record<ScalarOp, Forms>> = {
  add: { f32: infix('+'), i32: infix('+'), bool: infix('|') },
  sub: { f32: difference, i32: infix('-'), bool: infix('!=') },
  mul: { f32: product, i32: infix('*'), bool: infix('&') },
  div: floating(quotient),
  floordiv: {
    f32: (args, site) => (ZERO.test(args[0]!) ? quotient : library('floordiv'))(args, site),
    i32: library('floordiv_int'),
  },
  truncdiv: { f32: (args, site) => `trunc(${quotient(args, site)})`, i32: library('truncdiv_int') },
  remainder: { f32: library('remainder'), i32: library('remainder_int') },
  fmod: { f32: library('fmod'), i32: library('fmod_int') },
  neg: { f32: ([a]) => `(-${a})`, i32: ([a]) => `(-${a})`, bool: same },
  abs: { f32: builtin('abs'), i32: builtin('abs'), bool: same },
  sign: { f32: library('sign'), i32: builtin('sign'), bool: same },
  reciprocal: floating(inverse),
  square: { f32: ([a]) => `(${a} * ${a})`, i32: ([a], site) => times(a, a, site), bool: same },
  maximum: { f32: library('max'), i32: builtin('max'), bool: infix('|') },
  minimum: { f32: library('min'), i32: builtin('min'), bool: infix('&') },
  fma: {
    f32: builtin('fma'),
    i32: ([a, b, c], site) => emitOp({ ...site, op: 'add' }, [times(a, b, site), c]),
    bool: ([a, b, c]) => `((${a} & ${b}) | ${c})`,
  },
  gcd: { i32: library('gcd_int') },
  copysign: floating(library('copysign')),
  nextafter: floating(library('nextafter')),
  floor: { f32: builtin('floor'), ...integral },
  ceil: { f32: builtin('ceil'), ...integral },
  round: { f32: builtin('round'), ...integral },
  trunc: { f32: builtin('trunc'), ...integral },
  sqrt: floating(builtin('sqrt')),
  rsqrt: floating(builtin('inverseSqrt')),
  exp: floating(library('exp')),
  exp2: floating(library('exp2')),
  expm1: floating(library('expm1')),
  log: floating(library('log')),
  log2: floating(library('log2')),
  log1p: floating(library('log1p')),
  pow: { f32: library('pow'), i32: library('pow_int') },
  sin: floating(library('sin')),
  cos: floating(library('cos')),
  tan: floating(library('tan')),
  asin: floating(library('asin')),
  acos: floating(library('acos')),
  atan: floating(library('atan')),
  atan2: floating(library('atan2')),
  sinh: floating(library('sinh')),
  cosh: floating(library('cosh')),
  tanh: floating(library('tanh')),
  sigmoid: floating(library('sigmoid')),
  erf: floating(library('erf')),
  eq: { f32: infix('=='), i32: infix('=='), bool: infix('==') },
  ne: { f32: library('differ'), i32: infix('!='), bool: infix('!=') },
  lt: compare('<'),
  within: {
    i32: ([a, b], { width }) =>
      `(${typeName('u32', width)}(${a}) < ${typeName('u32', width)}(${b}))`,
  },
  le: compare('<='),
  gt: compare('>'),
  ge: compare('>='),
  isnan: { f32: library('is_nan'), i32: never, bool: never },
  isinf: { f32: library('is_inf'), i32: never, bool: never },
  and: { i32: infix('&'), bool: infix('&') },
  or: { i32: infix('|'), bool: infix('|') },
  xor: { i32: infix('^'), bool: infix('!=') },
  not: { i32: ([a]) => `(~${a})`, bool: ([a]) => `(!${a})` },
  shl: { i32: library('shl_int') },
  shr: { i32: library('shr_int') },
  where: { f32: choose, i32: choose, bool: choose },
  cast: { f32: convert, i32: convert, bool: convert },
};

function never(_args: readonly string[], { width }: OpSite): string {
  return `${typeName('bool', width)}(false)`;
}

function choose([condition, a, b]: readonly string[]): string {
  return `select(${b}, ${a}, ${condition})`;
}

/** Wraps a computed value to the range or precision of `dtype`; texts of wide types pass unchanged. */
export function narrow(text: string, dtype: DType, site: Pick<OpSite, 'width' | 'helper'>): string {
  const splat = (value: string): string => `${typeName('u32', site.width)}(${value})`;
  switch (dtype) {
    case 'float16':
      return `${site.helper('round_f16')}(${text})`;
    case 'bfloat16':
      return `${site.helper('round_bf16')}(${text})`;
    case 'int16':
      return `((${text} << ${splat('16u')}) >> ${splat('16u')})`;
    case 'int8':
      return `((${text} << ${splat('24u')}) >> ${splat('24u')})`;
    case 'uint8':
      return `(${text} & ${typeName('i32', site.width)}(255))`;
    default:
      return text;
  }
}

function convert([a]: readonly string[], site: OpSite): string {
  const to = computeType(site.dtype);
  const from = site.types[0];
  if (to === 'bool') {
    if (from === 'bool') return a;
    if (from === 'f32') return `${site.helper('truth')}(${a})`;
    return `(${a} != ${typeName(from, site.width)}(0))`;
  }
  if (to === 'f32' && site.from === 'int64')
    return narrow(`${site.helper('long_to_float')}(${a})`, site.dtype, site);
  const text = from === to ? a : `${typeName(to, site.width)}(${a})`;
  return narrow(text, site.dtype, site);
}

/** Text of one operation. @throws kernel-missing when it has no meaning for the operand type */
export function emitOp(site: OpSite, args: readonly string[]): string {
  const operand = site.op === 'where' ? site.types[1] : site.types[0];
  const forms = FORMS[site.op];
  const emit = operand === 'f32' ? forms.f32 : operand === 'bool' ? forms.bool : forms.i32;
  if (emit === undefined) {
    throw new TesseraError(
      'kernel-missing',
      `'${site.op}' has no WGSL form for ${site.dtype} operands (computed as ${operand}).`,
      {
        context: { op: site.op, dtype: site.dtype },
        hints: ['Lowering should cast the operands first; please report this with the graph.'],
      },
    );
  }
  const long = site.dtype === 'int64' ? LONG_OPS[site.op] : undefined;
  return long === undefined ? emit(args, site) : library(long)(args, site);
}

/** Operations whose text names an operand more than once, so operands must be variables. */
export const REPEATS_OPERANDS: ReadonlySet<ScalarOp> = new Set<ScalarOp>(['square']);
