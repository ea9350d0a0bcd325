/**
 * @file Running the TypeScript file that is printed for a program.
 */
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Mismatch } from '../src/check.js';
import { printProgram } from '../src/print-program.js';

/** What the file printed for a program prints. */
export function runPrinted(mismatch: Mismatch): Promise<string> {
  return runText(printProgram(mismatch));
}

/** What a file prints. */
export async function runText(text: string): Promise<string> {
  const folder = mkdtempSync(join(import.meta.dirname, 'printed-'));
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => lines.push(line));
  try {
    const file = join(folder, 'program.ts');
    writeFileSync(file, text);
    await import(file);
  } finally {
    log.mockRestore();
    rmSync(folder, { recursive: true });
  }
  return lines.join('\n');
}
