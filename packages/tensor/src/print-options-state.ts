/**
 * @file How tensors are printed now; see print-options.ts.
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

/** The settings in force. */
export const printOptions: PrintSettings = {
  precision: 4,
  threshold: 1000,
  edgeitems: 3,
  linewidth: 80,
  sciMode: null,
};
