/**
 * @file Tests leave nothing in the system's temporary folder: they get one of their own, which must be empty in the end.
 *
 * Only folders of `mkdtemp` count (`prefix-XXXXXX`): browsers and MPI leave files of other names there.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'tests-';

/** Runs before the tests of a package, and what it returns after them. */
export default function setup(): () => void {
  // Each project of a package asks, and they share one process.
  if (basename(tmpdir()).startsWith(PREFIX)) return () => {};
  const before = process.env['TMPDIR'];
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  process.env['TMPDIR'] = folder;
  return () => {
    const left = readdirSync(folder).filter((name) => /-\w{6}$/.test(name));
    rmSync(folder, { recursive: true });
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    if (left.length === 0) return;
    process.exitCode = 1;
    throw new Error(
      `Tests left ${left.join(', ')} in the temporary folder: remove them, e.g. in onTestFinished.`,
    );
  };
}
