/**
 * @file The parallel loop, in WebAssembly: publish a job, share its items, wait for the last.
 *
 * Every thread has a home range of items. It takes half of what is left of its range at a time (guided
 * self-scheduling), then takes from the ranges of others; so threads mostly touch the same data in
 * every kernel, and a thread that the operating system has paused holds up only the items it is
 * working on. A worker that has not loaded the plan yet simply does not take part.
 * See `control-block.ts` for the protocol.
 */
import { call, global, i32, i64, memory, op } from '../emit/code.js';
import type { Code, Global, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { KEPT } from '../wasm-kernel.js';
import { CONTROL, THREAD_STRIDE } from './control-block.js';

/** Address of the control block. */
export const CONTROL_BASE: Global<'i32'> = global('runtime.control', i32(0));
/** Number of the thread that this instance belongs to. */
export const THREAD: Global<'i32'> = global('runtime.thread', i32(0));
/** Number of the plan that this instance runs. */
export const PLAN: Global<'i32'> = global('runtime.plan', i32(0));

/** Polls before `help` returns to the worker's program, which measures time: a few microseconds. */
const SPINS = 4000;

function readWord(offset: number): Code<'i32'> {
  return memory('i32.atomic.load', offset, CONTROL_BASE);
}

function writeWord(f: WasmFunction, offset: number, value: Code<'i32'>): void {
  f.do(memory('i32.atomic.store', offset, CONTROL_BASE, value));
}

/** Items per home range. */
function shareOf(items: Code<'i32'>, threads: Local<'i32'>): Code<'i32'> {
  return op('i32.div_u', op('i32.add', items, op('i32.sub', threads, i32(1))), threads);
}

function claimAddress(thread: Local<'i32'>): Code<'i32'> {
  return op('i32.add', CONTROL_BASE, op('i32.mul', thread, i32(THREAD_STRIDE)));
}

/** `work(sequence)`: takes items of job `sequence` until none is left. `dispatch(kernel, args, begin, end)` runs some. */
export function workFunction(dispatch: WasmFunction): WasmFunction {
  const f = new WasmFunction('work', { sequence: 'i32' });
  const threads = f.let('threads', readWord(CONTROL.threads));
  const items = f.let('items', readWord(CONTROL.items));
  const minChunk = f.let('min_chunk', readWord(CONTROL.minChunk));
  const kernel = f.let('kernel', readWord(CONTROL.kernel));
  const args = f.let('args', readWord(CONTROL.args));
  f.if(op('i32.ge_u', THREAD, threads), () => f.return());
  f.setGlobal(KEPT, i32(1));
  const share = f.let('share', shareOf(items, threads));
  const victim = f.let('victim', THREAD);
  const visits = f.let('visits', threads);
  f.loop((nextVictim) => {
    const claim = f.let('claim', claimAddress(victim));
    const stop = f.let('stop', op('i32.mul', op('i32.add', victim, i32(1)), share));
    f.if(op('i32.gt_u', stop, items), () => f.set(stop, items));
    f.block((drained) => {
      f.loop((again) => {
        const current = f.let('current', memory('i64.atomic.load', CONTROL.claims, claim));
        const stamp = op('i32.wrap_i64', op('i64.shr_u', current, i64(32)));
        f.if(op('i32.ne', stamp, f.param('sequence')), () => f.return());
        const begin = f.let('begin', op('i32.wrap_i64', current));
        f.brIf(drained, op('i32.ge_u', begin, stop));
        const left = f.let('left', op('i32.sub', stop, begin));
        const take = f.let('take', op('i32.shr_u', left, i32(1)));
        f.if(op('i32.lt_u', take, minChunk), () => f.set(take, minChunk));
        f.if(op('i32.gt_u', take, left), () => f.set(take, left));
        const claimed = op('i64.add', current, op('i64.extend_i32_u', take));
        const before = memory('i64.atomic.rmw.cmpxchg', CONTROL.claims, claim, current, claimed);
        f.brIf(again, op('i64.ne', before, current));
        const mine = op('i32.add', CONTROL_BASE, op('i32.mul', THREAD, i32(THREAD_STRIDE)));
        f.do(memory('i32.atomic.store', CONTROL.inFlight, mine, take));
        f.do(call(dispatch, kernel, args, begin, op('i32.add', begin, take)));
        f.do(memory('i32.atomic.rmw.add', CONTROL.done, CONTROL_BASE, take));
        f.br(again);
      });
    });
    f.set(victim, op('i32.add', victim, i32(1)));
    f.if(op('i32.eq', victim, threads), () => f.set(victim, i32(0)));
    f.brIf(nextVictim, f.tee(visits, op('i32.sub', visits, i32(1))));
  });
  return f;
}

/**
 * `parallel(kernel, args, items, minChunk, patience)`: runs a job from the calling thread and waits until
 * it is done. Waiting for more than `patience` polls, about as many nanoseconds, is noted as a stall.
 */
export function parallelFunction(work: WasmFunction): WasmFunction {
  const f = new WasmFunction('parallel', {
    kernel: 'i32',
    args: 'i32',
    items: 'i32',
    minChunk: 'i32',
    patience: 'i32',
  });
  const sequence = f.let('sequence', op('i32.add', readWord(CONTROL.sequence), i32(1)));
  const threads = f.let('threads', readWord(CONTROL.threads));
  const share = f.let('share', shareOf(f.param('items'), threads));
  const stamp = f.let('stamp', op('i64.shl', op('i64.extend_i32_u', sequence), i64(32)));
  const thread = f.let('thread', i32(0));
  f.loop((next) => {
    const first = op('i64.extend_i32_u', op('i32.mul', thread, share));
    f.do(
      memory('i64.atomic.store', CONTROL.claims, claimAddress(thread), op('i64.or', stamp, first)),
    );
    f.set(thread, op('i32.add', thread, i32(1)));
    f.brIf(next, op('i32.lt_u', thread, threads));
  });
  writeWord(f, CONTROL.done, i32(0));
  writeWord(f, CONTROL.plan, PLAN);
  writeWord(f, CONTROL.kernel, f.param('kernel'));
  writeWord(f, CONTROL.args, f.param('args'));
  writeWord(f, CONTROL.items, f.param('items'));
  writeWord(f, CONTROL.minChunk, f.param('minChunk'));
  writeWord(f, CONTROL.sequence, sequence);
  f.if(readWord(CONTROL.sleepers), () => {
    f.do(memory('memory.atomic.notify', CONTROL.sequence, CONTROL_BASE, i32(-1)));
  });
  f.do(call(work, sequence));
  const polls = f.let('polls', i32(0));
  f.loop((wait) => {
    f.set(polls, op('i32.add', polls, i32(1)));
    f.brIf(wait, op('i32.ne', readWord(CONTROL.done), f.param('items')));
  });
  f.if(op('i32.gt_u', polls, f.param('patience')), () => {
    writeWord(f, CONTROL.stalls, op('i32.add', readWord(CONTROL.stalls), i32(1)));
  });
  return f;
}

/** `help(last)`: does jobs of this plan until none comes for a while; gives the number of the last job seen. */
export function helpFunction(work: WasmFunction): WasmFunction<'i32'> {
  const f = new WasmFunction('help', { last: 'i32' }, 'i32');
  const last = f.param('last');
  const spins = f.local('i32', 'spins');
  f.loop((again) => {
    const sequence = f.let('sequence', readWord(CONTROL.sequence));
    f.if(op('i32.ne', sequence, last), () => {
      f.if(op('i32.ne', readWord(CONTROL.plan), PLAN), () => f.return(last));
      f.do(call(work, sequence));
      f.set(last, sequence);
      f.set(spins, i32(0));
    });
    f.set(spins, op('i32.add', spins, i32(1)));
    f.brIf(again, op('i32.lt_u', spins, i32(SPINS)));
  });
  f.return(last);
  return f;
}
