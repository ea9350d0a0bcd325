/**
 * @file Checks in vector code: a test per vector iteration, and a report and return where some lane fails.
 *
 * Only lanes that stand for points of the loops count: the others of a tail hold anything.
 */
import type { Expr } from '@tessera/inductor-core';
import { call, i32, i64, lane, memory, op } from '../emit/code.js';
import type { Code, Local, ResultType } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { convert } from './convert.js';
import { activeIn } from './places.js';
import type { Lanes } from './scope.js';
import type { Value } from './value.js';
import type { Reg, VectorBuilder } from './vector-builder.js';

/** Where a kernel reports, and which of its checks this is. */
export interface CheckSite {
  readonly f: WasmFunction<ResultType>;
  /** Byte offset of the report in the argument block. */
  readonly offset: number;
  readonly number: number;
}

/**
 * `report_check(report, number, bad, low, high)`: writes the value of a bad lane, then the check's number.
 * Not part of the kernel, so that the path that is always taken stays short.
 */
const REPORT = reportFunction();

function reportFunction(): WasmFunction {
  const f = new WasmFunction('report_check', {
    report: 'i32',
    number: 'i32',
    bad: 'v128',
    low: 'v128',
    high: 'v128',
  });
  const [report, number] = [f.param('report'), f.param('number')];
  const place = f.let('place', op('i32.add', report, op('i32.shl', number, i32(3))));
  for (let k = 0; k < 4; k++) {
    const half = f.param<'v128'>(k < 2 ? 'low' : 'high');
    f.if(lane('i32x4.extract_lane', k, f.param<'v128'>('bad')), () => {
      f.do(memory('i64.store', 0, place, lane('i64x2.extract_lane', k % 2, half)));
    });
  }
  f.do(memory('i32.store', 0, report, number));
  return f;
}

/** The condition of a check: lanes in which it holds, or a value that is equal in all lanes and the limit it lies below. */
export type Condition = { readonly ok: Value } | { readonly single: Value; readonly limit: number };

/** The condition of a check from its expression and the values of that one's operands. */
export function conditionOf(ok: Expr, valueOf: (expr: Expr) => Value | undefined): Condition {
  if (ok.kind === 'op' && ok.op === 'within') {
    const [value, limit] = ok.args;
    const single = valueOf(value);
    if (limit.kind === 'const' && single?.uniform === true) return { single, limit: limit.value };
  }
  return { ok: valueOf(ok)! };
}

/** Leaves the kernel with a report where the condition fails; emitted here. */
export function emitCheck(
  vb: VectorBuilder,
  site: CheckSite,
  lanes: Lanes | undefined,
  subject: Value,
  condition: Condition,
): void {
  const { f } = site;
  const leave = (send: (report: Local<'i32'>) => void) => (): void => {
    send(f.let('report', op('i32.add', f.param('args'), i32(site.offset))));
    f.return();
  };
  const wide = (): Value => convert(vb, subject, 'i64');
  const report = (at: Local<'i32'>, bad: Reg, low: Reg, high: Reg): void =>
    f.do(call(REPORT, at, i32(site.number + 1), bad, low, high));
  if ('single' in condition) {
    f.if(
      isAbove(condition.single, condition.limit),
      leave((at) => {
        const [value] = wide().regs;
        report(at, vb.i32(-1)[0], value, value);
      }),
    );
    return;
  }
  const { ok } = condition;
  const bad = ok.regs.map((reg, g): Reg => {
    const count = ok.uniform || lanes === undefined ? 4 : activeIn(lanes, g);
    const counted = [0, 1, 2, 3].map((k) => (k < count ? -1 : 0));
    const mask = count === 4 ? vb.i32(-1) : vb.i32(...counted);
    return vb.let(op('v128.andnot', mask[0], reg));
  });
  const any = bad.slice(1).reduce<Code<'v128'>>((all, reg) => op('v128.or', all, reg), bad[0]);
  f.if(
    op('v128.any_true', any),
    leave((at) => {
      const { regs, uniform } = wide();
      bad.forEach((reg, g) => {
        const [low, high] = uniform ? [regs[0], regs[0]] : [regs[2 * g], regs[2 * g + 1]];
        const send = (): void => report(at, reg, low, high);
        if (bad.length === 1) send();
        else f.if(op('v128.any_true', reg), send);
      });
    }),
  );
}

/** Whether a value that is equal in all lanes is negative or not below a limit, by one comparison of scalars. */
function isAbove({ kind, regs }: Value, limit: number): Code<'i32'> {
  const [value] = regs;
  return kind === 'i64'
    ? op('i64.ge_u', lane('i64x2.extract_lane', 0, value), i64(limit))
    : op('i32.ge_u', lane('i32x4.extract_lane', 0, value), i32(limit));
}
