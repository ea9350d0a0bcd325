/**
 * @file `pnpm check:newcomer`: does in empty folders what the start page, "From PyTorch" and the READMEs say, word for
 * word, with the packed tarballs behind a registry of this machine: every command, every program, every value that is
 * promised; and the programs have right types for whoever checks the declarations, too.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { bare, blocksOf, promisesOf } from '../tooling/readme-program.mjs';
import { build, inPairs, pack, published, run } from './pack.mjs';
import { root } from './workspace.mjs';

/** Documents that are followed one after the other in one folder. The start page says how to make the folder. */
const JOURNEYS = [
  ['apps/site/content/start.md', 'apps/site/guides/from-pytorch.md'],
  ...['compile', 'nn', 'tensor'].map((name) => [`packages/${name}/README.md`]),
];
const TYPES = '--noEmit --strict --target es2022 --lib es2022,dom --module nodenext'.split(' ');

/** A registry of npm that has the tarballs of the published packages; others come from the usual one. */
async function serveTarballs(folder) {
  const files = new Map();
  await inPairs(published, async (member) => {
    const { tarball, problems } = await pack(member, folder);
    if (tarball === null) throw new Error(problems.join('\n'));
    const { output } = await run('tar', ['-xzOf', tarball, 'package/package.json']);
    files.set(`/${basename(tarball)}`, readFileSync(tarball));
    files.set(`/${member.manifest.name}`, { ...JSON.parse(output), file: basename(tarball) });
  });
  const server = createServer(({ url, headers }, response) => {
    const found = files.get(decodeURIComponent(String(url)));
    if (found === undefined) return void response.writeHead(404).end();
    if (Buffer.isBuffer(found)) return void response.end(found);
    const { name, version, file, ...rest } = found;
    const integrity = `sha512-${createHash('sha512')
      .update(files.get(`/${file}`))
      .digest('base64')}`;
    const dist = { tarball: `http://${headers.host}/${file}`, integrity };
    const versions = { [version]: { name, version, ...rest, dist } };
    response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(undefined)));
  return { server, address: `http://127.0.0.1:${/** @type {any} */ (server.address()).port}/` };
}

/** Values that a program did not print in their order, each on a line. */
function missing(program, output) {
  const lines = output.split('\n').map(bare);
  return promisesOf(program).flatMap(({ line, comment }) => {
    const at = lines.findIndex((text) => text !== '' && bare(comment).startsWith(text));
    if (at >= 0) lines.splice(0, at + 1);
    return at >= 0 ? [] : [`line ${line + 1} does not print: ${comment}`];
  });
}

/** Follows a document in a folder; returns what went wrong, in words. */
async function follow(document, folder, env) {
  const text = readFileSync(join(root, document), 'utf8');
  const file = /as `(\w+\.ts)`/.exec(text)?.[1] ?? 'sample.ts';
  const problems = [];
  let program = '';
  const attempt = async (command) => {
    const { ok, output } = await run('sh', ['-c', command], folder, env);
    if (!ok || /warn/i.test(output)) problems.push(`${command}\n${output}`);
    return output;
  };
  for (const { words, code } of blocksOf(text)) {
    if (words === 'ts') writeFileSync(join(folder, file), (program += `${code}\n`));
    if (words === 'sh') for (const command of code.trim().split('\n')) await attempt(command);
  }
  problems.push(...missing(program, await attempt(`npx -y tsx ${file}`)));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await attempt(['node', tsc, ...TYPES, file].join(' '));
  console.log(`${document.padEnd(34)}  ${problems.length === 0 ? 'as written' : 'FAILED'}`);
  return problems.map((problem) => `${document}: ${problem}`);
}

build();
const scratch = mkdtempSync(join(tmpdir(), 'tessera-newcomer-'));
const { server, address } = await serveTarballs(scratch);
// What pnpm tells its scripts is nothing that a newcomer's npm has heard.
const foreign = Object.keys(process.env).filter((name) => /^npm_(?!config_registry$)/i.test(name));
const env = Object.fromEntries(foreign.map((name) => [name, undefined]));
const problems = [];
for (const [i, documents] of JOURNEYS.entries()) {
  const folder = join(scratch, `newcomer-${i}`);
  mkdirSync(folder);
  writeFileSync(join(folder, '.npmrc'), `@tessera:registry=${address}`);
  if (i > 0) writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const document of documents) problems.push(...(await follow(document, folder, env)));
}
server.close();
rmSync(scratch, { recursive: true });
console.log(problems.length === 0 ? '\nnewcomer: all as written' : problems.join('\n'));
process.exitCode = problems.length === 0 ? 0 : 1;
