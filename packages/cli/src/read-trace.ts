/**
 * @file Reads traces in Chrome's format, such as `profile()` writes, as explorations that have a timeline alone. They may come
 * from anybody.
 */
import type { EventView, ExplorationFile } from '@tessera/compile/exploration';
import { TesseraError } from '@tessera/shared';
import { PlainDataError, amount, list, optional, record, text } from './plain-data.js';

/** Events that are drawn: what a page gets through. */
const MOST_EVENTS = 5000;

/** An event with a beginning and a length, in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly cat: string;
  readonly ts: number;
  readonly dur: number;
}

const kind = record<{ readonly ph: string }>({ ph: text });
const complete = record<TraceEvent>({
  name: text,
  cat: optional(text, ''),
  ts: amount,
  dur: amount,
});
const events = list<unknown>((value) => value);

/** Events of a trace: the object with `traceEvents`, or the array alone. */
function eventsOf(value: unknown): TraceEvent[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const all = isObject
    ? events(new Map(Object.entries(value)).get('traceEvents'), 'traceEvents')
    : events(value, '');
  // Other kinds of events mark instants, counters and names of threads.
  return all.flatMap((event, i) => {
    const at = `traceEvents[${i}]`;
    return kind(event, at).ph === 'X' ? [complete(event, at)] : [];
  });
}

/** The longest events, in the order in which they began. */
function longest(all: readonly TraceEvent[]): TraceEvent[] {
  const kept = new Set([...all].sort((a, b) => b.dur - a.dur).slice(0, MOST_EVENTS));
  return all.filter((event) => kept.has(event)).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
}

/**
 * What a trace holds.
 *
 * @param name of the file, for the message
 * @throws debug-folder-invalid where it is not a trace in Chrome's format
 */
export function readTrace(json: string, name: string): ExplorationFile {
  let all: TraceEvent[];
  try {
    all = eventsOf(JSON.parse(json));
  } catch (error) {
    if (!(error instanceof PlainDataError || error instanceof SyntaxError)) throw error;
    throw new TesseraError('debug-folder-invalid', `${name}: ${error.message}.`, {
      hints: ['Write it with profile(fn).toChromeTrace(), or give a debug folder.'],
      cause: error,
    });
  }
  const shown = longest(all);
  const [{ ts: origin } = { ts: 0 }] = shown;
  const timeline = shown.map(({ name: event, cat, ts, dur }): EventView => ({
    name: event,
    category: cat,
    start: ts - origin,
    duration: dur,
  }));
  const left = all.length - shown.length;
  return {
    format: 'tessera-exploration',
    version: 1,
    program: '',
    functions: [],
    captured: [],
    joint: [],
    passes: [],
    compiled: [],
    timeline,
    output: left === 0 ? [] : [`The ${shown.length} longest of ${all.length} events are shown.`],
    error: null,
  };
}
