/**
 * @file The reductions: running state, how a value joins it, how two states merge.
 *
 * State lives in numeric variables (bool as u32), one value or four to a variable. Merging is what
 * combines lanes, subgroups and workgroups, so it must not care which part saw no values at all.
 */
import type { ReduceOp } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { literal } from './literals.js';
import { LONG_SUM } from './long-integers.js';
import { computeType, typeName, type ScalarType, type Width } from './wgsl-types.js';

/** One reduction in one kernel. */
export interface ReduceSite {
  readonly op: ReduceOp;
  /** Type of the values that are reduced. */
  readonly dtype: DType;
  readonly width: Width;
  helper(name: string): string;
  /** A new identifier. */
  fresh(): string;
}

/** Type of a state variable. */
export type StateType = 'f32' | 'i32' | 'u32';

/** A variable of the state with its initial value (a scalar's text). */
export interface StateVariable {
  readonly name: string;
  readonly type: StateType;
  readonly initial: string;
}

/** How one reduction is done. */
export interface ReduceForm {
  variables(site: ReduceSite): readonly StateVariable[];
  /** Statements that add value `x`, found at position `at`. */
  update(s: readonly string[], x: string, at: string, site: ReduceSite): readonly string[];
  /** Statements that merge state `b` into `a`. */
  merge(a: readonly string[], b: readonly string[], site: ReduceSite): readonly string[];
  /** Final values, as texts with their types. */
  results(
    s: readonly string[],
    site: ReduceSite,
  ): readonly { readonly text: string; readonly type: ScalarType }[];
}

function special(site: ReduceSite, name: string): string {
  return literal(
    name === 'lowest' ? -Infinity : Infinity,
    'f32',
    (helper) => `${site.helper(helper)}()`,
  );
}

/** Smallest or largest value of a dtype; for int64 of the 32 bits it has on the device. */
function bound(site: ReduceSite, which: 'lowest' | 'highest'): string {
  const { dtype } = site;
  const type = computeType(dtype);
  if (type === 'f32') return special(site, which);
  if (type === 'bool') return which === 'lowest' ? '0u' : '1u';
  const bits = dtype === 'int8' ? 7 : dtype === 'int16' ? 15 : 31;
  if (dtype === 'uint8') return which === 'lowest' ? '0' : '255';
  return literal(which === 'lowest' ? -(2 ** bits) : 2 ** bits - 1, 'i32', () => '');
}

function stateType(dtype: DType): StateType {
  const type = computeType(dtype);
  return type === 'bool' ? 'u32' : type;
}

const of = (type: ScalarType, site: ReduceSite): string => typeName(type, site.width);

/** A reduction whose state is one value and whose merge is the operation itself. */
function simple(
  initial: (site: ReduceSite) => string,
  combine: (a: string, b: string, site: ReduceSite) => string,
): ReduceForm {
  return {
    variables: (site) => [{ name: site.op, type: stateType(site.dtype), initial: initial(site) }],
    update: ([s], x, _at, site) => [`${s} = ${combine(s, x, site)};`],
    merge: ([a], [b], site) => [`${a} = ${combine(a, b, site)};`],
    results: ([s], site) => [{ text: s, type: stateType(site.dtype) }],
  };
}

/** `any` and `all`: values are tested for not being zero. */
function logical(initial: '0u' | '1u', symbol: '|' | '&'): ReduceForm {
  return {
    variables: (site) => [{ name: site.op, type: 'u32', initial }],
    update: ([s], x, _at, site) => {
      const type = computeType(site.dtype);
      const truth =
        type === 'bool'
          ? x
          : type === 'f32'
            ? `${site.helper('truth')}(${x})`
            : `${x} != ${of(type, site)}(0)`;
      return [
        `${s} = ${s} ${symbol} select(${of('u32', site)}(0u), ${of('u32', site)}(1u), ${truth});`,
      ];
    },
    merge: ([a], [b]) => [`${a} = ${a} ${symbol} ${b};`],
    results: ([s], site) => {
      const type = computeType(site.dtype);
      if (type === 'bool') return [{ text: `(${s} != ${of('u32', site)}(0u))`, type }];
      return [{ text: `${of(type, site)}(${s})`, type }];
    },
  };
}

/** `argmax` and `argmin`: NaN beats everything, the first of equals wins. */
function extremePosition(symbol: '>' | '<', initial: 'lowest' | 'highest'): ReduceForm {
  const merge = (a: readonly string[], b: readonly string[], site: ReduceSite): string[] => {
    const isFloat = stateType(site.dtype) === 'f32';
    const take = site.fresh();
    const earlier = `(${b[1]} < ${a[1]})`;
    const test = isFloat
      ? `${site.helper('is_nan')}(${b[0]}) & ((!${site.helper('is_nan')}(${a[0]})) | ${earlier})`
      : `(${b[0]} == ${a[0]}) & ${earlier}`;
    const ordinary = isFloat
      ? `(!${site.helper('is_nan')}(${a[0]})) & ((${b[0]} ${symbol} ${a[0]}) | ((${b[0]} == ${a[0]}) & ${earlier}))`
      : `(${b[0]} ${symbol} ${a[0]})`;
    return [
      `let ${take} = (${test}) | (${ordinary});`,
      `${a[0]} = select(${a[0]}, ${b[0]}, ${take});`,
      `${a[1]} = select(${a[1]}, ${b[1]}, ${take});`,
    ];
  };
  return {
    variables: (site) => [
      { name: 'best', type: stateType(site.dtype), initial: bound(site, initial) },
      { name: 'at', type: 'u32', initial: '0xffffffffu' },
    ],
    update: (s, x, at, site) => merge(s, [x, at], site),
    merge,
    results: (s, site) => [{ text: `${of('i32', site)}(${s[1]})`, type: 'i32' }],
  };
}

