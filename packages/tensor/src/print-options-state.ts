/**
 * @file How tensors are printed now; see print-options.ts. Variables, not an object: their names cost a page nothing.
 */

/** What tensors are printed by. */
export interface PrintSettings {
  /** Digits behind the point (4). */
  precision: number;
  /** More elements than this are summarised (1000). */
  threshold: number;
  /** Elements shown at either end of a summarised dimension (3). */
  edgeitems: number;
  /** Characters of a line (80). */
  linewidth: number;
  /** Whether floats are printed in scientific notation; null: where they need it. */
  sciMode: boolean | null;
}

export let precision: number = 4;
export let threshold: number = 1000;
export let edgeitems: number = 3;
export let linewidth: number = 80;
export let sciMode: boolean | null = null;

/** The settings in force. */
export function printSettings(): PrintSettings {
  return { precision, threshold, edgeitems, linewidth, sciMode };
}

/** Puts other settings in force. */
export function putPrintSettings(settings: PrintSettings): void {
  ({ precision, threshold, edgeitems, linewidth, sciMode } = settings);
}
