/**
 * @file Processor time of the main thread alone: what a first call takes on a machine with cores to spare,
 * also when this one is busy.
 */
import { readFileSync } from 'node:fs';

/** Length of a clock tick of Linux in milliseconds. */
const TICK_MS = 10;

/** Milliseconds so far, to 10 ms; null where the system does not tell (only Linux does). */
export function mainThreadMs(): number | null {
  try {
    const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces; user and system time are fields 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return TICK_MS * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return null;
  }
}
