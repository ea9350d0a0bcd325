/**
 * @file `printSchedule`: the schedule of any backend's kernel as text. Pages that show none do not have this code: only
 * tools ask for it.
 */
import type { KernelSchedule } from '../backend/kernel-schedule.js';
import { printScheduled } from './kernel/print-scheduled.js';

/** A scheduled kernel with its statements, or the choices that were made, a line each. */
export function printSchedule(schedule: KernelSchedule): string {
  if (!('facts' in schedule)) return printScheduled(schedule);
  const facts = Object.entries(schedule.facts).map(([about, chosen]) => `  ${about}: ${chosen}`);
  return [`scheduled ${schedule.kernel}`, ...facts].join('\n');
}
