/**
 * @file Tarballs of the published packages, as `pnpm publish` would make them: what users install.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { turbo } from './turbo.mjs';
import { members, root } from './workspace.mjs';

const execute = promisify(execFile);

/**
 * Runs a program; a failure carries its output.
 * @typedef {(file: string, args: string[], cwd?: string, env?: Record<string, string>) => Promise<{ ok: boolean, output: string }>} Run
 * @type {Run}
 */
export async function run(file, args, cwd = root, env = {}) {
  try {
    const { stdout, stderr } = await execute(file, args, {
      cwd,
      env: { ...process.env, ...env },
      maxBuffer: 1 << 26,
    });
    return { ok: true, output: stdout + stderr };
  } catch (thrown) {
    const error = /** @type {Error & { stdout?: string, stderr?: string }} */ (thrown);
    return { ok: false, output: `${error.stdout ?? ''}${error.stderr ?? ''}` || String(error) };
  }
}

/** The packages that are published. */
export const published = members().filter(
  (m) => !m.isApp && existsSync(join(root, m.dir, 'src/index.ts')),
);

/** Builds the published packages, and what else is named. Ends this process where that fails. */
export function build(...others) {
  const filters = ['./packages/*', ...others].map((name) => `--filter=${name}`);
  if (turbo(['run', 'build', ...filters, '--output-logs=errors-only']) !== 0) process.exit(1);
}

/**
 * Packs one package into a new folder below `scratch`.
 * @returns {Promise<{ tarball: string | null, problems: string[] }>}
 */
export async function pack(member, scratch) {
  const folder = mkdtempSync(join(scratch, `${member.short}-`));
  const packed = await run('pnpm', ['pack', '--pack-destination', folder], join(root, member.dir));
  if (!packed.ok) return { tarball: null, problems: [`pnpm pack\n${packed.output}`] };
  return { tarball: join(folder, readdirSync(folder)[0]), problems: [] };
}

/** Works off `items`, two at a time. */
export async function inPairs(items, work) {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}
