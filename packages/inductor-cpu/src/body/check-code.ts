/**
 * @file Checks in vector code: a test per vector iteration, and a report and return where some lane fails.
 *
 * Only lanes that stand for points of the loops count: the others of a tail hold anything.
 */
import { call, i32, lane, memory, op } from '../emit/code.js';
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

/** Leaves the kernel with a report if `ok` is false in some lane; emitted here. */
export function emitCheck(
  vb: VectorBuilder,
  site: CheckSite,
  lanes: Lanes | undefined,
  subject: Value,
  ok: Value,
): void {
  const { f } = site;
  const bad = ok.regs.map((reg, g): Reg => {
    const count = ok.uniform || lanes === undefined ? 4 : activeIn(lanes, g);
    const counted = [0, 1, 2, 3].map((k) => (k < count ? -1 : 0));
    const mask = count === 4 ? vb.i32(-1) : vb.i32(...counted);
    return vb.let(op('v128.andnot', mask[0] as Reg, reg));
  });
  const any = bad
    .slice(1)
    .reduce<Code<'v128'>>((all, reg) => op('v128.or', all, reg), bad[0] as Reg);
  f.if(op('v128.any_true', any), () => {
    const wide = convert(vb, subject, 'i64');
    const report = f.let('report', op('i32.add', f.param('args'), i32(site.offset)));
    bad.forEach((reg, g) => {
      const [low, high] = wide.uniform
        ? [wide.regs[0], wide.regs[0]]
        : [wide.regs[2 * g], wide.regs[2 * g + 1]];
      const send = (): void =>
        f.do(
          call(
            REPORT,
            report,
            i32(site.number + 1),
            reg,
            low as Local<'v128'>,
            high as Local<'v128'>,
          ),
        );
      if (bad.length === 1) send();
      else f.if(op('v128.any_true', reg), send);
    });
    f.return();
  });
}
