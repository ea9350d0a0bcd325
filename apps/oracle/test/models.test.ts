/**
 * @file `pnpm oracle:models`: what it prints and how it ends.
 */
import { describe, expect, it, vi } from 'vitest';
import { runModels } from '../src/models.js';

function output(...argv: string[]): { lines: string[]; code: typeof process.exitCode } {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  const before = process.exitCode;
  try {
    runModels(argv);
    return { lines, code: process.exitCode };
  } finally {
    process.exitCode = before;
    log.mockRestore();
  }
}

describe('pnpm oracle:models', () => {
  it('runs the chosen models and ends with one JSON line', () => {
    const { lines, code } = output('--model', 'digits', '--mode', 'aot_eager');
    expect(lines[0]).toMatch(
      /^ok {5}digits_mlp +8 checks, worst [\d.e-]+ \(loss of step \d\), [\d.]+ s$/,
    );
    expect(JSON.parse(lines.at(-1)!)).toEqual({
      mode: 'aot_eager',
      total: 2,
      passed: 2,
      failed: 0,
      worst: [],
    });
    expect(code).toBe(0);
    expect(output('--model', 'nll2d', '--json').lines.length).toBe(1);
  });

  it('refuses what it does not know', () => {
    expect(() => output('--mode', 'fast')).toThrow("not 'fast'");
    expect(() => output('--model', 'alexnet')).toThrow("no model 'alexnet'");
    expect(() => output('--file', 'missing.json')).toThrow('no file missing.json');
    expect(output('--help').lines[0]).toContain('usage: pnpm oracle:models');
  });
});
