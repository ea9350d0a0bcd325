/**
 * @file Kernels as readable text, for logs, golden tests and the explorer.
 *
 * One line per distinct operation, numbered within its stage; indices print like source code. The text
 * is deterministic and complete: two kernels with the same text do the same.
 */
import { shortDtype } from '@tessera/graph';
import { type Size, SymInt, printSize } from '@tessera/shared';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { Combine, Expr, ScalarOp, Stmt } from './expr.js';
import type { IndexExpr, SizedLoop } from './index-expr.js';
import type {
  AttentionKernel,
  RecurrenceKernel,
  ExternArg,
  ExternKernel,
  FusedKernel,
  LoopKernel,
  MatmulKernel,
} from './kernel.js';
import { postorder, stmtRoots } from './walk.js';

const INFIX: Partial<Record<ScalarOp, string>> = {
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  eq: '==',
  ne: '!=',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
  and: '&',
  or: '|',
  xor: '^',
  shl: '<<',
  shr: '>>',
};

function number(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** How a language writes floor division and remainder of operands that are not negative. */
export interface IndexDivision {
  readonly div: (num: string, den: string) => string;
  readonly mod: (num: string, den: string) => string;
}

const IN_WORDS: IndexDivision = {
  div: (num, den) => `${num} div ${den}`,
  mod: (num, den) => `${num} mod ${den}`,
};

function isSum(e: IndexExpr): boolean {
  return e.kind === 'size' && e.size.kind === 'sum';
}

/** An index as source text of a language like C; `name` prints run-time values. */
export function printIndex(
  index: IndexExpr,
  name: (value: Expr) => string = () => '?',
  division: IndexDivision = IN_WORDS,
): string {
  const print = (e: IndexExpr): string => printIndex(e, name, division);
  const factor = (e: IndexExpr): string =>
    e.kind === 'add' || e.kind === 'div' || e.kind === 'mod' || isSum(e)
      ? `(${print(e)})`
      : print(e);
  const divisor = (e: IndexExpr): string =>
    e.kind === 'mul' || e.kind === 'size' ? `(${print(e)})` : factor(e);
  switch (index.kind) {
    case 'int':
      return String(index.value);
    case 'size':
      return printSize(index.size);
    case 'sym':
      return index.name;
    case 'add':
      return index.terms.map(print).join(' + ').replaceAll('+ -', '- ');
    case 'mul':
      return index.factors.map(factor).join('*');
    case 'div':
    case 'mod':
      return division[index.kind](factor(index.num), divisor(index.den));
    case 'value':
      return name(index.value);
  }
}

/** `gather index < 8`, `index -8 <= index < 8`, `nll_loss class < 10 or -100`, `remainder divisor`, `binary_cross_entropy input`. */
function printCheck(check: ValueCheck<Size>): string {
  switch (check.rule) {
    case 'index':
      return `${check.op} ${check.wraps ? `-${String(check.size)} <= ` : ''}index < ${String(check.size)}:`;
    case 'class':
      return `${check.op} class < ${String(check.classes)} or ${check.ignored}:`;
    case 'divisor':
      return `${check.op} divisor`;
    case 'probability':
      return `${check.op} ${check.argument}`;
  }
}

/** Prints expressions as numbered lines; each distinct expression once per printer. */
export class ExprPrinter {
  readonly lines: string[] = [];
  private readonly names = new Map<Expr, string>();

  constructor(private readonly indent: string) {}

  /** Emits what `roots` need and returns their names. */
  emit(roots: readonly Expr[]): string[] {
    for (const expr of postorder(roots, (each) => this.names.has(each))) this.define(expr);
    return roots.map((root) => this.name(root));
  }

  readonly name = (expr: Expr): string => this.names.get(expr) ?? '?';

  line(text: string): void {
    this.lines.push(this.indent + text);
  }

  /** Emits a value by what is said of it, instead of what it is computed from. */
  given(expr: Expr, text: string): void {
    const name = `t${this.lines.length}`;
    this.names.set(expr, name);
    this.line(`${name}: ${shortDtype(expr.dtype)} = ${text}`);
  }

  private define(expr: Expr): void {
    const atom = this.atom(expr);
    if (atom !== null) this.names.set(expr, atom);
    else this.given(expr, this.text(expr));
  }

  private atom(expr: Expr): string | null {
    if (expr.kind === 'const')
      return expr.dtype === 'bool' ? String(expr.value !== 0) : number(expr.value);
    if (expr.kind === 'scalar') return expr.name;
    if (expr.kind === 'acc') return `acc${expr.id}`;
    return null;
  }

  private text(expr: Expr): string {
    switch (expr.kind) {
      case 'load':
        return `${expr.buf}[${printIndex(expr.index, this.name)}]`;
      case 'index':
        return `index(${printIndex(expr.index, this.name)})`;
      case 'masked':
        return `${this.name(expr.body)} if ${this.name(expr.mask)} else ${number(expr.other)}`;
      case 'check':
        return `${this.name(expr.value)} checked ${this.name(expr.ok)} (${printCheck(expr.check)} ${this.name(expr.subject)})`;
      case 'random':
        return `random_${expr.distribution}(${this.name(expr.seed)}, ${this.name(expr.offset)}, ${printIndex(expr.index, this.name)})`;
      case 'op': {
        const args = expr.args.map((arg) => this.name(arg));
        const infix = INFIX[expr.op];
        if (infix !== undefined) return `${args[0]} ${infix} ${args[1]}`;
        if (expr.op === 'cast') return `${shortDtype(expr.dtype)}(${args[0]})`;
        return `${expr.op}(${args.join(', ')})`;
      }
      default:
        return this.name(expr);
    }
  }
}

const SYMBOL = { put: '=', sum: '+=', max: 'max=' } as const;

/** What a store does with what lies there. */
export function storeSymbol(combine: Combine | undefined): string {
  return SYMBOL[combine ?? 'put'];
}

function printBody(body: readonly Stmt[], indent: string): string[] {
  const printer = new ExprPrinter(indent);
  for (const stmt of body) {
    printer.emit(stmtRoots(stmt));
    if (stmt.kind === 'store')
      printer.line(
        `${stmt.buf}[${printIndex(stmt.index, printer.name)}] ${storeSymbol(stmt.combine)} ${printer.name(stmt.value)}`,
      );
    else
      printer.line(
        `${stmt.ids.map((id) => `acc${id}`).join(', ')}: ${shortDtype(stmt.dtype)} = ${stmt.running === true ? 'running_' : ''}${stmt.op}(${printer.name(stmt.value)})`,
      );
  }
  return printer.lines;
}

function printVars(vars: readonly SizedLoop[]): string {
  return `[${vars.map((v) => `${v.name}:${String(v.size)}`).join(', ')}]`;
}

function printLoop(kernel: LoopKernel<Size>): string[] {
  const lines = [
    `  for ${printVars(kernel.outer)}${kernel.inner.length > 0 ? ` inner ${printVars(kernel.inner)}` : ''}`,
  ];
  for (const stage of kernel.stages)
    lines.push(`  ${stage.kind}:`, ...printBody(stage.body, '    '));
  return lines;
}

function printMatmul(kernel: MatmulKernel<Size>): string[] {
  const lines = [
    `  batch ${printVars(kernel.batch)} m ${printVars(kernel.m)} n ${printVars(kernel.n)} k ${printVars(kernel.k)} acc ${shortDtype(kernel.accDtype)}`,
  ];
  lines.push(...printFactor('a', kernel.a), ...printFactor('b', kernel.b));
  return [...lines, '  epilogue:', ...printBody(kernel.epilogue, '    ')];
}

function printFactor(label: string, factor: Expr): string[] {
  const printer = new ExprPrinter('    ');
  const [name] = printer.emit([factor]);
  printer.line(`${label} = ${name}`);
  return [`  ${label}:`, ...printer.lines];
}

function printAttention(kernel: AttentionKernel<Size>): string[] {
  const { batch, m, j, k, n, softmax, triangle, accDtype } = kernel;
  const head = [
    `  batch ${printVars(batch)} m ${printVars(m)} j ${printVars(j)} k ${printVars(k)} n ${printVars(n)} acc ${shortDtype(accDtype)}`,
    ...(triangle === 'none' ? '' : [` ${triangle} triangle`]),
    ...(softmax ? [' softmax'] : ''),
  ].join('');
  return [
    head,
    ...kernel.scores.flatMap(({ a, b }, p) => [
      ...printFactor(`a${p}`, a),
      ...printFactor(`b${p}`, b),
    ]),
    ...kernel.weights.flatMap((weight, q) => printFactor(`weight${q}`, weight)),
    ...kernel.values.flatMap((value, q) => printFactor(`value${q}`, value)),
    ...kernel.columnSums.flatMap(({ weight, value }, c) =>
      printFactor(`sum${c} of weight${weight}`, value),
    ),
    '  epilogue:',
    ...printBody(kernel.epilogue, '    '),
    ...Object.entries({
      rows: kernel.rowStores,
      columns: kernel.columnStores,
      weights: kernel.weightStores,
    }).flatMap(([of, stores]) =>
      stores.length === 0 ? [] : [`  ${of}:`, ...printBody(stores, '    ')],
    ),
  ];
}

function printRecurrence(kernel: RecurrenceKernel<Size>): string[] {
  const { batch, step, n, k, accDtype } = kernel;
  const terms = kernel.products.flatMap((list, p) =>
    list.flatMap(({ vector, weight }) => printFactor(`product${p} of vector${vector}`, weight)),
  );
  return [
    `  batch ${printVars(batch)} step ${printVars(step)} n ${printVars(n)} k ${printVars(k)} acc ${shortDtype(accDtype)}`,
    ...kernel.states.flatMap(({ initial }, s) => printFactor(`initial${s}`, initial)),
    ...kernel.vectors.flatMap((vector, m) => printFactor(`vector${m}`, vector)),
    ...terms,
    ...kernel.states.flatMap(({ next }, s) => printFactor(`next${s}`, next)),
    '  each step:',
    ...printBody(kernel.stores, '    '),
    ...(kernel.lastStores.length === 0 ? [] : ['  last:', ...printBody(kernel.lastStores, '    ')]),
  ];
}

function printCall(kernel: ExternKernel<Size>): string[] {
  const list = (args: readonly ExternArg<Size>[]): string => args.map(printExternArg).join(', ');
  return [`  ${kernel.op}(${list(kernel.args)}) -> ${list(kernel.outputs)}`];
}

function printLines(kernel: FusedKernel<Size>): string[] {
  switch (kernel.kind) {
    case 'loop':
      return printLoop(kernel);
    case 'matmul':
      return printMatmul(kernel);
    case 'attention':
      return printAttention(kernel);
    case 'recurrence':
      return printRecurrence(kernel);
    case 'extern':
      return printCall(kernel);
  }
}

function printExternArg(arg: ExternArg<Size>): string {
  switch (arg.kind) {
    case 'buffer':
      return `${arg.name}{sizes [${arg.sizes.join(', ')}], strides [${arg.strides.join(', ')}], offset ${arg.offset}}`;
    case 'list':
      return `[${arg.items.map(printExternArg).join(', ')}]`;
    case 'scalar':
      return arg.name;
    case 'value':
      return printExternValue(arg.value);
  }
}

function printExternValue(value: Extract<ExternArg<Size>, { kind: 'value' }>['value']): string {
  if (Array.isArray(value)) return `[${value.map(printExternValue).join()}]`;
  return value instanceof SymInt ? String(value) : JSON.stringify(value);
}

/** The text of one kernel. */
export function printKernel(kernel: FusedKernel<Size>): string {
  const params = [
    ...kernel.params.map(
      (p) => `${p.access === 'read' ? '' : `${p.access} `}${p.name}: ${shortDtype(p.dtype)}`,
    ),
    ...kernel.scalars.map((s) => `scalar ${s.name}: ${shortDtype(s.dtype)}`),
  ];
  const head = `${kernel.kind} ${kernel.name}(${params.join(', ')})`;
  return [head, ...printLines(kernel)].join('\n');
}
