/**
 * @file Expressions and statements of a kernel in a plan's JSON, read with checks.
 *
 * They are one list in which later ones refer to earlier ones, so they cannot form a circle and are read without
 * recursion; indices nest as lists do.
 */
import { type JsonField } from '@tessera/graph';
import { DTYPES, type DType } from '@tessera/tensor';
import { type ValueCheck } from '@tessera/tensor/internal';
import type { Expr, Stmt } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { castScalar, isFloat } from '../ir/scalar-eval.js';
import { SCALAR_ARITY } from '../ir/scalar-ops.js';
import { REDUCE_RESULTS } from '../ir/verify.js';

/** Names that the compiler gives to buffers of a kernel, and that code generators write as they are. */
export const PARAMETER: RegExp = /^(?:in|out|io)\d{1,6}$/;
/** Names that the compiler gives to loops. */
export const VARIABLE: RegExp = /^[a-z]\d{1,6}$/;
/** Names of kernels and of runtime scalars, which are those of operators and of the program's values. */
export const IDENTIFIER: RegExp = /^[A-Za-z_$][\w$]*$/;

/** Largest place and size in a plan: addresses have 32 bits. */
export const LARGEST: number = 2 ** 32;
/** Results of reductions are numbered from 0. */
const MOST_RESULTS = 2 ** 20;

/** An element type. */
export function readDtype(json: JsonField): DType {
  return json.keyOf(DTYPES);
}

/** What a value must satisfy; it is the text of an error, so its numbers need no proof. */
function readCheck(json: JsonField): ValueCheck {
  const rule = json.field('rule').oneOf(['index', 'class', 'divisor', 'probability']);
  const op = json.field('op').string(200);
  const [least, most] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  switch (rule) {
    case 'index': {
      const size = json.field('size').integer(0, most);
      return { rule, op, size, wraps: json.field('wraps').boolean() };
    }
    case 'class': {
      const classes = json.field('classes').integer(0, most);
      return { rule, op, classes, ignored: json.field('ignored').integer(least, most) };
    }
    case 'divisor':
      return { rule, op };
    case 'probability':
      return { rule, op, argument: json.field('argument').string(200) };
  }
}

/** See the file header. */
export class ExpressionReader {
  private readonly exprs: Expr[] = [];

  constructor(list: JsonField) {
    for (const item of list.items()) this.exprs.push(this.read(item));
  }

  /** An expression by its number. */
  ref(json: JsonField): Expr {
    return this.exprs[json.integer(0, this.exprs.length - 1)]!;
  }

  index(json: JsonField): IndexExpr {
    if (typeof json.value === 'number')
      return { kind: 'int', value: json.integer(-LARGEST, LARGEST) };
    if (typeof json.value === 'string') return { kind: 'sym', name: json.name(VARIABLE) };
    const [op, ...rest] = json.items();
    if (op === undefined) json.refuse('is an empty list');
    const kind = op.oneOf(['+', '*', '/', '%', '@']);
    const wanted = kind === '@' ? 1 : kind === '/' || kind === '%' ? 2 : null;
    if (wanted === null ? rest.length < 2 : rest.length !== wanted)
      json.refuse('has the wrong number of operands');
    if (kind === '@') {
      const value = this.ref(rest[0]!);
      if (isFloat(value.dtype) || value.dtype === 'bool') json.refuse('is no integer');
      return { kind: 'value', value };
    }
    const parts = rest.map((part) => this.index(part));
    const [num, den] = parts;
    if (kind === '+') return { kind: 'add', terms: parts };
    if (kind === '*') return { kind: 'mul', factors: parts };
    if (den.kind !== 'int' || den.value < 1) json.refuse('divides by no positive number');
    return { kind: kind === '/' ? 'div' : 'mod', num, den };
  }

  stmt(json: JsonField): Stmt {
    const value = this.ref(json.field('value'));
    if (json.field('kind').oneOf(['store', 'reduce']) === 'store')
      return {
        kind: 'store',
        buf: json.field('buf').name(PARAMETER),
        index: this.index(json.field('index')),
        value,
        ...(json.optional('combine') && { combine: json.field('combine').oneOf(['sum', 'max']) }),
      };
    return {
      kind: 'reduce',
      op: json.field('op').keyOf(REDUCE_RESULTS),
      ids: json
        .field('ids')
        .items(2)
        .map((id) => id.integer(0, MOST_RESULTS)),
      dtype: readDtype(json.field('dtype')),
      value,
      ...(json.optional('running')?.boolean() === true ? { running: true as const } : {}),
    };
  }

  private read(json: JsonField): Expr {
    const kinds = [
      'const',
      'load',
      'scalar',
      'index',
      'op',
      'acc',
      'masked',
      'check',
      'random',
    ] as const;
    const kind = json.field('kind').oneOf(kinds);
    const dtype = readDtype(json.field('dtype'));
    switch (kind) {
      case 'const':
        return { kind, dtype, value: this.constant(json.field('value'), dtype) };
      case 'load': {
        const buf = json.field('buf').name(PARAMETER);
        return { kind, dtype, buf, index: this.index(json.field('index')) };
      }
      case 'scalar':
        return { kind, dtype, name: json.field('name').name(IDENTIFIER) };
      case 'index':
        return { kind, dtype, index: this.index(json.field('index')) };
      case 'op': {
        const args = json.field('args').items(3);
        const op = json.field('op').keyOf(SCALAR_ARITY);
        return { kind, dtype, op, args: args.map((id) => this.ref(id)) };
      }
      case 'acc':
        return { kind, dtype, id: json.field('id').integer(0, MOST_RESULTS) };
      case 'masked': {
        const [mask, body] = [this.ref(json.field('mask')), this.ref(json.field('body'))];
        return { kind, dtype, mask, body, other: this.constant(json.field('other'), dtype) };
      }
      case 'check': {
        const [subject, ok] = [this.ref(json.field('subject')), this.ref(json.field('ok'))];
        const value = this.ref(json.field('value'));
        return { kind, dtype, check: readCheck(json.field('check')), subject, ok, value };
      }
      case 'random': {
        const distribution = json.field('distribution').oneOf(['uniform', 'normal']);
        const [seed, offset] = [this.ref(json.field('seed')), this.ref(json.field('offset'))];
        const index = this.index(json.field('index'));
        return { kind, dtype, distribution, seed, offset, index };
      }
    }
  }

  /** A number that the type can hold. */
  private constant(json: JsonField, dtype: DType): number {
    const value = json.number();
    if (isFloat(dtype)) return value;
    // Of int64 the nearest double of the largest value is allowed, which is one more.
    const fits =
      dtype === 'int64' ? Math.abs(value) <= 2 ** 63 : castScalar(value, dtype, dtype) === value;
    if (!Number.isInteger(value) || !fits) json.refuse(`is no ${dtype}`);
    return value;
  }
}