/** @see Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983 */
const WELFORD: ReduceForm = {
  variables: () => [
    { name: 'mean', type: 'f32', initial: '0.0' },
    { name: 'm2_', type: 'f32', initial: '0.0' },
    { name: 'count', type: 'f32', initial: '0.0' },
  ],
  update: ([mean, m2, count], x, _at, site) => {
    const delta = site.fresh();
    return [
      `${count} = ${count} + ${of('f32', site)}(1.0);`,
      `let ${delta} = ${x} - ${mean};`,
      `${mean} = ${mean} + ${delta} / ${count};`,
      `${m2} = ${m2} + ${delta} * (${x} - ${mean});`,
    ];
  },
  merge: (a, b, site) => {
    const [delta, total, share] = [site.fresh(), site.fresh(), site.fresh()];
    return [
      `let ${delta} = ${b[0]} - ${a[0]};`,
      `let ${total} = ${a[2]} + ${b[2]};`,
      `let ${share} = ${b[2]} / max(${total}, ${of('f32', site)}(1.0));`,
      `${a[0]} = ${a[0]} + ${delta} * ${share};`,
      `${a[1]} = ${a[1]} + ${b[1]} + ${delta} * ${delta} * ${a[2]} * ${share};`,
      `${a[2]} = ${total};`,
    ];
  },
  results: ([mean, m2]) => [
    { text: mean, type: 'f32' },
    { text: m2, type: 'f32' },
  ],
};

/** @see Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018 */
const ONLINE_SOFTMAX: ReduceForm = {
  variables: (site) => [
    { name: 'top', type: 'f32', initial: special(site, 'lowest') },
    { name: 'sum', type: 'f32', initial: '0.0' },
  ],
  // One exponential per value. Equal values give exactly one: a difference of infinities would be NaN.
  update: ([top, sum], x, _at, site) => {
    const e = site.fresh();
    return [
      `let ${e} = select(${site.helper('exp')}(-abs(${x} - ${top})), ${of('f32', site)}(1.0), ${x} == ${top});`,
      `${sum} = select(${sum} + ${e}, ${sum} * ${e} + ${of('f32', site)}(1.0), ${x} > ${top});`,
      `${top} = ${site.helper('max')}(${top}, ${x});`,
    ];
  },
  merge: (a, b, site) => {
    const e = site.fresh();
    return [
      `let ${e} = select(${site.helper('exp')}(-abs(${a[0]} - ${b[0]})), ${of('f32', site)}(1.0), ${a[0]} == ${b[0]});`,
      `${a[1]} = select(${a[1]} * ${e} + ${b[1]}, ${a[1]} + ${b[1]} * ${e}, ${a[0]} > ${b[0]});`,
      `${a[0]} = ${site.helper('max')}(${a[0]}, ${b[0]});`,
    ];
  },
  // exp(x - m) is NaN for x = m infinite, and with it the sum.
  results: ([top, sum], site) => [
    { text: top, type: 'f32' },
    {
      text: `select(${sum}, ${site.helper('nan')}(), ${site.helper('is_inf')}(${top}) | ${site.helper('is_nan')}(${top}))`,
      type: 'f32',
    },
  ],
};

const ANY = logical('0u', '|');
const ALL = logical('1u', '&');

const FORMS: Readonly<Record<ReduceOp, ReduceForm>> = {
  sum: simple(
    (site) => (computeType(site.dtype) === 'f32' ? '0.0' : '0'),
    (a, b) => `${a} + ${b}`,
  ),
  prod: simple(
    (site) => (computeType(site.dtype) === 'f32' ? '1.0' : '1'),
    (a, b) => `${a} * ${b}`,
  ),
  max: simple(
    (site) => bound(site, 'lowest'),
    (a, b, site) => `${computeType(site.dtype) === 'f32' ? site.helper('max') : 'max'}(${a}, ${b})`,
  ),
  min: simple(
    (site) => bound(site, 'highest'),
    (a, b, site) => `${computeType(site.dtype) === 'f32' ? site.helper('min') : 'min'}(${a}, ${b})`,
  ),
  any: ANY,
  all: ALL,
  argmax: extremePosition('>', 'lowest'),
  argmin: extremePosition('<', 'highest'),
  welford: WELFORD,
  online_softmax: ONLINE_SOFTMAX,
};

/** Addition and the larger of bools is `or`, product and the smaller `and`. */
const BOOL_FORMS: Partial<Record<ReduceOp, ReduceForm>> = {
  sum: ANY,
  max: ANY,
  prod: ALL,
  min: ALL,
};

/** int64 has 32 bits on the device, which sums and products may leave. */
const LONG_FORMS: Partial<Record<ReduceOp, ReduceForm>> = {
  sum: LONG_SUM,
  prod: simple(
    () => '1',
    (a, b, site) => `${site.helper('mul_long')}(${a}, ${b})`,
  ),
};

/** How a reduction is done. */
export function reduceForm(site: ReduceSite): ReduceForm {
  const special =
    site.dtype === 'bool' ? BOOL_FORMS : site.dtype === 'int64' ? LONG_FORMS : undefined;
  return special?.[site.op] ?? FORMS[site.op];
}

/** Types of the state variables of a reduction. */
export function stateTypes(op: ReduceOp, dtype: DType): StateType[] {
  const site: ReduceSite = { op, dtype, width: 1, helper: () => '', fresh: () => '' };
  return reduceForm(site)
    .variables(site)
    .map((variable) => variable.type);
}
